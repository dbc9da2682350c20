#include "tracker/audit/cpu_misfits.h"

#include "absl/strings/str_cat.h"

namespace berth::tracker {
namespace {

// The kinds of CPUs that an instance has.
struct CpuKinds {
  bool shared = false;
  bool own = false;
};

CpuKinds KindsOf(const Instance& instance) {
  CpuKinds kinds;
  if (!instance.assigned.topology.has_value()) return {true, false};
  for (const GuestCell& cell : instance.assigned.topology->cells) {
    const CpuPolicy policy = cell.cpu_policy.value_or(CpuPolicy::kShared);
    kinds.shared = kinds.shared || policy != CpuPolicy::kDedicated;
    kinds.own = kinds.own || policy != CpuPolicy::kShared;
  }
  return kinds;
}

}  // namespace

std::vector<std::string> FindCpuMisfits(const NodeAccount& account,
                                        const NodeConfiguration& configuration) {
  const bool shared = configuration.cpu_shared_set.has_value();
  const bool own = configuration.cpu_dedicated_set.has_value();
  std::vector<std::string> misfits;
  if (configuration.vcpu_pin_set || (!shared && !own)) return misfits;
  for (const auto& [uuid, instance] : account.instances()) {
    if (instance.on != account.self() || !account.IsTracked(uuid)) continue;
    const CpuKinds kinds = KindsOf(instance);
    if (kinds.shared && !shared) {
      misfits.push_back(absl::StrCat("instance ", uuid.ToString(),
                                     " has shared CPUs, but the node has no cpu_shared_set"));
    } else if (kinds.own && !own) {
      misfits.push_back(
          absl::StrCat("instance ", uuid.ToString(),
                       " has CPUs of its own, but the node has no cpu_dedicated_set"));
    }
  }
  return misfits;
}

}  // namespace berth::tracker
