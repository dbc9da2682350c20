// NaiveFit: places a guest by trying every permutation of host cells, one after the other.
//
// It shares no code with tracker/cells and is as plain as the rules are written, so that both can be
// compared. Pure.
#ifndef BERTH_TESTS_TRACKER_CELLS_NAIVE_FIT_H_
#define BERTH_TESTS_TRACKER_CELLS_NAIVE_FIT_H_

#include <optional>
#include <vector>

#include "tracker/cells/fit.h"

namespace berth::tracker {

std::optional<GuestTopology> NaiveFit(const std::vector<HostCell>& host, const GuestTopology& guest,
                                      const FitOptions& options);

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_CELLS_NAIVE_FIT_H_
