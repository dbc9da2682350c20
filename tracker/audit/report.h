// What a node tells placement: the whole provider tree that it wants, and what it observed.
//
// Values and pure functions.
#ifndef BERTH_TRACKER_AUDIT_REPORT_H_
#define BERTH_TRACKER_AUDIT_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracker/audit/accounting.h"
#include "tracker/audit/inventory.h"
#include "tracker/audit/records.h"
#include "tracker/audit/traits.h"
#include "tracker/facts/facts.h"

namespace berth::tracker {

// A provider as the tracker wants it. Traits that are in neither state belong to others and stay.
struct WantedProvider {
  std::string uuid;
  std::string name;
  std::string parent_uuid;  // empty: the root
  Inventories inventories;  // complete: the tracker owns them all (T-201)
  OwnedTraits traits;
};

struct Report {
  std::string node_uuid;
  std::string node_name;
  std::vector<WantedProvider> providers;  // root first
  Facts facts;
  Accounting accounting;
  std::vector<Orphan> orphans;
};

// Text that is equal exactly when two reports tell placement the same. What wavers by itself on an
// unchanged host stays out: uptime, observed memory and disk in use, a guest's balloon (T-54,
// T-94).
std::string Digest(const Report& report);

// Whether placement holds something else than `wanted`: an inventory, a trait that we own, a name,
// or a provider that is not there. Fields and traits of others do not count (T-193, T-211).
bool Differs(const std::vector<WantedProvider>& wanted, const std::vector<KnownProvider>& tree);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_REPORT_H_
