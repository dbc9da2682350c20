// Random reports of three trackers, between claims, operators' writes and changes of services: what
// is applied is what was reported, and the safety properties hold after each of 10,000 steps.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/worlds/fleet_world.h"
#include "tests/worlds/script.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

constexpr int kReportSteps = kSanitized ? 8'000 : 10'000;

class RandomFleet {
 public:
  explicit RandomFleet(uint64_t seed) : random_(seed) {
    for (int host = 0; host < 3; ++host) Register(host);
    fleet_.world.Must(EnsureTrait{"CUSTOM_OPERATOR"});
  }

  void Step();

  std::map<std::string, int> met;  // how often which answer came

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  bool OneIn(int bound) { return Below(bound) == 0; }
  // Mostly a host's own provider, of which each has six, the node's root being the first.
  std::string Name(int host) {
    return absl::StrCat("h", OneIn(12) ? Below(3) : host, "-", Below(6));
  }
  std::string Rows() {
    return OneIn(3) ? ""
                    : absl::StrCat("{VCPU:", 1 + Below(9), OneIn(2) ? ", CUSTOM_VF:3" : "", "}");
  }

  void Register(int host);
  void Report(int host);
  void Claim();
  void Operate();
  void Serve(int host);
  ApplyReport Snapshot(int host);
  void ExpectApplied(const ApplyReport& report);

  std::mt19937_64 random_;
  FleetWorld fleet_;
  int processes_ = 0;
  std::map<int, int> process_;       // newest process by host
  std::map<int, int64_t> sequence_;  // last one sent by host
};

void RandomFleet::Register(int host) {
  process_[host] = ++processes_;
  sequence_[host] = 0;
  EXPECT_EQ(fleet_.Register(absl::StrCat("h", host), processes_, absl::StrCat("machine", host)),
            "OK");
}

ApplyReport RandomFleet::Snapshot(int host) {
  std::string notation = absl::StrCat("h", host, "-0", Rows());
  std::vector<std::string> names;
  for (int count = Below(5); count > 0; --count) names.push_back(Name(host));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  int depth = 0;
  for (const std::string& name : names) {
    if (name == absl::StrCat("h", host, "-0")) continue;
    depth = 1 + Below(depth + 1);
    absl::StrAppend(&notation, "\n", std::string(static_cast<size_t>(depth), ' '), name, Rows());
  }
  return fleet_.MakeReport(absl::StrCat("h", host), process_[host], notation, ++sequence_[host]);
}

void RandomFleet::Report(int host) {
  ApplyReport report = Snapshot(host);
  if (OneIn(15)) report.sequence = sequence_[host] -= 1;
  if (OneIn(15)) report.providers.back().base_generation = Generation{3};
  if (OneIn(30)) report.node_name = "other";
  if (report.providers.size() > 1 && OneIn(2)) {
    const ProviderId node = report.node;
    const std::string name = report.node_name;
    report.providers.erase(report.providers.begin());
    report = FleetWorld::Delta(std::move(report), node, name);
    for (ReportedProvider& provider : report.providers) {
      if (OneIn(3)) provider.parent = fleet_.world.provider(Name(host));
    }
    const ProviderId removed = fleet_.world.provider(Name(host));
    if (OneIn(2)) report.removed.push_back(removed);
  }
  const std::string answer = fleet_.Send(report);
  ++met[absl::StrCat(report.complete ? "snapshot " : "delta ", answer)];
  if (answer == "OK" && !fleet_.last.changes.empty()) {
    ExpectApplied(report);
  } else if (answer != "OK") {
    --sequence_[host];
  }
}

// What was reported stands, and the record says at which generations.
void RandomFleet::ExpectApplied(const ApplyReport& report) {
  const State& state = fleet_.world.state();
  for (const ReportedProvider& wanted : report.providers) {
    const auto place = state.FindProvider(wanted.id);
    ASSERT_TRUE(place.has_value()) << wanted.name;
    const ProviderConfig& config = place->config();
    EXPECT_EQ(config.name, wanted.name);
    if (wanted.id != report.node) {
      EXPECT_EQ(config.parent, wanted.parent) << wanted.name;
    }
    ASSERT_EQ(config.inventories.size(), wanted.inventories.size()) << wanted.name;  // T-201
    for (const NamedInventory& row : wanted.inventories) {
      const int at = config.FindInventory(*state.catalog().classes.Find(row.resource_class));
      ASSERT_GE(at, 0);
      EXPECT_EQ(config.inventories[static_cast<size_t>(at)].inventory, row.inventory);
    }
    EXPECT_TRUE(config.HasTrait(*state.catalog().traits.Find("OWNER_NOVA")));
  }
  const NodeRecord node = **state.nodes().Find(report.node);
  EXPECT_EQ(node.report_sequence, report.sequence);
  if (!report.complete) return;
  ASSERT_EQ(node.reported.size(), report.providers.size());
  for (const auto& [id, generation] : node.reported) {
    EXPECT_EQ(generation, state.FindProvider(id)->config().generation);
  }
}

void RandomFleet::Claim() {
  const std::string name = Name(Below(3));
  const std::string consumer = absl::StrCat("c", Below(6));
  const std::string claim = OneIn(3) ? "" : absl::StrCat(" ", name, "{VCPU:1}");
  ++met["claim " +
        fleet_.Answer(ParseCommand(fleet_.world, absl::StrCat("claim ", consumer, " @", claim)))];
}

void RandomFleet::Operate() {
  const std::string name = Name(Below(3));
  const std::string foreign = absl::StrCat("f", Below(4));
  const std::vector<std::string> lines = {
      absl::StrCat("create ", foreign, " below ", name), absl::StrCat("delete ", foreign),
      absl::StrCat("move ", name, " below ", Name(Below(3))), absl::StrCat("delete ", name),
      absl::StrCat("traits ", foreign, "@ CUSTOM_OPERATOR")};
  fleet_.Answer(ParseCommand(fleet_.world, lines[static_cast<size_t>(Below(5))]));
  if (OneIn(10)) {
    const ProviderId node = fleet_.world.provider(absl::StrCat("h", Below(3), "-0"));
    ++met["delete node " + fleet_.Answer(DeleteNode{node, OneIn(2)})];
  }
}

void RandomFleet::Serve(int host) {
  const std::string name = absl::StrCat("h", host);
  switch (Below(4)) {
    case 0:
      Register(host);
      break;
    case 1:
      EXPECT_EQ(fleet_.Mark(name, process_[host], OneIn(2)), "OK");
      break;
    case 2:
      EXPECT_EQ(fleet_.Update(name, OneIn(2), "", std::nullopt), "OK");
      break;
    default:
      fleet_.Answer(RetireNode{fleet_.world.provider(absl::StrCat(name, "-0")), OneIn(2)});
  }
}

void RandomFleet::Step() {
  const int kind = Below(12);
  if (kind < 6) {
    Report(Below(3));
  } else if (kind < 9) {
    Claim();
  } else if (kind < 11) {
    Operate();
  } else {
    Serve(Below(3));
  }
}

TEST(ReportRandom, WhatIsAppliedIsWhatWasReported) {
  const uint64_t seed = Seed();
  RandomFleet fleet(seed);
  for (int step = 1; step <= kReportSteps && !testing::Test::HasFailure(); ++step) {
    SCOPED_TRACE(testing::Message() << "BERTH_SEED=" << seed << " step " << step);
    fleet.Step();
  }
  for (const auto& [answer, count] : fleet.met) std::printf("%6d %s\n", count, answer.c_str());
  for (const char* answer :
       {"snapshot OK", "snapshot INVENTORY_IN_USE", "snapshot PROVIDER_GENERATION_CONFLICT",
        "snapshot POLICY_DENIED", "delta OK", "delta REPORT_GAP", "delta POLICY_DENIED",
        "delta PARENT_NOT_FOUND", "delta PROVIDER_LOOP", "claim OK", "delete node OK",
        "delete node PROVIDER_HAS_CHILDREN"}) {
    EXPECT_GT(fleet.met[answer], 0) << answer << " never came up";
  }
}

}  // namespace
}  // namespace berth::placement
