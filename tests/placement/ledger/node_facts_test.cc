// A node's facts are long and seldom change; its account is short and changes with every guest. What is written
// for a guest is the account alone.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "placement/ledger/ledger.h"
#include "placement/values/faults.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

constexpr int kGuests = 100;

// Bytes that PostgreSQL cannot compress.
std::string Noise(uint32_t seed, size_t size) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

ApplyReport Guest(const ApplyReport& before) {
  ApplyReport report = before;
  ++report.sequence;
  report.complete = false;
  report.providers.clear();
  report.facts = nullptr;
  report.account = Noise(static_cast<uint32_t>(report.sequence), 1000);
  return report;
}

TEST(LedgerNodeFacts, AreNotWrittenAgainWithAnAccount) {
  const std::string url = NewDatabase();
  LedgerRunner writer(OptionsFor(url));
  LedgerRunner follower(OptionsFor(url));
  writer.Must(RegisterService{"h", "berth-tracker", Uuid{1, 1}, "machine", "", Uuid{2, 2}});
  ApplyReport report;
  report.host = "h";
  report.incarnation = Uuid{1, 1};
  report.node = ProviderNumber(1);
  report.node_name = "n";
  report.sequence = 1;
  report.facts = std::make_shared<const std::string>(Noise(0, kFactsBytesMax));
  report.account = Noise(1, 1000);
  report.providers.resize(1);
  report.providers[0].id = report.node;
  report.providers[0].name = "n";
  const std::vector<ReportedProvider> root = report.providers;
  writer.Must(report);
  const int64_t first = writer.ledger().Newest()->position().revision.number;

  const auto database = ConnectOrDie(url);
  const std::string apart =
      "SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE relname = 'node'";
  const std::string stored = QueryOne(*database, apart);
  EXPECT_GE(std::stoi(stored), static_cast<int>(kFactsBytesMax));
  for (int i = 0; i < kGuests; ++i) writer.Must(report = Guest(report));
  EXPECT_EQ(QueryOne(*database, apart), stored);
  const std::string longest = QueryOne(
      *database, "SELECT max(length(payload)) FROM log WHERE revision > " + std::to_string(first));
  EXPECT_LT(std::stoi(longest), 4096);

  const auto node = [&](LedgerRunner& runner) -> NodeRecord {
    const StatePtr newest = runner.ledger().Newest();
    const NodeRecordPtr* const found = newest->nodes().Find(ProviderNumber(1));
    return found == nullptr ? NodeRecord() : **found;  // the follower may not have it yet
  };
  ASSERT_TRUE(
      LedgerRunner::Eventually([&] { return node(follower).report_sequence == report.sequence; }));
  LedgerRunner restarted(OptionsFor(url));
  for (LedgerRunner* runner : {&writer, &follower, &restarted}) {
    ASSERT_NE(node(*runner).facts, nullptr);
    EXPECT_EQ(*node(*runner).facts, Noise(0, kFactsBytesMax));
    EXPECT_EQ(node(*runner).account, report.account);
    ExpectEqualStates(*runner->ledger().Newest(), *writer.ledger().Newest());
  }
  ExpectCleanSelfCheck(writer, url);

  // New facts are written, and those of a node that was deleted do not come back.
  report = Guest(report);
  report.facts = std::make_shared<const std::string>("new");
  writer.Must(report);
  writer.Must(RetireNode{report.node, true});
  EXPECT_EQ(QueryOne(*database, "SELECT facts FROM node"), "\\x6e6577");
  writer.Must(DeleteNode{report.node, false});
  report.facts = nullptr;
  report.complete = true;
  report.providers = root;
  ++report.sequence;
  writer.Must(report);
  EXPECT_EQ(node(writer).facts, nullptr);
  ExpectCleanSelfCheck(writer, url);
}

// After an upgrade of the trackers, all nodes report new facts at the same time.
TEST(LedgerNodeFacts, OfManyNodesAreWrittenInSeveralBatches) {
  constexpr int kNodes = 24;
  const std::string url = NewDatabase();
  LedgerOptions options = OptionsFor(url);
  options.no_progress_max = absl::Minutes(1);  // a batch has megabytes
  LedgerRunner writer(options);
  writer.Must(RegisterService{"h", "berth-tracker", Uuid{1, 1}, "machine", "", Uuid{2, 2}});
  std::vector<std::future<Decision>> decisions;
  for (int i = 1; i <= kNodes; ++i) {
    ApplyReport report;
    report.host = "h";
    report.incarnation = Uuid{1, 1};
    report.node = ProviderNumber(i);
    report.node_name = "n" + std::to_string(i);
    report.sequence = 1;
    report.facts =
        std::make_shared<const std::string>(Noise(static_cast<uint32_t>(i), kFactsBytesMax));
    report.providers.resize(1);
    report.providers[0].id = report.node;
    report.providers[0].name = report.node_name;
    decisions.push_back(writer.Begin(WithId(report, ""), absl::Minutes(2)));
  }
  for (std::future<Decision>& decision : decisions) EXPECT_EQ(ReasonOf(decision.get()), "OK");
  const auto database = ConnectOrDie(url);
  const std::string longest = QueryOne(*database, "SELECT max(length(payload)) FROM log");
  EXPECT_LT(std::stoi(longest), static_cast<int>(6 * kFactsBytesMax));
}

}  // namespace
}  // namespace berth::placement
