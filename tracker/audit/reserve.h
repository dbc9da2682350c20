// Computes what a node reserves for its host: the amounts that are set, memory in huge pages, and
// the disk that cached images use.
//
// Pure functions.
#ifndef BERTH_TRACKER_AUDIT_RESERVE_H_
#define BERTH_TRACKER_AUDIT_RESERVE_H_

#include <string>
#include <vector>

#include "tracker/account/amounts.h"
#include "tracker/facts/facts.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

struct Reserve {
  Amounts amounts;
  // The settings that make up the reserved memory and the reserved disk, for messages.
  const char* memory_options = "reserved_host_memory_mb";
  const char* disk_options = "reserved_host_disk_mb";
  // One text per setting that does not fit the host. T-355: the huge pages are larger than the
  // reserved memory, so guests with small pages could be promised memory that is in huge pages.
  std::vector<std::string> warnings;
};

Reserve ReserveOf(const Facts& facts, const NodeConfiguration& configuration);

// Returns a text if the disk in use exceeds the disk that the node accounts for, `accounted_gib`, by
// more than 10 %: then something fills the disk that placement does not know (T-356). Returns an
// empty text otherwise, and for storage that other hosts share or that is not on this machine.
std::string DiskAlarm(const Facts& facts, const NodeConfiguration& configuration,
                      int64_t accounted_gib);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_RESERVE_H_
