// The slices of the pushes to trackers. Pure functions.
//
// A push may have more bytes than one gRPC message, so it is sent in slices. A PushScope names what
// the push must still contain. FillSlice fills one slice with the values of some of these names,
// and removes these names from the scope. The caller may fill each slice from a newer state; the
// next push then has what changed between the slices.
#ifndef BERTH_SERVICES_REPORT_PUSH_SLICE_H_
#define BERTH_SERVICES_REPORT_PUSH_SLICE_H_

#include <cstddef>
#include <string>

#include "berth/placement/v1/report.pb.h"
#include "placement/state/state.h"
#include "services/report/push_scope.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

// The entities and removals in a slice, without the service, have at most so many bytes together,
// unless there is only one.
inline constexpr size_t kSliceBytesMax = 1 << 20;

// Adds to `scope` the names of everything that a complete push for `node`, a node of `host`, may
// contain.
void NameAll(const placement::State& state, const std::string& host, placement::ProviderId node,
             PushScope* scope);

// Fills `to` with the next slice of the push whose names are in `rest`, with values from `state`.
// An entity that does not concern the node in `state` is listed as removed, or left out if the push
// is complete. Removes the names that were handled from `rest`. If a consumer holds something on
// the node and is a migration whose record concerns the node, adds the record's name to `rest`. The
// last slice leaves no name there. If rest->service is set, the last slice also has the record of
// the tracker's service, if there is one.
void FillSlice(const placement::State& state, const std::string& host, placement::ProviderId node,
               PushScope* rest, pb::Push* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_PUSH_SLICE_H_
