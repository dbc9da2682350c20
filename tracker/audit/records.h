// What placement knows of a node, as the stream pushed it: the audit's second input.
//
// Plain values. Everything here is as of one moment; the next push replaces it.
#ifndef BERTH_TRACKER_AUDIT_RECORDS_H_
#define BERTH_TRACKER_AUDIT_RECORDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tracker/audit/inventory.h"

namespace berth::tracker {

// A provider of the node's tree.
struct KnownProvider {
  std::string uuid;
  std::string name;
  std::string parent_uuid;  // empty: the root
  int64_t generation = 0;
  Inventories inventories;
  std::set<std::string> traits;
};

// What one consumer holds on one provider of the tree.
struct KnownAllocation {
  std::string provider_uuid;
  std::string consumer_uuid;
  std::string instance_uuid;  // of a migration's hold: the guest that it moves; empty otherwise
  std::map<std::string, int64_t> amounts;  // by resource class
};

// A state of placement's ledger.
struct LedgerRevision {
  int64_t epoch = 0;
  int64_t number = 0;
  uint64_t batch = 0;  // sent back as it came; 0: none came
  friend bool operator==(const LedgerRevision&, const LedgerRevision&) = default;
};

struct Records {
  std::vector<KnownProvider> tree;  // empty: placement has no provider of this node yet
  std::vector<KnownAllocation> allocations;
  std::optional<bool> service_disabled;
  // Up to which changes of the node have been told. None: not known, all has to be told again.
  std::optional<LedgerRevision> told_up_to;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_RECORDS_H_
