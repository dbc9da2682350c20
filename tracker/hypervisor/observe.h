// Observer: observes a node. It asks the hypervisor, the kernel and the storage, and combines their
// answers into Facts.
//
// Owns the values that are read once per connection, the documents that were read, and the probes of
// the storage. Not thread-safe: a node is observed by one thread at a time (T-70).
#ifndef BERTH_TRACKER_HYPERVISOR_OBSERVE_H_
#define BERTH_TRACKER_HYPERVISOR_OBSERVE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/facts/capabilities.h"
#include "tracker/facts/facts.h"
#include "tracker/facts/mounts.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/uuid.h"
#include "tracker/hypervisor/device_reader.h"
#include "tracker/hypervisor/guest_reader.h"
#include "tracker/hypervisor/hypervisor.h"
#include "tracker/hypervisor/storage_probes.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

class Observer {
 public:
  struct Surroundings {
    std::string state_path;
    std::string host_address;
    std::string proc_path = "/proc";
    absl::Duration timeout = absl::Seconds(60);  // of each libvirt call
    // How often passes run. Documents of libvirt for which no event comes are read again within ten
    // of these intervals.
    absl::Duration pass_interval = absl::Seconds(60);
    StorageProbes::Options storage;
  };
  // `hypervisor` outlives the observer.
  Observer(const NodeConfiguration& configuration, Surroundings surroundings,
           Hypervisor* hypervisor);

  // Sets the configuration of the next observation. Values that were read once for the present
  // connection need not be read again: they depend only on settings that a reload does not change
  // (see TakeReloadable).
  void Configure(const NodeConfiguration& configuration) { configuration_ = configuration; }

  // Connects, unless there is a connection, and reads everything (T-67), except for documents of
  // libvirt that need not be read again (see DocumentCache).
  //
  //   kUnavailable, kDeadlineExceeded  the hypervisor is away or hangs: not ready (T-37). Storage
  //                                    that hangs never causes these errors.
  //   kFailedPrecondition              a QEMU connection with a version that is too old (T-32)
  //   kInvalidArgument                 the settings name CPUs or pages that the host does not have
  //   else                             a call failed that is necessary for every observation
  //
  // If a guest, image or device cannot be read, it is skipped, and `warnings` of the facts says so.
  // `wall_now` is the same moment as `now`, for the texts and times that people see.
  absl::StatusOr<Facts> Observe(MonotonicTime now, absl::Time wall_now);

  // Returns the hypervisor's host name, which is read once (T-21). Also notes which documents have
  // changed: every pass calls this method, even a pass that fails before it observes, so the events
  // do not pile up. Fails as Connect and Hypervisor::HostName do.
  absl::StatusOr<std::string> NodeName();

  // How many reads of storage hang. Thread-safe.
  int hung_storage_reads() const { return storage_.hung(); }

 private:
  using GuestReadings = std::vector<GuestReader::Reading>;
  using Images = std::map<std::string, Probe<ImageReading>>;  // by path
  using DiskName = std::pair<Uuid, std::string>;              // the guest's uuid, the disk's name
  // The values that cannot change while one connection lasts.
  struct Lasting {
    int64_t connection_number = 0;
    Capabilities capabilities;
    Facts facts;                     // only some of the values are set
    bool shows_this_machine = true;  // false for libvirt's test driver
  };

  absl::StatusOr<Lasting> ReadLasting();
  absl::Status ReadVersions(Lasting* lasting);
  absl::Status ReadCpu(Lasting* lasting);
  void ReadEmulators(Lasting* lasting);
  void ReadNamespaces(Lasting* lasting);
  absl::StatusOr<std::optional<std::set<std::string>>> TraitFeatures(const Lasting& lasting);
  absl::StatusOr<std::set<std::string>> ModelFeatures(const std::string& arch,
                                                      const std::string& model);
  absl::Status ReadHost(const Lasting& lasting, absl::Time wall_now, Facts* facts);
  void ReadMonitors(int64_t mhz, absl::Time wall_now, Facts* facts);
  absl::Status ReadGuests(MonotonicTime now, Facts* facts);
  void AddDisks(const GuestReadings& readings, const Images& images, Facts* facts);
  std::map<DiskName, int64_t> ReadCapacities(const GuestReadings& readings, const Images& images,
                                             Facts* facts);
  absl::Status ReadDisk(Facts* facts);
  absl::Status ReadDevices(MonotonicTime now, Facts* facts);
  void ReadKernel(const Lasting& lasting, absl::Time wall_now, Facts* facts);

  NodeConfiguration configuration_;
  const Surroundings surroundings_;
  Hypervisor* const hypervisor_;
  GuestReader guests_;
  DeviceReader devices_;
  StorageProbes storage_;
  std::vector<Mount> mounts_;          // of the present observation
  std::optional<CpuTimes> cpu_times_;  // of the last observation, if the monitor is configured
  std::optional<int64_t> available_least_gib_;  // of the last observation
  std::optional<std::string> name_;
  std::optional<Lasting> lasting_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_OBSERVE_H_
