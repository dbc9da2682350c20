#include "tests/e2e/real_host.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "placement/ground/uuid.h"
#include "tests/e2e/stub_call.h"

namespace berth::e2e {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;

namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kHost[] = "real-host";
constexpr int64_t kReservedMemoryMib = 512;  // the tracker's default
constexpr int64_t kCpuRatio = 16;            // of the tracker's arguments below
constexpr int64_t kKibPerMib = 1024;
constexpr absl::Duration kWaitMax = absl::Seconds(60);

int64_t AmountOf(const pb::Consumer& consumer, const char* resource_class) {
  int64_t sum = 0;
  for (const pb::ProviderAllocation& allocation : consumer.allocations()) {
    const auto found = allocation.resources().find(resource_class);
    if (found != allocation.resources().end()) sum += found->second;
  }
  return sum;
}

std::string PinText(const std::string& uuid, absl::string_view vcpu, absl::string_view cpu) {
  return absl::StrCat(uuid, " vCPU ", vcpu, " on CPU ", cpu);
}
std::string SizeText(int64_t vcpus, int64_t memory_mib) {
  return absl::StrCat(vcpus, " vCPUs ", memory_mib, " MiB");
}

}  // namespace

bool RealHost::Eventually(const std::function<bool()>& holds) {
  const absl::Time until = absl::Now() + kWaitMax;
  while (!holds()) {
    if (absl::Now() > until) return false;
    absl::SleepFor(absl::Milliseconds(50));
  }
  return true;
}

void RealHost::SetUp() {
  std::string why;
  daemon_ = tracker::LibvirtDaemon::Start(&why);
  if (daemon_ == nullptr) GTEST_SKIP() << "no private libvirt daemon: " << why;
  placement_ = StartOrDie(scratch_.path());
  channel_ = ConnectTo(*placement_);
}

void RealHost::TearDown() {
  tracker_.reset();
  if (daemon_ == nullptr) return;
  for (const auto& [uuid, size] : RunningGuests()) Virsh({"destroy", uuid});
}

void RealHost::StartTracker(const std::vector<std::string>& arguments) {
  arguments_ = arguments;
  std::vector<std::string> all = {"--log-format=text",
                                  std::string("--host=") + kHost,
                                  "--hypervisor=node=" + daemon_->QemuUri(),
                                  "--placement=" + placement_->address(),
                                  "--instances-path=" + instances_path_,
                                  "--update-resources-interval=10",
                                  "--orphan-confirmation=0s",
                                  absl::StrCat("--cpu-allocation-ratio=", kCpuRatio)};
  all.insert(all.end(), arguments.begin(), arguments.end());
  tracker_ = std::make_unique<TrackerProcess>(scratch_.path(), all);
  ASSERT_TRUE(tracker_->AwaitAddress().ok()) << tracker_->Log();
  ASSERT_TRUE(Eventually([this] {
    const tracker_pb::GetNodeViewResponse view = View();
    node_ = view.node().node_uuid();
    return view.node().acknowledged_sequence() > 0 && view.providers_size() > 0;
  })) << tracker_->Log();
}

void RealHost::KillTracker() {
  tracker_->Signal(SIGKILL);
  EXPECT_EQ(tracker_->AwaitEnd(kWaitMax), 128 + SIGKILL);
}

std::string RealHost::Virsh(std::vector<std::string> command) const {
  const std::vector<std::string> virsh = {"virsh", "-q", "-c", daemon_->QemuUri()};
  command.insert(command.begin(), virsh.begin(), virsh.end());
  return tracker::Output(command);
}

std::string RealHost::WriteGuest(const std::string& uuid, const Size& size, const std::string& cpus,
                                 const std::string& devices) const {
  std::string path = absl::StrCat(daemon_->directory(), "/", uuid, ".xml");
  const std::string set = cpus.empty() ? "" : absl::StrCat(" cpuset='", cpus, "'");
  const std::string pin = absl::StrCat("<cputune><vcpupin vcpu='0'", set, "/></cputune>");
  std::ofstream(path) << "<domain type='qemu'><name>" << uuid << "</name><uuid>" << uuid
                      << "</uuid><memory unit='MiB'>" << size.memory_mib << "</memory><vcpu" << set
                      << ">" << size.vcpus << "</vcpu>" << (cpus.empty() ? "" : pin)
                      << "<os><type arch='x86_64'>hvm</type></os><devices>" << devices
                      << "</devices></domain>";
  return path;
}

void RealHost::StartGuest(const std::string& uuid, const Size& size,
                          const std::string& cpus) const {
  Virsh({"create", WriteGuest(uuid, size, cpus, "")});
}

void RealHost::DefineGuest(const std::string& uuid, const std::string& devices) const {
  Virsh({"define", WriteGuest(uuid, {1, 16}, "", devices)});
}

void RealHost::KillGuest(const std::string& uuid) {
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(daemon_->directory() + "/run")) {
    if (file.path().filename() != uuid + ".pid") continue;
    pid_t process = 0;
    std::ifstream(file.path()) >> process;
    ASSERT_GT(process, 0);
    ASSERT_EQ(kill(process, SIGKILL), 0);
    ASSERT_TRUE(Eventually([&] { return !RunningGuests().contains(uuid); }));
    return;
  }
  FAIL() << "guest " << uuid << " has no process";
}

std::map<std::string, RealHost::Size> RealHost::RunningGuests() const {
  std::map<std::string, Size> guests;
  Size* size = nullptr;
  const std::string text = Virsh({"domstats", "--list-active", "--vcpu", "--balloon", "--nowait"});
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" =:'"), absl::SkipEmpty());
    int64_t value = 0;
    if (words.size() != 2) continue;
    if (words[0] == "Domain") size = &guests[words[1]];
    if (size == nullptr || !absl::SimpleAtoi(words[1], &value)) continue;
    if (words[0] == "vcpu.maximum") size->vcpus = value;
    if (words[0] == "balloon.maximum") size->memory_mib = value / kKibPerMib;
  }
  return guests;
}

pb::Instance RealHost::Create(const Size& size) {
  pb::Instance instance;
  instance.set_uuid(placement::Uuid::Random().ToString());
  instance.set_project_id("p");
  instance.set_user_id("u");
  instance.set_vm_state("building");
  instance.set_task_state("spawning");
  instance.mutable_flavor()->set_vcpus(static_cast<int32_t>(size.vcpus));
  instance.mutable_flavor()->set_memory_mib(size.memory_mib);
  return Store(instance);
}

pb::Instance RealHost::Store(const pb::Instance& instance) {
  pb::SetInstanceRequest request;
  *request.mutable_instance() = instance;
  if (instance.generation() != 0) request.set_expected_generation(instance.generation());
  return MustCall<pb::InstanceService>(channel_, &pb::InstanceService::Stub::SetInstance, request)
      .instance();
}

void RealHost::Allocate(const pb::Instance& instance) {
  int64_t pinned = 0;
  for (const pb::GuestCell& cell : instance.numa_cells()) pinned += cell.pinned_cpus_size();
  pb::SetAllocationsRequest request;
  pb::ConsumerAllocations* const consumer = request.add_consumers();
  consumer->set_consumer_uuid(instance.uuid());
  consumer->mutable_new_consumer();
  consumer->set_project_id("p");
  consumer->set_user_id("u");
  consumer->set_consumer_type("INSTANCE");
  pb::ProviderAllocation* const allocation = consumer->add_allocations();
  allocation->set_provider_uuid(node_);
  auto& resources = *allocation->mutable_resources();
  if (pinned > 0) resources["PCPU"] = pinned;
  if (instance.flavor().vcpus() > pinned) resources["VCPU"] = instance.flavor().vcpus() - pinned;
  resources["MEMORY_MB"] = instance.flavor().memory_mib();
  MustCall<pb::AllocationService>(channel_, &pb::AllocationService::Stub::SetAllocations, request);
}

void RealHost::Release(const std::string& instance) {
  pb::DeleteAllocationsRequest request;
  request.set_consumer_uuid(instance);
  MustCall<pb::AllocationService>(channel_, &pb::AllocationService::Stub::DeleteAllocations,
                                  request);
}

grpc::Status RealHost::Claim(const pb::Instance& instance, tracker_pb::Claim* claim) {
  tracker_pb::ClaimInstanceRequest request;
  request.set_node_uuid(node_);
  *request.mutable_instance() = instance;
  tracker_pb::ClaimInstanceResponse response;
  const grpc::Status status = TryCall<tracker_pb::TrackerService>(
      ConnectTo(*tracker_), &tracker_pb::TrackerService::Stub::ClaimInstance, request, &response);
  if (claim != nullptr) *claim = response.claim();
  return status;
}

tracker_pb::Claim RealHost::Grant(const pb::Instance& instance) {
  Allocate(instance);
  tracker_pb::Claim claim;
  const grpc::Status claimed = Claim(instance, &claim);
  EXPECT_TRUE(claimed.ok()) << claimed.error_message();
  return claim;
}

void RealHost::Abort(const tracker_pb::Claim& claim) {
  tracker_pb::AbortClaimRequest request;
  request.set_node_uuid(node_);
  request.set_claim_id(claim.claim_id());
  EXPECT_TRUE(MustCall<tracker_pb::TrackerService>(
                  ConnectTo(*tracker_), &tracker_pb::TrackerService::Stub::AbortClaim, request)
                  .aborted());
}

void RealHost::ExpectRefused(const pb::Instance& instance) {
  const std::vector<std::string> reasons = Reasons(Claim(instance));
  EXPECT_THAT(reasons, Not(IsEmpty()));
  EXPECT_THAT(reasons, Each("RESOURCES_UNAVAILABLE"));
  EXPECT_EQ(Get(instance.uuid()).host(), "");
}

pb::Instance RealHost::Build(const Size& size) {
  const pb::Instance instance = Create(size);
  Grant(instance);
  StartGuest(instance.uuid(), size);
  pb::Instance active = Get(instance.uuid());
  active.set_vm_state("active");
  active.clear_task_state();
  return Store(active);
}

pb::Instance RealHost::Get(const std::string& instance) {
  pb::GetInstanceRequest request;
  request.set_instance_uuid(instance);
  return MustCall<pb::InstanceService>(channel_, &pb::InstanceService::Stub::GetInstance, request)
      .instance();
}

void RealHost::DeleteRecord(const std::string& instance) {
  pb::DeleteInstanceRequest request;
  request.set_instance_uuid(instance);
  MustCall<pb::InstanceService>(channel_, &pb::InstanceService::Stub::DeleteInstance, request);
}

tracker_pb::GetNodeViewResponse RealHost::View() {
  return MustCall<tracker_pb::TrackerService>(ConnectTo(*tracker_),
                                              &tracker_pb::TrackerService::Stub::GetNodeView,
                                              tracker_pb::GetNodeViewRequest());
}

pb::AuditSummary RealHost::Audit() {
  const tracker_pb::AuditNowResponse audits = MustCall<tracker_pb::TrackerService>(
      ConnectTo(*tracker_), &tracker_pb::TrackerService::Stub::AuditNow,
      tracker_pb::AuditNowRequest());
  return audits.audits_size() == 1 ? audits.audits(0).audit() : pb::AuditSummary();
}

pb::Node RealHost::Node() {
  pb::ListNodesRequest request;
  request.set_view(pb::NODE_VIEW_FULL);
  const pb::ListNodesResponse nodes =
      MustCall<pb::FleetService>(channel_, &pb::FleetService::Stub::ListNodes, request);
  return nodes.nodes_size() == 1 ? nodes.nodes(0) : pb::Node();
}

std::vector<pb::Instance> RealHost::Instances() {
  pb::ListInstancesRequest request;
  request.set_host(kHost);
  const pb::ListInstancesResponse list =
      MustCall<pb::InstanceService>(channel_, &pb::InstanceService::Stub::ListInstances, request);
  return {list.instances().begin(), list.instances().end()};
}

// The CPUs of the guests that are pinned to one, as virsh tells them.
std::set<std::string> RealHost::WritePins(const std::map<std::string, Size>& running) {
  std::set<std::string> pins;
  for (const pb::Instance& instance : Instances()) {
    if (instance.numa_cells_size() == 0 || !running.contains(instance.uuid())) continue;
    const std::string text = Virsh({"vcpupin", instance.uuid()});
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (words.size() == 2) pins.insert(PinText(instance.uuid(), words[0], words[1]));
    }
  }
  return pins;
}

std::string RealHost::Wanted() {
  const std::map<std::string, Size> running = RunningGuests();
  pb::ListProviderAllocationsRequest request;
  request.set_provider_uuid(node_);
  const pb::ListProviderAllocationsResponse held = MustCall<pb::AllocationService>(
      channel_, &pb::AllocationService::Stub::ListProviderAllocations, request);
  std::set<std::string> counted;
  Size instances, allocated, orphans, withheld;
  for (const pb::Instance& instance : Instances()) {
    if (instance.vm_state() == "shelved_offloaded") continue;  // it needs nothing on its host
    counted.insert(instance.uuid());
    instances.Add({instance.flavor().vcpus(), instance.flavor().memory_mib()});
  }
  std::set<std::string> consumers;
  for (const pb::Consumer& consumer : held.consumers()) {
    consumers.insert(consumer.uuid());
    if (counted.contains(consumer.uuid())) continue;
    allocated.Add(
        {AmountOf(consumer, "VCPU") + AmountOf(consumer, "PCPU"), AmountOf(consumer, "MEMORY_MB")});
  }
  std::vector<std::string> lines;
  for (const auto& [uuid, size] : running) {
    if (consumers.contains(uuid)) continue;
    lines.push_back(absl::StrCat("orphan ", uuid, " ", SizeText(size.vcpus, size.memory_mib)));
    withheld.Add(size);
    if (!counted.contains(uuid)) orphans.Add(size);
  }
  Size used{0, kReservedMemoryMib};
  for (const Size& part : {instances, allocated, orphans}) used.Add(part);
  const int64_t cpus = (withheld.vcpus + kCpuRatio - 1) / kCpuRatio;
  lines.push_back(absl::StrCat("instances ", SizeText(instances.vcpus, instances.memory_mib)));
  lines.push_back(absl::StrCat("allocations ", SizeText(allocated.vcpus, allocated.memory_mib)));
  lines.push_back(absl::StrCat("orphans ", SizeText(orphans.vcpus, orphans.memory_mib)));
  lines.push_back(absl::StrCat("used ", SizeText(used.vcpus, used.memory_mib)));
  lines.push_back(absl::StrCat("the same in placement, which reserves ", cpus, " CPUs ",
                               withheld.memory_mib + kReservedMemoryMib, " MiB"));
  for (const std::string& pin : WritePins(running)) lines.push_back(pin);
  return absl::StrJoin(lines, "\n");
}

std::string RealHost::Held() {
  const tracker_pb::GetNodeViewResponse view = View();
  const pb::Node recorded = Node();
  pb::GetProviderRequest request;
  request.set_provider_uuid(node_);
  request.set_view(pb::PROVIDER_VIEW_FULL);
  const pb::Provider root =
      MustCall<pb::ProviderService>(channel_, &pb::ProviderService::Stub::GetProvider, request)
          .provider();
  std::vector<std::string> lines;
  for (const pb::Orphan& orphan : recorded.orphans()) {
    lines.push_back(
        absl::StrCat("orphan ", orphan.uuid(), " ", SizeText(orphan.vcpus(), orphan.memory_mib())));
  }
  const pb::NodeAccount& account = view.account();
  for (const auto& [name, amounts] :
       {std::pair("instances ", account.instances()),
        std::pair("allocations ", account.allocations()), std::pair("orphans ", account.orphans()),
        std::pair("used ", account.used())}) {
    lines.push_back(absl::StrCat(name, SizeText(amounts.vcpus(), amounts.memory_mib())));
  }
  const bool same =
      account.used().SerializeAsString() == recorded.account().used().SerializeAsString();
  const auto reserved = [&root](const char* name) {
    const auto inventory = root.inventories().find(name);
    return inventory == root.inventories().end() ? 0 : inventory->second.reserved();
  };
  lines.push_back(absl::StrCat(same ? "the same" : "other sums", " in placement, which reserves ",
                               reserved("VCPU"), " CPUs ", reserved("MEMORY_MB"), " MiB"));
  std::set<std::string> pins;
  const std::map<std::string, Size> running = RunningGuests();
  for (const pb::Instance& instance : Instances()) {
    if (!running.contains(instance.uuid())) continue;
    for (const pb::GuestCell& cell : instance.numa_cells()) {
      for (const auto& [vcpu, cpu] : cell.pinning()) {
        pins.insert(PinText(instance.uuid(), absl::StrCat(vcpu), absl::StrCat(cpu)));
      }
    }
  }
  lines.insert(lines.end(), pins.begin(), pins.end());
  return absl::StrJoin(lines, "\n");
}

void RealHost::ExpectAgreement(const std::string& when) {
  EXPECT_TRUE(Eventually([this] {
    Audit();
    return Wanted() == Held();  // T-392
  })) << absl::StrCat(when, "\nby virsh and ledger:\n", Wanted(),
                      "\nby the account and placement's record of the node:\n", Held(), "\n",
                      tracker_->Log());
}

}  // namespace berth::e2e
