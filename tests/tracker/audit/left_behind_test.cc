// What deleted instances and ended moves left behind on a node.
#include "tracker/audit/left_behind.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/audit/audit.h"

namespace berth::tracker {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LeftBehindTest : public testing::Test {
 protected:
  Instance& Record(const std::string& uuid, const HostAndNode& on) {
    instances_.push_back(MakeInstance(uuid, on, MakeFlavor("f", 1, 512, 1)));
    return instances_.back();
  }
  void Allocate(const std::string& consumer, const std::string& provider = "node-1",
                const std::string& type = "INSTANCE") {
    records_.allocations.push_back(
        {ShortUuid(provider), ShortUuid(consumer), Uuid(), {{"VCPU", 1}}, type});
  }
  void Count() { account_.ReplaceRecords(instances_, migrations_); }
  // "guest u" or "allocations u" for each finding, sorted as they are found.
  std::vector<std::string> Find() {
    Count();
    std::vector<std::string> found;
    for (const LeftBehind& left : FindLeftBehind(account_, records_, facts_.guests)) {
      const bool allocated = left.text.find("allocations on this node") != std::string::npos;
      found.push_back((allocated ? "allocations " : "guest ") + ShortName(left.uuid));
    }
    return found;
  }
  // The audit after `later`, with what the audits before it remembered.
  Audit Pass(seconds later) {
    Count();
    now_ += later;
    before_ = *RunAudit({.facts = std::make_shared<const Facts>(facts_),
                         .records = &records_,
                         .configuration = {},
                         .node_uuid = "node-1"_uuid,
                         .node_name = "n",
                         .before = before_ ? &*before_ : nullptr,
                         .now = now_,
                         .wall_now = absl::UnixEpoch(),
                         .orphan_confirmation = seconds(5),
                         .account = &account_});
    return *before_;
  }
  static std::vector<Finding> FoundBy(const Audit& audit) {
    std::vector<Finding> found;
    for (const Finding& finding : audit.findings) {
      if (finding.kind == Finding::Kind::kLeft) found.push_back(finding);
    }
    return found;
  }

  Facts facts_ = OrdinaryFacts();
  Records records_;
  std::vector<Instance> instances_;
  std::vector<Migration> migrations_;
  NodeAccount account_{kHere, NodeResources()};
  MonotonicTime now_{};
  std::optional<Audit> before_;
};

TEST_F(LeftBehindTest, AllocationsWithoutUseAreFound) {
  Record("counted", kHere);
  Record("deleted", kHere).deleted = true;
  Record("shelved", kHere).vm_state = "shelved_offloaded";
  Record("elsewhere", kThere);
  Record("being built", {});
  Record("no allocations", kHere).deleted = true;
  for (const char* uuid : {"counted", "deleted", "shelved", "elsewhere", "being built"}) {
    Allocate(uuid);
  }
  Allocate("of nobody");
  Allocate("of a tool", "node-1", "BENCHMARK");
  EXPECT_THAT(Find(), ElementsAre("allocations deleted", "allocations elsewhere",
                                  "allocations of nobody", "allocations shelved"));  // T-143
}

TEST_F(LeftBehindTest, AllocationsOfChildProvidersAreFound) {
  Record("a", kHere).deleted = true;
  Allocate("a", "a child");
  EXPECT_THAT(Find(), ElementsAre("allocations a"));  // T-144
}

// DeleteInstance has removed the record. Placement says so by the type of the consumer.
TEST_F(LeftBehindTest, AllocationsOfADeletedRecordAreFoundAtOnce) {
  Allocate("a", "node-1", "DELETED_INSTANCE");
  const Audit first = Pass(seconds(0));
  EXPECT_THAT(FoundBy(first), IsEmpty());
  const std::vector<Finding> found = FoundBy(Pass(seconds(5)));
  ASSERT_THAT(found, SizeIs(1));  // T-143, T-346
  EXPECT_EQ(WithShortNames(found[0].text),
            "consumer a has allocations on this node from before the record of its instance was "
            "deleted");
  Record("a", kHere);  // there is an instance of this uuid again
  EXPECT_THAT(FoundBy(Pass(seconds(5))), IsEmpty());
}

TEST_F(LeftBehindTest, NobodyIsUnknownIfNobodyKeepsRecords) {
  Allocate("u");
  EXPECT_THAT(Find(), IsEmpty());
}

TEST_F(LeftBehindTest, AllocationsAreAFindingOnceTheyStay) {
  Record("a", kHere).deleted = true;
  Allocate("a");
  const Audit first = Pass(seconds(0));
  EXPECT_THAT(FoundBy(first), IsEmpty()) << "they are released in another step";
  const Audit second = Pass(seconds(5));
  const std::vector<Finding> found = FoundBy(second);
  ASSERT_THAT(found, SizeIs(1));  // T-143
  EXPECT_EQ(found[0].subject, "a"_uuid.ToString());
  EXPECT_EQ(WithShortNames(found[0].text),
            "instance a is deleted, and still has allocations on this node");
  EXPECT_NE(second.digest.whole, first.digest.whole) << "placement is told";
  EXPECT_THAT(second.warnings, ElementsAre("node n: " + found[0].text));
  EXPECT_THAT(Pass(seconds(60)).warnings, IsEmpty()) << "it is logged once";
  records_.allocations.clear();
  EXPECT_THAT(FoundBy(Pass(seconds(60))), IsEmpty());
}

TEST_F(LeftBehindTest, AConsumerThatNobodyKnowsHasAnHour) {
  Record("another", kHere);
  Allocate("u");
  EXPECT_THAT(FoundBy(Pass(seconds(0))), IsEmpty());   // T-145: once is not twice
  EXPECT_THAT(FoundBy(Pass(minutes(59))), IsEmpty());  // T-145
  const std::vector<Finding> found = FoundBy(Pass(minutes(1)));
  ASSERT_THAT(found, SizeIs(1));  // T-145
  EXPECT_EQ(found[0].subject, "u"_uuid.ToString());
  records_.allocations.clear();
  Pass(seconds(1));
  Allocate("u");
  EXPECT_THAT(FoundBy(Pass(seconds(1))), IsEmpty());  // T-145: it was away
}

TEST_F(LeftBehindTest, AGuestWhoseInstanceIsDeletedIsAFinding) {
  Record("a", kHere).deleted = true;
  Instance& copy = Record("b", kHere);
  copy.deleted = true;
  copy.hidden = true;
  facts_.guests = {RunningGuest("a", 2, 1024, 0), RunningGuest("b", 1, 512, 0),
                   RunningGuest("c", 1, 512, 0)};
  Pass(seconds(0));
  const Audit audit = Pass(seconds(5));
  const std::vector<Finding> found = FoundBy(audit);
  ASSERT_THAT(found, SizeIs(1));  // T-66
  EXPECT_EQ(found[0].subject, "a"_uuid.ToString());
  EXPECT_EQ(WithShortNames(found[0].text), "guest guest-a (a) exists, but its instance is deleted");
  EXPECT_EQ(audit.report.accounting.orphans.vcpus, 4);  // T-66: it counts as an orphan
}

TEST_F(LeftBehindTest, TheGuestOfAnEvacuationIsAFinding) {
  const Instance instance = Record("a", kThere);
  migrations_ = {MakeMigration(instance, MigrationType::kEvacuation, "done", kHere, kThere)};
  Allocate("a");
  facts_.guests = {RunningGuest("a", 2, 1024, 0)};
  EXPECT_THAT(Find(), ElementsAre("guest a", "allocations a"));
  Pass(seconds(0));
  const std::vector<Finding> found = FoundBy(Pass(seconds(5)));
  ASSERT_THAT(found, SizeIs(2));  // T-146
  EXPECT_EQ(WithShortNames(found[0].text),
            "the guest of instance a was left behind by evacuation m to host h2: destroy the "
            "guest");
  EXPECT_EQ(WithShortNames(found[1].text),
            "instance a is on host h2, and still has allocations on this node");
  facts_.guests.clear();
  EXPECT_THAT(Find(), ElementsAre("allocations a"));
}

TEST_F(LeftBehindTest, TheGuestOfAnEvacuationThatDidNotEndStays) {
  const Instance instance = Record("a", kHere);
  migrations_ = {MakeMigration(instance, MigrationType::kEvacuation, "accepted", kHere, kThere)};
  Allocate("a");
  facts_.guests = {RunningGuest("a", 2, 1024, 0)};
  Pass(seconds(0));
  const std::vector<Finding> found = FoundBy(Pass(seconds(5)));
  ASSERT_THAT(found, SizeIs(1));                          // T-147
  EXPECT_THAT(found[0].text, HasSubstr(" must stay, "));  // T-147
}

}  // namespace
}  // namespace berth::tracker
