#include "tracker/hypervisor/reading.h"

#include <libvirt/libvirt.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/hypervisor/connection.h"

namespace berth::tracker {
namespace {

constexpr unsigned kStats = VIR_DOMAIN_STATS_STATE | VIR_DOMAIN_STATS_VCPU |
                            VIR_DOMAIN_STATS_BALLOON | VIR_DOMAIN_STATS_BLOCK;

GuestState StateOf(int state) {
  switch (state) {
    case VIR_DOMAIN_RUNNING:
      return GuestState::kRunning;
    case VIR_DOMAIN_BLOCKED:
      return GuestState::kBlocked;
    case VIR_DOMAIN_PAUSED:
      return GuestState::kPaused;
    case VIR_DOMAIN_SHUTDOWN:
      return GuestState::kShuttingDown;
    case VIR_DOMAIN_SHUTOFF:
      return GuestState::kShutOff;
    case VIR_DOMAIN_CRASHED:
      return GuestState::kCrashed;
    case VIR_DOMAIN_PMSUSPENDED:
      return GuestState::kSuspended;
    default:
      return GuestState::kNone;
  }
}

std::optional<int64_t> Number(const virDomainStatsRecord& record, const std::string& name) {
  int as_int = 0;
  unsigned as_unsigned = 0;
  unsigned long long as_long = 0;  // NOLINT(google-runtime-int): libvirt's type
  if (virTypedParamsGetInt(record.params, record.nparams, name.c_str(), &as_int) == 1) {
    return as_int;
  }
  if (virTypedParamsGetUInt(record.params, record.nparams, name.c_str(), &as_unsigned) == 1) {
    return as_unsigned;
  }
  if (virTypedParamsGetULLong(record.params, record.nparams, name.c_str(), &as_long) == 1) {
    return static_cast<int64_t>(as_long);
  }
  return std::nullopt;
}

void ReadDisks(const virDomainStatsRecord& record, GuestReading* guest) {
  const int64_t count = Number(record, "block.count").value_or(0);
  for (int64_t i = 0; i < count; ++i) {
    const std::string prefix = absl::StrCat("block.", i, ".");
    const char* target = nullptr;
    if (virTypedParamsGetString(record.params, record.nparams, absl::StrCat(prefix, "name").c_str(),
                                &target) != 1) {
      continue;
    }
    const std::optional<int64_t> capacity = Number(record, absl::StrCat(prefix, "capacity"));
    if (capacity) guest->capacity_bytes_by_target[target] = *capacity;
  }
}

// Reads the state, vCPUs and memory of one guest whose vCPUs or memory the bulk call left out.
void ReadInfo(const HypervisorConnection& connection, virDomainPtr domain, GuestReading* guest,
              std::vector<std::string>* warnings) {
  virDomainInfo info = {};
  connection.Count("virDomainGetInfo");
  if (virDomainGetInfo(domain, &info) != 0) {
    warnings->push_back(
        absl::StrCat("guest ", guest->uuid, ": ", LibvirtError("virDomainGetInfo").message()));
    return;
  }
  guest->state = StateOf(info.state);
  guest->vcpus = info.nrVirtCpu;
  guest->memory_max_mib = static_cast<int64_t>(info.maxMem / 1024);
  guest->memory_mib = static_cast<int64_t>(info.memory / 1024);
}

// Reads the definition of one guest. Returns false if the guest does not exist any more (T-391).
bool ReadDefinition(const HypervisorConnection& connection, virDomainPtr domain,
                    GuestReading* guest, std::vector<std::string>* warnings) {
  connection.Count("virDomainGetXMLDesc");
  absl::StatusOr<std::string> text =
      TakeText(virDomainGetXMLDesc(domain, 0), "virDomainGetXMLDesc");
  if (absl::IsNotFound(text.status())) return false;
  if (text.ok()) {
    guest->definition_xml = *std::move(text);
  } else {
    warnings->push_back(absl::StrCat("guest ", guest->uuid, ": ", text.status().message()));
  }
  return true;
}

void AddGuest(const HypervisorConnection& connection, const virDomainStatsRecord& record,
              GuestList* list) {
  GuestReading guest;
  char uuid[VIR_UUID_STRING_BUFLEN];
  if (virDomainGetUUIDString(record.dom, uuid) != 0) return;
  guest.uuid = uuid;
  guest.name = virDomainGetName(record.dom);
  guest.state = StateOf(static_cast<int>(Number(record, "state.state").value_or(0)));
  guest.vcpus = Number(record, "vcpu.current");
  const std::optional<int64_t> maximum_kib = Number(record, "balloon.maximum");
  guest.memory_max_mib = maximum_kib.value_or(0) / 1024;
  guest.memory_mib = Number(record, "balloon.current").value_or(0) / 1024;
  if (!guest.vcpus || !maximum_kib) ReadInfo(connection, record.dom, &guest, &list->warnings);
  ReadDisks(record, &guest);
  if (ReadDefinition(connection, record.dom, &guest, &list->warnings)) {
    list->guests.push_back(std::move(guest));
  }
}

}  // namespace

absl::StatusOr<GuestList> ReadGuests(const HypervisorConnection& connection) {
  connection.Count("virConnectGetAllDomainStats");
  virDomainStatsRecordPtr* records = nullptr;
  // With NOWAIT libvirt does not wait for a guest that is busy with a job; its values may then be
  // incomplete.
  const int count = virConnectGetAllDomainStats(connection.get(), kStats, &records,
                                                VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT);
  if (count < 0) return LibvirtError("virConnectGetAllDomainStats");
  GuestList list;
  for (int i = 0; i < count; ++i) AddGuest(connection, *records[i], &list);
  virDomainStatsRecordListFree(records);
  std::sort(list.guests.begin(), list.guests.end(),
            [](const GuestReading& a, const GuestReading& b) { return a.uuid < b.uuid; });
  return list;
}

absl::StatusOr<DeviceList> ReadDevices(const HypervisorConnection& connection) {
  connection.Count("virConnectListAllNodeDevices");
  virNodeDevicePtr* devices = nullptr;
  const int count = virConnectListAllNodeDevices(
      connection.get(), &devices,
      VIR_CONNECT_LIST_NODE_DEVICES_CAP_PCI_DEV | VIR_CONNECT_LIST_NODE_DEVICES_CAP_NET |
          VIR_CONNECT_LIST_NODE_DEVICES_CAP_VDPA | VIR_CONNECT_LIST_NODE_DEVICES_CAP_VPD);
  if (count < 0) return LibvirtError("virConnectListAllNodeDevices");
  DeviceList list;
  for (int i = 0; i < count; ++i) {
    connection.Count("virNodeDeviceGetXMLDesc");
    absl::StatusOr<std::string> text =
        TakeText(virNodeDeviceGetXMLDesc(devices[i], 0), "virNodeDeviceGetXMLDesc");
    if (text.ok()) {
      list.documents.push_back(*std::move(text));
    } else if (!absl::IsNotFound(text.status())) {
      list.warnings.push_back(std::string(text.status().message()));
    }
    virNodeDeviceFree(devices[i]);
  }
  std::free(devices);
  return list;
}

absl::StatusOr<HostReading> ReadHost(const HypervisorConnection& connection) {
  HostReading reading;
  virNodeInfo info = {};
  connection.Count("virNodeGetInfo");
  if (virNodeGetInfo(connection.get(), &info) != 0) return LibvirtError("virNodeGetInfo");
  reading.memory_kib = static_cast<int64_t>(info.memory);
  reading.mhz = info.mhz;
  unsigned char* map = nullptr;
  unsigned online = 0;
  connection.Count("virNodeGetCPUMap");
  const int present = virNodeGetCPUMap(connection.get(), &map, &online, 0);
  if (present < 0) return LibvirtError("virNodeGetCPUMap");
  for (int cpu = 0; cpu < present; ++cpu) {
    reading.present.Insert(cpu);
    if ((map[cpu / 8] >> (cpu % 8) & 1) != 0) reading.online.Insert(cpu);
  }
  std::free(map);
  return reading;
}

}  // namespace berth::tracker
