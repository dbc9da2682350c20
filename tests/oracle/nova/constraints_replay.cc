#include "tests/oracle/nova/constraints_replay.h"

#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/oracle/nova/topology_form.h"
#include "tracker/cells/constraints.h"
#include "tracker/cells/guest_fault.h"
#include "tracker/devices/request.h"

namespace berth::oracle::nova {
namespace {

using Kind = tracker::GuestFaultKind;

// Nova's classes of refusals, and the kinds of ours.
const std::multimap<std::string, Kind>& KindsByClass() {
  static const auto* const kinds = new std::multimap<std::string, Kind>{
      {"ValueError", Kind::kUnparsable},
      {"ValueError", Kind::kThreadPolicyUnknown},
      {"Invalid", Kind::kUnparsable},
      {"InvalidCPUAllocationPolicy", Kind::kCpuPolicyUnknown},
      {"InvalidCPUThreadAllocationPolicy", Kind::kThreadPolicyUnknown},
      {"InvalidEmulatorThreadsPolicy", Kind::kEmulatorPolicyUnknown},
      {"ImageCPUPinningForbidden", Kind::kCpuPolicyForbidden},
      {"ImageCPUThreadPolicyForbidden", Kind::kThreadPolicyForbidden},
      {"ImageNUMATopologyForbidden", Kind::kNumaForbidden},
      {"MemoryPageSizeForbidden", Kind::kPageSizeForbidden},
      {"FlavorImageLockedMemoryConflict", Kind::kLockedMemoryConflict},
      {"InvalidRequest", Kind::kResourcesConflict},
      {"CPUThreadPolicyConfigurationInvalid", Kind::kThreadPolicyNeedsPinnedCpus},
      {"BadRequirementEmulatorThreadsPolicy", Kind::kEmulatorPolicyNeedsPinnedCpus},
      {"RealtimeConfigurationInvalid", Kind::kRealtimeNeedsPinnedCpus},
      {"RequiredMixedInstancePolicy", Kind::kDedicatedMaskNeedsMixed},
      {"RequiredMixedOrRealtimeCPUMask", Kind::kMixedNeedsOneMask},
      {"LockMemoryForbidden", Kind::kLockedMemoryNeedsPageSize},
      {"InvalidMixedInstanceDedicatedMask", Kind::kDedicatedMaskInvalid},
      {"RealtimeMaskNotFoundOrInvalid", Kind::kRealtimeMaskInvalid},
      {"MemoryPageSizeInvalid", Kind::kPageSizeInvalid},
      {"InvalidNUMANodesNumber", Kind::kNodesInvalid},
      {"ImageNUMATopologyAsymmetric", Kind::kAsymmetric},
      {"ImageNUMATopologyIncomplete", Kind::kIncomplete},
      {"ImageNUMATopologyCPUOutOfRange", Kind::kCpuOutOfRange},
      {"ImageNUMATopologyCPUDuplicates", Kind::kCpuDuplicate},
      {"ImageNUMATopologyCPUsUnassigned", Kind::kCpusUnassigned},
      {"ImageNUMATopologyMemoryOutOfRange", Kind::kMemoryOutOfRange}};
  return *kinds;
}

// Whether the refusal is of the recorded class.
bool IsOfClass(const absl::Status& status, const std::string& recorded) {
  const std::optional<tracker::GuestFault> fault = tracker::FaultOf(status);
  const auto [begin, end] = KindsByClass().equal_range(recorded);
  for (auto kind = begin; fault && kind != end; ++kind) {
    if (kind->second == fault->kind) return true;
  }
  return false;
}

tracker::GuestWishes WishesOf(const Json& line) {
  tracker::GuestWishes wishes;
  wishes.vcpus = line.at("vcpus");
  wishes.memory_mib = line.at("memory_mb");
  line.at("extra_specs").get_to(wishes.flavor);
  line.at("image_properties").get_to(wishes.image);
  return wishes;
}

// A page size of 0 and none are the same.
Json WithoutZeroSizes(Json topology) {
  if (topology.is_null()) return topology;
  for (Json& cell : topology["cells"]) {
    if (cell["pagesize"] == 0) cell["pagesize"] = nullptr;
  }
  return topology;
}

void Compare(const std::string& where, const Json& expected, const Json& answer, Report* report) {
  if (expected == answer) {
    ++report->passed;
  } else {
    report->failures.push_back(
        absl::StrCat(where, ": recorded ", expected.dump(), ", answered ", answer.dump()));
  }
}

// The wishes with one setting less, for each setting.
std::vector<tracker::GuestWishes> WithOneLess(const tracker::GuestWishes& wishes) {
  std::vector<tracker::GuestWishes> less;
  for (auto settings : {&tracker::GuestWishes::flavor, &tracker::GuestWishes::image}) {
    for (const auto& setting : wishes.*settings) {
      less.push_back(wishes);
      (less.back().*settings).erase(setting.first);
    }
  }
  return less;
}

// Whether two settings are wrong, of which the recorded Nova names the other one. Without the first
// the refusal is the recorded one, without the second it is ours still, and without both it is
// neither. So a fault that only the lack of a setting makes is none.
bool HasBothFaults(const tracker::GuestWishes& wishes, const std::string& recorded) {
  const auto ours = tracker::FaultOf(tracker::ReadGuestTopology(wishes).status());
  if (!ours) return false;
  const auto is_ours = [&](const absl::Status& status) {
    const auto fault = tracker::FaultOf(status);
    return fault && fault->kind == ours->kind;
  };
  for (const tracker::GuestWishes& without_ours : WithOneLess(wishes)) {
    if (!IsOfClass(tracker::ReadGuestTopology(without_ours).status(), recorded)) continue;
    for (const tracker::GuestWishes& without_both : WithOneLess(without_ours)) {
      const absl::Status rest = tracker::ReadGuestTopology(without_both).status();
      if (IsOfClass(rest, recorded) || is_ours(rest)) continue;
      tracker::GuestWishes without_theirs = wishes;
      const auto keep = [](const auto& all, const auto& one, const auto& both, auto* kept) {
        for (const auto& setting : all) {
          if (one.count(setting.first) > 0 && both.count(setting.first) == 0) {
            kept->erase(setting.first);
          }
        }
      };
      keep(wishes.flavor, without_ours.flavor, without_both.flavor, &without_theirs.flavor);
      keep(wishes.image, without_ours.image, without_both.image, &without_theirs.image);
      if (is_ours(tracker::ReadGuestTopology(without_theirs).status())) return true;
    }
  }
  return false;
}

}  // namespace

Report ReplayConstraints(const Json& line, const std::string& where) {
  Report report;
  const tracker::GuestWishes wishes = WishesOf(line);
  const Json& expect = line.at("expect");
  const auto topology = tracker::ReadGuestTopology(wishes);
  if (expect.contains("image_error")) {
    Compare(where + " image", true, !topology.ok(), &report);
    return report;
  }
  const Json recorded =
      expect.contains("error") ? expect.at("error") : WithoutZeroSizes(expect.at("topology"));
  Json answer = topology.ok() ? Printed(*topology) : Json(std::string(topology.status().message()));
  if (!topology.ok() && expect.contains("error")) {
    const std::string error = expect.at("error");
    const bool same = IsOfClass(topology.status(), error);
    const bool other = !same && HasBothFaults(wishes, error);
    if (other) report.Except("T-269", where, "two settings are wrong, and Nova names the other");
    if (same || other) answer = error;
  }
  Compare(where, recorded, answer, &report);
  const auto policy = tracker::CombineDevicePolicies(
      tracker::SettingOf(wishes.flavor, "hw:pci_numa_affinity_policy"),
      tracker::SettingOf(wishes.image, "hw_pci_numa_affinity_policy"));
  if (expect.contains("pci_numa_policy_error")) {
    Compare(where + " policy refused", true, !policy.ok(), &report);
    return report;
  }
  std::string given;  // none
  if (policy.ok() && *policy) given = std::string(tracker::DeviceNumaPolicyName(**policy));
  const Json recorded_policy = expect.value("pci_numa_policy", Json(nullptr));
  Compare(where + " policy", recorded_policy.is_null() ? Json("") : recorded_policy,
          policy.ok() ? Json(given) : Json(std::string(policy.status().message())), &report);
  return report;
}

}  // namespace berth::oracle::nova
