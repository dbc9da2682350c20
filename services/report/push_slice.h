// The slices of the pushes to trackers. Pure functions.
//
// A push may have more bytes than one gRPC message, so it is sent in slices. A PushScope names what
// the push must still contain. Each slice takes names out of the scope and contains the values of
// these names in the newest state. A later slice may thus be newer than an earlier one; then the
// next push repeats what changed in between.
#ifndef BERTH_SERVICES_REPORT_PUSH_SLICE_H_
#define BERTH_SERVICES_REPORT_PUSH_SLICE_H_

#include <cstddef>
#include <string>

#include "berth/placement/v1/report.pb.h"
#include "placement/state/state.h"
#include "services/report/push_scope.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

// A slice has at most so many bytes, unless it contains one entity that alone has more.
inline constexpr size_t kSliceBytesMax = 1 << 20;

// Adds to `scope` the names of everything that a complete push for `node` contains.
void NameAll(const placement::State& state, const std::string& host, placement::ProviderId node,
             PushScope* scope);

// Fills `to` with the next slice of the push whose names are in `rest`, with values from `state`.
// Removes the names that the slice contains from `rest`. The last slice leaves no name there.
void FillSlice(const placement::State& state, const std::string& host, placement::ProviderId node,
               PushScope* rest, pb::Push* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_PUSH_SLICE_H_
