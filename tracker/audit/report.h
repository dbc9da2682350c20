// Report: what a tracker tells placement about one node. It has the providers as they should be,
// and what the audit found.
//
// Plain values and pure functions.
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

// A provider as it should be. `traits` names the traits that the tracker decides about; the
// provider keeps all others as they are.
struct WantedProvider {
  std::string uuid;
  std::string name;
  std::string parent_uuid;  // empty: the root
  Inventories inventories;  // all of them: the provider has no other inventory (T-201)
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

// Returns a text that is equal for two reports that tell placement the same, and differs for all
// others. Values that change all the time on an unchanged host have no effect on it: the uptime,
// the memory and disk in use as observed, and a guest's balloon (T-54, T-94).
std::string Digest(const Report& report);

// Whether `tree`, which placement has, differs from `wanted`: a provider is missing, or has another
// name, parent or inventory, or lacks the effect of `traits`. Other traits and other providers do
// not count (T-193, T-211).
bool Differs(const std::vector<WantedProvider>& wanted, const std::vector<KnownProvider>& tree);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_REPORT_H_
