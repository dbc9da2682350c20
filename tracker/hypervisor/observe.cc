#include "tracker/hypervisor/observe.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/facts/disk.h"
#include "tracker/facts/domain_xml.h"
#include "tracker/facts/node_devices.h"
#include "tracker/facts/numa.h"
#include "tracker/hypervisor/host_memory.h"
#include "tracker/hypervisor/uptime.h"
#include "tracker/settings/cpu_policy.h"

namespace berth::tracker {
namespace {

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Adds a warning that the part `what` could not be read, and marks the facts as degraded.
void Skip(const std::string& what, const absl::Status& why, Facts* facts) {
  facts->warnings.push_back(absl::StrCat(what, ": ", why.message()));
  facts->degraded = true;
}

bool IsImageFile(const GuestDisk& disk) { return disk.type == "file" && !disk.path.empty(); }

// Whether `status` says that the image does not exist, or that the tracker may not read it.
bool IsNoImage(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsPermissionDenied(status);
}

// Returns null if the definition could not be read or parsed.
const GuestDefinition* Parsed(const GuestReader::Reading& guest) {
  return guest.definition == nullptr || !guest.definition->parsed.ok() ? nullptr
                                                                       : &*guest.definition->parsed;
}

const std::vector<GuestDisk>& DisksOf(const GuestReader::Reading& guest) {
  static const auto* const kNone = new std::vector<GuestDisk>;
  const GuestDefinition* const definition = Parsed(guest);
  return definition == nullptr ? *kNone : definition->disks;
}

// Returns the size of a disk as libvirt told it, if it did.
std::optional<int64_t> CapacityOf(const GuestReader::Reading& guest, const std::string& target) {
  const auto& capacities = guest.definition->capacity_bytes_by_target;
  const auto found = capacities.find(target);
  return found == capacities.end() ? std::nullopt : std::optional<int64_t>(found->second);
}

template <typename T>
std::string ProbeText(const Probe<T>& probe) {
  return absl::StrCat(probe.status.message(),
                      probe.value ? "; the values that were read last are used" : "");
}

}  // namespace

Observer::Observer(const NodeConfiguration& configuration, Surroundings surroundings,
                   Hypervisor* hypervisor)
    : configuration_(configuration),
      surroundings_(std::move(surroundings)),
      hypervisor_(hypervisor),
      guests_(hypervisor),
      devices_(hypervisor),
      storage_(surroundings_.storage) {}

absl::StatusOr<std::string> Observer::NodeName() {
  if (name_) return *name_;
  BERTH_RETURN_IF_ERROR(hypervisor_->Connect());
  absl::StatusOr<std::string> name = hypervisor_->HostName();
  if (name.ok()) name_ = *name;
  return name;
}

absl::StatusOr<Facts> Observer::Observe(absl::Time now) {
  BERTH_ASSIGN_OR_RETURN(const std::string name, NodeName());
  BERTH_RETURN_IF_ERROR(hypervisor_->Connect());
  if (!lasting_ || lasting_->connection_number != hypervisor_->connection_number()) {
    lasting_.reset();
    BERTH_ASSIGN_OR_RETURN(lasting_, ReadLasting());
    // While there was no connection, no events came.
    guests_.OutdateAll();
    devices_.OutdateAll();
  }
  const ChangedSubjects changed = hypervisor_->TakeChanges();
  guests_.Outdate(changed.guests);
  devices_.Outdate(changed.devices);
  mounts_ = ParseMounts(FileText(surroundings_.proc_path + "/self/mountinfo"));
  Facts facts = lasting_->facts;
  facts.hypervisor_hostname = name;
  facts.host_address = surroundings_.host_address;
  BERTH_RETURN_IF_ERROR(ReadHost(*lasting_, now, &facts));
  BERTH_RETURN_IF_ERROR(ReadGuests(now, &facts));
  BERTH_RETURN_IF_ERROR(ReadDisk(&facts));
  BERTH_RETURN_IF_ERROR(ReadDevices(now, &facts));
  ReadKernel(*lasting_, now, &facts);
  return facts;
}

absl::Status Observer::ReadHost(const Lasting& lasting, absl::Time now, Facts* facts) {
  BERTH_ASSIGN_OR_RETURN(const HostReading host, hypervisor_->Host());
  BERTH_ASSIGN_OR_RETURN(const GuestCpus cpus,
                         SelectGuestCpus(configuration_, host.online, host.present));
  facts->vcpus = cpus.shared.Count();
  facts->pcpus = cpus.dedicated.Count();
  facts->memory_mib = configuration_.file_backed_memory_mib > 0
                          ? configuration_.file_backed_memory_mib
                          : host.memory_kib / 1024;
  BERTH_ASSIGN_OR_RETURN(facts->numa_topology, DescribeNuma(lasting.capabilities, cpus,
                                                            configuration_, facts->virt_type));
  ReadMonitors(host.mhz, now, facts);
  return absl::OkStatus();
}

void Observer::ReadMonitors(int64_t mhz, absl::Time now, Facts* facts) {
  if (configuration_.monitors.empty()) return;
  const absl::StatusOr<CpuTimes> times = hypervisor_->HostCpuTimes();
  if (!times.ok()) {
    // The facts are not degraded by this, because nothing depends on metrics (T-103).
    facts->warnings.push_back(
        absl::StrCat("monitor ", kCpuMonitor, ": ", times.status().message()));
    return;
  }
  facts->metrics = CpuMetrics(*times, cpu_times_, mhz, now);
  cpu_times_ = *times;
}

absl::Status Observer::ReadGuests(absl::Time now, Facts* facts) {
  std::vector<std::string> warnings;
  BERTH_ASSIGN_OR_RETURN(const std::vector<GuestReader::Reading> readings,
                         guests_.Read(now, surroundings_.pass_interval, &warnings));
  for (std::string& warning : warnings) facts->warnings.push_back(std::move(warning));
  facts->degraded |= !warnings.empty();
  int64_t vcpus_used = 0;
  for (const GuestReader::Reading& reading : readings) {
    Guest& guest = facts->guests.emplace_back();
    guest.uuid = reading.listed.uuid;
    guest.name = reading.listed.name;
    guest.state = reading.listed.state;
    if (const GuestDefinition* const definition = Parsed(reading)) {
      guest.vcpus = definition->vcpus;
      guest.vcpus_max = definition->vcpus_max;
      guest.memory_mib = definition->memory_mib;
      guest.memory_max_mib = definition->memory_max_mib;
    } else if (reading.definition != nullptr) {
      Skip(absl::StrCat("guest ", guest.uuid), reading.definition->parsed.status(), facts);
    }
    if (guest.active()) vcpus_used += guest.vcpus.value_or(1);  // 1 if it is not told (T-78)
  }
  facts->vcpus_used = vcpus_used;
  ReadImages(readings, facts);
  return absl::OkStatus();
}

// Reads the images of all guests in one go, then sums up the disk sizes of each guest.
void Observer::ReadImages(const std::vector<GuestReader::Reading>& readings, Facts* facts) {
  std::set<std::string> paths;
  for (const GuestReader::Reading& reading : readings) {
    for (const GuestDisk& disk : DisksOf(reading)) {
      if (IsImageFile(disk)) paths.insert(disk.path);
    }
  }
  const std::map<std::string, Probe<ImageReading>> probes = storage_.Images(paths, mounts_);
  // The test driver of libvirt invents the sizes of disks.
  if (lasting_->shows_this_machine) ReadCapacities(readings, probes, facts);
  for (size_t i = 0; i < readings.size(); ++i) {
    Guest& guest = facts->guests[i];
    for (const GuestDisk& disk : DisksOf(readings[i])) {
      Probe<ImageReading> image;
      if (IsImageFile(disk)) image = probes.at(disk.path);
      // The simulated guests of libvirt's test driver have no images, so an image that cannot be
      // read causes a warning only for real guests (T-85).
      if (!image.status.ok() && lasting_->shows_this_machine) {
        facts->warnings.push_back(
            absl::StrCat("guest ", guest.uuid, " disk ", disk.target, ": ", ProbeText(image)));
        facts->degraded |= !IsNoImage(image.status);
      }
      guest.overcommitted_bytes += OvercommittedBytes(disk, image.value, {});
      guest.local_disk_bytes +=
          LocalDiskBytes(disk, image.value, CapacityOf(readings[i], disk.target));
    }
  }
}

// Asks libvirt for the sizes of disks that the tracker may not read. It is asked once for each time
// that the definition is read, because the sizes last as long as the definition, and an answer costs
// the guest's emulator about a millisecond.
void Observer::ReadCapacities(const std::vector<GuestReader::Reading>& readings,
                              const std::map<std::string, Probe<ImageReading>>& images,
                              Facts* facts) {
  std::vector<CapacityQuestion> questions;
  std::vector<GuestReader::Definition*> definitions;  // of the guest of each question
  for (const GuestReader::Reading& reading : readings) {
    if (reading.definition == nullptr || !reading.definition->capacities_wanted) continue;
    reading.definition->capacities_wanted = false;
    for (const GuestDisk& disk : DisksOf(reading)) {
      const auto image = images.find(disk.path);
      const bool forbidden = IsImageFile(disk) && absl::IsPermissionDenied(image->second.status);
      if (!NeedsCapacity(disk, forbidden)) continue;
      questions.push_back({reading.listed.uuid, disk.target,
                           hypervisor_->CapacityReader(reading.listed, disk.target)});
      definitions.push_back(reading.definition);
    }
  }
  const std::vector<Probe<int64_t>> answers = storage_.Capacities(questions);
  for (size_t i = 0; i < questions.size(); ++i) {
    const absl::Status& status = answers[i].status;
    if (status.ok()) {
      definitions[i]->capacity_bytes_by_target[questions[i].target] = *answers[i].value;
    } else if (absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status)) {
      definitions[i]->capacities_wanted = true;  // the next pass asks again
      Skip(absl::StrCat("guest ", questions[i].guest_uuid, " disk ", questions[i].target), status,
           facts);
    }
  }
}

absl::Status Observer::ReadDisk(Facts* facts) {
  std::string path = configuration_.instances_path;
  if (path.empty()) path = absl::StrCat(surroundings_.state_path, "/instances");
  const Probe<StorageReading> storage = storage_.Storage(configuration_, path);
  if (!storage.value) {
    const bool hangs =
        absl::IsUnavailable(storage.status) || absl::IsDeadlineExceeded(storage.status);
    if (!hangs) return storage.status;
    // The error must not have the code of `storage.status`: kUnavailable would mean that the
    // hypervisor is away.
    return absl::InternalError(absl::StrCat("storage: ", storage.status.message()));
  }
  if (!storage.status.ok()) {
    facts->warnings.push_back(absl::StrCat("storage: ", ProbeText(storage)));
    facts->degraded = true;
  }
  int64_t overcommitted_bytes = 0;
  for (const Guest& guest : facts->guests) overcommitted_bytes += guest.overcommitted_bytes;
  if (configuration_.disk_backend == DiskBackend::kFile) {
    const Mount* const mount = FindMount(mounts_, path);
    if (mount != nullptr) facts->storage_id = SharedStorageId(*mount);
  } else if (!storage.value->cluster_id.empty()) {
    facts->storage_id =
        absl::StrCat("rbd:", storage.value->cluster_id, "/", configuration_.rbd_pool);
  }
  facts->local_disk_gib = TruncatedGib(storage.value->total_bytes);
  facts->local_disk_used_gib = TruncatedGib(storage.value->used_bytes);
  facts->disk_available_least_gib = TruncatedGib(storage.value->free_bytes - overcommitted_bytes);
  return absl::OkStatus();
}

absl::Status Observer::ReadDevices(absl::Time now, Facts* facts) {
  absl::StatusOr<std::vector<PciDevice>> devices =
      devices_.Read(now, surroundings_.pass_interval, &facts->warnings);
  if (devices.ok()) {
    facts->pci_devices = *std::move(devices);
    return absl::OkStatus();
  }
  // Without a connection, nobody knows whether the devices are still there (T-104).
  if (!hypervisor_->connected()) return devices.status();
  Skip("devices", devices.status(), facts);  // the list of devices stays empty (T-96)
  return absl::OkStatus();
}

void Observer::ReadKernel(const Lasting& lasting, absl::Time now, Facts* facts) {
  const std::string& proc = surroundings_.proc_path;
  if (!lasting.shows_this_machine) {
    facts->memory_used_mib = std::optional<int64_t>();
  } else if (configuration_.file_backed_memory_mib > 0) {
    int64_t used_mib = 0;
    for (const Guest& guest : facts->guests) used_mib += guest.active() ? guest.memory_mib : 0;
    facts->memory_used_mib = std::optional<int64_t>(used_mib);
  } else {
    const absl::StatusOr<int64_t> used = UsedMemoryMib(FileText(proc + "/meminfo"));
    if (used.ok()) {
      facts->memory_used_mib = std::optional<int64_t>(*used);
    } else {
      Skip("memory in use", used.status(), facts);
    }
  }
  const absl::StatusOr<std::string> uptime = UptimeLine(
      FileText(proc + "/uptime"), FileText(proc + "/loadavg"), now, absl::LocalTimeZone());
  if (uptime.ok()) facts->uptime = *uptime;
}

}  // namespace berth::tracker
