// Measures claims on one host that has many guests: real programs over libvirt's test driver, with
// several callers, while a pass runs every second and placement pushes changed records.
//
// usage: berth-host-claims-bench [SECONDS [GUESTS [CALLERS]]]      default: 20 1000 8
//
// Prints one line of figures. Fails if one of them is worse than three times what is promised: for 99 of 100
// times 5 ms under the node's lock, and 15 ms from a claim to its answer.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/scheduled.h"
#include "tests/processes/service_process.h"
#include "tests/processes/test_host.h"
#include "tests/processes/tracker_process.h"

namespace berth::bench {
namespace {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;

constexpr char kHost[] = "busy-host";
constexpr double kAnswerPromisedMs = 15;
constexpr double kHoldPromisedMs = 5;
constexpr int kAllocatedAtOnce = 100;
constexpr absl::Duration kBetweenPushes = absl::Milliseconds(5);

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

void Check(const grpc::Status& status, const char* what) {
  if (!status.ok()) Die(absl::StrCat(what, ": ", status.error_message()));
}

std::unique_ptr<grpc::ClientContext> Context() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
  return context;
}

void Await(const char* what, const std::function<bool()>& holds) {
  const absl::Time until = absl::Now() + absl::Minutes(3);
  while (!holds()) {
    if (absl::Now() > until) Die(absl::StrCat("this did not happen in time: ", what));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// The time, in ms, under which 99 of 100 times lie that the histogram counts. Within a bucket the
// times are taken to be spread evenly.
double QuantileOf99(const std::string& metrics, const std::string& histogram) {
  std::vector<std::pair<double, double>> buckets;  // bound in seconds, times up to it
  for (const absl::string_view line : absl::StrSplit(metrics, '\n')) {
    if (!absl::StartsWith(line, histogram + "_bucket{")) continue;
    const size_t at = line.find("le=\"");
    double bound = 1e9, count = 0;
    const absl::string_view rest = line.substr(at + 4);
    const bool ends = absl::SimpleAtod(rest.substr(0, rest.find('"')), &bound);
    if (ends && absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &count)) {
      buckets.emplace_back(bound, count);
    }
  }
  if (buckets.empty()) Die("the tracker has no histogram " + histogram);
  std::sort(buckets.begin(), buckets.end());
  const double wanted = 0.99 * buckets.back().second;
  double bound_before = 0, count_before = 0;
  for (const auto& [bound, count] : buckets) {
    if (count >= wanted) {
      const double share = (wanted - count_before) / std::max(count - count_before, 1.0);
      return 1000 * (bound_before + share * (bound - bound_before));
    }
    bound_before = bound;
    count_before = count;
  }
  return 1000 * bound_before;
}

class World {
 public:
  explicit World(int guests) {
    std::string why;
    host_ = fault::TestHost::Start(&why);
    if (host_ == nullptr) Die(why);
    for (int guest = 0; guest < guests; ++guest) host_->StartGuest(static_cast<uint64_t>(guest));
    placement_ = e2e::StartOrDie(directory_.path());
    StartTracker();
    channel_ = grpc::CreateChannel(placement_->address(), grpc::InsecureChannelCredentials());
    records_ = pb::InstanceService::NewStub(channel_);
    allocations_ = pb::AllocationService::NewStub(channel_);
    Await("the tracker's first report", [this] {
      node_ = View().node().node_uuid();
      return View().node().acknowledged_sequence() > 0 && View().providers_size() > 0;
    });
    RecordGuests();
  }

  // Claims new instances and gives the claims back, until `until`; returns how long each answer
  // took, in ms.
  std::vector<double> Claim(absl::Time until) {
    std::vector<double> took;
    while (absl::Now() < until) {
      tracker_pb::ClaimInstanceRequest request;
      request.set_node_uuid(node_);
      *request.mutable_instance() = Store(NewInstance("building", "spawning", 1, 64));
      Check(e2e::Schedule(channel_, request.instance().uuid(), node_), "SetAllocations");
      tracker_pb::ClaimInstanceResponse response;
      const absl::Time began = absl::Now();
      Check(claims_->ClaimInstance(Context().get(), request, &response), "ClaimInstance");
      took.push_back(absl::ToDoubleMilliseconds(absl::Now() - began));
      tracker_pb::AbortClaimRequest abort;
      abort.set_node_uuid(node_);
      abort.set_claim_id(response.claim().claim_id());
      tracker_pb::AbortClaimResponse aborted;
      Check(claims_->AbortClaim(Context().get(), abort, &aborted), "AbortClaim");
    }
    return took;
  }
  // Changes records of instances on the host; placement pushes each of them.
  int Push(absl::Time until) {
    int pushes = 0;
    while (absl::Now() < until) {
      pb::Instance& instance = recorded_[static_cast<size_t>(pushes) % recorded_.size()];
      instance.set_task_state(instance.task_state().empty() ? "image_snapshot" : "");
      instance = Store(instance);
      ++pushes;
      std::this_thread::sleep_for(absl::ToChronoNanoseconds(kBetweenPushes));
    }
    return pushes;
  }
  std::string Metrics() const {
    std::string text = e2e::FetchMetrics(metrics_);
    if (text.empty()) Die("no metrics");
    return text;
  }

 private:
  void StartTracker() {
    tracker_ = std::make_unique<e2e::TrackerProcess>(
        directory_.path(),
        std::vector<std::string>{"--log-format=text", std::string("--host=") + kHost,
                                 "--placement=" + placement_->address(),
                                 "--hypervisor=" + host_->uri(), "--instances-path=/proc",
                                 "--metrics-listen=127.0.0.1:0", "--update-resources-interval=1",
                                 "--cpu-allocation-ratio=10000", "--ram-allocation-ratio=1000"});
    if (!tracker_->AwaitAddress().ok()) Die(tracker_->Log());
    claims_ = tracker_pb::TrackerService::NewStub(
        grpc::CreateChannel(tracker_->address(), grpc::InsecureChannelCredentials()));
    const std::string said = "metrics are served address=";
    Await("the tracker serves metrics", [&] {
      const std::string log = tracker_->Log();
      const size_t at = log.find(said);
      if (at == std::string::npos) return false;
      metrics_ = log.substr(at + said.size(), log.find('\n', at) - at - said.size());
      return true;
    });
  }
  tracker_pb::GetNodeViewResponse View() {
    tracker_pb::GetNodeViewResponse view;
    claims_->GetNodeView(Context().get(), {}, &view).ok();
    return view;
  }
  static pb::Instance NewInstance(const char* state, const char* task, int64_t vcpus,
                                  int64_t memory_mib) {
    pb::Instance instance;
    instance.set_uuid(placement::Uuid::Random().ToString());
    instance.set_project_id("p");
    instance.set_user_id("u");
    instance.set_vm_state(state);
    instance.set_task_state(task);
    instance.mutable_flavor()->set_vcpus(static_cast<int32_t>(vcpus));
    instance.mutable_flavor()->set_memory_mib(memory_mib);
    return instance;
  }
  pb::Instance Store(const pb::Instance& instance) {
    pb::SetInstanceRequest request;
    *request.mutable_instance() = instance;
    if (instance.generation() != 0) request.set_expected_generation(instance.generation());
    pb::SetInstanceResponse response;
    Check(records_->SetInstance(Context().get(), request, &response), "SetInstance");
    return response.instance();
  }
  // Makes the records and the allocations of the guests.
  void RecordGuests() {
    pb::SetAllocationsRequest allocations;
    int64_t vcpus = 0;
    for (const fault::RunningGuest& guest : host_->Running()) {
      pb::Instance instance = NewInstance("active", "", guest.vcpus, guest.memory_mib);
      instance.set_uuid(guest.uuid);
      instance.set_host(kHost);
      instance.set_node_uuid(node_);
      recorded_.push_back(Store(instance));
      vcpus += guest.vcpus;
      Allocate(guest, &allocations);
      if (allocations.consumers_size() == kAllocatedAtOnce) Send(&allocations);
    }
    if (allocations.consumers_size() > 0) Send(&allocations);
    Await("the account has all instances",
          [&] { return View().account().instances().vcpus() == vcpus; });
  }
  void Allocate(const fault::RunningGuest& guest, pb::SetAllocationsRequest* request) const {
    pb::ConsumerAllocations& consumer = *request->add_consumers();
    consumer.set_consumer_uuid(guest.uuid);
    consumer.mutable_new_consumer();
    consumer.set_project_id("p");
    consumer.set_user_id("u");
    consumer.set_consumer_type("INSTANCE");
    pb::ProviderAllocation& allocation = *consumer.add_allocations();
    allocation.set_provider_uuid(node_);
    (*allocation.mutable_resources())["VCPU"] = guest.vcpus;
    (*allocation.mutable_resources())["MEMORY_MB"] = guest.memory_mib;
  }
  void Send(pb::SetAllocationsRequest* request) {
    pb::SetAllocationsResponse response;
    Check(allocations_->SetAllocations(Context().get(), *request, &response), "SetAllocations");
    request->clear_consumers();
  }

  const placement::ScratchDirectory directory_;
  std::unique_ptr<fault::TestHost> host_;
  std::unique_ptr<e2e::PlacementServer> placement_;
  std::unique_ptr<e2e::TrackerProcess> tracker_;
  std::unique_ptr<tracker_pb::TrackerService::Stub> claims_;
  std::shared_ptr<grpc::Channel> channel_;  // to placement
  std::unique_ptr<pb::InstanceService::Stub> records_;
  std::unique_ptr<pb::AllocationService::Stub> allocations_;
  std::string node_, metrics_;
  std::vector<pb::Instance> recorded_;
};

int Run(int seconds, int guests, int callers) {
  World world(guests);
  const absl::Time until = absl::Now() + absl::Seconds(seconds);
  std::vector<std::vector<double>> took(static_cast<size_t>(callers));
  std::vector<std::thread> threads;
  for (std::vector<double>& one : took) threads.emplace_back([&] { one = world.Claim(until); });
  const int pushes = world.Push(until);
  for (std::thread& thread : threads) thread.join();
  std::vector<double> all;
  for (const std::vector<double>& one : took) all.insert(all.end(), one.begin(), one.end());
  std::sort(all.begin(), all.end());
  if (all.empty()) Die("no claim was answered");
  const double answer_ms = all[all.size() * 99 / 100];
  const double hold_ms = QuantileOf99(world.Metrics(), "tracker_lock_hold_seconds");
  std::printf(
      "%d guests, %d callers, %d s: %zu claims, %d changed records; to the answer median %.2f ms, "
      "p99 %.2f ms (promised %.0f), max %.2f ms; under the lock p99 about %.2f ms (promised "
      "%.0f)\n",
      guests, callers, seconds, all.size(), pushes, all[all.size() / 2], answer_ms,
      kAnswerPromisedMs, all.back(), hold_ms, kHoldPromisedMs);
  return answer_ms <= 3 * kAnswerPromisedMs && hold_ms <= 3 * kHoldPromisedMs ? 0 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  const auto argument = [&](int at, int otherwise) {
    return argc > at ? std::max(1, std::atoi(argv[at])) : otherwise;
  };
  return berth::bench::Run(argument(1, 20), argument(2, 1000), argument(3, 8));
}
