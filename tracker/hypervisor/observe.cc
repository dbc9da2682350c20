#include "tracker/hypervisor/observe.h"

#include <algorithm>
#include <fstream>
#include <iterator>
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

// Whether the disk is a file or a block device, removable or not.
bool HasImage(const GuestDisk& disk) {
  return !disk.path.empty() && (disk.type == "file" || disk.type == "block");
}

// Whether `status` says that the image does not exist, or that the tracker may not read it.
bool IsNoImage(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsPermissionDenied(status);
}

bool Hangs(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status);
}

const std::vector<GuestDisk>& DisksOf(const GuestReader::Reading& guest) {
  static const auto* const kNone = new std::vector<GuestDisk>;
  return guest.definition == nullptr ? *kNone : guest.definition->parsed.disks;
}

std::set<std::string> ImagePaths(const std::vector<GuestReader::Reading>& guests) {
  std::set<std::string> paths;
  for (const GuestReader::Reading& guest : guests) {
    for (const GuestDisk& disk : DisksOf(guest)) {
      if (HasImage(disk)) paths.insert(disk.path);
    }
  }
  return paths;
}

// Returns the uuids of the guests with an image that the pass before could read and this one cannot.
std::set<std::string> GuestsThatLost(const std::map<std::string, Probe<ImageReading>>& images,
                                     const std::vector<GuestReader::Reading>& guests) {
  std::set<std::string> uuids;
  for (const GuestReader::Reading& guest : guests) {
    for (const GuestDisk& disk : DisksOf(guest)) {
      if (HasImage(disk) && images.at(disk.path).lost) uuids.insert(guest.listed.uuid.ToString());
    }
  }
  return uuids;
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
  const ChangedSubjects changed = hypervisor_->TakeChanges();
  guests_.Outdate(changed.guests);
  devices_.Outdate(changed.devices);
  if (name_) return *name_;
  BERTH_RETURN_IF_ERROR(hypervisor_->Connect());
  absl::StatusOr<std::string> name = hypervisor_->HostName();
  if (name.ok()) name_ = *name;
  return name;
}

absl::StatusOr<Facts> Observer::Observe(MonotonicTime now, absl::Time wall_now) {
  BERTH_ASSIGN_OR_RETURN(const std::string name, NodeName());
  BERTH_RETURN_IF_ERROR(hypervisor_->Connect());
  if (!lasting_ || lasting_->connection_number != hypervisor_->connection_number()) {
    lasting_.reset();
    BERTH_ASSIGN_OR_RETURN(lasting_, ReadLasting());
    // While there was no connection, no events came.
    guests_.OutdateAll();
    devices_.OutdateAll();
  }
  mounts_ = ParseMounts(FileText(surroundings_.proc_path + "/self/mountinfo"));
  Facts facts = lasting_->facts;
  facts.hypervisor_hostname = name;
  facts.host_address = surroundings_.host_address;
  BERTH_RETURN_IF_ERROR(ReadHost(*lasting_, wall_now, &facts));
  BERTH_RETURN_IF_ERROR(ReadGuests(now, &facts));
  BERTH_RETURN_IF_ERROR(ReadDisk(&facts));
  BERTH_RETURN_IF_ERROR(ReadDevices(now, &facts));
  ReadKernel(*lasting_, wall_now, &facts);
  return facts;
}

absl::Status Observer::ReadHost(const Lasting& lasting, absl::Time wall_now, Facts* facts) {
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
  ReadMonitors(host.mhz, wall_now, facts);
  return absl::OkStatus();
}

void Observer::ReadMonitors(int64_t mhz, absl::Time wall_now, Facts* facts) {
  if (configuration_.monitors.empty()) return;
  const absl::StatusOr<CpuTimes> times = hypervisor_->HostCpuTimes();
  if (!times.ok()) {
    // The facts are not degraded by this, because nothing depends on metrics (T-103).
    facts->warnings.push_back(
        absl::StrCat("monitor ", kCpuMonitor, ": ", times.status().message()));
    return;
  }
  facts->metrics = CpuMetrics(*times, cpu_times_, mhz, wall_now);
  cpu_times_ = *times;
}

absl::Status Observer::ReadGuests(MonotonicTime now, Facts* facts) {
  std::vector<std::string> warnings;
  BERTH_ASSIGN_OR_RETURN(GuestReadings readings,
                         guests_.Read(now, surroundings_.pass_interval, &warnings));
  Images images = storage_.Images(ImagePaths(readings), mounts_);
  const std::set<std::string> changed = GuestsThatLost(images, readings);
  if (!changed.empty()) {
    // These guests may have got other images, which libvirt does not always announce.
    guests_.Outdate(changed);
    warnings.clear();
    BERTH_ASSIGN_OR_RETURN(readings, guests_.Read(now, surroundings_.pass_interval, &warnings));
    images = storage_.Images(ImagePaths(readings), mounts_);
  }
  facts->degraded |= !warnings.empty();
  std::move(warnings.begin(), warnings.end(), std::back_inserter(facts->warnings));
  int64_t vcpus_used = 0;
  for (const GuestReader::Reading& reading : readings) {
    Guest& guest = facts->guests.emplace_back();
    guest.uuid = reading.listed.uuid;
    guest.name = reading.listed.name;
    guest.state = reading.listed.state;
    if (reading.definition != nullptr) {
      const GuestDefinition& definition = reading.definition->parsed;
      guest.vcpus = definition.vcpus;
      guest.vcpus_max = definition.vcpus_max;
      guest.memory_kib = definition.memory_kib;
      guest.memory_max_mib = definition.memory_max_kib / 1024;
      guest.devices = definition.devices;
    }
    if (guest.active()) vcpus_used += guest.vcpus.value_or(1);  // 1 if it is not told (T-78)
  }
  facts->vcpus_used = vcpus_used;
  AddDisks(readings, images, facts);
  return absl::OkStatus();
}

// Sums up the disk sizes of each guest.
void Observer::AddDisks(const GuestReadings& readings, const Images& images, Facts* facts) {
  std::map<DiskName, int64_t> capacities;
  // The test driver of libvirt invents the sizes of disks.
  if (lasting_->shows_this_machine) capacities = ReadCapacities(readings, images, facts);
  for (size_t i = 0; i < readings.size(); ++i) {
    Guest& guest = facts->guests[i];
    for (const GuestDisk& disk : DisksOf(readings[i])) {
      if (!HasImage(disk)) continue;
      const Probe<ImageReading>& image = images.at(disk.path);
      // The simulated guests of libvirt's test driver have no images, so an image that cannot be
      // read causes a warning only for real guests (T-85).
      if (!image.status.ok() && lasting_->shows_this_machine) {
        facts->warnings.push_back(absl::StrCat("guest ", guest.uuid.ToString(), " disk ",
                                               disk.target, ": ", ProbeText(image)));
        facts->degraded |= !IsNoImage(image.status);
      }
      const auto found = capacities.find({guest.uuid, disk.target});
      guest.overcommitted_bytes += OvercommittedBytes(disk, image.value, {});
      guest.local_disk_bytes += LocalDiskBytes(
          disk, image.value,
          found == capacities.end() ? std::nullopt : std::optional<int64_t>(found->second));
    }
  }
}

// Returns the sizes that libvirt told of the running guests' disks whose images do not tell them.
// Since an answer costs the guest's emulator about a millisecond, libvirt is asked once for each
// time that the definition is read. libvirt is not asked about a disk whose image hangs, because it
// could hang too, nor about stopped guests, whose disks nobody counts.
std::map<Observer::DiskName, int64_t> Observer::ReadCapacities(const GuestReadings& readings,
                                                               const Images& images, Facts* facts) {
  std::vector<CapacityQuestion> questions;
  std::vector<GuestReader::Definition*> definitions;  // of the guest of each question
  for (size_t i = 0; i < readings.size(); ++i) {
    if (!facts->guests[i].active()) continue;
    for (const GuestDisk& disk : DisksOf(readings[i])) {
      if (!IsLocalDisk(disk)) continue;
      const Probe<ImageReading>& image = images.at(disk.path);
      if (image.value && ImageTellsSize(disk)) continue;
      const bool hangs = Hangs(image.status);
      const ListedGuest& listed = readings[i].listed;
      CapacityQuestion& question = questions.emplace_back();
      question = {listed.uuid, disk.target, disk.path,
                  hypervisor_->CapacityReader(listed, disk.target),
                  readings[i].definition->capacities_wanted && !hangs};
      if (hangs) question.ask = [status = image.status] { return status; };
      definitions.push_back(readings[i].definition);
    }
  }
  for (GuestReader::Definition* const definition : definitions) {
    definition->capacities_wanted = false;
  }
  const std::vector<Probe<int64_t>> answers = storage_.Capacities(questions);
  std::map<DiskName, int64_t> capacities;
  for (size_t i = 0; i < questions.size(); ++i) {
    const CapacityQuestion& question = questions[i];
    const Probe<int64_t>& answer = answers[i];
    if (answer.value) capacities[{question.guest_uuid, question.target}] = *answer.value;
    const bool hangs = Hangs(images.at(question.path).status);
    if (!hangs && (answer.status.ok() || absl::IsNotFound(answer.status))) continue;
    definitions[i]->capacities_wanted = true;  // the next pass asks again
    if (hangs) continue;                       // the facts say so already
    Skip(absl::StrCat("guest ", question.guest_uuid.ToString(), " disk ", question.target),
         absl::Status(answer.status.code(), ProbeText(answer)), facts);
  }
  return capacities;
}

absl::Status Observer::ReadDisk(Facts* facts) {
  std::string path = configuration_.instances_path;
  if (path.empty()) path = absl::StrCat(surroundings_.state_path, "/instances");
  const Probe<StorageReading> storage = storage_.Storage(configuration_, path);
  if (!storage.value) {
    if (!Hangs(storage.status)) return storage.status;
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
    facts->storage_id = PoolStorageId(storage.value->cluster_id, configuration_.rbd_pool);
  }
  if (storage.value->image_cache_bytes) {
    facts->image_cache_bytes = *storage.value->image_cache_bytes;
  } else if (!configuration_.image_cache_path.empty()) {
    facts->warnings.push_back(absl::StrCat("image cache ", configuration_.image_cache_path,
                                           ": cannot be read; nothing is reserved for it"));
    facts->degraded = true;
  }
  facts->local_disk_gib = TruncatedGib(storage.value->total_bytes);
  facts->local_disk_used_gib = TruncatedGib(storage.value->used_bytes);
  available_least_gib_ =
      SteadyGib(storage.value->free_bytes - overcommitted_bytes, available_least_gib_);
  facts->disk_available_least_gib = available_least_gib_;
  return absl::OkStatus();
}

absl::Status Observer::ReadDevices(MonotonicTime now, Facts* facts) {
  std::vector<std::string> warnings;
  absl::StatusOr<std::vector<PciDevice>> devices =
      devices_.Read(now, surroundings_.pass_interval, &warnings);
  // If the devices could not be read, those that were read last still count as virtual GPUs, because
  // otherwise their providers would be deleted.
  facts->mediated_parents = devices_.mediated_parents();
  if (devices.ok()) {
    facts->pci_devices = *std::move(devices);
    facts->degraded |= !warnings.empty();
    std::move(warnings.begin(), warnings.end(), std::back_inserter(facts->warnings));
    return absl::OkStatus();
  }
  // Without a connection, nobody knows whether the devices are still there (T-104).
  if (!hypervisor_->connected()) return devices.status();
  Skip("devices", devices.status(), facts);  // the list of devices stays empty (T-96)
  facts->devices_known = false;
  return absl::OkStatus();
}

void Observer::ReadKernel(const Lasting& lasting, absl::Time wall_now, Facts* facts) {
  const std::string& proc = surroundings_.proc_path;
  if (!lasting.shows_this_machine) {
    facts->memory_used_mib = std::optional<int64_t>();
  } else if (configuration_.file_backed_memory_mib > 0) {
    int64_t used_kib = 0;
    for (const Guest& guest : facts->guests) used_kib += guest.active() ? guest.memory_kib : 0;
    facts->memory_used_mib = std::optional<int64_t>(used_kib / 1024);
  } else {
    const absl::StatusOr<int64_t> used = UsedMemoryMib(FileText(proc + "/meminfo"));
    if (used.ok()) {
      facts->memory_used_mib = std::optional<int64_t>(*used);
    } else {
      Skip("memory in use", used.status(), facts);
    }
  }
  const absl::StatusOr<std::string> uptime = UptimeLine(
      FileText(proc + "/uptime"), FileText(proc + "/loadavg"), wall_now, absl::LocalTimeZone());
  if (uptime.ok()) facts->uptime = *uptime;
}

}  // namespace berth::tracker
