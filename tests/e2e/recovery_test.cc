// What an operator asks of the ledger over gRPC: where it stands, what became of a write, what a
// database that went back in time lost, a new epoch, the format.
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/consumer.grpc.pb.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "berth/placement/v1/reshape.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/client_context.h"
#include "placement/ground/uuid.h"
#include "placement/store/position_file.h"
#include "services/api/kept_reply.h"
#include "tests/e2e/calls.h"
#include "tests/processes/identity.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/restorable.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;
using placement::LedgerRunner;

class RecoveryTest : public ::testing::Test {
 protected:
  RecoveryTest()
      : server_(StartAt(scratch_.path(), database_.url())),
        channel_(grpc::CreateChannel(server_->address(), CredentialsOf())),
        ledger_(pb::LedgerService::NewStub(channel_)) {}

  // Ends the server with `signal`, and starts it with `arguments` after `meanwhile`.
  void Restart(
      const std::vector<std::string>& arguments, int signal = SIGTERM,
      const std::function<void()>& meanwhile = [] {}) {
    server_->Signal(signal);
    EXPECT_EQ(server_->AwaitEnd(absl::Seconds(30)), signal == SIGTERM ? 0 : 128 + signal);
    meanwhile();
    server_ = StartAt(scratch_.path(), database_.url(), arguments);
    channel_ = grpc::CreateChannel(server_->address(), CredentialsOf());
    ledger_ = pb::LedgerService::NewStub(channel_);
  }

  // Calls `method` of a stub.
  template <typename Stub, typename Request, typename Response>
  static grpc::Status Call(Stub& stub,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                           const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    return (stub.*method)(&context, request, response);
  }

  pb::GetRevisionResponse Standing() {
    pb::GetRevisionResponse response;
    const grpc::Status status =
        Call(*ledger_, &pb::LedgerService::Stub::GetRevision, pb::GetRevisionRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  // A provider with 8 VCPU, made under `request_id`.
  pb::CreateProviderResponse NewHost(const std::string& request_id) {
    const auto providers = pb::ProviderService::NewStub(channel_);
    pb::CreateProviderRequest create;
    create.set_name("host-" + Random());
    create.set_request_id(request_id);
    pb::CreateProviderResponse created;
    EXPECT_TRUE(
        Call(*providers, &pb::ProviderService::Stub::CreateProvider, create, &created).ok());
    return created;
  }

  pb::CreateInventoryResponse AddInventory(const pb::Provider& host,
                                           const std::string& request_id) {
    const auto inventories = pb::InventoryService::NewStub(channel_);
    pb::CreateInventoryRequest create;
    create.set_provider_uuid(host.uuid());
    create.set_expected_generation(host.generation());
    create.set_resource_class("VCPU");
    create.mutable_inventory()->set_total(8);
    create.set_request_id(request_id);
    pb::CreateInventoryResponse created;
    const grpc::Status status =
        Call(*inventories, &pb::InventoryService::Stub::CreateInventory, create, &created);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return created;
  }

  grpc::Status Claim(const std::string& host, const std::string& consumer) {
    const auto allocations = pb::AllocationService::NewStub(channel_);
    pb::SetAllocationsRequest request;
    pb::ConsumerAllocations* holder = request.add_consumers();
    holder->set_consumer_uuid(consumer);
    holder->mutable_new_consumer();
    holder->set_project_id("p");
    holder->set_user_id("u");
    holder->set_consumer_type("INSTANCE");
    holder->add_allocations()->set_provider_uuid(host);
    (*holder->mutable_allocations(0)->mutable_resources())["VCPU"] = 1;
    pb::SetAllocationsResponse response;
    return Call(*allocations, &pb::AllocationService::Stub::SetAllocations, request, &response);
  }

  pb::GetRequestResponse Asked(const std::string& request_id) {
    pb::GetRequestRequest request;
    request.set_request_id(request_id);
    pb::GetRequestResponse response;
    const grpc::Status status =
        Call(*ledger_, &pb::LedgerService::Stub::GetRequest, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  // Calls `method`, which succeeds, under a new request id, and asks what it answered.
  template <typename Service, typename Request, typename Response>
  void ExpectKept(grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                  Request request, Response* response) {
    const auto stub = Service::NewStub(channel_);
    request.set_request_id(Random());
    const grpc::Status status = Call(*stub, method, request, response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    Response again;
    ASSERT_TRUE(Asked(request.request_id()).response().UnpackTo(&again))
        << request.ShortDebugString();
    EXPECT_EQ(again.DebugString(), response->DebugString());
  }

  placement::Restorable database_;
  placement::ScratchDirectory scratch_;
  std::unique_ptr<PlacementServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pb::LedgerService::Stub> ledger_;
};

TEST_F(RecoveryTest, ARequestIsAnsweredWithWhatItWasAnswered) {
  const std::string provider_id = Random(), inventory_id = Random();
  const pb::CreateProviderResponse host = NewHost(provider_id);
  const pb::CreateInventoryResponse inventory = AddInventory(host.provider(), inventory_id);
  const pb::GetRequestResponse made = Asked(provider_id);
  EXPECT_EQ(made.outcome(), pb::REQUEST_OUTCOME_APPLIED);
  EXPECT_EQ(made.method(), "/berth.placement.v1.ProviderService/CreateProvider");
  EXPECT_TRUE(made.has_applied_at());
  EXPECT_LE(made.applied_at().seconds(), Standing().ledger_time().seconds());
  pb::CreateProviderResponse again;
  ASSERT_TRUE(made.response().UnpackTo(&again));
  EXPECT_EQ(again.SerializeAsString(), host.SerializeAsString());
  const pb::GetRequestResponse added = Asked(inventory_id);
  EXPECT_EQ(added.method(), "/berth.placement.v1.InventoryService/CreateInventory");
  pb::CreateInventoryResponse added_again;
  ASSERT_TRUE(added.response().UnpackTo(&added_again));
  EXPECT_EQ(added_again.SerializeAsString(), inventory.SerializeAsString());
  EXPECT_EQ(Asked(Random()).outcome(), pb::REQUEST_OUTCOME_ABSENT);
  EXPECT_EQ(Asked(Random()).method(), "");
}

TEST_F(RecoveryTest, RepliesAboutConsumersAndTreesAreMadeAgain) {
  const pb::Provider host = NewHost("").provider();
  AddInventory(host, "");
  const std::string consumer = Random(), nobody = Random();
  ASSERT_TRUE(Claim(host.uuid(), consumer).ok());

  pb::AdjustAllocationsRequest adjust;
  adjust.set_consumer_uuid(consumer);
  adjust.add_adjustments()->set_provider_uuid(host.uuid());
  (*adjust.mutable_adjustments(0)->mutable_amounts())["VCPU"] = 2;
  pb::AdjustAllocationsResponse adjusted;
  ExpectKept<pb::AllocationService>(&pb::AllocationService::Stub::AdjustAllocations, adjust,
                                    &adjusted);
  EXPECT_EQ(adjusted.consumer().allocations(0).resources().at("VCPU"), 3);

  pb::SetLeaseRequest lease;
  lease.set_consumer_uuid(consumer);
  lease.mutable_lease()->set_seconds(3600);
  pb::SetLeaseResponse leased;
  ExpectKept<pb::ConsumerService>(&pb::ConsumerService::Stub::SetLease, lease, &leased);
  EXPECT_TRUE(leased.has_lease_expires_at());

  pb::ListProviderAllocationsRequest list;
  list.set_provider_uuid(host.uuid());
  pb::ListProviderAllocationsResponse held;
  const auto allocations = pb::AllocationService::NewStub(channel_);
  ASSERT_TRUE(
      Call(*allocations, &pb::AllocationService::Stub::ListProviderAllocations, list, &held).ok());
  pb::ReshapeRequest reshape;
  pb::ProviderInventories* wanted = reshape.add_providers();
  wanted->set_provider_uuid(host.uuid());
  wanted->set_expected_generation(held.generation());
  wanted->set_expected_allocation_generation(held.allocation_generation());
  (*wanted->mutable_inventories())["VCPU"].set_total(16);
  pb::ReshapeResponse reshaped;
  ExpectKept<pb::ReshapeService>(&pb::ReshapeService::Stub::Reshape, reshape, &reshaped);
  EXPECT_EQ(reshaped.providers_size(), 1);

  pb::ApplyTopologyRequest topology;
  topology.add_providers()->set_provider_uuid(Random());
  topology.mutable_providers(0)->set_name("host-" + Random());
  pb::ApplyTopologyResponse applied;
  ExpectKept<pb::ReshapeService>(&pb::ReshapeService::Stub::ApplyTopology, topology, &applied);
  EXPECT_EQ(applied.providers_size(), 1);

  pb::ReleaseConsumersRequest release;
  release.add_consumers()->set_consumer_uuid(nobody);
  release.add_consumers()->set_consumer_uuid(consumer);
  pb::ReleaseConsumersResponse released;
  ExpectKept<pb::ConsumerService>(&pb::ConsumerService::Stub::ReleaseConsumers, release, &released);
  EXPECT_EQ(released.released_count(), 1);
  ASSERT_EQ(released.absent_consumer_uuids_size(), 1);
  EXPECT_EQ(released.absent_consumer_uuids(0), nobody);
}

// Every method that says it keeps its answer can give it again.
TEST_F(RecoveryTest, NoMethodIsForgotten) {
  const std::vector<std::string> kept = services::KeptMethods();
  for (const std::string& method : kept) {
    const size_t cut = method.rfind('/');
    const auto* pool = google::protobuf::DescriptorPool::generated_pool();
    const auto* service = pool->FindServiceByName(method.substr(1, cut - 1));
    ASSERT_NE(service, nullptr) << method;
    const auto* described = service->FindMethodByName(method.substr(cut + 1));
    ASSERT_NE(described, nullptr) << method;
    EXPECT_NE(described->input_type()->FindFieldByName("request_id"), nullptr) << method;
    for (int m = 0; m < service->method_count(); ++m) {
      const auto* other = service->method(m);
      const std::string path = absl::StrCat("/", service->full_name(), "/", other->name());
      const bool keeps = other->input_type()->FindFieldByName("request_id") != nullptr;
      const bool known = std::find(kept.begin(), kept.end(), path) != kept.end();
      // What is not built, what asks about an id, and what keeps nothing although it takes one.
      const bool exempt = other->name() == "GetRequest" || other->name() == "StartEpoch" ||
                          other->name() == "DeleteService" || other->name() == "CreateNode";
      EXPECT_TRUE(!keeps || known || exempt) << path;
    }
  }
}

TEST_F(RecoveryTest, TheFormatIsRaisedNoFurtherThanItIsKnown) {
  const pb::GetRevisionResponse standing = Standing();
  EXPECT_EQ(standing.format(), standing.highest_known_format());
  EXPECT_FALSE(standing.has_database_revision());
  pb::SetFormatRequest request;
  pb::SetFormatResponse response;
  const auto set = [&](int32_t format) {
    request.set_format(format);
    return Call(*ledger_, &pb::LedgerService::Stub::SetFormat, request, &response);
  };
  EXPECT_TRUE(set(standing.format()).ok());
  EXPECT_EQ(ReasonOf(set(standing.format() + 1)), "WRONG_LEDGER_STATE");
  EXPECT_EQ(ReasonOf(set(0)), "INVALID_FIELD");
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return Standing().has_oldest_watchable_revision(); }));
}

TEST_F(RecoveryTest, ARestoreWhilePlacementIsDownIsFoundAtItsStart) {
  const std::vector<std::string> arguments = {"--state-dir=" + scratch_.path() + "/state"};
  Restart(arguments);
  const pb::Provider host = NewHost("").provider();
  AddInventory(host, "");
  const int64_t saved = Standing().revision().number();
  database_.Save();
  const std::string consumer = Random();
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return Claim(host.uuid(), consumer).ok(); }));
  // A server that is killed has no time to write its position: it keeps the position while it runs.
  const placement::PositionFile file(scratch_.path() + "/state/position");
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    const auto kept = file.Read();
    return kept.ok() && *kept && (*kept)->revision.number == Standing().revision().number();
  }));
  Restart(arguments, SIGKILL, [this] { database_.Restore(); });
  EXPECT_EQ(Standing().state(), pb::LEDGER_STATE_RECOVERY_REQUIRED);
  EXPECT_EQ(Standing().database_revision().number(), saved);
  EXPECT_EQ(ReasonOf(Claim(host.uuid(), consumer)), "RECOVERY_REQUIRED");
  EXPECT_NE(server_->Log().find("while this process was down"), std::string::npos);

  pb::StartEpochRequest start;
  *start.mutable_expected_database_revision() = Standing().database_revision();
  start.set_reason("restored the backup of noon");
  pb::StartEpochResponse started;
  ASSERT_TRUE(Call(*ledger_, &pb::LedgerService::Stub::StartEpoch, start, &started).ok());
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return Claim(host.uuid(), consumer).ok(); }));
  Restart(arguments);
  EXPECT_EQ(Standing().state(), pb::LEDGER_STATE_READY);
}

TEST_F(RecoveryTest, WhatWasLostIsListedAndTakenAsLost) {
  const pb::Provider host = NewHost("").provider();
  AddInventory(host, "");
  pb::ListLostChangesRequest list;
  pb::ListLostChangesResponse page;
  const auto next = [&] {
    return Call(*ledger_, &pb::LedgerService::Stub::ListLostChanges, list, &page);
  };
  EXPECT_EQ(ReasonOf(next()), "WRONG_LEDGER_STATE");
  database_.Save();
  const std::string consumer = Random();
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return Claim(host.uuid(), consumer).ok(); }));
  const int64_t lost = Standing().revision().number();
  database_.Restore();
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    return Standing().state() == pb::LEDGER_STATE_RECOVERY_REQUIRED &&
           Standing().database_revision().number() > 0;
  }));
  EXPECT_LT(Standing().database_revision().number(), lost);

  list.set_page_size(1);
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return next().ok(); }));
  ASSERT_EQ(page.changes_size(), 1);
  EXPECT_EQ(page.revision().number(), lost);
  EXPECT_EQ(page.changes(0).key().kind(), pb::ENTITY_KIND_PROVIDER_USAGE);
  EXPECT_EQ(page.changes(0).last_good().provider_usage().used().at("VCPU"), 1);
  EXPECT_EQ(page.changes(0).in_database().provider_usage().used().at("VCPU"), 0);
  list.set_page_token(page.next_page_token());
  ASSERT_TRUE(next().ok());
  ASSERT_EQ(page.changes_size(), 1);
  EXPECT_EQ(page.changes(0).key().kind(), pb::ENTITY_KIND_CONSUMER);
  EXPECT_EQ(page.changes(0).key().key(), consumer);
  EXPECT_EQ(page.changes(0).last_good().consumer().allocations(0).provider_uuid(), host.uuid());
  EXPECT_FALSE(page.changes(0).has_in_database());
  EXPECT_EQ(page.next_page_token(), "");
  EXPECT_EQ(page.database_revision().number(), Standing().database_revision().number());

  pb::StartEpochRequest start;
  *start.mutable_expected_database_revision() = page.database_revision();
  start.set_reason("restored the backup of noon");
  pb::StartEpochResponse started;
  ASSERT_TRUE(Call(*ledger_, &pb::LedgerService::Stub::StartEpoch, start, &started).ok());
  EXPECT_EQ(started.revision().epoch(), page.revision().epoch() + 1);
  EXPECT_NE(server_->Log().find("restored the backup of noon"), std::string::npos);
  EXPECT_EQ(ReasonOf(next()), "WRONG_LEDGER_STATE");
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return Claim(host.uuid(), consumer).ok(); }));
}

}  // namespace
}  // namespace berth::e2e
