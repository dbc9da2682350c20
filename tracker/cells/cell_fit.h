// Decides whether one cell of a guest fits on one cell of a host (T-277, T-278).
//
// Pure functions.
#ifndef BERTH_TRACKER_CELLS_CELL_FIT_H_
#define BERTH_TRACKER_CELLS_CELL_FIT_H_

#include <optional>

#include "tracker/cells/topology.h"

namespace berth::tracker {

// How much of a host cell may be used, as multiples of its CPUs and of its memory (T-277). Guests
// with the policy dedicated are not tested against these limits.
struct CellLimits {
  double cpu_allocation_ratio = 1;
  double ram_allocation_ratio = 1;
};

// Returns the guest cell as it is placed on the host cell: with the id of the host cell, the chosen
// page size if it asked for one, and host CPUs for its pinned vCPUs. With `reserve`, a cell with
// pinned vCPUs gets a CPU for emulator threads too. Returns nothing if the cell does not fit.
std::optional<GuestCell> FitCell(const HostCell& host, const GuestCell& guest, bool reserve,
                                 const std::optional<CellLimits>& limits);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CELLS_CELL_FIT_H_
