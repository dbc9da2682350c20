// Computes what the account of a node counts from: what the node has, from its facts and settings.
//
// A pure function.
#ifndef BERTH_TRACKER_AUDIT_RESOURCES_H_
#define BERTH_TRACKER_AUDIT_RESOURCES_H_

#include "tracker/account/account.h"
#include "tracker/facts/facts.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// A value that was not read counts as 0.
NodeResources ResourcesOf(const Facts& facts, const NodeConfiguration& configuration);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_RESOURCES_H_
