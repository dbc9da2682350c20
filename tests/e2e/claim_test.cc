// Claims that find their own place, over the wire: one process, two processes over one database.
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/candidate.grpc.pb.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "placement/ground/uuid.h"
#include "tests/e2e/calls.h"
#include "tests/processes/identity.h"
#include "tests/processes/placement_server.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;

using Claims = pb::CandidateService::Stub;

std::shared_ptr<grpc::Channel> ChannelTo(const PlacementServer& server) {
  return grpc::CreateChannel(server.address(), CredentialsOf());
}

// A host with so many VCPU; its uuid.
std::string NewHost(const std::shared_ptr<grpc::Channel>& channel, int64_t vcpu) {
  pb::CreateProviderRequest create;
  create.set_name("host-" + Random());
  pb::CreateProviderResponse created;
  grpc::ClientContext first;
  EXPECT_TRUE(pb::ProviderService::NewStub(channel)->CreateProvider(&first, create, &created).ok());
  pb::SetInventoriesRequest set;
  set.set_provider_uuid(created.provider().uuid());
  set.set_expected_generation(created.provider().generation());
  (*set.mutable_inventories())["VCPU"].set_total(vcpu);
  pb::SetInventoriesResponse done;
  grpc::ClientContext second;
  EXPECT_TRUE(pb::InventoryService::NewStub(channel)->SetInventories(&second, set, &done).ok());
  return created.provider().uuid();
}

void Fill(pb::ClaimConsumer* consumer, pb::CandidateQuery* query, int64_t vcpu) {
  consumer->set_consumer_uuid(Random());
  consumer->mutable_new_consumer();
  consumer->set_project_id("p");
  consumer->set_user_id("u");
  consumer->set_consumer_type("INSTANCE");
  (*query->add_groups()->mutable_resources())["VCPU"] = vcpu;
}

pb::ClaimRequest ClaimOf(int64_t vcpu) {
  pb::ClaimRequest request;
  Fill(request.mutable_consumer(), request.mutable_query(), vcpu);
  return request;
}

grpc::Status Claim(Claims& stub, const pb::ClaimRequest& request, pb::ClaimResponse* response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  return stub.Claim(&context, request, response);
}

grpc::Status ClaimMany(Claims& stub, const pb::ClaimManyRequest& request,
                       pb::ClaimManyResponse* response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  return stub.ClaimMany(&context, request, response);
}

google::rpc::ErrorInfo InfoOf(const grpc::Status& status) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  details.ParseFromString(status.error_details());
  if (details.details_size() > 0) details.details(0).UnpackTo(&info);
  return info;
}

TEST(E2eClaim, FindsAndTakes) {
  const placement::ScratchDirectory scratch;
  const auto server = StartOrDie(scratch.path());
  const auto channel = ChannelTo(*server);
  const auto stub = pb::CandidateService::NewStub(channel);
  const std::string small = NewHost(channel, 4);
  const std::string large = NewHost(channel, 8);

  pb::ClaimRequest request = ClaimOf(3);
  request.set_request_id("first");
  request.mutable_order()->set_strategy(pb::STRATEGY_RANDOM);
  pb::ClaimResponse first;
  grpc::Status status = Claim(*stub, request, &first);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_NE(first.seed(), 0u);
  EXPECT_GT(first.generation(), 0);
  EXPECT_GT(first.revision().number(), 0);
  ASSERT_EQ(first.candidate().allocations_size(), 1);
  EXPECT_EQ(first.candidate().allocations(0).resources().at("VCPU"), 3);
  EXPECT_EQ(first.candidate().allocations(0).provider_uuid(), first.candidate().root_uuid());
  ASSERT_EQ(first.candidate().mappings_size(), 1);
  pb::ClaimResponse again;
  ASSERT_TRUE(Claim(*stub, request, &again).ok());
  EXPECT_EQ(again.SerializeAsString(), first.SerializeAsString());  // the first answer again
  request.clear_request_id();
  EXPECT_EQ(InfoOf(Claim(*stub, request, &again)).reason(), "CONSUMER_GENERATION_CONFLICT");

  // More of it for the same consumer: what it holds counts as free.
  pb::ClaimRequest more = ClaimOf(8);
  more.mutable_consumer()->set_consumer_uuid(request.consumer().consumer_uuid());
  more.mutable_consumer()->set_generation(first.generation());
  ASSERT_TRUE(Claim(*stub, more, &again).ok());
  EXPECT_EQ(again.candidate().root_uuid(), large);
  EXPECT_EQ(again.generation(), first.generation() + 1);
  EXPECT_EQ(again.seed(), 0u);

  const pb::ClaimRequest too_much = ClaimOf(5);
  status = Claim(*stub, too_much, &again);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(InfoOf(status).reason(), "NO_CANDIDATE");
  EXPECT_EQ(InfoOf(status).metadata().at("consumer"), too_much.consumer().consumer_uuid());
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  pb::Explanation explanation;
  ASSERT_EQ(details.details_size(), 2);
  ASSERT_TRUE(details.details(1).UnpackTo(&explanation));
  EXPECT_EQ(explanation.root_count(), 2);
  EXPECT_EQ(explanation.fitting_root_count(), 0);
  pb::ClaimRequest malformed = ClaimOf(0);
  status = Claim(*stub, malformed, &again);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  malformed = ClaimOf(1);
  malformed.mutable_consumer()->clear_expected();
  EXPECT_EQ(InfoOf(Claim(*stub, malformed, &again)).reason(), "GENERATION_REQUIRED");
  malformed.clear_query();
  malformed.mutable_consumer()->mutable_new_consumer();
  EXPECT_EQ(InfoOf(Claim(*stub, malformed, &again)).metadata().at("field"), "query");
}

TEST(E2eClaim, ManyTogetherAndApart) {
  const placement::ScratchDirectory scratch;
  const auto server = StartOrDie(scratch.path());
  const auto channel = ChannelTo(*server);
  const auto stub = pb::CandidateService::NewStub(channel);
  for (const int64_t vcpu : {4, 6, 8}) NewHost(channel, vcpu);
  pb::ClaimManyRequest request;
  for (int i = 0; i < 2; ++i) {
    pb::ClaimMember* member = request.add_members();
    Fill(member->mutable_consumer(), member->mutable_query(), 4);
  }
  request.set_affinity(pb::MEMBER_AFFINITY_SAME_ROOT);
  pb::ClaimManyResponse response;
  grpc::Status status = ClaimMany(*stub, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.members_size(), 2);
  EXPECT_EQ(response.members(0).consumer_uuid(), request.members(0).consumer().consumer_uuid());
  EXPECT_EQ(response.members(0).candidate().root_uuid(),
            response.members(1).candidate().root_uuid());
  for (pb::ClaimMember& member : *request.mutable_members()) {
    member.mutable_consumer()->set_consumer_uuid(Random());
  }
  status = ClaimMany(*stub, request, &response);  // no other host has room for both
  EXPECT_EQ(InfoOf(status).reason(), "NO_CANDIDATE");
  google::rpc::Status details;  // of many claims no query alone explains what they found
  details.ParseFromString(status.error_details());
  EXPECT_EQ(details.details_size(), 1);
  request.set_affinity(pb::MEMBER_AFFINITY_DIFFERENT_ROOTS);
  request.set_request_id("many");
  ASSERT_TRUE(ClaimMany(*stub, request, &response).ok());
  EXPECT_NE(response.members(0).candidate().root_uuid(),
            response.members(1).candidate().root_uuid());
  pb::ClaimManyResponse again;
  ASSERT_TRUE(ClaimMany(*stub, request, &again).ok());
  EXPECT_EQ(again.SerializeAsString(), response.SerializeAsString());  // the first answer again
}

TEST(E2eClaim, RefusesOneConsumerTwice) {
  const placement::ScratchDirectory scratch;
  const auto server = StartOrDie(scratch.path());
  const auto channel = ChannelTo(*server);
  const auto stub = pb::CandidateService::NewStub(channel);
  NewHost(channel, 8);
  pb::ClaimManyRequest request;
  for (int i = 0; i < 2; ++i) {
    pb::ClaimMember* member = request.add_members();
    Fill(member->mutable_consumer(), member->mutable_query(), 1);
    member->mutable_consumer()->set_consumer_uuid(request.members(0).consumer().consumer_uuid());
  }
  pb::ClaimManyResponse response;
  grpc::Status status = ClaimMany(*stub, request, &response);
  EXPECT_EQ(InfoOf(status).reason(), "DUPLICATE_PARAMETER");
  EXPECT_EQ(InfoOf(status).metadata().at("consumer"),
            request.members(0).consumer().consumer_uuid());
  request.mutable_members(1)->mutable_consumer()->set_consumer_uuid(Random());
  auto& amounts = *request.mutable_members(1)->mutable_query()->mutable_groups(0);
  (*amounts.mutable_resources())["VCPU"] = 0;
  status = ClaimMany(*stub, request, &response);
  EXPECT_EQ(InfoOf(status).metadata().at("consumer"),
            request.members(1).consumer().consumer_uuid());
  EXPECT_EQ(InfoOf(status).metadata().at("field"), "members[1].query.groups[0].resources");
}

// What stands in the way of a wide query is more than a client's trailers take.
TEST(E2eClaim, AWideQueryIsExplainedInBrief) {
  const placement::ScratchDirectory scratch;
  const auto server = StartOrDie(scratch.path());
  const auto channel = ChannelTo(*server);
  const auto stub = pb::CandidateService::NewStub(channel);
  for (int i = 0; i < 12; ++i) NewHost(channel, 4);
  pb::ClaimRequest request = ClaimOf(1);
  pb::CandidateQuery* query = request.mutable_query();
  query->set_group_policy(pb::GROUP_POLICY_NONE);
  for (int i = 0; i < 64; ++i) {
    pb::RequestGroup* group = query->add_groups();
    group->set_suffix(absl::StrCat("_", std::string(50, 'S'), i));
    (*group->mutable_resources())["VCPU"] = 5 + i;
  }
  pb::ClaimResponse response;
  const grpc::Status status = Claim(*stub, request, &response);
  EXPECT_EQ(InfoOf(status).reason(), "NO_CANDIDATE") << status.error_message();
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  pb::Explanation explanation;
  ASSERT_EQ(details.details_size(), 2);
  ASSERT_TRUE(details.details(1).UnpackTo(&explanation));
  EXPECT_EQ(explanation.root_count(), 12);
  EXPECT_TRUE(explanation.truncated());
}

TEST(E2eClaim, TwoProcessesFillTheLastHosts) {
  const placement::ScratchDirectory one_scratch;
  const placement::ScratchDirectory two_scratch;
  const std::string database = absl::StrCat("--database=", placement::NewDatabase());
  PlacementServer one(one_scratch.path(), {database});
  ASSERT_EQ(one.AwaitAddress(), absl::OkStatus());
  PlacementServer two(two_scratch.path(), {database});
  ASSERT_EQ(two.AwaitAddress(), absl::OkStatus());
  for (int i = 0; i < 3; ++i) NewHost(ChannelTo(one), 5);
  std::atomic<int> taken{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int client = 0; client < 4; ++client) {
    threads.emplace_back([&, client] {
      const auto stub = pb::CandidateService::NewStub(ChannelTo(client % 2 == 0 ? one : two));
      for (int i = 0; i < 6; ++i) {
        pb::ClaimRequest request = ClaimOf(1);
        request.mutable_order()->set_strategy(pb::STRATEGY_SPREAD);
        pb::ClaimResponse response;
        const grpc::Status status = Claim(*stub, request, &response);
        if (!status.ok()) {
          EXPECT_EQ(InfoOf(status).reason(), "NO_CANDIDATE") << status.error_message();
        }
        ++(status.ok() ? taken : refused);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 15);
  EXPECT_EQ(refused, 9);
}

}  // namespace
}  // namespace berth::e2e
