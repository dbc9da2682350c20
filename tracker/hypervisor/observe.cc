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
  }
  Facts facts = lasting_->facts;
  facts.hypervisor_hostname = name;
  facts.host_address = surroundings_.host_address;
  BERTH_RETURN_IF_ERROR(ReadHost(*lasting_, &facts));
  BERTH_RETURN_IF_ERROR(ReadGuests(&facts));
  BERTH_RETURN_IF_ERROR(ReadDisk(&facts));
  ReadDevices(&facts);
  ReadKernel(*lasting_, now, &facts);
  return facts;
}

absl::Status Observer::ReadHost(const Lasting& lasting, Facts* facts) {
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
  return absl::OkStatus();
}

absl::Status Observer::ReadGuests(Facts* facts) {
  BERTH_ASSIGN_OR_RETURN(GuestList list, hypervisor_->Guests());
  for (std::string& warning : list.warnings) {
    facts->warnings.push_back(std::move(warning));
    facts->degraded = true;
  }
  ReadImages(list.guests, AddGuests(list.guests, facts), facts);
  int64_t vcpus_used = 0;
  for (const Guest& guest : facts->guests) {
    if (guest.active()) vcpus_used += guest.vcpus.value_or(1);  // 1 if it is not told (T-78)
  }
  facts->vcpus_used = vcpus_used;
  return absl::OkStatus();
}

// Adds every guest to the facts, without disk sizes. Returns the disks of each guest.
std::vector<std::vector<GuestDisk>> Observer::AddGuests(const std::vector<GuestReading>& readings,
                                                        Facts* facts) {
  std::vector<std::vector<GuestDisk>> disks(readings.size());
  for (size_t i = 0; i < readings.size(); ++i) {
    const GuestReading& reading = readings[i];
    Guest& guest = facts->guests.emplace_back();
    guest.uuid = reading.uuid;
    guest.name = reading.name;
    guest.state = reading.state;
    guest.vcpus = reading.vcpus;
    guest.memory_mib = reading.memory_mib;
    guest.memory_max_mib = reading.memory_max_mib;
    absl::StatusOr<GuestDefinition> definition = ParseGuestDefinition(reading.definition_xml);
    if (definition.ok()) {
      guest.memory_max_mib = std::max(guest.memory_max_mib, definition->memory_max_mib);
      guest.vcpus_max = definition->vcpus_max;
      disks[i] = std::move(definition->disks);
    } else if (!reading.definition_xml.empty()) {
      Skip(absl::StrCat("guest ", guest.uuid), definition.status(), facts);
    }
  }
  return disks;
}

// Reads the images of all guests in one go, then sums up the disk sizes of each guest.
void Observer::ReadImages(const std::vector<GuestReading>& readings,
                          const std::vector<std::vector<GuestDisk>>& disks, Facts* facts) {
  std::set<std::string> paths;
  for (const std::vector<GuestDisk>& of_one : disks) {
    for (const GuestDisk& disk : of_one) {
      if (IsImageFile(disk)) paths.insert(disk.path);
    }
  }
  const std::map<std::string, Probe<ImageReading>> probes = storage_.Images(paths);
  for (size_t i = 0; i < readings.size(); ++i) {
    Guest& guest = facts->guests[i];
    for (const GuestDisk& disk : disks[i]) {
      Probe<ImageReading> image;
      if (IsImageFile(disk)) image = probes.at(disk.path);
      // The simulated guests of libvirt's test driver have no images, so an image that cannot be
      // read causes a warning only for real guests (T-85).
      if (!image.status.ok() && lasting_->shows_this_machine) {
        facts->warnings.push_back(
            absl::StrCat("guest ", guest.uuid, " disk ", disk.target, ": ", ProbeText(image)));
        facts->degraded |= !IsNoImage(image.status);
      }
      std::optional<int64_t> capacity_bytes;
      const auto told = readings[i].capacity_bytes_by_target.find(disk.target);
      if (told != readings[i].capacity_bytes_by_target.end()) capacity_bytes = told->second;
      guest.overcommitted_bytes += OvercommittedBytes(disk, image.value, {});
      guest.local_disk_bytes += LocalDiskBytes(disk, image.value, capacity_bytes);
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
  facts->local_disk_gib = TruncatedGib(storage.value->total_bytes);
  facts->local_disk_used_gib = TruncatedGib(storage.value->used_bytes);
  facts->disk_available_least_gib = TruncatedGib(storage.value->free_bytes - overcommitted_bytes);
  return absl::OkStatus();
}

void Observer::ReadDevices(Facts* facts) {
  absl::StatusOr<DeviceList> list = hypervisor_->Devices();
  if (!list.ok()) {
    Skip("devices", list.status(), facts);  // the list of devices stays empty (T-96)
    return;
  }
  PciDump dump = ParseNodeDevices(list->documents);
  facts->pci_devices = std::move(dump.devices);
  for (const std::vector<std::string>& told : {list->warnings, dump.skipped}) {
    facts->warnings.insert(facts->warnings.end(), told.begin(), told.end());
  }
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
