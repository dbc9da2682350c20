#include "services/wire/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::services {
namespace {

using testing::HasSubstr;

TEST(ImportRecords, NamesTheKindsThatAreInTheWrongOrder) {
  ImportRecords records;
  pb::Entity entity;
  entity.mutable_trait()->set_name("CUSTOM_A");
  EXPECT_TRUE(records.Add(entity).ok());
  entity.mutable_resource_class()->set_name("CUSTOM_B");
  EXPECT_TRUE(records.Add(entity).ok());
  entity.mutable_provider()->set_uuid("0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a90");
  entity.mutable_provider()->set_name("dc1-h07");
  EXPECT_TRUE(records.Add(entity).ok());
  entity.mutable_trait()->set_name("CUSTOM_C");
  const absl::Status status = records.Add(entity);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("record 4"));
  EXPECT_THAT(status.message(),
              HasSubstr("entity is of kind trait, but comes after one of kind provider"));
}

TEST(ImportRecords, TimesAreWholeMicrosecondsOfThePast) {
  ImportRecords records;
  pb::Entity entity;
  entity.mutable_provider()->set_uuid("0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a90");
  entity.mutable_provider()->set_name("dc1-h07");
  entity.mutable_provider()->mutable_created_at()->set_seconds(-1);
  entity.mutable_provider()->mutable_created_at()->set_nanos(999);
  ASSERT_TRUE(records.Add(entity).ok());
  EXPECT_EQ(records.TakeCommand().providers.at(0).times.created_at,
            absl::FromUnixMicros(-1'000'000));
}

}  // namespace
}  // namespace berth::services
