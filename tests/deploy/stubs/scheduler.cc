// A scheduler of somebody else: makes a host, claims a part of it, sees the claim in a watch and in a mirror, and understands a
// refusal.
//
// usage: scheduler ADDRESS [CERTIFICATE KEY CA TRUST-DOMAIN]      with files: over mutual TLS
//
// Prints what it did; ends with 1 at the first thing that is not as promised.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "berth/access/v1/access_service.grpc.pb.h"
#include "berth/client/endpoint.h"
#include "berth/client/mirror.h"
#include "berth/placement/v1/candidate.grpc.pb.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "berth/placement/v1/watch.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace {

namespace pb = ::berth::placement::v1;

// A uuid of its own for each run.
std::string NewUuid() {
  char text[37];
  std::snprintf(text, sizeof text, "%08x-6d0c-4f3a-9f43-1d8f6a7e2c11", std::random_device()());
  return text;
}

const std::string& Consumer() {
  static const std::string* const uuid = new std::string(NewUuid());
  return *uuid;
}

void Check(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "scheduler: " << what << "\n";
  std::exit(1);
}

void Check(const grpc::Status& status, const std::string& what) {
  Check(status.ok(), what + ": " + status.error_message());
}

std::shared_ptr<berth::client::Endpoints> EndpointsOf(int argc, char** argv) {
  berth::client::TlsSettings tls;
  if (argc > 2) tls = {{argv[2], argv[3], argv[4]}, argv[5]};
  const auto endpoints = berth::client::Endpoints::Open({argv[1]}, tls);
  Check(endpoints.ok(), std::string(endpoints.status().message()));
  return *endpoints;
}

// The context of one call, with a deadline.
struct Call : grpc::ClientContext {
  Call() { set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30)); }
};

void MakeHost(const std::shared_ptr<grpc::Channel>& channel) {
  pb::CreateProviderRequest create;
  create.set_name("host of " + Consumer());
  pb::CreateProviderResponse created;
  Call first;
  Check(pb::ProviderService::NewStub(channel)->CreateProvider(&first, create, &created),
        "CreateProvider");
  pb::SetInventoriesRequest set;
  set.set_provider_uuid(created.provider().uuid());
  set.set_expected_generation(created.provider().generation());
  (*set.mutable_inventories())["VCPU"].set_total(4);
  pb::SetInventoriesResponse done;
  Call second;
  Check(pb::InventoryService::NewStub(channel)->SetInventories(&second, set, &done),
        "SetInventories");
}

grpc::Status Claim(const std::shared_ptr<grpc::Channel>& channel, int vcpu) {
  pb::ClaimRequest request;
  pb::ClaimConsumer* consumer = request.mutable_consumer();
  consumer->set_consumer_uuid(Consumer());
  consumer->mutable_new_consumer();
  consumer->set_project_id("a project");
  consumer->set_user_id("a user");
  consumer->set_consumer_type("INSTANCE");
  (*request.mutable_query()->add_groups()->mutable_resources())["VCPU"] = vcpu;
  pb::ClaimResponse response;
  Call call;
  return pb::CandidateService::NewStub(channel)->Claim(&call, request, &response);
}

void SeeRefusal(const grpc::Status& status) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  Check(details.ParseFromString(status.error_details()) && details.details_size() > 0 &&
            details.details(0).UnpackTo(&info),
        "a refusal has no ErrorInfo");
  Check(info.reason() == "NO_CANDIDATE", "refused with " + info.reason());
}

void SeeClaim(grpc::ClientReader<pb::WatchResponse>* watch) {
  pb::WatchResponse response;
  while (watch->Read(&response)) {
    for (const pb::Change& change : response.changes()) {
      if (change.present().consumer().uuid() == Consumer()) return;
    }
  }
  Check(watch->Finish(), "Watch");
  Check(false, "the watch ended before the claim was seen");
}

// The mirror of the client library has the claim, too.
void MirrorClaim(const std::shared_ptr<berth::client::Endpoints>& endpoints) {
  const berth::client::Mirror mirror(endpoints);
  const auto view = mirror.Await(pb::Revision(), absl::Seconds(30));
  Check(view != nullptr && view->consumers.Find(Consumer()) != nullptr,
        "the mirror does not have the claim");
}

}  // namespace

int main(int argc, char** argv) {
  Check(argc == 2 || argc == 6, "usage: scheduler ADDRESS [CERTIFICATE KEY CA TRUST-DOMAIN]");
#ifdef OWN_GOOGLE_RPC
  // Only the own build of google/rpc has this message.
  Check(google::rpc::LocalizedMessage::descriptor()->file() ==
            google::rpc::ErrorInfo::descriptor()->file(),
        "two builds of google/rpc");
#endif
  const auto endpoints = EndpointsOf(argc, argv);
  const auto channel = endpoints->Channel();
  berth::access::v1::WhoAmIResponse caller;
  Call first;
  Check(berth::access::v1::AccessService::NewStub(channel)->WhoAmI(&first, {}, &caller), "WhoAmI");
  MakeHost(channel);
  const auto stub = pb::WatchService::NewStub(channel);
  Call second;
  const auto watch = stub->Watch(&second, {});
  pb::WatchResponse begun;
  Check(watch->Read(&begun), "the watch does not begin");
  SeeRefusal(Claim(channel, 5));
  Check(Claim(channel, 3), "Claim");
  SeeClaim(watch.get());
  MirrorClaim(endpoints);
  std::cout << "claimed and watched as " << (caller.identified() ? caller.name() : "anybody")
            << "\n";
}
