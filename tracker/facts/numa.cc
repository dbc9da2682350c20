#include "tracker/facts/numa.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {
namespace {

std::vector<CpuSet> Siblings(const CapabilitiesCell& cell, const CpuSet& usable) {
  std::vector<CpuSet> sets;
  for (const CellCpu& cpu : cell.cpus) {
    CpuSet threads = cpu.siblings.And(usable);
    if (threads.empty()) continue;
    if (std::find(sets.begin(), sets.end(), threads) == sets.end()) {
      sets.push_back(std::move(threads));
    }
  }
  std::sort(sets.begin(), sets.end(),
            [](const CpuSet& a, const CpuSet& b) { return a.First() < b.First(); });
  return sets;
}

std::optional<int> Socket(const CapabilitiesCell& cell, std::vector<std::string>* warnings) {
  std::set<std::optional<int>> sockets;
  for (const CellCpu& cpu : cell.cpus) sockets.insert(cpu.socket);
  if (sockets.size() == 1) return *sockets.begin();
  if (sockets.size() > 1) {
    warnings->push_back(absl::StrCat("NUMA cell ", cell.id, " has CPUs of several sockets"));
  }
  return std::nullopt;
}

absl::Status ReservePages(const std::vector<ReservedPages>& reserved, NumaTopology* topology) {
  for (const ReservedPages& entry : reserved) {
    bool found = false;
    for (NumaCell& cell : topology->cells) {
      for (NumaPages& pages : cell.pages) {
        if (cell.id != entry.cell || pages.size_kib != entry.size_kib) continue;
        pages.reserved = entry.count;
        found = true;
      }
    }
    if (!found) {
      return absl::InvalidArgumentError(absl::StrCat("reserved_huge_pages names cell ", entry.cell,
                                                     " with pages of ", entry.size_kib,
                                                     " KiB, which this host does not have"));
    }
  }
  return absl::OkStatus();
}

// Returns those of `ids` that are cells of the topology. InvalidArgument if one is not.
absl::StatusOr<std::vector<NumaCell*>> CellsOf(const std::string& network, const CpuSet& ids,
                                               NumaTopology* topology) {
  std::vector<NumaCell*> cells;
  for (const int id : ids.Cpus()) {
    const auto found = std::find_if(topology->cells.begin(), topology->cells.end(),
                                    [id](const NumaCell& cell) { return cell.id == id; });
    if (found == topology->cells.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(network, " is attached to cell ", id, ", which this host does not have"));
    }
    cells.push_back(&*found);
  }
  return cells;
}

absl::Status AttachNetworks(const NodeConfiguration& configuration, NumaTopology* topology) {
  for (const auto& [name, ids] : configuration.physical_network_cells) {
    BERTH_ASSIGN_OR_RETURN(
        const std::vector<NumaCell*> cells,
        CellsOf(absl::StrCat("physical_network_cells: the network ", name), ids, topology));
    for (NumaCell* const cell : cells) cell->networks.physnets.insert(name);
  }
  BERTH_ASSIGN_OR_RETURN(
      const std::vector<NumaCell*> cells,
      CellsOf("tunnel_cells: the tunnel", configuration.tunnel_cells.value_or(CpuSet()), topology));
  for (NumaCell* const cell : cells) cell->networks.tunneled = true;
  return absl::OkStatus();
}

}  // namespace

bool OffersNuma(absl::string_view virt_type, absl::string_view arch) {
  const bool kvm = virt_type == "kvm";
  if (arch == "i686" || arch == "x86_64" || arch == "aarch64") return kvm || virt_type == "qemu";
  return kvm && (arch == "ppc64" || arch == "ppc64le");
}

absl::StatusOr<std::optional<NumaTopology>> DescribeNuma(const Capabilities& capabilities,
                                                         const GuestCpus& guest_cpus,
                                                         const NodeConfiguration& configuration,
                                                         absl::string_view virt_type) {
  if (capabilities.cells.empty() || !OffersNuma(virt_type, capabilities.cpu.arch.value_or(""))) {
    return std::optional<NumaTopology>();
  }
  NumaTopology topology;
  for (const CapabilitiesCell& source : capabilities.cells) {
    NumaCell cell;
    cell.id = source.id;
    CpuSet all;
    for (const CellCpu& cpu : source.cpus) all.Insert(cpu.id);
    cell.cpus = all.And(guest_cpus.shared);
    cell.dedicated_cpus = guest_cpus.legacy ? cell.cpus : all.And(guest_cpus.dedicated);
    cell.memory_mib = source.memory_kib / 1024;
    cell.siblings = Siblings(source, cell.cpus.Or(cell.dedicated_cpus));
    cell.socket = Socket(source, &topology.warnings);
    for (const auto& [size_kib, count] : source.pages_by_size_kib) {
      cell.pages.push_back({size_kib, count, 0, 0});
    }
    topology.cells.push_back(std::move(cell));
  }
  BERTH_RETURN_IF_ERROR(ReservePages(configuration.reserved_huge_pages, &topology));
  BERTH_RETURN_IF_ERROR(AttachNetworks(configuration, &topology));
  return std::optional<NumaTopology>(std::move(topology));
}

int64_t HugePagesMib(const NumaTopology& topology) {
  int64_t kib = 0;
  for (const NumaCell& cell : topology.cells) {
    for (size_t i = 1; i < cell.pages.size(); ++i) {
      kib += cell.pages[i].total * cell.pages[i].size_kib;
    }
  }
  return kib / 1024;
}

std::string NumaJson(const std::optional<NumaTopology>& topology) {
  if (!topology) return "null";
  nlohmann::json cells = nlohmann::json::array();
  for (const NumaCell& cell : topology->cells) {
    nlohmann::json siblings = nlohmann::json::array();
    for (const CpuSet& set : cell.siblings) siblings.push_back(set.Cpus());
    nlohmann::json pages = nlohmann::json::array();
    for (const NumaPages& entry : cell.pages) {
      pages.push_back({{"size_kb", entry.size_kib},
                       {"total", entry.total},
                       {"used", entry.used},
                       {"reserved", entry.reserved}});
    }
    nlohmann::json item = {{"id", cell.id},
                           {"cpuset", cell.cpus.Cpus()},
                           {"pcpuset", cell.dedicated_cpus.Cpus()},
                           {"memory", cell.memory_mib},
                           {"siblings", siblings},
                           {"mempages", pages},
                           {"socket", nullptr},
                           {"cpu_usage", 0},
                           {"memory_usage", 0},
                           {"pinned_cpus", nlohmann::json::array()}};
    if (cell.socket) item["socket"] = *cell.socket;
    if (!cell.networks.physnets.empty() || cell.networks.tunneled) {
      item["network_metadata"] = {{"physnets", cell.networks.physnets},
                                  {"tunneled", cell.networks.tunneled}};
    }
    cells.push_back(std::move(item));
  }
  return nlohmann::json{{"cells", cells}}.dump();
}

}  // namespace berth::tracker
