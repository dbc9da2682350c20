// GuestReader: reads the guests of a hypervisor.
//
// Owns the definitions that were read. A pass lists the guests with their states in one call, and
// reads only those definitions that may have changed (see DocumentCache). Not thread-safe.
#ifndef BERTH_TRACKER_HYPERVISOR_GUEST_READER_H_
#define BERTH_TRACKER_HYPERVISOR_GUEST_READER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/facts/document_cache.h"
#include "tracker/facts/domain_xml.h"
#include "tracker/hypervisor/hypervisor.h"

namespace berth::tracker {

class GuestReader {
 public:
  struct Definition {
    absl::StatusOr<GuestDefinition> parsed;
    // The sizes of the disks that the tracker may not read, as libvirt told them, by the names of
    // the disks in the guest.
    std::map<std::string, int64_t> capacity_bytes_by_target;
    bool capacities_wanted = true;  // false: they were read since the definition was read
  };
  struct Reading {
    ListedGuest listed;
    Definition* definition = nullptr;  // null: could not be read; valid until the next Read
  };

  // `hypervisor` outlives the reader.
  explicit GuestReader(Hypervisor* hypervisor) : hypervisor_(hypervisor) {}

  // Makes the next Read read the definitions of these guests, or of all guests.
  void Outdate(const std::set<std::string>& uuids) { definitions_.Outdate(uuids); }
  void OutdateAll() { definitions_.OutdateAll(); }

  // Returns all guests, sorted by uuid. A guest that is removed meanwhile is left out (T-391). If a
  // definition cannot be read, the one that was read last counts, and `warnings` says so. Fails as
  // Hypervisor::Guests and Hypervisor::Definitions do.
  absl::StatusOr<std::vector<Reading>> Read(absl::Time now, absl::Duration interval,
                                            std::vector<std::string>* warnings);

 private:
  Hypervisor* const hypervisor_;
  DocumentCache<Definition> definitions_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_GUEST_READER_H_
