#include "tracker/claims/terms.h"

#include "tracker/ground/status_macros.h"

namespace berth::tracker {

absl::StatusOr<ClaimSettings> ClaimSettingsOf(const NodeConfiguration& configuration) {
  ClaimSettings settings;
  BERTH_ASSIGN_OR_RETURN(settings.device_aliases, ParseDeviceAliases(configuration.pci_aliases));
  settings.pack_cells = configuration.pack_numa_cells;
  const std::optional<double>& cpus = configuration.cpu_allocation_ratio;
  const std::optional<double>& memory = configuration.ram_allocation_ratio;
  if (cpus.value_or(0) > 0 || memory.value_or(0) > 0) {
    const CellLimits unset;
    settings.default_cell_limits =
        CellLimits{cpus.value_or(0) > 0 ? *cpus : unset.cpu_allocation_ratio,
                   memory.value_or(0) > 0 ? *memory : unset.ram_allocation_ratio};
  }
  return settings;
}

}  // namespace berth::tracker
