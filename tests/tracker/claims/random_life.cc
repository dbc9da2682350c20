#include "tests/tracker/claims/random_life.h"

#include <algorithm>
#include <utility>

#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tracker/cells/constraints.h"

namespace berth::tracker {
namespace {

constexpr char kAlias[] = R"({"name": "nic", "vendor_id": "8086", "product_id": "1533"})";

NumaCell MakeCell(int id, int first_cpu, int cpus, bool threads) {
  NumaCell cell;
  cell.id = id;
  cell.cpus = CpuSet::Range(first_cpu, first_cpu + cpus - 1);
  cell.dedicated_cpus = cell.cpus;
  cell.memory_mib = 4096;
  for (int cpu = first_cpu; cpu < first_cpu + cpus; cpu += threads ? 2 : 1) {
    cell.siblings.push_back(CpuSet::Range(cpu, cpu + (threads ? 1 : 0)));
  }
  cell.pages = {{4, 524288, 0, 0}, {2048, 1024, 0, 0}};
  cell.socket = id;
  return cell;
}

void Unclaim(Instance* instance) {
  instance->on = {};
  instance->assigned.devices.clear();
  instance->assigned.units.clear();
  if (!instance->assigned.topology.has_value()) return;
  for (GuestCell& cell : instance->assigned.topology->cells) {
    cell.host_cell.reset();
    cell.pinning.clear();
    cell.reserved_cpus = CpuSet();
  }
}

}  // namespace

RandomLife::RandomLife(uint64_t seed) : random_(seed), account_(kHere, {}) {
  settings_.device_aliases = *ParseDeviceAliases({kAlias});
  resources_.total = {16, 16384, 500 * kMibPerGib};
  resources_.reserve = {Below(2), 512, 1500};
  if (Below(5) != 0) {
    const bool threads = Below(2) == 0;
    resources_.topology =
        NumaTopology{{MakeCell(0, 0, 4, threads), MakeCell(1, 4, 4, threads)}, {}};
  }
  for (int i = 0; i < 3; ++i) {
    PciDevice device;
    device.address = "0000:81:0" + std::to_string(i) + ".0";
    device.vendor_id = "8086";
    device.product_id = "1533";
    device.dev_type = "type-PCI";
    device.numa_node = i % 2;
    resources_.devices.push_back(device);
    resources_.units.insert({"node-1"_uuid, "PMEM", "ns" + std::to_string(i)});
  }
  static const DeviceSpecs* const kSpecs =
      new DeviceSpecs(*DeviceSpecs::Parse({R"({"vendor_id": "8086"})"}, DeviceSpecLimits()));
  resources_.device_specs = *kSpecs;
  account_ = NodeAccount(kHere, resources_);
}

std::string RandomLife::Step() {
  using Do = std::string (RandomLife::*)();
  static constexpr Do kSteps[] = {
      &RandomLife::Create,     &RandomLife::ClaimOne,    &RandomLife::ClaimOne,
      &RandomLife::BringHere,  &RandomLife::ResizeHere,  &RandomLife::SendAway,
      &RandomLife::WriteClaim, &RandomLife::WriteClaim,  &RandomLife::Abort,
      &RandomLife::LoseClaim,  &RandomLife::Finish,      &RandomLife::Finish,
      &RandomLife::Delete,     &RandomLife::ChangeState, &RandomLife::ConfirmOrRevert,
      &RandomLife::Pass,       &RandomLife::Restart};
  now_ += absl::Seconds(1);
  return (this->*kSteps[Below(std::size(kSteps))])();
}

Flavor RandomLife::RandomFlavor() {
  Flavor flavor =
      MakeFlavor("f" + std::to_string(++names_), 1 + Below(3), 128 * (1 + Below(4)), Below(3));
  flavor.swap_mib = 100 * Below(3);
  const int kind = resources_.topology.has_value() ? Below(5) : 0;
  if (kind == 1) flavor.extra_specs["hw:numa_nodes"] = "1";
  if (kind >= 2) flavor.extra_specs["hw:cpu_policy"] = "dedicated";
  if (kind == 3) flavor.extra_specs["hw:cpu_thread_policy"] = "isolate";
  if (kind == 4) flavor.extra_specs["hw:emulator_threads_policy"] = "isolate";
  if (kind > 0 && Below(3) == 0) flavor.extra_specs["hw:mem_page_size"] = "2048";
  if (Below(3) == 0) flavor.extra_specs["pci_passthrough:alias"] = "nic:1";
  return flavor;
}

Instance RandomLife::NewInstance(HostAndNode on, std::string vm_state) {
  Instance instance = MakeInstance("i" + std::to_string(++names_), std::move(on), RandomFlavor());
  instance.project_id = Below(2) == 0 ? "red" : "blue";
  instance.vm_state = std::move(vm_state);
  instance.boot_from_volume = Below(4) == 0;
  return instance;
}

std::string RandomLife::Create() {
  if (instances_.size() >= 8) return "nothing to create";
  Instance instance = NewInstance({}, "building");
  const Flavor& flavor = instance.flavor;
  const auto topology = ReadGuestTopology(
      {static_cast<int>(flavor.vcpus), flavor.memory_mib, flavor.extra_specs, {}});
  instance.assigned.topology = *topology;
  const auto alias = flavor.extra_specs.find("pci_passthrough:alias");
  if (alias != flavor.extra_specs.end()) {
    instance.device_requests =
        *RequestsOfFlavor(alias->second, settings_.device_aliases, std::nullopt);
  }
  Put(std::move(instance));
  return "create";
}

std::string RandomLife::ClaimOne() {
  const Instance* found = Pick([&](const Instance& i) {
    return i.on == HostAndNode() && i.vm_state != "deleted" &&
           account_.OpenClaimOf(i.uuid) == nullptr;
  });
  if (found == nullptr) return "nothing to claim";
  if (found->vm_state == "shelved_offloaded") {
    Instance unshelved = *found;
    unshelved.task_state = "spawning";
    Put(unshelved);
    found = &instances_.at(unshelved.uuid);
  }
  InstanceClaim request;
  request.id = "c" + std::to_string(++names_);
  request.node_uuid = kHere.node_uuid;
  request.instance = *found;
  if (Below(3) == 0) request.units = {{"node-1"_uuid, "PMEM", 1 + Below(2)}};
  if (Below(3) == 0) request.limits.memory_mib = 1024 + 256 * Below(8);
  const auto claim = ClaimInstance(settings_, request, &account_);
  if (!claim.ok()) return "refused claim";
  unwritten_.push_back(*claim);
  return "claim";
}

std::string RandomLife::WriteClaim() {
  if (unwritten_.empty()) return "nothing to write";
  const int at = Below(static_cast<int>(unwritten_.size()));
  const OpenClaim claim = unwritten_[at];
  unwritten_.erase(unwritten_.begin() + at);
  Instance instance = instances_.at(claim.instance.uuid);
  if (claim.migration.has_value()) {
    instance.context = claim.instance.context;
    Migration migration = *claim.migration;
    migration.updated_at = now_;
    Put(migration);
  } else {
    instance.on = claim.instance.on;
    instance.launched_on = claim.instance.launched_on;
    instance.assigned = claim.instance.assigned;
  }
  Put(instance);
  written_.push_back(claim);
  return "write";
}

std::string RandomLife::Abort() {
  const bool open = Below(2) == 0;
  std::vector<OpenClaim>& from = open ? unwritten_ : written_;
  if (from.empty()) return "nothing to abort";
  const int at = Below(static_cast<int>(from.size()));
  const OpenClaim claim = from[at];
  from.erase(from.begin() + at);
  const auto instance = instances_.find(claim.instance.uuid);
  if (instance != instances_.end() && !claim.migration.has_value() && Moves(instance->second)) {
    return "too late";
  }
  const Migration* migration = nullptr;
  if (claim.migration.has_value()) {
    const auto found = migrations_.find(claim.migration->uuid);
    if (found != migrations_.end()) migration = &found->second;
  }
  Ending ending = AbortClaim(claim, instance == instances_.end() ? nullptr : &instance->second,
                             migration, "failed", &account_);
  if (instance != instances_.end() && ending.migration.has_value()) {
    if (!ending.instance.has_value()) ending.instance = instance->second;
    ending.instance->task_state.clear();
  }
  Write(ending);
  return open ? "abort" : "abort of a written claim";
}

std::string RandomLife::LoseClaim() {
  if (unwritten_.empty()) return "nothing to lose";
  const auto lost = unwritten_.begin() + Below(static_cast<int>(unwritten_.size()));
  account_.Close(lost->instance.uuid, lost->id);
  unwritten_.erase(lost);
  return "lose claim";
}

std::string RandomLife::Delete() {
  const Instance* found = Pick([](const Instance&) { return true; });
  if (found == nullptr) return "nothing to delete";
  Instance instance = *found;
  const Uuid uuid = instance.uuid;
  if (Below(2) == 0) {
    instance.vm_state = "deleted";
    instance.deleted = Below(2) == 0;
    Put(instance);
    if (const Migration* migration = MoveOf(uuid); migration != nullptr) {
      Migration over = *migration;
      over.status = "failed";
      Put(over);
    }
    std::erase_if(unwritten_, [&](const OpenClaim& c) { return c.instance.uuid == uuid; });
    return "mark deleted";
  }
  if (account_.OpenClaimOf(uuid) != nullptr) return "nothing to remove";
  for (auto at = migrations_.begin(); at != migrations_.end();) {
    if (at->second.instance_uuid != uuid) {
      ++at;
      continue;
    }
    account_.DropMigration(at->first);
    at = migrations_.erase(at);
  }
  account_.DropInstance(uuid);
  instances_.erase(uuid);
  return "remove";
}

std::string RandomLife::ChangeState() {
  const Instance* found = Pick([&](const Instance& i) {
    return !Moves(i) && i.vm_state != "deleted" && i.vm_state != "resized" && !i.deleted;
  });
  if (found == nullptr) return "nothing to change";
  Instance instance = *found;
  const char* states[] = {"active", "stopped", "paused", "error", "rescued"};
  const char* tasks[] = {"", "deleting", "rescuing", "image_backup", "powering-off"};
  instance.vm_state = states[Below(5)];
  instance.task_state = tasks[Below(5)];
  if (Below(6) == 0 && account_.OpenClaimOf(instance.uuid) == nullptr) {
    instance.vm_state = "shelved_offloaded";
    Unclaim(&instance);
  }
  Put(instance);
  return "state";
}

// All records once more, as after a reconnection: nothing changes.
std::string RandomLife::Pass() {
  account_.SetResources(resources_);
  for (const auto& [uuid, migration] : migrations_) account_.PutMigration(migration);
  for (const auto& [uuid, instance] : instances_) account_.PutInstance(instance);
  return "pass";
}

// A process that starts knows the records and nothing else.
std::string RandomLife::Restart() {
  unwritten_.clear();
  account_ = Anew();
  return "restart";
}

bool RandomLife::Moves(const Instance& instance) const { return MoveOf(instance.uuid) != nullptr; }

const Migration* RandomLife::MoveOf(const Uuid& instance_uuid) const {
  for (const auto& [uuid, migration] : migrations_) {
    const bool over = migration.status == "failed" || migration.status == "completed" ||
                      migration.status == "done" || migration.status == "confirmed" ||
                      migration.status == "reverted";
    if (migration.instance_uuid == instance_uuid && !over) return &migration;
  }
  return nullptr;
}

void RandomLife::Put(Instance instance) {
  account_.PutInstance(instance);
  const Uuid uuid = instance.uuid;
  instances_.insert_or_assign(uuid, std::move(instance));
}

void RandomLife::Put(Migration migration) {
  account_.PutMigration(migration);
  const Uuid uuid = migration.uuid;
  migrations_.insert_or_assign(uuid, std::move(migration));
}

void RandomLife::Write(const Ending& ending) {
  if (ending.migration.has_value()) Put(*ending.migration);
  if (ending.instance.has_value()) Put(*ending.instance);
}

NaiveAccount RandomLife::Naive() const {
  std::map<Uuid, Instance> instances = instances_;
  std::map<Uuid, Migration> by_uuid = migrations_;
  for (const OpenClaim& claim : unwritten_) {
    Instance& instance = instances.at(claim.instance.uuid);
    if (claim.migration.has_value()) {
      instance.context = claim.instance.context;
      by_uuid[claim.migration->uuid].destination = claim.migration->destination;
    } else {
      instance.on = claim.instance.on;
      instance.assigned = claim.instance.assigned;
    }
  }
  std::vector<Migration> migrations;
  for (const auto& [uuid, migration] : by_uuid) migrations.push_back(migration);
  return CountNaively(kHere, resources_, instances, migrations);
}

NodeAccount RandomLife::Anew() const {
  NodeAccount account(kHere, resources_);
  for (const auto& [uuid, instance] : instances_) account.PutInstance(instance);
  for (const auto& [uuid, migration] : migrations_) account.PutMigration(migration);
  for (const OpenClaim& claim : unwritten_) account.Open(claim);
  return account;
}

}  // namespace berth::tracker
