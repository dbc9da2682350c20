#include "tracker/audit/reserve.h"

#include "absl/strings/str_cat.h"
#include "tracker/facts/disk.h"

namespace berth::tracker {

Reserve ReserveOf(const Facts& facts, const NodeConfiguration& configuration) {
  Reserve reserve;
  reserve.amounts = {configuration.reserved_host_cpus, configuration.reserved_host_memory_mib,
                     configuration.reserved_host_disk_mib};
  const int64_t cache_gib = TruncatedGib(facts.image_cache_bytes + (int64_t{1} << 30) - 1);
  if (cache_gib > 0) {
    reserve.amounts.disk_mib += cache_gib * kMibPerGib;
    reserve.disk_options = "reserved_host_disk_mb with image_cache_path";
  }
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

std::string DiskAlarm(const Facts& facts, const NodeConfiguration& configuration,
                      int64_t accounted_gib) {
  const bool shared = configuration.disk_backend == DiskBackend::kRbd ||
                      configuration.shared_disk_provider || !facts.storage_id.empty();
  const bool is_here = facts.memory_used_mib && *facts.memory_used_mib;
  const int64_t used_gib = facts.local_disk_used_gib.value_or(0);
  if (shared || !is_here || 10 * used_gib <= 11 * accounted_gib) return "";
  // The text has no numbers, so that the finding stays the same while they change.
  return "the disk in use exceeds the reserved and allocated disk by more than 10 %: raise "
         "reserved_host_disk_mb, or set image_cache_path if cached images fill the disk";
}

}  // namespace berth::tracker
