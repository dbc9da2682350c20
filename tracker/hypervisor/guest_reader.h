// GuestReader: reads the guests of a hypervisor.
//
// Owns the definitions that were read. A pass lists the guests with their states in one call, and
// reads only those definitions that may have changed (see DocumentCache). Not thread-safe.
#ifndef BERTH_TRACKER_HYPERVISOR_GUEST_READER_H_
#define BERTH_TRACKER_HYPERVISOR_GUEST_READER_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/facts/document_cache.h"
#include "tracker/facts/domain_xml.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/hypervisor/hypervisor.h"

namespace berth::tracker {

class GuestReader {
 public:
  struct Definition {
    GuestDefinition parsed;
    // False: libvirt has told the sizes of the guest's disks, as far as it is asked for them, since
    // the definition was read.
    bool capacities_wanted = true;
  };
  struct Reading {
    ListedGuest listed;
    Definition* definition = nullptr;  // null: was never read; valid until the next Read
  };

  // `hypervisor` outlives the reader.
  explicit GuestReader(Hypervisor* hypervisor) : hypervisor_(hypervisor) {}

  // Makes the next Read read the definitions of these guests, or of all guests.
  void Outdate(const std::set<std::string>& uuids) { definitions_.Outdate(uuids); }
  void OutdateAll() { definitions_.OutdateAll(); }

  // Returns all guests, sorted by uuid. A guest that is removed meanwhile is left out (T-391). If a
  // definition cannot be read or parsed, the one that was read last counts, `warnings` says so, and
  // the next Read tries again. Fails as Hypervisor::Guests and Hypervisor::Definitions do.
  absl::StatusOr<std::vector<Reading>> Read(MonotonicTime now, absl::Duration interval,
                                            std::vector<std::string>* warnings);

 private:
  Hypervisor* const hypervisor_;
  DocumentCache<Definition> definitions_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_GUEST_READER_H_
