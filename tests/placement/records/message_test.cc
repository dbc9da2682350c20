// Records as messages and as stored bytes: nothing is lost on the way, and no field is kept twice.
#include "placement/records/message.h"

#include <google/protobuf/util/message_differencer.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/placement/v1/aggregate.pb.h"
#include "berth/placement/v1/record.pb.h"
#include "berth/placement/v1/server_group.pb.h"
#include "gtest/gtest.h"
#include "placement/records/aggregate_message.h"
#include "placement/records/group_message.h"
#include "tests/placement/records/filled_message.h"

namespace berth::placement {
namespace {

template <typename Wire>
Wire Full() {
  Wire message;
  FillAll(&message);
  message.GetReflection()->MutableUnknownFields(&message)->AddVarint(900, 1);  // of a newer release
  return message;
}

InstanceRecord WithTimes(InstanceRecord record) {
  record.generation = Generation{8};
  record.created_at = record.updated_at = absl::FromUnixMicros(8'000'000);
  record.deleted_at = absl::FromUnixMicros(8'000'000);
  return record;
}

// Google's Timestamp of FillAll is 8 s and 7 ns: a record has whole microseconds.
void RoundTimes(v1::Instance* message) {
  for (auto* time : {message->mutable_created_at(), message->mutable_updated_at(),
                     message->mutable_deleted_at()}) {
    time->set_nanos(0);
  }
}

TEST(RecordsStored, NothingOfAnInstanceIsLost) {
  auto message = Full<v1::Instance>();
  RoundTimes(&message);
  const InstanceRecord record = WithTimes(InstanceFrom(message));
  const InstancePtr stored = StoredInstanceIn(StoredBytes(record));
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(*stored, record);
  v1::Instance told;
  FillInstance(*stored, &told);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(message, told))
      << message.DebugString() << told.DebugString();
}

TEST(RecordsStored, NothingOfAMigrationIsLost) {
  auto message = Full<v1::Migration>();
  MigrationRecord record = MigrationFrom(message);
  record.generation = Generation{8};
  record.created_at = record.updated_at = absl::FromUnixMicros(8'000'000);
  const MigrationPtr stored = StoredMigrationIn(StoredBytes(record));
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(*stored, record);
  v1::Migration told;
  FillMigration(*stored, &told);
  message.mutable_created_at()->set_nanos(0);
  message.mutable_updated_at()->set_nanos(0);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(message, told))
      << message.DebugString() << told.DebugString();
}

// So a new generation, or a new state, changes no body.
TEST(RecordsStored, AFieldOfTheIndexIsNotInTheBody) {
  const auto message = Full<v1::Instance>();
  const InstanceRecord record = WithTimes(InstanceFrom(message));
  InstanceRecord bare;
  bare.id = record.id;
  bare.body = record.body;
  v1::Instance told;
  FillInstance(bare, &told);
  const InstanceRecord again = InstanceFrom(told);
  EXPECT_EQ(again.body, record.body);
  EXPECT_EQ(again.host, "");
  EXPECT_EQ(again.flavor, FlavorAmounts());
  EXPECT_EQ(again.flavor_id, "");
  EXPECT_EQ(HeldOf(again), HeldOf(record)) << "what it holds follows from the body";
}

// Whoever reads log or table needs record.proto alone.
TEST(RecordsStored, TheBytesAreThoseOfTheMessage) {
  const InstanceRecord record = WithTimes(InstanceFrom(Full<v1::Instance>()));
  v1::Instance filled, parsed;
  FillInstance(record, &filled);
  ASSERT_TRUE(parsed.ParseFromString(StoredBytes(record)));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(parsed, filled))
      << parsed.DebugString() << filled.DebugString();
}

// The bytes of a newer release have its fields at any place.
TEST(RecordsStored, ABodyKeepsTheBytesThatWereStored) {
  InstanceRecord record = InstanceFrom(Full<v1::Instance>());
  const std::string newer = "\xa0\x38\x01";                      // field 900
  const std::string fault = "\xba\x01\x05\x98\x3f\x01\x08\x07";  // its field 1011, then its code
  record.body = newer + fault + record.body;
  const InstancePtr stored = StoredInstanceIn(StoredBytes(record));
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->body, record.body);
}

// `whole`: the bytes of a record, which `stored_in` reads.
template <typename StoredIn>
void ExpectNoneInBroken(const std::string& whole, StoredIn stored_in) {
  ASSERT_NE(stored_in(whole), nullptr);
  for (const std::string& bytes :
       {std::string(), std::string("\xff"), whole.substr(0, whole.size() - 1), whole + "\x52\x7f",
        whole + "\x0c", whole + std::string("\x02\x02\x02\x00", 4)}) {
    EXPECT_EQ(stored_in(bytes), nullptr) << testing::PrintToString(bytes);
  }
}

TEST(RecordsStored, BytesThatHoldNoInstanceGiveNone) {
  const std::string whole = StoredBytes(InstanceFrom(Full<v1::Instance>()));
  v1::Instance instance;
  const auto stored = [&](auto change) {
    instance.ParseFromString(whole);
    change();
    return StoredInstanceIn(instance.SerializeAsString());
  };
  EXPECT_NE(stored([] {}), nullptr);
  EXPECT_EQ(stored([&] { instance.clear_uuid(); }), nullptr);
  EXPECT_EQ(stored([&] { instance.set_uuid("other"); }), nullptr);
  EXPECT_EQ(stored([&] { instance.set_node_uuid("other"); }), nullptr);
  ExpectNoneInBroken(whole, StoredInstanceIn);
  // A flavor and a cell that are no messages.
  EXPECT_EQ(StoredInstanceIn(whole + "\x52\x01\xff"), nullptr);
  EXPECT_EQ(StoredInstanceIn(whole + "\x5a\x01\xff"), nullptr);
}

TEST(RecordsStored, BytesThatHoldNoMigrationGiveNone) {
  const std::string whole = StoredBytes(MigrationFrom(Full<v1::Migration>()));
  v1::Migration migration;
  const auto stored = [&](auto change) {
    migration.ParseFromString(whole);
    change();
    return StoredMigrationIn(migration.SerializeAsString());
  };
  EXPECT_NE(stored([] {}), nullptr);
  EXPECT_EQ(stored([&] { migration.set_uuid("other"); }), nullptr);
  EXPECT_EQ(stored([&] { migration.clear_instance_uuid(); }), nullptr);
  EXPECT_EQ(stored([&] { migration.set_source_node_uuid("other"); }), nullptr);
  EXPECT_EQ(stored([&] { migration.set_destination_node_uuid("other"); }), nullptr);
  ExpectNoneInBroken(whole, StoredMigrationIn);
}

// A write gives a record its generation and times. What a client says of them is not even read.
// A time outside of the years 1 to 9999 would end the process that lists the record.
template <typename Message, typename Stored>
void ExpectNoneWithWrongTimes(Message message, Stored stored_in) {
  message.mutable_created_at()->set_seconds(1);
  message.mutable_updated_at()->set_seconds(253'402'300'799);
  ASSERT_NE(stored_in(message.SerializeAsString()), nullptr);
  for (const auto& [seconds, nanos] : std::vector<std::pair<int64_t, int32_t>>{
           {253'402'300'800, 0}, {-62'135'596'801, 0}, {0, -1}, {0, 1'000'000'000}}) {
    for (auto* const time : {message.mutable_created_at(), message.mutable_updated_at()}) {
      const google::protobuf::Timestamp right = *time;
      time->set_seconds(seconds);
      time->set_nanos(nanos);
      EXPECT_EQ(stored_in(message.SerializeAsString()), nullptr) << seconds << " " << nanos;
      *time = right;
    }
  }
}

TEST(RecordsStored, BytesWithTimesThatNobodyCanShowGiveNone) {
  v1::Instance instance = Full<v1::Instance>();
  instance.clear_deleted_at();
  ExpectNoneWithWrongTimes(instance, StoredInstanceIn);
  instance.mutable_deleted_at()->set_seconds(253'402'300'800);
  EXPECT_EQ(StoredInstanceIn(instance.SerializeAsString()), nullptr);
  ExpectNoneWithWrongTimes(Full<v1::Migration>(), StoredMigrationIn);
  v1::ServerGroup group;
  group.set_uuid("11111111-1111-1111-1111-111111111111");
  ExpectNoneWithWrongTimes(group, StoredServerGroupIn);
  v1::Aggregate aggregate;
  aggregate.set_uuid(group.uuid());
  ExpectNoneWithWrongTimes(aggregate, StoredAggregateIn);
}

TEST(RecordsStored, AMessageGivesNoGenerationAndNoTimes) {
  auto instance = Full<v1::Instance>();
  instance.mutable_created_at()->set_seconds(INT64_MAX);
  const InstanceRecord made = InstanceFrom(instance);
  EXPECT_EQ(made.generation, Generation());
  EXPECT_EQ(made.created_at, absl::Time());
  EXPECT_EQ(made.updated_at, absl::Time());
  EXPECT_EQ(made.deleted_at, std::nullopt);
  const MigrationRecord moved = MigrationFrom(Full<v1::Migration>());
  EXPECT_EQ(moved.generation, Generation());
  EXPECT_EQ(moved.created_at, absl::Time());
  EXPECT_EQ(moved.updated_at, absl::Time());
}

}  // namespace
}  // namespace berth::placement
