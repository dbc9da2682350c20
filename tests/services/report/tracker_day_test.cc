// What counts against the day of a tracker, by the outcome of its command.
#include "services/report/tracker_day.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/ground/boot_clock.h"
#include "placement/values/refusal.h"

namespace berth::services {
namespace {

using placement::ApplyReport;
using placement::DailyLeft;
using placement::Decision;
using placement::ProviderId;
using placement::RegisterService;
using placement::State;
using placement::Uuid;

constexpr char kActor[] = "tracker/h1";
constexpr DailyAmounts kDay = {1600, 10, 10, 10, 10};

RegisterService ServiceOfH1() {
  RegisterService service;
  service.host = "h1";
  service.binary = "berth-tracker";
  service.incarnation = Uuid{1, 1};
  return service;
}

Decision Applied(placement::Changes changes, bool created = false) {
  Decision decision;
  decision.changes = std::make_shared<const placement::Changes>(std::move(changes));
  decision.result.created = created;
  return decision;
}

class TrackerDayTest : public ::testing::Test {
 protected:
  TrackerDayTest() {
    RulesInForce rules;
    rules.rules.daily["tracker"] = kDay;
    policy_.Put(std::move(rules));
    EXPECT_TRUE(identity_.Hear(ServiceOfH1()).ok());
    hello_.service = ServiceOfH1();
    hello_.identified = true;
    // A new node with two new providers, and four names that are new, one of them twice.
    report_.set_kind(pb::REPORT_KIND_SNAPSHOT);
    command_.node = ProviderId{Uuid{3, 1}};
    command_.node_name = "h1";
    command_.digest = "abcd";
    command_.account = std::string(100, 'a');
    command_.facts = std::make_shared<const std::string>(200, 'f');
    command_.providers.resize(3);
    for (size_t i = 0; i < 3; ++i) {
      command_.providers[i].id = ProviderId{Uuid{3, i + 1}};
      report_.add_providers()->set_name(absl::StrCat("p", i));  // 4 bytes
    }
    command_.providers[0].inventories = {{"CUSTOM_A", {.total = 1}}, {"CUSTOM_B", {.total = 1}}};
    command_.providers[1].traits_present = {"CUSTOM_C", "CUSTOM_D", "NOT_CUSTOM"};
    command_.providers[2].traits_present = {"CUSTOM_C"};
    command_.providers[2].base_generation = placement::Generation{5};
  }
  static constexpr int64_t kBytes = 256 + 6 + 100 + 200 + 3 * 4 + 3 * 24;

  absl::Status Begin() { return day_.Begin(identity_, state_, hello_, report_, &command_); }
  // Records the provider `at` of the report, with 10 traits and 20 aggregates. `is_node`: also as a
  // node of `host` with 5 reported providers.
  void Record(size_t at, const std::string& host, std::optional<ProviderId> parent, bool is_node) {
    placement::Changes changes;
    placement::ProviderConfig config;
    config.id = command_.providers[at].id;
    config.name = absl::StrCat("p", at);
    config.parent = parent;
    for (uint32_t i = 1; i <= 10; ++i) {
      const auto trait = static_cast<placement::TraitId>(i);
      config.traits.push_back(trait);
      if (state_.catalog().traits.Contains(trait)) continue;
      changes.push_back(placement::TraitPut{trait, absl::StrCat("CUSTOM_KEPT_", i)});
    }
    for (uint64_t i = 1; i <= 20; ++i) config.aggregates.push_back({Uuid{4, i}});
    changes.push_back(
        placement::ProviderPut{std::make_shared<const placement::ProviderConfig>(config)});
    auto node = std::make_shared<placement::NodeRecord>();
    node->id = config.id;
    node->name = config.name;
    node->host = host;
    node->reported.resize(5);
    if (is_node) changes.push_back(placement::NodePut{node});
    state_.Apply(changes);
  }
  void Settle(const TrackerIdentity& identity, const Decision& decision) {
    told_ = day_.Settle(identity, decision);
  }
  // What of the day is used.
  DailyAmounts Used() {
    const placement::BootTime now = placement::BootNow();
    const DailyGrant all = *policy_.TakeDaily(kActor, kDay, now);
    policy_.GiveBackDaily(kActor, all.taken, all.at);
    DailyAmounts used;
    for (const DailyKind& kind : kDailyKinds) {
      used.*kind.amount = kDay.*kind.amount - all.taken.*kind.amount;
    }
    return used;
  }
  DailyAmounts UsedAfter(const Decision& decision) {
    EXPECT_TRUE(Begin().ok());
    Settle(identity_, decision);
    return Used();
  }

  AccessPolicy policy_;
  TrackerIdentity identity_{TrackerCertificate{.host = "h1"}};
  TrackerDay day_{&policy_};
  State state_;
  HelloFacts hello_;
  absl::Status told_;  // what the last Settle returned
  pb::Report report_;
  ApplyReport command_;
};

TEST_F(TrackerDayTest, ACommandHoldsWhatItMayNeedUntilItIsDecided) {
  ASSERT_TRUE(Begin().ok());
  EXPECT_EQ(Used(), (DailyAmounts{kBytes, 5, 2, 1, 0}));
  EXPECT_EQ(command_.left.names, 5);
  EXPECT_EQ(command_.left.providers, 2);
  EXPECT_EQ(command_.left.nodes, 1);
}

TEST_F(TrackerDayTest, WhatTheOutcomeSaysIsNewIsCharged) {
  using namespace placement;  // NOLINT: the kinds of changes
  const Decision decision =
      Applied({ClassPut{}, ClassPut{}, TraitPut{}, TraitPut{}, ProviderPut{}, NodePut{}}, true);
  EXPECT_EQ(UsedAfter(decision), (DailyAmounts{kBytes, 4, 2, 1, 0}));
}

TEST_F(TrackerDayTest, ARepeatBringsNothingNew) {
  EXPECT_EQ(UsedAfter(Applied({})), (DailyAmounts{kBytes, 0, 0, 0, 0}));
}

TEST_F(TrackerDayTest, ARefusalBringsNothingNew) {
  Decision decision;
  decision.status = placement::Refuse(absl::StatusCode::kAborted, "X", "");
  EXPECT_EQ(UsedAfter(decision), (DailyAmounts{kBytes, 0, 0, 0, 0}));
}

TEST_F(TrackerDayTest, WhatPlacementCouldNotDecideCostsNothing) {
  Decision decision;
  for (const absl::Status& status :
       {absl::UnavailableError("no database"), absl::InternalError("the database refused"),
        placement::Refuse(absl::StatusCode::kUnavailable, "OVERLOADED", ""),
        placement::Refuse(absl::StatusCode::kResourceExhausted, "DAILY_LIMIT_REACHED", "")}) {
    decision.status = status;
    EXPECT_EQ(UsedAfter(decision), DailyAmounts()) << status;
  }
}

TEST_F(TrackerDayTest, AnUnknownOutcomeCounts) {
  Decision decision;
  decision.status = absl::DeadlineExceededError("");
  EXPECT_EQ(UsedAfter(decision), (DailyAmounts{kBytes, 5, 2, 1, 0}));
}

// It is refused for ever, and the tracker must be told that waiting does not help.
TEST_F(TrackerDayTest, WhatAloneExceedsAWholeDayIsTold) {
  constexpr char kAlone[] = "needs more than a whole day has, of: ";
  Decision decision;
  decision.status = placement::CheckDaily(
      {{"names", "providers", 11, 5}, {"providers", "providers", 10, 2}, {"nodes", "node", 1, 0}});
  ASSERT_TRUE(Begin().ok());
  Settle(identity_, decision);
  EXPECT_TRUE(absl::EndsWith(told_.message(), absl::StrCat(kAlone, "names"))) << told_;
  EXPECT_EQ(placement::RefusalOf(told_)->reason, "DAILY_LIMIT_REACHED");
  EXPECT_EQ(placement::RefusalOf(told_)->items, placement::RefusalOf(decision.status)->items);
  decision.status = placement::CheckDaily({{"names", "providers", 10, 5}});
  ASSERT_TRUE(Begin().ok());
  Settle(identity_, decision);
  EXPECT_EQ(told_, decision.status) << "the next day has enough";
  command_.account.resize(2000);
  EXPECT_TRUE(absl::EndsWith(Begin().message(), absl::StrCat(kAlone, "facts_mib")));
}

TEST_F(TrackerDayTest, AReportOfTooManyBytesIsRefusedAtOnce) {
  command_.account.resize(300);
  ASSERT_TRUE(Begin().ok());
  Settle(identity_, Applied({}));
  const DailyAmounts before = Used();
  const absl::Status refused = Begin();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  const auto refusal = placement::RefusalOf(refused);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, "DAILY_LIMIT_REACHED");
  ASSERT_EQ(refusal->items.size(), 1u);
  EXPECT_EQ(refusal->items[0].at("limit"), "facts_mib");
  EXPECT_EQ(refusal->items[0].at("field"), "report");
  EXPECT_EQ(refusal->items[0].at("requested"), absl::StrCat(kBytes + 200));
  EXPECT_EQ(refusal->items[0].at("left"), absl::StrCat(kDay.fact_bytes - kBytes - 200));
  EXPECT_EQ(Used(), before);
  command_.account.clear();
  command_.facts = nullptr;
  EXPECT_TRUE(Begin().ok()) << "a smaller one fits";
}

// A provider that has many traits and aggregates is written whole for each change of it, and so is
// the list of a node's providers.
TEST_F(TrackerDayTest, WhatAProviderKeepsCounts) {
  Record(0, "h1", std::nullopt, true);
  Record(2, "h1", command_.providers[0].id, false);
  ASSERT_TRUE(Begin().ok());
  EXPECT_EQ(Used().fact_bytes, kBytes + 2 * (10 * 4 + 20 * 16));
  EXPECT_EQ(Used().nodes, 0);
  Settle(identity_, placement::OnlyStatus(absl::UnavailableError("")));
  command_.complete = false;
  command_.providers[0].aggregates.emplace();
  command_.providers[2].aggregates.emplace();
  ASSERT_TRUE(Begin().ok());
  EXPECT_EQ(Used().fact_bytes, kBytes + 2 * 10 * 4 + 5 * 24);  // aggregates are in the message
}

// So a tracker cannot read from what is left of its day which nodes and providers others have.
TEST_F(TrackerDayTest, WhatOtherNodesKeepDoesNotCount) {
  command_.complete = false;
  for (const bool is_node : {false, true}) {
    for (const std::string host : {"h2", "h1"}) {
      state_ = State();
      // The other node, or a provider that no node has; then the node itself, beside others.
      const bool is_own = host == "h1";
      Record(is_own ? 2 : 0, "h2", std::nullopt, is_node);
      if (is_own) Record(0, "h1", std::nullopt, true);
      ASSERT_TRUE(Begin().ok());
      const int64_t own = is_own ? 10 * 4 + 20 * 16 + 5 * 24 : 0;
      EXPECT_EQ(Used().fact_bytes, kBytes + own) << host << is_node;
      Settle(identity_, placement::OnlyStatus(absl::UnavailableError("")));
    }
  }
  // A node of another host below the tracker's own.
  Record(2, "h2", command_.providers[0].id, true);
  ASSERT_TRUE(Begin().ok());
  EXPECT_EQ(Used().fact_bytes, kBytes + 10 * 4 + 20 * 16 + 5 * 24);
}

TEST_F(TrackerDayTest, AServiceIsChargedIfItIsNew) {
  RegisterService service = ServiceOfH1();
  day_.Begin(identity_, &service);
  EXPECT_TRUE(service.may_be_new);
  Settle(identity_, Applied({}));
  EXPECT_EQ(Used(), DailyAmounts()) << "it exists";
  for (int i = 0; i < 10; ++i) {
    day_.Begin(identity_, &service);
    EXPECT_TRUE(service.may_be_new);
    Settle(identity_, Applied({}, true));
  }
  day_.Begin(identity_, &service);
  EXPECT_FALSE(service.may_be_new);
  Settle(identity_, Applied({}));
  EXPECT_EQ(Used(), (DailyAmounts{0, 0, 0, 0, 10}));
}

TEST_F(TrackerDayTest, WhoIsNotIdentifiedHasNoDay) {
  TrackerIdentity nobody{TrackerCertificate{}};
  ASSERT_TRUE(nobody.Hear(ServiceOfH1()).ok());
  command_.account.resize(5000);
  EXPECT_TRUE(day_.Begin(nobody, state_, hello_, report_, &command_).ok());
  EXPECT_EQ(command_.left.names, DailyLeft::kNoLimit);
  Settle(nobody, Applied({}));
  EXPECT_EQ(policy_.days(), 0u);
  TrackerDay free(nullptr);
  EXPECT_TRUE(free.Begin(identity_, state_, hello_, report_, &command_).ok());
  policy_.Put({});
  EXPECT_TRUE(Begin().ok());
  EXPECT_EQ(command_.left.providers, DailyLeft::kNoLimit);
  EXPECT_EQ(policy_.days(), 0u);
}

}  // namespace
}  // namespace berth::services
