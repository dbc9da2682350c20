// What placement has of a child provider whose devices have gone, or cannot be listed.
//
// Pure functions.
#ifndef BERTH_TRACKER_AUDIT_PLACED_CHILDREN_H_
#define BERTH_TRACKER_AUDIT_PLACED_CHILDREN_H_

#include <cstdint>
#include <map>
#include <string>

#include "tracker/audit/records.h"
#include "tracker/audit/report.h"

namespace berth::tracker {

// What consumers hold of the provider, by resource class.
std::map<std::string, int64_t> UsedOf(const KnownProvider& known, const Records& records);

// The provider as placement has it.
WantedProvider AsPlaced(const KnownProvider& known);

// The provider of devices that have gone: what consumers still hold, and no more. Its traits stay as
// they are.
WantedProvider AsUsed(const KnownProvider& known, const Records& records);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_PLACED_CHILDREN_H_
