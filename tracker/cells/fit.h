// Places the cells of a guest on the cells of a host.
//
// Pure functions. The host is not changed: see usage.h for that.
#ifndef BERTH_TRACKER_CELLS_FIT_H_
#define BERTH_TRACKER_CELLS_FIT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "tracker/cells/cell_fit.h"
#include "tracker/cells/topology.h"

namespace berth::tracker {

// The PCI devices of a host, as far as they matter for the choice of cells.
struct CellDevices {
  // The number of free devices near each host cell, by the cell's id. An absent cell has none.
  std::map<int, int64_t> free_by_cell;
  // Whether the guest requests devices.
  bool requested = false;
  // Whether the requests of the guest can be met if it has the host cells with these ids (T-246).
  // Not called if `requested` is false. The result must not depend on the order of the ids.
  std::function<bool(absl::Span<const int> host_cells)> satisfiable;
};

// What else, besides host and guest, decides where a guest fits.
struct FitOptions {
  // False: the cells with most free are tried first. True: those with least free, so that guests
  // are packed on few cells.
  bool pack = false;
  std::optional<CellLimits> limits;      // absent: totals may be exceeded without limit
  std::optional<CellNetworks> networks;  // what the guest asks for; absent: networks do not matter
  std::optional<CellDevices> devices;    // absent: the host has no list of devices
};

// The number of sets of host cells that PlaceGuest tries before it gives up. Hosts of up to 16 cells
// never reach it.
inline constexpr int kSetsTriedMax = 1 << 16;

// Returns the indexes of `host` in the order in which PlaceGuest tries them (T-273).
std::vector<int> CellOrder(absl::Span<const HostCell> host, const GuestTopology& guest,
                           const FitOptions& options);

// Returns the placed guest. Each cell has a host cell of its own, a page size if it asked for one,
// and a host CPU for each pinned vCPU. If emulator threads are isolated, the first cell has a
// reserved CPU (T-276). Of several placements, it is the first in lexicographic order: the first
// guest cell has the first host cell, in the order of CellOrder, with which the other cells still
// fit, and so on (T-274, T-275). An earlier placement of `guest` has no effect.
//
// Returns nothing if no placement fits, or if kSetsTriedMax sets of host cells, all with room for
// the guest, do not satisfy its devices and networks.
//
// REQUIRES: the ids of host cells differ.
std::optional<GuestTopology> PlaceGuest(absl::Span<const HostCell> host, const GuestTopology& guest,
                                        const FitOptions& options);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CELLS_FIT_H_
