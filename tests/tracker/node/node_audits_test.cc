// When facts and records are audited, and what that changes: facts are made up here, and no hypervisor
// is asked.
#include "tracker/node/node_audits.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/node/node_fixture.h"

namespace berth::tracker {
namespace {

const Uuid kAuditedNode = "n"_uuid;

class NodeAuditsTest : public testing::Test {
 protected:
  NodeAuditsTest() {
    state_.name = "n1";
    state_.account.emplace(HostAndNode{"h", kAuditedNode}, NodeResources());
    EXPECT_TRUE(Take(OrdinaryFacts(), configuration_).ok());
    reports_.Welcome(Standing::kKnown, 0);
  }
  absl::Status Take(Facts facts, const NodeConfiguration& configuration) {
    facts.uuid = kAuditedNode;
    return audits_.TakeFacts(std::make_shared<const Facts>(std::move(facts)),
                             std::make_shared<const NodeConfiguration>(configuration), kStart);
  }
  void SetDisabled(bool disabled, MonotonicTime now) {
    const bool first = !state_.records;
    if (first) state_.records.emplace();
    state_.records->service_disabled = disabled;
    first ? audits_.AuditAtOnce(now) : audits_.NoteChange(now);
  }
  void Allocate(const std::string& consumer, MonotonicTime now) {
    state_.records->allocations.push_back(
        {kAuditedNode, ShortUuid(consumer), Uuid(), {{"VCPU", 2}}});
    audits_.NoteChange(now);
  }
  // Sends the report that is due, and has it applied. Returns its audit, or null.
  std::shared_ptr<const Audit> Reported(MonotonicTime now) {
    std::optional<Records> records;
    const std::optional<Outbox::Outgoing> report = audits_.NextReport(now, &records);
    if (!report) return nullptr;
    EXPECT_EQ(records->service_disabled, state_.records->service_disabled);
    reports_.Acknowledge(report->sequence, {}, {}, now);
    return report->audit;
  }
  static bool Disabled(const Audit& audit) {
    return audit.report.providers[0].traits.at("COMPUTE_STATUS_DISABLED");
  }

  static constexpr MonotonicTime kStart{};
  NodeConfiguration configuration_;
  NodeState state_;
  AddedTraitsFile added_traits_;
  NodeReports reports_{&state_, &added_traits_};
  NodeAudits audits_{absl::UnixEpoch, absl::Seconds(5), &state_, &reports_, &added_traits_};
};

TEST_F(NodeAuditsTest, FactsThatFailChangeNothing) {
  const NodeState before = state_;
  Facts without_memory = OrdinaryFacts();
  without_memory.memory_mib.reset();
  EXPECT_EQ(Take(without_memory, configuration_).code(), absl::StatusCode::kInvalidArgument);
  NodeConfiguration bad = configuration_;
  bad.pci_device_specs = {"{"};
  bad.reserved_host_memory_mib = 1024;
  EXPECT_EQ(Take(OrdinaryFacts(), bad).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(state_.facts, before.facts);
  EXPECT_EQ(state_.audit, before.audit);  // T-37
  EXPECT_EQ(*state_.account, *before.account);
  // Records that come meanwhile are judged by the last good facts and their configuration.
  SetDisabled(true, kStart);
  EXPECT_TRUE(Disabled(*state_.audit));
  EXPECT_EQ(state_.audit->report.facts, before.facts);
  EXPECT_EQ(audits_.accounting()->reserve.memory_mib, 512);
  bad.pci_device_specs.clear();
  EXPECT_TRUE(Take(OrdinaryFacts(), bad).ok());
  EXPECT_EQ(audits_.accounting()->reserve.memory_mib, 1024);  // T-63
}

TEST_F(NodeAuditsTest, ChangesThatFollowEachOtherAreAuditedTogether) {
  SetDisabled(true, kStart);
  SetDisabled(true, kStart);
  EXPECT_EQ(audits_.due(), std::nullopt) << "a change after a quiet time is audited at once";
  std::shared_ptr<const Audit> report = Reported(kStart);
  ASSERT_NE(report, nullptr);
  EXPECT_TRUE(Disabled(*report));

  const auto before = state_.audit;
  SetDisabled(true, kStart);
  SetDisabled(false, kStart);
  EXPECT_EQ(state_.audit, before);
  const MonotonicTime later = kStart + NodeAudits::kAuditPause;
  ASSERT_EQ(audits_.due(), later);
  EXPECT_FALSE(audits_.AuditChanges(kStart));
  EXPECT_EQ(Reported(kStart), nullptr);
  EXPECT_TRUE(audits_.AuditChanges(later));
  EXPECT_EQ(audits_.due(), std::nullopt);
  report = Reported(later);
  ASSERT_NE(report, nullptr) << "each change that matters is reported";
  EXPECT_FALSE(Disabled(*report));
}

// Placement made the claim, so its report may wait for others. But no pass needs to come for it.
TEST_F(NodeAuditsTest, AChangeOfTheAccountAloneIsReportedSoon) {
  SetDisabled(true, kStart);
  ASSERT_NE(Reported(kStart), nullptr);
  const MonotonicTime due = kStart + NodeReports::kAccountPause;
  Allocate("a", kStart);
  EXPECT_EQ(audits_.due(), due);
  EXPECT_EQ(Reported(kStart), nullptr);
  Allocate("b", kStart + NodeAudits::kAuditPause);
  EXPECT_EQ(audits_.due(), due) << "the first change decides";
  EXPECT_FALSE(audits_.AuditChanges(due)) << "there is nothing to audit";
  EXPECT_EQ(audits_.due(), std::nullopt);
  const auto report = Reported(due);
  ASSERT_NE(report, nullptr);                               // T-155
  EXPECT_EQ(report->report.accounting.allocated.vcpus, 4);  // T-155
}

TEST_F(NodeAuditsTest, FailedBuildsAreReportedWithTheAccount) {
  SetDisabled(true, kStart);
  ASSERT_NE(Reported(kStart), nullptr);
  EXPECT_EQ(state_.audit->report.accounting.counters.count("failed_builds"), 0u);  // T-119
  const MonotonicTime due = kStart + NodeReports::kAccountPause;
  Allocate("a", kStart);
  state_.account->CountFailedBuild();
  state_.changes_wait = true;  // as NodeClaims does
  const MonotonicTime later = kStart + NodeAudits::kAuditPause;
  EXPECT_TRUE(audits_.AuditChanges(later));
  EXPECT_EQ(audits_.due(), due) << "it has no report of its own";  // T-122
  EXPECT_EQ(Reported(later), nullptr);                             // T-122
  EXPECT_FALSE(audits_.AuditChanges(due)) << "there is nothing to audit";
  const auto report = Reported(due);
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->report.accounting.counters.at("failed_builds"), 1);  // T-119, T-122
  EXPECT_EQ(audits_.accounting()->counters.at("failed_builds"), 1);
}

TEST_F(NodeAuditsTest, LimitsAreFindingsUntilAnAnswerTellsThemNoMore) {
  const auto answer = [this](MonotonicTime now, const LimitsByProvider& limits) {
    std::optional<Records> records;
    const std::optional<Outbox::Outgoing> report = audits_.NextReport(now, &records);
    if (!report) return false;
    audits_.Acknowledge(report->sequence, {{kAuditedNode, 1}}, {}, now, limits);
    return true;
  };
  const auto limited = [this] {
    std::vector<std::string> texts;
    for (const Finding& finding : state_.audit->findings) {
      if (finding.kind != Finding::Kind::kLimited) continue;
      EXPECT_EQ(finding.subject, kAuditedNode.ToString());
      texts.push_back(finding.text);
    }
    return texts;
  };
  const LimitsByProvider limits = {
      {kAuditedNode,
       {{"COMPUTE_NODE"},
        {{"VCPU", {false, 5}}, {"DISK_GB", {true, 0}}, {"CUSTOM_X", {true, 9}}}}}};
  SetDisabled(false, kStart);
  ASSERT_TRUE(answer(kStart, limits));
  EXPECT_THAT(
      limited(),
      testing::ElementsAre(
          "provider n1 does not get the trait COMPUTE_NODE: placement's access file withholds it",
          "provider n1 has 0 DISK_GB in placement instead of 2637: placement's access file "
          "withholds the class",
          "provider n1 has 5 VCPU in placement instead of 48: placement's access file has a "
          "ceiling"));
  EXPECT_EQ(state_.audit->report.providers[0].inventories.at("VCPU").total, 48);
  EXPECT_EQ(audits_.accounting()->total.vcpus, 48) << "claims on the host use what it has";

  // They are reported once. The answer to that report tells the same.
  MonotonicTime now = kStart + std::chrono::seconds(1);
  ASSERT_TRUE(answer(now, limits));
  EXPECT_EQ(limited().size(), 3u);
  now += std::chrono::seconds(1);
  ASSERT_TRUE(Take(OrdinaryFacts(), configuration_).ok());
  EXPECT_FALSE(answer(now, limits)) << "nothing has changed";

  // An operator gives the trait: what is there is no finding.
  state_.records->tree.at(0).traits.insert("COMPUTE_NODE");
  audits_.NoteChange(now);
  EXPECT_EQ(limited().size(), 2u);
  ASSERT_TRUE(answer(now, {}));
  now += std::chrono::seconds(1);
  audits_.AuditChanges(now);
  EXPECT_THAT(limited(), testing::IsEmpty());
  ASSERT_TRUE(answer(now, {}));
  EXPECT_FALSE(answer(now, {}));
}

TEST_F(NodeAuditsTest, AReportHasAllRecordsUntilItIsSent) {
  reports_.Welcome(Standing::kSendAll, 0);
  EXPECT_EQ(Reported(kStart), nullptr) << "there are no records yet";
  SetDisabled(true, kStart);
  SetDisabled(true, kStart);
  SetDisabled(false, kStart);
  ASSERT_TRUE(audits_.due().has_value());
  const auto report = Reported(kStart);
  ASSERT_NE(report, nullptr);
  EXPECT_FALSE(Disabled(*report));
  EXPECT_EQ(audits_.due(), std::nullopt);
}

TEST_F(NodeAuditsTest, TheProvidersOfARefusalAreAuditedAtOnce) {
  SetDisabled(true, kStart);
  std::optional<Records> records;
  const auto sent = audits_.NextReport(kStart, &records);
  ASSERT_TRUE(sent.has_value());
  const std::vector<KnownProvider> tree = {{kAuditedNode, "n1", Uuid(), 9, {}, {}}};
  const auto before = state_.audit;
  EXPECT_TRUE(audits_.Reject(sent->sequence + 1, ReportRefusal::kAgain, tree, kStart));
  EXPECT_EQ(state_.audit, before) << "it is not in flight";
  EXPECT_TRUE(audits_.Reject(sent->sequence, ReportRefusal::kAgain, tree, kStart));
  EXPECT_NE(state_.audit, before);
  ASSERT_EQ(state_.records->tree.size(), 1u);
  EXPECT_EQ(state_.records->tree[0].generation, 9);
}

}  // namespace
}  // namespace berth::tracker
