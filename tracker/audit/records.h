// Records: what placement has recorded about a node, as placement's pushes over the stream said, and
// its answers to reports. An audit compares the observed facts with the records.
//
// Plain values.
#ifndef BERTH_TRACKER_AUDIT_RECORDS_H_
#define BERTH_TRACKER_AUDIT_RECORDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tracker/audit/inventory.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// A provider of the node's tree.
struct KnownProvider {
  Uuid uuid;
  std::string name;
  Uuid parent_uuid;  // nil: the root
  int64_t generation = 0;
  Inventories inventories;
  std::set<std::string> traits;
};

// The allocations of one consumer on one provider of the tree.
struct KnownAllocation {
  Uuid provider_uuid;
  Uuid consumer_uuid;
  Uuid instance_uuid;  // if the consumer is a migration: the guest that moves; else nil
  std::map<std::string, int64_t> amounts;  // by resource class
  std::string consumer_type = {};          // for example INSTANCE
  int64_t consumer_generation = 0;
};

// What placement has stored of a class instead of what a report asked for.
struct ClassLimit {
  bool withheld = false;  // only operators decide about the class: its inventory stays as it is
  int64_t stored = 0;     // else: what `total` was cut to; 0: the provider gets no inventory of it
  friend bool operator==(const ClassLimit&, const ClassLimit&) = default;
};

// What placement has not stored as the last report of a provider asked, because of its access file.
struct ProviderLimits {
  std::set<std::string> traits;  // only operators decide about them: they stay as they are
  std::map<std::string, ClassLimit> classes;
  friend bool operator==(const ProviderLimits&, const ProviderLimits&) = default;
};
using LimitsByProvider = std::map<Uuid, ProviderLimits>;

// Names a state of placement's ledger.
struct LedgerRevision {
  int64_t epoch = 0;
  int64_t number = 0;
  uint64_t batch = 0;  // sent back unchanged; 0: placement sent none
  friend bool operator==(const LedgerRevision&, const LedgerRevision&) = default;
};

struct Records {
  std::vector<KnownProvider> tree;  // empty: placement has no provider of this node yet
  std::vector<KnownAllocation> allocations;
  std::optional<bool> service_disabled;
  // The records contain every change of the node up to this revision. Absent: this is not known,
  // and placement must send all records again.
  std::optional<LedgerRevision> told_up_to;
  // By the last answer to a report of each provider. Providers without limits are not here.
  LimitsByProvider limits;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_RECORDS_H_
