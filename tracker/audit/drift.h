// Compares what the account of a node counts for instances with what their consumers hold in
// placement (T-351).
//
// Pure functions.
#ifndef BERTH_TRACKER_AUDIT_DRIFT_H_
#define BERTH_TRACKER_AUDIT_DRIFT_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracker/account/account.h"
#include "tracker/audit/records.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// A resource class of which at least one instance holds another amount than the account counts.
struct Drift {
  std::string resource_class;
  int64_t accounted = 0;        // the sum over all instances that were compared
  int64_t allocated = 0;        // to the same instances
  std::vector<Uuid> instances;  // those whose amounts differ, sorted
  friend bool operator==(const Drift&, const Drift&) = default;
};

// For each drift of the last audit, by class: the drift, and when it was first seen so.
using DriftMemory = std::map<std::string, std::pair<Drift, MonotonicTime>>;

// Returns the drifts, sorted by class. Compares the instances whose records say that they are on
// the node, and leaves out what is expected to differ: instances that are being claimed or moved,
// whose two consumers share what they hold (T-221); and disk if another provider counts it. The
// reserve, orphans and guests without a record are in no allocation or in the account by their
// allocations.
std::vector<Drift> FindDrifts(const NodeAccount& account, const Records& records,
                              const NodeConfiguration& configuration);

// For example `MEMORY_MB: instances count 2048, but their allocations 1024; instance a`.
std::string DriftText(const Drift& drift);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_DRIFT_H_
