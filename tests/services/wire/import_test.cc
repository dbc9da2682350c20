#include "services/wire/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

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

TEST(ImportRecords, AggregatesComeAfterNodesAndBeforeServerGroups) {
  ImportRecords records;
  pb::Entity entity;
  pb::Aggregate* const aggregate = entity.mutable_aggregate();
  aggregate->set_uuid("0B6D7C5E-0F0E-4A55-8B0E-3C1F6F1B2A90");
  aggregate->set_generation(9);
  aggregate->set_name("rack");
  (*aggregate->mutable_metadata())["ssd"] = "true";
  aggregate->mutable_updated_at()->set_seconds(7);
  ASSERT_TRUE(records.Add(entity).ok());
  entity.mutable_server_group()->set_uuid("0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a91");
  ASSERT_TRUE(records.Add(entity).ok());
  pb::Entity node;
  node.mutable_node()->set_uuid("0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a92");
  EXPECT_THAT(records.Add(node).message(), HasSubstr("services, nodes, aggregates, server groups"));
  ImportRecords others;
  entity.mutable_aggregate()->set_uuid("rack");
  EXPECT_THAT(others.Add(entity).message(), HasSubstr("aggregate.uuid is not a uuid"));
  const placement::ImportedAggregate read = records.TakeCommand().aggregates.at(0);
  EXPECT_EQ(read.aggregate.id.ToString(), "0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a90");
  EXPECT_EQ(read.aggregate.generation, placement::Generation());
  EXPECT_EQ(read.aggregate.metadata, (std::map<std::string, std::string>{{"ssd", "true"}}));
  EXPECT_EQ(read.times.created_at, std::nullopt);
  EXPECT_EQ(read.times.updated_at, absl::FromUnixSeconds(7));
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
