// Claims that are malformed, spelled in another way, or repeated, and that placement would not take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tests/e2e/host_claim_fixture.h"

namespace berth::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class OddClaimTest : public HostClaimTest {};

TEST_F(OddClaimTest, AnInstanceInUpperCaseIsTheSameInstance) {
  const pb::Instance instance = Create();
  Allocate(instance);
  tracker_pb::ClaimInstanceResponse response;
  ASSERT_TRUE(Claim(ClaimOf(instance), &response).ok());
  const std::string claim_id = response.claim().claim_id();
  pb::Instance upper = Get(instance);
  upper.set_uuid(absl::AsciiStrToUpper(instance.uuid()));
  EXPECT_THAT(Reasons(Claim(ClaimOf(upper), &response)),
              ElementsAre("INSTANCE_ALREADY_CLAIMED"));  // T-181
  tracker_pb::AbortClaimRequest abort;
  abort.set_node_uuid(absl::AsciiStrToUpper(node_));
  abort.set_claim_id(absl::AsciiStrToUpper(claim_id));
  tracker_pb::AbortClaimResponse aborted;
  const grpc::Status status = host_->AbortClaim(Context().get(), abort, &aborted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(aborted.aborted());
  EXPECT_EQ(Get(instance).host(), "");  // T-165

  // What was claimed in upper case can be aborted, too.
  upper = Get(instance);
  upper.set_uuid(absl::AsciiStrToUpper(instance.uuid()));
  ASSERT_TRUE(Claim(ClaimOf(upper), &response).ok());
  abort.set_claim_id(response.claim().claim_id());
  ASSERT_TRUE(host_->AbortClaim(Context().get(), abort, &aborted).ok());
  EXPECT_TRUE(aborted.aborted());
  EXPECT_EQ(View().account().instances().memory_mib(), 0);  // T-167
}

TEST_F(OddClaimTest, AMalformedClaimIsRefusedAndTheSessionLasts) {
  const pb::Instance instance = Create();
  using Change = std::function<void(pb::Instance*)>;
  const std::pair<const char*, Change> cases[] = {
      {"instance.project_id", [](auto* i) { i->set_project_id(std::string("p\0", 2)); }},
      {"instance.image.properties[0].value",
       [](auto* i) { (*i->mutable_image()->mutable_properties())["os"] = std::string("p\0", 2); }},
      {"instance.node_uuid",
       [](auto* i) {
         i->set_host("h");
         i->set_node_uuid("nowhere");
       }},
      {"instance",
       [](auto* i) {
         (*i->mutable_image()->mutable_properties())["os"] = std::string(128 << 10, 'x');
       }},
      {"instance.pci_requests[0].count",
       [](auto* i) { i->add_pci_requests()->set_count(2147483647); }},
  };
  tracker_pb::ClaimInstanceResponse response;
  for (const auto& [field, change] : cases) {
    pb::Instance malformed = instance;
    change(&malformed);
    const grpc::Status status = Claim(ClaimOf(malformed), &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << field;
    EXPECT_THAT(Reasons(status, "field"), ElementsAre(absl::StrCat("INVALID_FIELD ", field)));
  }
  EXPECT_EQ(View().account().claims().memory_mib(), 0);  // T-156
  Allocate(instance);
  const grpc::Status good = Claim(ClaimOf(instance), &response);
  EXPECT_TRUE(good.ok()) << good.error_message();
  EXPECT_THAT(tracker_->Log(), Not(HasSubstr("no session with placement")));
}

TEST_F(OddClaimTest, ARepeatAfterAnAbortIsNotTheFirstAnswer) {
  const pb::Instance instance = Create();
  Allocate(instance);
  tracker_pb::ClaimInstanceResponse response;
  ASSERT_TRUE(Claim(ClaimOf(instance, "request-1"), &response).ok());
  tracker_pb::AbortClaimRequest abort;
  abort.set_node_uuid(node_);
  abort.set_claim_id(response.claim().claim_id());
  tracker_pb::AbortClaimResponse aborted;
  ASSERT_TRUE(host_->AbortClaim(Context().get(), abort, &aborted).ok());
  ASSERT_TRUE(aborted.aborted());
  EXPECT_THAT(Reasons(Claim(ClaimOf(instance, "request-1"), &response)),
              ElementsAre("RECORD_CONFLICT"));  // T-385
}

// Only placement knows whose migration it is.
TEST_F(OddClaimTest, AMoveOfAnotherInstanceIsRefusedAndLeavesNothing) {
  pb::CreateMigrationRequest create;
  create.mutable_migration()->set_uuid(placement::Uuid::Random().ToString());
  create.mutable_migration()->set_instance_uuid(CreateMoving().uuid());
  create.mutable_migration()->set_type(pb::MIGRATION_TYPE_COLD);
  create.mutable_migration()->set_source_host("elsewhere");
  pb::CreateMigrationResponse created;
  ASSERT_TRUE(instances_->CreateMigration(Context().get(), create, &created).ok());
  tracker_pb::ClaimMoveRequest claim;
  claim.set_node_uuid(node_);
  *claim.mutable_instance() = CreateMoving();
  *claim.mutable_migration() = created.migration();
  claim.mutable_migration()->set_instance_uuid(claim.instance().uuid());
  tracker_pb::ClaimMoveResponse response;
  const grpc::Status status = host_->ClaimMove(Context().get(), claim, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_THAT(Reasons(status, "field"), ElementsAre("INVALID_FIELD migration.uuid"));
  EXPECT_EQ(View().account().claims().memory_mib(), 0);  // T-156
  EXPECT_THAT(tracker_->Log(), Not(HasSubstr("no session with placement")));
}

}  // namespace
}  // namespace berth::e2e
