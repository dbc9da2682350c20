// Which audits are reported: audits are made up here, and placement's answers, too.
#include "tracker/node/node_reports.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/account/sample_records.h"

namespace berth::tracker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Cause = NodeReports::Cause;

class NodeReportsTest : public testing::Test {
 protected:
  NodeReportsTest() {
    state_.name = "n1";
    state_.account.emplace(kHere, NodeResources());
    state_.records.emplace();
    reports_.Welcome(Standing::kKnown, 0);
  }
  // An audit whose report differs in its accounting, if `accounting` differs, and in more, if `rest`
  // differs.
  void Audited(const std::string& accounting, const std::string& rest, Cause cause,
               MonotonicTime now, Report report = {}) {
    Audit audit;
    audit.report = std::move(report);
    audit.digest = {accounting + rest, rest};
    reports_.LeaveOutRefused(&audit.report);
    const std::shared_ptr<const Audit> before =
        std::exchange(state_.audit, std::make_shared<const Audit>(std::move(audit)));
    reports_.Take(before.get(), cause, now);
  }
  // Sends the report that is due, and has it applied. Returns its digest.
  std::string Reported(MonotonicTime now) {
    const std::optional<Outbox::Outgoing> report = reports_.Next(now);
    if (!report) return "none";
    reports_.Acknowledge(report->sequence, {}, {}, now);
    return report->digest;
  }
  // Has a pass find that these allocations are missing, and returns those of them that are reported,
  // after placement has refused them.
  std::vector<WantedHolding> Refused(std::vector<WantedHolding> holdings, bool moves = false) {
    Report report;
    report.holdings = std::move(holdings);
    report.moves_resources = moves;
    Audited(std::to_string(++audits_), "a", Cause::kPass, kStart, report);
    const std::optional<Outbox::Outgoing> sent = reports_.Next(kStart);
    if (!sent) return {};
    EXPECT_EQ(reports_.Reject(sent->sequence, ReportRefusal::kForGood), !moves);  // T-197
    return sent->audit->report.holdings;
  }

  static constexpr MonotonicTime kStart{};
  NodeState state_;
  AddedTraitsFile added_traits_;
  NodeReports reports_{&state_, &added_traits_};
  int audits_ = 0;
};

TEST_F(NodeReportsTest, AnAccountAloneWaitsAndIsNotForgotten) {
  Audited("1", "a", Cause::kPass, kStart);
  EXPECT_EQ(Reported(kStart), "1a");
  Audited("2", "a", Cause::kPush, kStart);
  const MonotonicTime due = kStart + NodeReports::kAccountPause;
  EXPECT_EQ(reports_.due(), due);
  Audited("3", "a", Cause::kPush, due - std::chrono::seconds(1));
  EXPECT_EQ(reports_.due(), due) << "the first change decides";
  reports_.OfferDue(due - std::chrono::seconds(1));
  EXPECT_EQ(Reported(due), "none");
  reports_.OfferDue(due);
  EXPECT_EQ(Reported(due), "3a");
  EXPECT_EQ(reports_.due(), std::nullopt);

  Audited("4", "a", Cause::kPush, due);
  reports_.OrderSnapshot();
  EXPECT_EQ(Reported(due), "4a") << "a report always has the newest audit";
  EXPECT_EQ(reports_.due(), std::nullopt);
}

TEST_F(NodeReportsTest, MoreThanTheAccountDoesNotWait) {
  Audited("1", "a", Cause::kPush, kStart);
  EXPECT_EQ(Reported(kStart), "1a") << "the first audit";
  Audited("2", "a", Cause::kPass, kStart);
  EXPECT_EQ(Reported(kStart), "2a") << "the audit of a pass";
  Audited("2", "b", Cause::kPush, kStart);
  EXPECT_EQ(Reported(kStart), "2b") << "more than the account";
  Report healing;
  healing.holdings = {{"c"_uuid, 1, {}}};
  Audited("3", "b", Cause::kPush, kStart, healing);
  EXPECT_EQ(Reported(kStart), "3b") << "allocations are missing";
}

TEST_F(NodeReportsTest, WhatWasRefusedIsLeftOut) {  // T-262
  const WantedHolding a{"a"_uuid, 1, {}};
  const WantedHolding b{"b"_uuid, 1, {}};
  EXPECT_THAT(Refused({a, b}), ElementsAre(a, b));
  EXPECT_THAT(Refused({a, b}), ElementsAre(a)) << "placement does not say which one it refused";
  EXPECT_THAT(Refused({a, b}), ElementsAre(b));
  EXPECT_THAT(Refused({a, b}), IsEmpty());
  const WantedHolding changed{"b"_uuid, 2, {}};
  EXPECT_THAT(Refused({a, changed}), ElementsAre(changed));
  EXPECT_THAT(Refused({a, b}, /*moves=*/true), ElementsAre(a, b))
      << "a move is whole or not at all";
  reports_.Welcome(Standing::kKnown, 0);
  EXPECT_THAT(Refused({a, b}), ElementsAre(a, b)) << "another session";
  EXPECT_EQ(reports_.Reject(99, ReportRefusal::kForGood), std::nullopt) << "it is not in flight";
}

TEST_F(NodeReportsTest, AnAcknowledgedReportIsWhatPlacementHas) {
  Report report;
  report.providers = {{kHere.node_uuid, "n1", Uuid(), {{"VCPU", {8}}}, {{"A", true}, {"B", true}}}};
  Audited("1", "a", Cause::kPass, kStart, report);
  EXPECT_EQ(reports_.unsettled_since(), kStart);
  const std::optional<Outbox::Outgoing> sent = reports_.Next(kStart);
  ASSERT_TRUE(sent.has_value());
  const std::map<Uuid, int64_t> generations = {{kHere.node_uuid, 7}};
  reports_.Acknowledge(sent->sequence + 1, generations, {}, kStart);
  EXPECT_THAT(state_.records->tree, IsEmpty()) << "it is not in flight";
  reports_.Acknowledge(sent->sequence, generations, {"B", "OTHER"}, kStart);
  ASSERT_EQ(state_.records->tree.size(), 1u);
  KnownProvider& known = state_.records->tree[0];
  EXPECT_EQ(known.generation, 7);
  EXPECT_EQ(known.inventories, report.providers[0].inventories);
  EXPECT_THAT(known.traits, ElementsAre("A")) << "placement does not know the other one";
  EXPECT_EQ(reports_.unsettled_since(), std::nullopt);
  Audited("1", "a", Cause::kPush, kStart, report);
  EXPECT_EQ(Reported(kStart), "none");
  known.inventories["VCPU"].total = 9;
  Audited("1", "a", Cause::kPush, kStart, report);
  EXPECT_EQ(Reported(kStart), "1a") << "somebody else has changed the provider";
}

class LimitedReports : public NodeReportsTest {
 protected:
  // Reports these inventories and the traits A and B of the root; placement answers with `limits`.
  void Answered(const Inventories& inventories, const ProviderLimits& limits) {
    const std::optional<Outbox::Outgoing> sent = Sent(inventories);
    ASSERT_TRUE(sent.has_value());
    LimitsByProvider told;
    if (limits != ProviderLimits()) told[kHere.node_uuid] = limits;
    reports_.Acknowledge(sent->sequence, {{kHere.node_uuid, 1}}, {}, kStart, told);
  }
  // Another audit with these inventories, and the report that is sent then.
  std::optional<Outbox::Outgoing> Sent(const Inventories& inventories) {
    Report report;
    report.providers = {{kHere.node_uuid, "n1", Uuid(), inventories, {{"A", true}, {"B", true}}}};
    std::string digest;
    for (const auto& [name, row] : inventories) digest += name + std::to_string(row.total);
    Audited("1", digest, Cause::kPush, kStart, report);
    return reports_.Next(kStart);
  }
  KnownProvider& known() { return state_.records->tree.at(0); }

  const ProviderLimits limits_ = {{"B"}, {{"VCPU", {false, 64}}, {"CUSTOM_GOLD", {true, 0}}}};
  const Inventories wanted_ = {{"VCPU", {640, 100}}, {"MEMORY_MB", {9}}, {"CUSTOM_GOLD", {5}}};
};

TEST_F(LimitedReports, PlacementHasWhatItStored) {
  Answered(wanted_, limits_);
  EXPECT_EQ(known().inventories, (Inventories{{"VCPU", {64, 64}}, {"MEMORY_MB", {9}}}));
  EXPECT_THAT(known().traits, ElementsAre("A"));
  EXPECT_EQ(Sent(wanted_), std::nullopt) << "it is not sent again and again";
  // What an operator decides about is not changed back.
  known().inventories["CUSTOM_GOLD"] = {3};
  known().traits.insert("B");
  EXPECT_EQ(Sent(wanted_), std::nullopt);
  known().inventories["CUSTOM_GOLD"] = {7, 7};
  EXPECT_EQ(Sent(wanted_), std::nullopt);
}

TEST_F(LimitedReports, AreSentIfTheirOwnValuesChange) {
  Answered(wanted_, limits_);
  Inventories changed = wanted_;
  changed["VCPU"].total = 639;
  Answered(changed, limits_);
  changed["VCPU"].total = 32;
  changed["VCPU"].reserved = 0;
  Answered(changed, {});
  EXPECT_TRUE(state_.records->limits.empty()) << "the answer tells no limit any more";
  EXPECT_EQ(known().inventories, changed);
  EXPECT_THAT(known().traits, ElementsAre("A", "B"));
  EXPECT_EQ(Sent(changed), std::nullopt);
}

TEST_F(LimitedReports, AreSentIfAnotherChangesWhatTheTrackerDecides) {
  Answered(wanted_, limits_);
  known().inventories["MEMORY_MB"].total = 8;
  Answered(wanted_, limits_);
  known().inventories["VCPU"].total = 63;
  Answered(wanted_, limits_);
  EXPECT_EQ(known().inventories["VCPU"].total, 64);
  known().inventories["VCPU"] = wanted_.at("VCPU");
  EXPECT_EQ(Sent(wanted_), std::nullopt) << "an operator has made it as it is wanted";
}

TEST_F(LimitedReports, AnInventoryThatNobodyGetsIsNoDifference) {
  Answered({{"VCPU", {8}}}, {{}, {{"VCPU", {false, 0}}}});
  EXPECT_THAT(known().inventories, IsEmpty());
  EXPECT_EQ(Sent({{"VCPU", {8}}}), std::nullopt);
  // An operator's inventory of a withheld class that the tracker does not report.
  known().inventories["CUSTOM_GOLD"] = {3};
  Answered({{"VCPU", {8}}}, {{}, {{"VCPU", {false, 0}}, {"CUSTOM_GOLD", {true, 3}}}});
  EXPECT_EQ(known().inventories, (Inventories{{"CUSTOM_GOLD", {3}}}));
  EXPECT_EQ(Sent({{"VCPU", {8}}}), std::nullopt);
}

TEST_F(LimitedReports, OfProvidersThatAreNotInTheAnswerStay) {
  Answered(wanted_, limits_);
  Report report;
  report.providers = {{kHere.node_uuid, "n1", Uuid(), wanted_, {{"A", true}, {"B", true}}},
                      {"c"_uuid, "c", kHere.node_uuid, {}, {}}};
  Audited("1", "with a child", Cause::kPush, kStart, report);
  const std::optional<Outbox::Outgoing> sent = reports_.Next(kStart);
  ASSERT_TRUE(sent.has_value());
  // The delta names the child alone. Placement tells of a provider that nobody has reported.
  reports_.Acknowledge(sent->sequence, {{"c"_uuid, 1}}, {}, kStart, {{"other"_uuid, limits_}});
  EXPECT_EQ(state_.records->limits, (LimitsByProvider{{kHere.node_uuid, limits_}}));
  EXPECT_EQ(known().inventories["VCPU"].total, 64);
  // The node is reported without the root's limits: forgotten with the provider.
  report.providers.erase(report.providers.begin());
  Audited("1", "without the root", Cause::kPush, kStart, report);
  const std::optional<Outbox::Outgoing> rest = reports_.Next(kStart);
  ASSERT_TRUE(rest.has_value());
  reports_.Acknowledge(rest->sequence, {}, {}, kStart);
  EXPECT_TRUE(state_.records->limits.empty());
}

}  // namespace
}  // namespace berth::tracker
