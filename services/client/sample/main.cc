// Schedules recorded instances, one after the other.
//
// usage: berth-sample-scheduler ADDRESS INSTANCE_UUID...
//
// Over mutual TLS if BERTH_TLS_CERTIFICATE, BERTH_TLS_KEY, BERTH_TLS_CA and BERTH_TRUST_DOMAIN are set.
// Prints a line for each: the instance, HOST:NODE, the uuid of the node, and the limits for the claim
// on the host as JSON. Ends with 1 at the first instance for which no node was found.
#include <google/protobuf/util/json_util.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "berth/placement/v1/instance.grpc.pb.h"
#include "services/client/cpp/call.h"
#include "services/client/sample/scheduler.h"

namespace {

namespace pb = ::berth::placement::v1;

std::string Setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int Fail(const std::string& what, absl::string_view why) {
  std::cerr << what << ": " << why << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return Fail("usage", "berth-sample-scheduler ADDRESS INSTANCE_UUID...");
  const auto endpoints = berth::client::Endpoints::Open(
      {argv[1]},
      {{Setting("BERTH_TLS_CERTIFICATE"), Setting("BERTH_TLS_KEY"), Setting("BERTH_TLS_CA")},
       Setting("BERTH_TRUST_DOMAIN")});
  if (!endpoints.ok()) return Fail("the certificate", endpoints.status().message());
  berth::sample::Scheduler scheduler(*endpoints);
  if (!scheduler.AwaitHosts(absl::Seconds(30))) return Fail(argv[1], "has not told its hosts");
  for (int i = 2; i < argc; ++i) {
    pb::GetInstanceRequest request;
    request.set_instance_uuid(argv[i]);
    pb::GetInstanceResponse response;
    const auto failure = berth::client::Read(
        endpoints->get(), &pb::InstanceService::Stub::GetInstance, request, &response);
    if (!failure.ok()) return Fail(argv[i], InWords(failure));
    const auto place = scheduler.PlaceInstance(response.instance());
    if (!place.ok()) return Fail(argv[i], place.status().message());
    std::string limits;
    (void)google::protobuf::util::MessageToJsonString(place->limits, &limits);
    std::cout << argv[i] << " " << place->name << " " << place->node_uuid << " " << limits << "\n";
  }
}
