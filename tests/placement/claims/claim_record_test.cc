// Claims that create the records of their instances in the same command.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/claim_notation.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

InstancePtr RecordOf(ConsumerId consumer) {
  InstanceRecord record;
  record.id = InstanceId{consumer.uuid};
  record.name = "guest";
  record.project = "project";
  record.user = "user";
  record.vm_state = "building";
  record.body = "wishes";
  return std::make_shared<const InstanceRecord>(record);
}

class RulesClaimRecord : public testing::Test {
 protected:
  // A claim of one VCPU for each of the consumers, with a record for each.
  PlaceClaims ClaimsOf(const std::vector<std::string>& names) {
    PlaceClaims claims = Claims(world_, names, "r VCPU:1");
    for (ClaimMember& member : claims.members) member.instance = RecordOf(member.consumer);
    return claims;
  }
  InstancePtr Record(const char* name) {
    const InstanceId id{world_.consumer(name).uuid};
    return world_.state().records().FindInstance(id);
  }

  World world_{"a{VCPU:2}\n"};
};

TEST_F(RulesClaimRecord, BothOrNeitherAreMade) {
  const Outcome outcome = world_.Must(Chosen(world_, ClaimsOf({"c1", "c2"})));
  for (const char* name : {"c1", "c2"}) {
    ASSERT_NE(Record(name), nullptr);
    EXPECT_EQ(Record(name)->vm_state, "building");
    EXPECT_EQ(Record(name)->body, "wishes");
    EXPECT_EQ(Record(name)->generation, *world_.consumer_generation(name));  // both are new
    EXPECT_EQ(Record(name)->created_at, Record(name)->updated_at);
  }
  EXPECT_EQ(world_.used("a", "VCPU"), 2);
  const std::string before = world_.Text();
  EXPECT_EQ(ReasonOf(world_.Do(ClaimsOf({"c3"})).status()), "NO_CANDIDATE");
  EXPECT_EQ(world_.Text(), before);
  EXPECT_EQ(Record("c3"), nullptr);
}

TEST_F(RulesClaimRecord, OnlyMembersThatGiveARecordGetOne) {
  PlaceClaims claims = ClaimsOf({"c1", "c2"});
  claims.members[0].instance = nullptr;
  world_.Must(claims);
  EXPECT_EQ(Record("c1"), nullptr);
  EXPECT_NE(Record("c2"), nullptr);
}

TEST_F(RulesClaimRecord, RefusesInThisOrder) {
  world_.Must(SetInstance{*RecordOf(world_.consumer("c1")), std::nullopt});
  world_.Must(SetAllocations{{world_.Claim("c1", "a{VCPU:1}")}, false});
  PlaceClaims claims = ClaimsOf({"c1"});
  claims.members[0].expected_generation.reset();
  claims.members[0].query.groups[0].resources[0].amount = 3;
  InstanceRecord record = *RecordOf(world_.consumer("c2"));
  record.vm_state.clear();
  record.project = record.user = "another";
  record.host = "h1";
  const auto fault_of = [&](bool one) {
    claims.one = one;
    claims.members[0].instance = std::make_shared<const InstanceRecord>(record);
    const auto refusal = RefusalOf(world_.Do(claims).status());
    const auto& item = refusal->items[0];
    return item.contains("field") ? refusal->reason + " " + item.at("field") : refusal->reason;
  };
  EXPECT_EQ(fault_of(true), "INVALID_FIELD consumer.instance.uuid");
  EXPECT_EQ(fault_of(false), "INVALID_FIELD members[0].consumer.instance.uuid");
  record.id = InstanceId{world_.consumer("c1").uuid};
  EXPECT_EQ(fault_of(true), "INVALID_FIELD consumer.instance.project_id");
  record.project = "project";
  EXPECT_EQ(fault_of(true), "INVALID_FIELD consumer.instance.user_id");
  record.user = "user";
  EXPECT_EQ(fault_of(true), "INVALID_FIELD consumer.instance.host");  // the claim chooses it
  record.host.clear();
  EXPECT_EQ(fault_of(true), "INVALID_FIELD consumer.instance.vm_state");
  record.vm_state = "building";
  EXPECT_EQ(fault_of(true), "CONSUMER_GENERATION_CONFLICT consumer.generation");
  claims.members[0].expected_generation = world_.consumer_generation("c1");
  EXPECT_EQ(fault_of(true), "RECORD_CONFLICT consumer.instance");
  world_.Must(DeleteInstance{record.id, std::nullopt});
  claims.members[0].expected_generation = world_.consumer_generation("c1");
  EXPECT_EQ(ReasonOf(world_.Do(claims).status()), "NO_CANDIDATE");
  const InstancePtr other = RecordOf(world_.consumer("c2"));
  world_.Must(SetInstance{*other, std::nullopt});
  MigrationRecord migration;
  migration.id = MigrationId{record.id.uuid};
  migration.instance = other->id;
  migration.source_host = "h1";
  world_.Must(CreateMigration{migration});
  EXPECT_EQ(fault_of(true), "UUID_IN_USE consumer.instance.uuid");
}

TEST_F(RulesClaimRecord, NamesEachInstanceThatHasARecord) {
  for (const char* name : {"c2", "c3"}) {
    world_.Must(SetInstance{*RecordOf(world_.consumer(name)), std::nullopt});
  }
  const auto refusal = RefusalOf(world_.Do(ClaimsOf({"c1", "c2", "c3"})).status());
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, "RECORD_CONFLICT");
  ASSERT_EQ(refusal->items.size(), 2u);
  EXPECT_EQ(refusal->items[0].at("field"), "members[1].consumer.instance");
  EXPECT_EQ(refusal->items[1].at("field"), "members[2].consumer.instance");
  EXPECT_EQ(refusal->items[1].at("instance"), world_.consumer("c3").ToString());
}

}  // namespace
}  // namespace berth::placement
