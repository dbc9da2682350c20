// A tracker that was taken over and wants to fill the ledger, the log and the tables, over TLS
// against the real placement: it gets no more than its day allows, and others go on.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/report.pb.h"
#include "google/rpc/error_details.pb.h"
#include "placement/ground/uuid.h"
#include "tests/fault/certified_site.h"
#include "tests/fault/played_session.h"
#include "tests/processes/private_cluster.h"

namespace berth::fault {
namespace {

namespace daily_pb = ::berth::placement::v1;

constexpr int kFloodReports = 1000;
constexpr size_t kFloodFacts = (1 << 20) - 1024;
constexpr int64_t kFloodAllowed = 16 << 20;
constexpr absl::Duration kFloodMax = absl::Minutes(4);
// A line a minute and identity, and what placement logs anyway.
constexpr size_t kLogGrowthMax = 16 << 10;

std::string RandomUuid() { return placement::Uuid::Random().ToString(); }

// An access file.
class RulesFile {
 public:
  explicit RulesFile(const std::string& text) { std::ofstream(path_) << text; }

  // Those that give it to placement.
  std::vector<std::string> arguments() const { return {"--access-file=" + path_}; }

 private:
  const placement::ScratchDirectory directory_;
  const std::string path_ = directory_.path() + "/access.toml";
};

// Which limit refused the report. Empty: it was accepted. A text with a space: anything else.
std::string LimitIn(const daily_pb::SessionResponse& answer) {
  if (answer.has_ack()) return "";
  google::rpc::ErrorInfo info;
  const auto& status = answer.reject().status();
  if (status.details_size() == 0 || !status.details(0).UnpackTo(&info)) return "no details";
  if (info.reason() != "DAILY_LIMIT_REACHED") return info.reason() + " instead";
  return info.metadata().at("limit");
}

// A tracker that reports its only node again and again.
class Reporter {
 public:
  Reporter(const CertifiedSite& site, const std::string& host)
      : host_(host), session_(site, host, kFloodMax) {
    session_.SayHello(node_);
  }

  // A snapshot: the root has `total` VCPU and no children.
  std::string Report(int64_t total, const std::string& facts) {
    daily_pb::Report report = PlayedSession::SnapshotOf(node_, host_, generation_);
    (*report.mutable_providers(0)->mutable_inventories())["VCPU"].set_total(total);
    report.mutable_facts()->set_cpu_info_json(facts);
    report.set_digest(absl::StrCat("digest ", ++reports_));
    const daily_pb::SessionResponse answer = session_.Send(std::move(report));
    if (answer.has_ack()) generation_ = answer.ack().generations(0).generation();
    return LimitIn(answer);
  }
  // A delta with `count` new children of the root, each with a trait of its own if `names`.
  std::string AddChildren(int count, bool names) {
    daily_pb::Report report = PlayedSession::SnapshotOf(node_, host_, generation_);
    report.set_kind(daily_pb::REPORT_KIND_DELTA);
    report.clear_providers();
    for (int i = 0; i < count; ++i) {
      daily_pb::WantedProvider& child = *report.add_providers();
      child.set_uuid(RandomUuid());
      child.set_name(child.uuid());
      child.set_parent_uuid(node_);
      if (names) child.add_traits_present(absl::StrCat("CUSTOM_", reports_, "_", i));
    }
    report.set_digest(absl::StrCat("digest ", ++reports_));
    return LimitIn(session_.Send(std::move(report)));
  }

 private:
  const std::string host_;
  const std::string node_ = RandomUuid();
  PlayedSession session_;
  int64_t generation_ = 0;
  int reports_ = 0;
};

TEST(DailyLimit, AFloodOfReportsIsRefusedWhileOthersGoOn) {
  const RulesFile file("[daily]\ntracker = {facts_mib = 16}\n");
  CertifiedSite site(0, file.arguments());
  Reporter honest(site, "host-2");
  ASSERT_EQ(honest.Report(8, ""), "");
  const size_t log_before = site.placement().Log().size();
  std::atomic<bool> floods = true;
  int accepted = 0;
  int refused = 0;
  std::thread flood([&] {
    Reporter hostile(site, "host-1");
    for (int i = 0; i < kFloodReports; ++i) {
      const std::string limit = hostile.Report(8, std::string(kFloodFacts, 'a' + i % 26));
      EXPECT_TRUE(limit.empty() || limit == "facts_mib") << limit;
      ++(limit.empty() ? accepted : refused);
    }
    floods = false;
  });
  int honest_reports = 0;
  int honest_refused = 0;
  while (floods) {
    if (!honest.Report(8 + ++honest_reports % 2, "").empty()) ++honest_refused;
  }
  flood.join();
  EXPECT_EQ(honest_refused, 0);
  EXPECT_EQ(accepted + refused, kFloodReports);
  EXPECT_LE(accepted * static_cast<int64_t>(kFloodFacts), kFloodAllowed);
  EXPECT_GE(accepted, 15);
  EXPECT_GT(honest_reports, 10);
  RecordProperty("accepted", accepted);
  RecordProperty("honest_reports", honest_reports);
  const size_t log_after = site.placement().Log().size();
  EXPECT_LT(log_after - log_before, kLogGrowthMax) << site.placement().Log();
  RecordProperty("log_bytes", static_cast<int>(log_after - log_before));
  EXPECT_NE(site.placement().Log().find("a tracker has reached a daily limit"), std::string::npos);
}

TEST(DailyLimit, InventedThingsAreRefused) {
  const RulesFile file(
      "[daily]\ntracker = {names = 50, providers = 1000, nodes = 4, services = 1}\n");
  CertifiedSite site(0, file.arguments());
  Reporter hostile(site, "host-1");
  ASSERT_EQ(hostile.Report(8, ""), "");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(hostile.AddChildren(300, false), "") << i;
  EXPECT_EQ(hostile.AddChildren(300, false), "providers");
  EXPECT_EQ(hostile.AddChildren(60, true), "names");
}

// A session for many nodes: those beyond the limit are refused, one by one.
TEST(DailyLimit, InventedNodesAreRefused) {
  const RulesFile file("[daily]\ntracker = {nodes = 4}\n");
  CertifiedSite site(0, file.arguments());
  std::vector<std::string> nodes;
  for (int i = 0; i < 8; ++i) nodes.push_back(RandomUuid());
  PlayedSession session(site, "host-1");
  session.SayHelloFor(nodes);
  int accepted = 0;
  for (const std::string& node : nodes) {
    const std::string limit =
        LimitIn(session.Send(PlayedSession::SnapshotOf(node, "node-" + node, 0)));
    EXPECT_TRUE(limit.empty() || limit == "nodes") << limit;
    if (limit.empty()) ++accepted;
  }
  EXPECT_EQ(accepted, 4);
}

}  // namespace
}  // namespace berth::fault
