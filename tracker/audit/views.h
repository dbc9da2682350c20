// The two pictures of a node that a pass leaves in the log: what the hypervisor shows, and what the
// account says.
//
// Pure functions of values.
#ifndef BERTH_TRACKER_AUDIT_VIEWS_H_
#define BERTH_TRACKER_AUDIT_VIEWS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tracker/audit/accounting.h"
#include "tracker/facts/facts.h"

namespace berth::tracker {

// `Hypervisor/Node resource view: ...` (T-100): observed, before accounting.
std::string HypervisorView(absl::string_view node, const Facts& facts);

// One or two lines (T-101): `Total usable vcpus: ...` unless there are none, then
// `Final resource view: ...` with accounted usage.
std::vector<std::string> FinalView(absl::string_view node, const Accounting& accounting,
                                   const Facts& facts);

// The parts behind the final view as one JSON object: reserve, allocated, orphans, by amount.
std::string AccountingJson(const Accounting& accounting, const std::vector<Orphan>& orphans);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_VIEWS_H_
