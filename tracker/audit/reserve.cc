#include "tracker/audit/reserve.h"

#include "absl/strings/str_cat.h"

namespace berth::tracker {

Reserve ReserveOf(const Facts& facts, const NodeConfiguration& configuration) {
  Reserve reserve;
  reserve.amounts = {configuration.reserved_host_cpus, configuration.reserved_host_memory_mib,
                     configuration.reserved_host_disk_mib};
  // Memory in files has no huge pages.
  const bool has_cells = facts.numa_topology && *facts.numa_topology;
  if (!has_cells || configuration.file_backed_memory_mib > 0) return reserve;
  const int64_t huge_mib = HugePagesMib(**facts.numa_topology);
  if (configuration.reserve_hugepages_in_memory_mib) {
    reserve.amounts.memory_mib += huge_mib;
    reserve.memory_options = "reserved_host_memory_mb with reserve_hugepages_in_memory_mb";
  } else if (huge_mib > configuration.reserved_host_memory_mib) {
    reserve.warnings.push_back(
        absl::StrCat("the host has ", huge_mib, " MiB in huge pages, which is more than the ",
                     configuration.reserved_host_memory_mib,
                     " MiB of reserved_host_memory_mb: guests without "
                     "huge pages may be promised this memory; if no guest uses huge pages, set "
                     "reserve_hugepages_in_memory_mb"));
  }
  return reserve;
}

}  // namespace berth::tracker
