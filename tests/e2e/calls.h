// Calls: one placement process for all tests of a program, over real sockets and a real PostgreSQL,
// and functions that call it.
//
// A method is named like "ProviderService/CreateProvider". Only Invoke and Do are thread-safe.
#ifndef BERTH_TESTS_E2E_CALLS_H_
#define BERTH_TESTS_E2E_CALLS_H_

#include <grpcpp/create_channel.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "placement/ground/uuid.h"
#include "tests/processes/identity.h"
#include "tests/processes/placement_server.h"

namespace berth::e2e {

namespace pb = ::berth::placement::v1;

using ::google::protobuf::Message;

inline std::vector<google::rpc::ErrorInfo> InfosOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  std::vector<google::rpc::ErrorInfo> infos;
  for (const auto& any : details.details()) {
    google::rpc::ErrorInfo info;
    if (any.UnpackTo(&info)) infos.push_back(info);
  }
  return infos;
}

inline std::string ReasonOf(const grpc::Status& status) {
  const auto infos = InfosOf(status);
  return infos.empty() ? "" : infos[0].reason();
}

inline std::string Random() { return placement::Uuid::Random().ToString(); }

// A claim of `amount` by a new consumer.
inline pb::SetAllocationsRequest ClaimOn(const std::string& provider, int64_t amount,
                                         const char* resource_class = "VCPU") {
  pb::SetAllocationsRequest request;
  pb::ConsumerAllocations* consumer = request.add_consumers();
  consumer->set_consumer_uuid(Random());
  consumer->mutable_new_consumer();
  consumer->set_project_id("p");
  consumer->set_user_id("u");
  consumer->set_consumer_type("INSTANCE");
  pb::ProviderAllocation* allocation = consumer->add_allocations();
  allocation->set_provider_uuid(provider);
  (*allocation->mutable_resources())[resource_class] = amount;
  return request;
}

inline grpc::Status InvokeIn(grpc::ClientContext* context,
                             const std::shared_ptr<grpc::Channel>& channel,
                             const std::string& method, const Message& request, Message* response,
                             absl::Duration timeout = absl::Seconds(30)) {
  context->set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  const std::string path = "/berth.placement.v1." + method;
  const grpc::internal::RpcMethod rpc(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
  return grpc::internal::BlockingUnaryCall<Message, Message, google::protobuf::MessageLite,
                                           google::protobuf::MessageLite>(
      channel.get(), rpc, context, request, response);
}

inline grpc::Status InvokeOn(const std::shared_ptr<grpc::Channel>& channel,
                             const std::string& method, const Message& request, Message* response,
                             absl::Duration timeout = absl::Seconds(30)) {
  grpc::ClientContext context;
  return InvokeIn(&context, channel, method, request, response, timeout);
}

class CallsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new placement::ScratchDirectory();
    server_ = StartOrDie(scratch_->path()).release();
    channel_ = grpc::CreateChannel(server_->address(), CredentialsOf());
  }
  static void TearDownTestSuite() {
    channel_.reset();
    delete server_;
    delete scratch_;
  }

  // A channel for the tracker of `host`. Only that tracker may report the host, where certificates
  // tell who calls.
  static std::shared_ptr<grpc::Channel> TrackerChannel(const std::string& host) {
    return grpc::CreateChannel(server_->address(), CredentialsOf("tracker/" + host));
  }

  static grpc::Status Invoke(const std::string& method, const Message& request, Message* response,
                             absl::Duration timeout = absl::Seconds(30)) {
    return InvokeOn(channel_, method, request, response, timeout);
  }
  // The same; the test fails if the call fails.
  static void Do(const std::string& method, const Message& request, Message* response) {
    const grpc::Status status = Invoke(method, request, response);
    ASSERT_TRUE(status.ok()) << method << ": " << status.error_message();
  }

  // A new provider without inventories; without a parent it is a root.
  static pb::Provider NewProvider(const std::string& parent = "") {
    pb::CreateProviderRequest create;
    create.set_name("provider-" + Random());
    create.set_parent_uuid(parent);
    pb::CreateProviderResponse created;
    Do("ProviderService/CreateProvider", create, &created);
    return created.provider();
  }
  // Everything about an existing provider.
  static pb::Provider Read(const std::string& uuid) {
    pb::GetProviderRequest get;
    get.set_provider_uuid(uuid);
    get.set_view(pb::PROVIDER_VIEW_FULL);
    pb::GetProviderResponse got;
    Do("ProviderService/GetProvider", get, &got);
    return got.provider();
  }

  // Creates a host with 8 VCPU. Returns its uuid and generation.
  static std::pair<std::string, int64_t> NewHost() {
    const pb::Provider host = NewProvider();
    pb::SetInventoriesRequest set;
    set.set_provider_uuid(host.uuid());
    set.set_expected_generation(host.generation());
    (*set.mutable_inventories())["VCPU"].set_total(8);
    pb::SetInventoriesResponse done;
    Do("InventoryService/SetInventories", set, &done);
    return {host.uuid(), done.generation()};
  }

  static inline placement::ScratchDirectory* scratch_ = nullptr;
  static inline PlacementServer* server_ = nullptr;
  static inline std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_E2E_CALLS_H_
