// Records as messages and as stored bytes: nothing is lost on the way, and no field is kept twice.
#include "placement/records/stored.h"

#include <google/protobuf/util/message_differencer.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/placement/v1/record.pb.h"
#include "gtest/gtest.h"
#include "placement/records/message.h"
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

TEST(RecordsStored, BytesThatHoldNoRecordGiveNone) {
  EXPECT_EQ(StoredInstanceIn("\xff"), nullptr);
  EXPECT_EQ(StoredMigrationIn("\xff"), nullptr);
}

}  // namespace
}  // namespace berth::placement
