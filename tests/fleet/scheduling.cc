#include "tests/fleet/scheduling.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "services/client/cpp/call.h"
#include "services/client/sample/scheduler.h"
#include "tests/fleet/process_figures.h"
#include "tests/processes/identity.h"

namespace berth::fleet {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kChanges = 100;
constexpr int kPlaces = 300;
constexpr absl::Duration kLimit = absl::Minutes(2);

bool Say(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), why.c_str());
  return false;
}

pb::Instance NewInstance() {
  pb::Instance instance;
  instance.set_uuid(placement::Uuid::Random().ToString());
  instance.set_name("made up");
  instance.set_project_id("project");
  instance.set_user_id("user");
  instance.mutable_flavor()->set_vcpus(1);
  instance.mutable_flavor()->set_memory_mib(16);
  return instance;
}

// The median and the 99th percentile of what each call took.
bool Measure(const std::string& name, int calls, const std::function<bool(absl::Duration*)>& call,
             nlohmann::ordered_json* figures) {
  std::vector<double> took_ms;
  for (int i = 0; i < calls; ++i) {
    absl::Duration took;
    if (!call(&took)) return false;
    took_ms.push_back(absl::ToDoubleMilliseconds(took));
  }
  std::sort(took_ms.begin(), took_ms.end());
  (*figures)[name + "_median_ms"] = took_ms[took_ms.size() / 2];
  (*figures)[name + "_99_percent_ms"] = took_ms[took_ms.size() * 99 / 100];
  return true;
}

// Makes a new record; `response` has it and its revision.
bool Record(client::Endpoints* endpoints, pb::SetInstanceResponse* response) {
  pb::SetInstanceRequest request;
  *request.mutable_instance() = NewInstance();
  request.mutable_instance()->set_vm_state("building");
  request.mutable_instance()->set_task_state("scheduling");
  const client::Failure failure =
      client::Write(endpoints, &pb::InstanceService::Stub::SetInstance, request, response);
  return failure.ok() || Say("SetInstance", client::InWords(failure));
}

}  // namespace

bool ImportInstances(const std::string& address, const MadeUpFleet& fleet, int hosts,
                     int instances) {
  constexpr int kInMessage = 1000;
  client::Endpoints endpoints({address}, e2e::CredentialsOf());
  pb::LedgerService::Stub stub(endpoints.Channel());
  grpc::ClientContext context;
  pb::ImportLedgerResponse response;
  const auto writer = stub.ImportLedger(&context, &response);
  for (int i = 0; i < instances;) {
    pb::ImportLedgerRequest request;
    if (i == 0) request.set_total_count(instances);
    for (int end = std::min(instances, i + kInMessage); i < end; ++i) {
      pb::Instance instance = NewInstance();
      instance.set_host(fleet.name(i % hosts));
      instance.set_node_uuid(fleet.uuid(i % hosts));
      instance.set_vm_state("active");
      *request.add_entities()->mutable_instance() = std::move(instance);
    }
    if (!writer->Write(request)) break;
  }
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  return status.ok() || Say("ImportLedger", status.error_message());
}

bool MeasureScheduling(const std::shared_ptr<client::Endpoints>& endpoints,
                       nlohmann::ordered_json* figures) {
  const int64_t before = ResidentKib(getpid());
  const absl::Time begun = absl::Now();
  sample::Scheduler scheduler(endpoints);
  if (!scheduler.AwaitHosts(kLimit)) return Say("the scheduler", "does not know the hosts");
  (*figures)["scheduler_ready_s"] = absl::ToDoubleSeconds(absl::Now() - begun);
  (*figures)["scheduler_mib"] = static_cast<double>(ResidentKib(getpid()) - before) / 1024;
  const auto follow = [&](absl::Duration* took) {
    pb::SetInstanceResponse response;
    const absl::Time sent = absl::Now();
    if (!Record(endpoints.get(), &response)) return false;
    const bool seen = scheduler.mirror().Await(response.revision(), kLimit) != nullptr;
    *took = absl::Now() - sent;
    return seen || Say("the mirror", "does not hear of a change");
  };
  const auto place = [&](absl::Duration* took) {
    pb::SetInstanceResponse response;
    if (!Record(endpoints.get(), &response)) return false;
    const absl::Time sent = absl::Now();
    const auto placed = scheduler.PlaceInstance(response.instance());
    *took = absl::Now() - sent;
    return placed.ok() || Say("PlaceInstance", std::string(placed.status().message()));
  };
  return Measure("scheduler_hears_of_a_change", kChanges, follow, figures) &&
         Measure("scheduler_places_an_instance", kPlaces, place, figures);
}

}  // namespace berth::fleet
