// Finds what deleted instances and ended moves left behind on a node: allocations in placement, and
// guests of the hypervisor. People have to remove it (T-66, T-143, T-146).
//
// Pure functions.
#ifndef BERTH_TRACKER_AUDIT_LEFT_BEHIND_H_
#define BERTH_TRACKER_AUDIT_LEFT_BEHIND_H_

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracker/account/account.h"
#include "tracker/audit/records.h"
#include "tracker/facts/facts.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// For how long a consumer may have no record before it counts as left behind: its record may come
// some time after its allocations (T-145).
inline constexpr std::chrono::hours kUnknownConsumerAge{1};

struct LeftBehind {
  Uuid uuid;             // of the guest or of the consumer
  std::string text;      // for people
  bool unknown = false;  // nobody knows the consumer, so it gets kUnknownConsumerAge
};

// For everything that was left behind at the last audit, by uuid and text: since when it has been
// seen so.
using LeftBehindMemory = std::map<std::pair<Uuid, std::string>, MonotonicTime>;

// Returns first the guests, then the allocations, each sorted by uuid.
//
// A guest was left behind if its instance is deleted (T-66), or if the instance was evacuated to
// another host (T-146). A guest is also listed if an evacuation of its instance has not ended, but
// the instance is still on this host: then the guest must stay (T-147).
//
// A consumer with allocations anywhere in the node's tree was left behind if its instance is
// deleted, on another host, or on this node without counting there (T-143). If no record of it
// concerns the node, its type may say that the record was deleted (T-346). Another consumer of an
// instance or migration without a record is `unknown`, unless there are no records of instances at
// all: then nobody keeps records here.
std::vector<LeftBehind> FindLeftBehind(const NodeAccount& account, const Records& records,
                                       const std::vector<Guest>& guests);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_LEFT_BEHIND_H_
