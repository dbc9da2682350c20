// DeviceReader: reads the PCI devices of a hypervisor's host.
//
// Owns the documents that were read. A pass lists the names of the devices in one call, and reads
// only those documents that may have changed (see DocumentCache). Not thread-safe.
#ifndef BERTH_TRACKER_HYPERVISOR_DEVICE_READER_H_
#define BERTH_TRACKER_HYPERVISOR_DEVICE_READER_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/facts/document_cache.h"
#include "tracker/facts/mediated_devices.h"
#include "tracker/facts/node_devices.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/hypervisor/hypervisor.h"

namespace berth::tracker {

class DeviceReader {
 public:
  // `hypervisor` outlives the reader.
  explicit DeviceReader(Hypervisor* hypervisor) : hypervisor_(hypervisor) {}

  // Makes the next Read read the documents of these devices, or of all devices.
  void Outdate(const std::set<std::string>& names) { documents_.Outdate(names); }
  void OutdateAll() { documents_.OutdateAll(); }

  // Returns all PCI devices, sorted by address. A device that is removed meanwhile is left out. If
  // a document cannot be read or parsed, the one that was read last counts, `warnings` says so, and
  // the next Read tries again. Fails as Hypervisor::Devices and Hypervisor::DeviceDocuments do.
  absl::StatusOr<std::vector<PciDevice>> Read(MonotonicTime now, absl::Duration interval,
                                              std::vector<std::string>* warnings);
  // Returns the devices that offer mediated devices, as the last Read found them.
  std::vector<MediatedParent> mediated_parents() const;

 private:
  // Reads the documents of those of `listed` that `names` has, which is sorted. Returns the names
  // of the devices that were not known before.
  absl::StatusOr<std::vector<std::string>> ReadDocuments(const std::vector<ListedDevice>& listed,
                                                         const std::vector<std::string>& names,
                                                         std::vector<std::string>* warnings);

  Hypervisor* const hypervisor_;
  DocumentCache<NodeDevice> documents_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_DEVICE_READER_H_
