#include "tracker/cells/constraints.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tracker/cells/cpu_wishes.h"
#include "tracker/cells/guest_fault.h"
#include "tracker/cells/memory_wishes.h"
#include "tracker/ground/status_macros.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {
namespace {

using Kind = GuestFaultKind;

// The cells that flavor or image list one by one: cells 0, 1 and so on, without a gap.
struct ListedCells {
  std::vector<CpuSet> cpus;
  std::vector<int64_t> memory_mib;
  std::string cpus_name = "hw:numa_cpus";  // full name without the number of a cell
  std::string memory_name = "hw:numa_mem";
};

// Reads the settings NAME.0, NAME.1 and so on up to the first that is absent.
template <typename Value>
absl::StatusOr<std::vector<Value>> ReadList(const SettingsByName& settings, absl::string_view name,
                                            absl::StatusOr<Value> (*read)(absl::string_view,
                                                                          absl::string_view)) {
  std::vector<Value> values;
  for (int i = 0; i < kGuestCellsMax; ++i) {
    const auto found = settings.find(absl::StrCat(name, ".", i));
    if (found == settings.end()) break;
    BERTH_ASSIGN_OR_RETURN(Value value, read(found->first, found->second));
    values.push_back(std::move(value));
  }
  return values;
}

absl::Status GivenTwice(absl::string_view name) {
  return RefuseGuest(Kind::kNumaForbidden, name,
                     "the flavor sets this too, so the image must not set it");
}

// Reads the list `name` from the flavor or, if the flavor has none, from the image. `name` is given
// without `hw:`, and becomes the full name of the setting that was read.
template <typename Value>
absl::StatusOr<std::vector<Value>> ReadEither(const GuestWishes& wishes, std::string* name,
                                              absl::StatusOr<Value> (*read)(absl::string_view,
                                                                            absl::string_view)) {
  const std::string image_name = absl::StrCat("hw_", name->substr(3));
  absl::StatusOr<std::vector<Value>> flavor = ReadList<Value>(wishes.flavor, *name, read);
  if (!flavor.ok()) return flavor;
  absl::StatusOr<std::vector<Value>> image = ReadList<Value>(wishes.image, image_name, read);
  if (!image.ok() || image->empty()) return image.ok() ? flavor : image;
  if (!flavor->empty()) return GivenTwice(image_name);
  *name = image_name;
  return image;
}

absl::StatusOr<ListedCells> ReadListedCells(const GuestWishes& wishes) {
  ListedCells listed;
  BERTH_ASSIGN_OR_RETURN(std::vector<CpuSet> cpus, ReadEither(wishes, &listed.cpus_name, ReadCpus));
  BERTH_ASSIGN_OR_RETURN(std::vector<int64_t> memory,
                         ReadEither(wishes, &listed.memory_name, ReadNumber));
  listed.cpus = std::move(cpus);
  listed.memory_mib = std::move(memory);
  return listed;
}

// Returns the number of cells, or 0 if neither flavor nor image gives one.
absl::StatusOr<int64_t> ReadNodes(const GuestWishes& wishes) {
  const absl::string_view flavor = SettingOf(wishes.flavor, "hw:numa_nodes");
  const absl::string_view image = SettingOf(wishes.image, "hw_numa_nodes");
  if (flavor.empty() && image.empty()) return 0;
  if (!flavor.empty() && !image.empty()) return GivenTwice("hw_numa_nodes");
  const absl::string_view text = flavor.empty() ? image : flavor;
  int64_t nodes = 0;
  // In a flavor a number must have its usual form; for example, 02 is refused.
  const bool plain =
      flavor.empty() || (text[0] != '0' && text.find_first_not_of("0123456789") == text.npos);
  if (plain && absl::SimpleAtoi(text, &nodes) && nodes > 0 && nodes <= kGuestCellsMax) return nodes;
  return RefuseGuest(Kind::kNodesInvalid, flavor.empty() ? "hw_numa_nodes" : "hw:numa_nodes",
                     absl::StrCat("'", text, "' is not valid: it must be a whole number from 1 to ",
                                  kGuestCellsMax));
}

bool WantsPersistentMemory(const GuestWishes& wishes) {
  const std::vector<absl::string_view> names =
      absl::StrSplit(SettingOf(wishes.flavor, "hw:pmem"), ',', absl::SkipWhitespace());
  return !names.empty();
}

GuestCell CellWith(const CpuSet& vcpus, int64_t memory_mib) {
  GuestCell cell;
  cell.shared_cpus = vcpus;
  cell.memory_mib = memory_mib;
  return cell;
}

// Returns `nodes` cells over which the guest's vCPUs and memory are divided evenly.
absl::StatusOr<std::vector<GuestCell>> DivideEvenly(const GuestWishes& wishes, int64_t nodes) {
  if (wishes.vcpus % nodes != 0 || wishes.memory_mib % nodes != 0) {
    return RefuseGuest(
        Kind::kAsymmetric, "hw:numa_nodes",
        absl::StrCat(wishes.vcpus % nodes != 0 ? absl::StrCat(wishes.vcpus, " vCPUs")
                                               : absl::StrCat(wishes.memory_mib, " MiB of memory"),
                     " cannot be divided evenly over ", nodes, " NUMA cells"));
  }
  const int each = static_cast<int>(wishes.vcpus / nodes);
  std::vector<GuestCell> cells;
  for (int first = 0; first < wishes.vcpus; first += each) {
    cells.push_back(CellWith(CpuSet::Range(first, first + each - 1), wishes.memory_mib / nodes));
  }
  return cells;
}

absl::Status CheckListedCpus(const GuestWishes& wishes, const ListedCells& listed) {
  const CpuSet all = CpuSet::Range(0, wishes.vcpus - 1);
  CpuSet seen;
  for (size_t i = 0; i < listed.cpus.size(); ++i) {
    const std::string name = absl::StrCat(listed.cpus_name, ".", i);
    if (!listed.cpus[i].IsSubsetOf(all)) {
      return RefuseGuest(
          Kind::kCpuOutOfRange, name,
          absl::StrCat("vCPU ", listed.cpus[i].Without(all).First(),
                       " does not exist: the guest has vCPUs 0 to ", wishes.vcpus - 1));
    }
    if (const CpuSet twice = listed.cpus[i].And(seen); !twice.empty()) {
      return RefuseGuest(Kind::kCpuDuplicate, name,
                         absl::StrCat("vCPU ", twice.First(), " is also in another NUMA cell"));
    }
    seen = seen.Or(listed.cpus[i]);
  }
  if (seen == all) return absl::OkStatus();
  return RefuseGuest(
      Kind::kCpusUnassigned, listed.cpus_name,
      absl::StrCat("vCPU ", all.Without(seen).First(), " is in none of the NUMA cells"));
}

absl::Status CheckListedMemory(const GuestWishes& wishes, const ListedCells& listed) {
  int64_t rest = wishes.memory_mib;
  for (const int64_t memory_mib : listed.memory_mib) {
    if (memory_mib < 0 || memory_mib > rest) rest = -1;
    if (rest < 0) break;
    rest -= memory_mib;
  }
  if (rest == 0) return absl::OkStatus();
  return RefuseGuest(Kind::kMemoryOutOfRange, listed.memory_name,
                     absl::StrCat("the memory of all NUMA cells together must be the ",
                                  wishes.memory_mib, " MiB of the flavor"));
}

absl::StatusOr<std::vector<GuestCell>> TakeListed(const GuestWishes& wishes,
                                                  const ListedCells& listed, int64_t nodes) {
  const auto count = static_cast<size_t>(nodes);
  if (listed.cpus.size() != count || listed.memory_mib.size() != count) {
    const bool cpus = listed.cpus.size() != count;
    return RefuseGuest(
        Kind::kIncomplete, cpus ? listed.cpus_name : listed.memory_name,
        absl::StrCat("a value must be given for each of the ", nodes, " NUMA cells"));
  }
  absl::Status status = CheckListedCpus(wishes, listed);
  if (status.ok()) status = CheckListedMemory(wishes, listed);
  if (!status.ok()) return status;
  std::vector<GuestCell> cells;
  for (size_t i = 0; i < count; ++i) {
    cells.push_back(CellWith(listed.cpus[i], listed.memory_mib[i]));
  }
  return cells;
}

// Returns a topology of `cells`, each with its pinned vCPUs, the page size and the policies.
GuestTopology TopologyOf(std::vector<GuestCell> cells, const CpuWishes& cpus, int64_t page_size) {
  GuestTopology topology;
  topology.emulator_threads_policy = cpus.emulator_threads_policy;
  for (GuestCell& cell : cells) {
    cell.pinned_cpus = cell.shared_cpus.And(cpus.pinned);
    cell.shared_cpus = cell.shared_cpus.Without(cpus.pinned);
    cell.page_size_kib = page_size;
    cell.cpu_policy = cpus.policy;
    cell.cpu_thread_policy = cpus.thread_policy;
  }
  topology.cells = std::move(cells);
  return topology;
}

absl::Status CheckFlavor(const GuestWishes& wishes) {
  if (wishes.vcpus < 1 || wishes.vcpus > CpuSet::kMaxCpu + 1) {
    return RefuseGuest(
        Kind::kUnparsable, "vcpus",
        absl::StrCat("must be 1 to ", CpuSet::kMaxCpu + 1, ", but is ", wishes.vcpus));
  }
  if (wishes.memory_mib >= 0) return absl::OkStatus();
  return RefuseGuest(Kind::kUnparsable, "memory_mib", "must not be negative");
}

}  // namespace

absl::StatusOr<std::optional<GuestTopology>> ReadGuestTopology(const GuestWishes& wishes) {
  for (const absl::Status& status : {CheckFlavor(wishes), CheckImage(wishes.image)}) {
    if (!status.ok()) return status;
  }
  BERTH_ASSIGN_OR_RETURN(const CpuWishes cpus, ReadCpuWishes(wishes));
  BERTH_ASSIGN_OR_RETURN(const int64_t nodes, ReadNodes(wishes));
  BERTH_ASSIGN_OR_RETURN(const int64_t page_size, ReadPageSize(wishes));
  BERTH_RETURN_IF_ERROR(CheckLockedMemory(wishes));
  if (nodes == 0 && page_size == kNoPageSize && !WantsPersistentMemory(wishes) &&
      !cpus.wants_pins()) {
    return std::optional<GuestTopology>();
  }
  if (wishes.flavor.contains("hw:cpu_thread_policy") && !cpus.thread_policy) {
    return RefuseGuest(Kind::kThreadPolicyUnknown, "hw:cpu_thread_policy",
                       "must be prefer, isolate or require, but is empty");
  }
  BERTH_ASSIGN_OR_RETURN(const ListedCells listed, ReadListedCells(wishes));
  const int64_t count = std::max<int64_t>(nodes, 1);
  BERTH_ASSIGN_OR_RETURN(std::vector<GuestCell> cells,
                         listed.cpus.empty() && listed.memory_mib.empty()
                             ? DivideEvenly(wishes, count)
                             : TakeListed(wishes, listed, count));
  return std::optional(TopologyOf(std::move(cells), cpus, page_size));
}

}  // namespace berth::tracker
