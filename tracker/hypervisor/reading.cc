#include "tracker/hypervisor/reading.h"

#include <libvirt/libvirt.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/hypervisor/connection.h"

namespace berth::tracker {
namespace {

constexpr int kCpuTimesMax = 64;  // libvirt knows five

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

GuestState StateOf(const virDomainStatsRecord& record) {
  int state = VIR_DOMAIN_NOSTATE;
  (void)virTypedParamsGetInt(record.params, record.nparams, "state.state", &state);
  return StateOf(state);
}

// Reads the document of each item of `listed` with `get_xml`, a function of libvirt called `name`.
template <typename Object, typename Listed>
absl::StatusOr<DocumentTexts> ReadEach(const HypervisorConnection& connection,
                                       const std::vector<Listed>& listed, const char* name,
                                       char* (*get_xml)(Object*, unsigned)) {
  DocumentTexts texts;
  for (const Listed& item : listed) {
    connection.Count(name);
    texts.push_back(TakeText(get_xml(static_cast<Object*>(item.handle.get()), 0), name));
    const absl::Status& status = texts.back().status();
    if (!status.ok() && !absl::IsNotFound(status) && virConnectIsAlive(connection.get()) != 1) {
      return absl::UnavailableError(status.message());
    }
  }
  return texts;
}

}  // namespace

absl::StatusOr<std::vector<ListedGuest>> ListGuests(const HypervisorConnection& connection) {
  connection.Count("virConnectGetAllDomainStats");
  virDomainStatsRecordPtr* records = nullptr;
  // Only the states: the other groups cost about a millisecond per guest, because libvirt asks each
  // guest's emulator or the kernel for them. With NOWAIT libvirt does not wait for a guest that is
  // busy with a job.
  const int count = virConnectGetAllDomainStats(connection.get(), VIR_DOMAIN_STATS_STATE, &records,
                                                VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT);
  if (count < 0) return LibvirtError("virConnectGetAllDomainStats");
  std::vector<ListedGuest> guests;
  for (int i = 0; i < count; ++i) {
    const virDomainPtr domain = records[i]->dom;
    unsigned char uuid[VIR_UUID_BUFLEN];
    if (virDomainGetUUID(domain, uuid) != 0 || virDomainRef(domain) != 0) continue;
    ListedGuest& guest = guests.emplace_back();
    guest.handle.reset(domain, virDomainFree);
    guest.uuid = UuidFromBytes(uuid);
    guest.name = virDomainGetName(domain);
    guest.state = StateOf(*records[i]);
    const unsigned id = virDomainGetID(domain);
    guest.run = id == static_cast<unsigned>(-1) ? -1 : static_cast<int64_t>(id);
  }
  virDomainStatsRecordListFree(records);
  std::sort(guests.begin(), guests.end(),
            [](const ListedGuest& a, const ListedGuest& b) { return a.uuid < b.uuid; });
  return guests;
}

absl::StatusOr<DocumentTexts> ReadDefinitions(const HypervisorConnection& connection,
                                              const std::vector<ListedGuest>& guests) {
  return ReadEach<virDomain>(connection, guests, "virDomainGetXMLDesc", virDomainGetXMLDesc);
}

absl::StatusOr<int64_t> ReadCapacity(const HypervisorConnection& connection,
                                     const ListedGuest& guest, const std::string& target) {
  connection.Count("virDomainGetBlockInfo");
  virDomainBlockInfo info = {};
  if (virDomainGetBlockInfo(static_cast<virDomainPtr>(guest.handle.get()), target.c_str(), &info,
                            0) != 0) {
    // Unavailable, whatever the reason, for example a job that holds the guest: the question can be
    // asked again.
    const absl::Status error = LibvirtError("virDomainGetBlockInfo");
    return absl::IsNotFound(error) ? error : absl::UnavailableError(error.message());
  }
  return static_cast<int64_t>(info.capacity);
}

absl::StatusOr<std::vector<ListedDevice>> ListDevices(const HypervisorConnection& connection) {
  connection.Count("virConnectListAllNodeDevices");
  virNodeDevicePtr* list = nullptr;
  const int count = virConnectListAllNodeDevices(
      connection.get(), &list,
      VIR_CONNECT_LIST_NODE_DEVICES_CAP_PCI_DEV | VIR_CONNECT_LIST_NODE_DEVICES_CAP_NET |
          VIR_CONNECT_LIST_NODE_DEVICES_CAP_VDPA | VIR_CONNECT_LIST_NODE_DEVICES_CAP_VPD |
          VIR_CONNECT_LIST_NODE_DEVICES_CAP_MDEV);
  if (count < 0) return LibvirtError("virConnectListAllNodeDevices");
  std::vector<ListedDevice> devices;
  devices.reserve(count);
  for (int i = 0; i < count; ++i) {
    devices.push_back(
        {virNodeDeviceGetName(list[i]), std::shared_ptr<void>(list[i], virNodeDeviceFree)});
  }
  std::free(list);
  return devices;
}

absl::StatusOr<DocumentTexts> ReadDevices(const HypervisorConnection& connection,
                                          const std::vector<ListedDevice>& devices) {
  return ReadEach<virNodeDevice>(connection, devices, "virNodeDeviceGetXMLDesc",
                                 virNodeDeviceGetXMLDesc);
}

absl::StatusOr<CpuTimes> ReadCpuTimes(const HypervisorConnection& connection) {
  constexpr int kAll = VIR_NODE_CPU_STATS_ALL_CPUS;
  int count = 0;
  connection.Count("virNodeGetCPUStats");
  if (virNodeGetCPUStats(connection.get(), kAll, nullptr, &count, 0) != 0) {
    return LibvirtError("virNodeGetCPUStats");
  }
  if (count < 0 || count > kCpuTimesMax) {
    return absl::InternalError(absl::StrCat("virNodeGetCPUStats: ", count, " fields"));
  }
  std::vector<virNodeCPUStats> fields(static_cast<size_t>(count));
  connection.Count("virNodeGetCPUStats");
  if (virNodeGetCPUStats(connection.get(), kAll, fields.data(), &count, 0) != 0) {
    return LibvirtError("virNodeGetCPUStats");
  }
  CpuTimes times;
  const std::pair<const char*, double*> wanted[] = {{VIR_NODE_CPU_STATS_USER, &times.user},
                                                    {VIR_NODE_CPU_STATS_KERNEL, &times.kernel},
                                                    {VIR_NODE_CPU_STATS_IDLE, &times.idle},
                                                    {VIR_NODE_CPU_STATS_IOWAIT, &times.iowait}};
  for (const auto& [name, value] : wanted) {
    const auto found =
        std::find_if(fields.begin(), fields.end(), [name = name](const virNodeCPUStats& field) {
          return absl::string_view(field.field) == name;
        });
    if (found == fields.end()) {
      return absl::InternalError(absl::StrCat("virNodeGetCPUStats: no field ", name));
    }
    *value = static_cast<double>(found->value);
  }
  return times;
}

absl::StatusOr<HostReading> ReadHost(const HypervisorConnection& connection) {
  HostReading reading;
  virNodeInfo info = {};
  connection.Count("virNodeGetInfo");
  if (virNodeGetInfo(connection.get(), &info) != 0) return LibvirtError("virNodeGetInfo");
  reading.memory_kib = static_cast<int64_t>(info.memory);
  reading.mhz = info.mhz;
  unsigned char* listed = nullptr;
  unsigned online = 0;
  connection.Count("virNodeGetCPUMap");
  const int present = virNodeGetCPUMap(connection.get(), &listed, &online, 0);
  if (present < 0) return LibvirtError("virNodeGetCPUMap");
  const std::unique_ptr<unsigned char, decltype(&std::free)> map(listed, std::free);
  if (present > CpuSet::kMaxCpu + 1) {
    return absl::InternalError(absl::StrCat("virNodeGetCPUMap: ", present, " CPUs are too many"));
  }
  for (int cpu = 0; cpu < present; ++cpu) {
    reading.present.Insert(cpu);
    if ((map.get()[cpu / 8] >> (cpu % 8) & 1) != 0) reading.online.Insert(cpu);
  }
  return reading;
}

}  // namespace berth::tracker
