// Observes a node: asks its hypervisor, the kernel and the storage, and puts the answers together.
//
// Owns what is read once for each connection; owns no connection. Not thread-safe: one observation of a
// node at a time (T-70).
#ifndef BERTH_TRACKER_HYPERVISOR_OBSERVE_H_
#define BERTH_TRACKER_HYPERVISOR_OBSERVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/facts/capabilities.h"
#include "tracker/facts/domain_xml.h"
#include "tracker/facts/facts.h"
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
    StorageProbes::Options storage;
  };
  // `hypervisor` outlives the observer.
  Observer(const NodeConfiguration& configuration, Surroundings surroundings,
           Hypervisor* hypervisor);

  // What next observations go by; what is read once for each connection stays as it is. Settings that
  // TakeReloadable leaves alone are those of the construction.
  void Configure(const NodeConfiguration& configuration) { configuration_ = configuration; }

  // Connects if need be and reads everything (T-67).
  //
  //   kUnavailable, kDeadlineExceeded  the hypervisor is away or hangs: not ready (T-37). Storage
  //                                    that hangs never counts as that.
  //   kFailedPrecondition              a QEMU connection older than what is required (T-32)
  //   kInvalidArgument                 configured CPU sets or pages that the host has not
  //   anything else                    a call that the whole observation needs has failed
  //
  // What concerns one guest or device only is skipped and told in `warnings`.
  absl::StatusOr<Facts> Observe(absl::Time now);

  // What the hypervisor calls itself; read once and kept (T-21).
  absl::StatusOr<std::string> NodeName();

  // How many reads of storage hang. Thread-safe.
  int hung_storage_reads() const { return storage_.hung(); }

 private:
  // What holds as long as one connection.
  struct Lasting {
    int64_t connection_number = 0;
    Capabilities capabilities;
    Facts facts;  // with what does not change
    bool shows_this_machine = true;
  };

  absl::StatusOr<Lasting> ReadLasting();
  absl::Status ReadVersions(Lasting* lasting);
  absl::Status ReadCpu(Lasting* lasting);
  void ReadEmulators(Lasting* lasting);
  absl::StatusOr<std::optional<std::set<std::string>>> TraitFeatures(const Lasting& lasting);
  absl::StatusOr<std::set<std::string>> ModelFeatures(const std::string& arch,
                                                      const std::string& model);
  absl::Status ReadHost(const Lasting& lasting, Facts* facts);
  absl::Status ReadGuests(Facts* facts);
  std::vector<std::vector<GuestDisk>> AddGuests(const std::vector<GuestReading>& readings,
                                                Facts* facts);
  void ReadImages(const std::vector<GuestReading>& readings,
                  const std::vector<std::vector<GuestDisk>>& disks, Facts* facts);
  absl::Status ReadDisk(Facts* facts);
  void ReadDevices(Facts* facts);
  void ReadKernel(const Lasting& lasting, absl::Time now, Facts* facts);

  NodeConfiguration configuration_;
  const Surroundings surroundings_;
  Hypervisor* const hypervisor_;
  StorageProbes storage_;
  std::optional<std::string> name_;
  std::optional<Lasting> lasting_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_OBSERVE_H_
