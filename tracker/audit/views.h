// Writes the log lines of a pass: what the hypervisor says about a node, and how much of the node
// is used.
//
// Pure functions.
#ifndef BERTH_TRACKER_AUDIT_VIEWS_H_
#define BERTH_TRACKER_AUDIT_VIEWS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tracker/audit/accounting.h"
#include "tracker/audit/audit.h"
#include "tracker/audit/inventory.h"
#include "tracker/facts/facts.h"

namespace berth::tracker {

// Returns the line `Hypervisor/Node resource view: ...`, which has observed values only (T-100).
std::string HypervisorView(absl::string_view node, const Facts& facts);

// Returns two lines: `Total usable vcpus: ...`, which is left out if the node has no CPUs for
// guests, and `Final resource view: ...` with the usage that the accounting computed (T-101).
std::vector<std::string> FinalView(absl::string_view node, const Accounting& accounting,
                                   const Facts& facts);

// Returns one JSON object with all amounts of the accounting and with the list of orphans.
std::string AccountingJson(const Accounting& accounting, const std::vector<Orphan>& orphans);

// Returns one JSON object that says for each class which allocation ratio it has, and whether the
// ratio is a setting, the one in placement, the initial one, or fixed (T-354).
std::string RatiosJson(const std::map<std::string, RatioChoice>& ratios);

// The texts that the log gets after a good pass. They have a line for each orphan and each device,
// so they are made by the pass alone, and not by the audits of pushes.
struct PassTexts {
  std::string hypervisor_view;
  std::vector<std::string> final_view;
  std::string accounting_parts;
  std::string ratios;
};

PassTexts TextsOf(const Audit& audit);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_VIEWS_H_
