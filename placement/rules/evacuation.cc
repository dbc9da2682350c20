#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/claims/owner_write.h"
#include "placement/claims/plan.h"
#include "placement/commands/fleet_node.h"
#include "placement/rules/rules.h"
#include "placement/rules/settlement.h"
#include "placement/values/faults.h"
#include "placement/values/migration_status.h"

namespace berth::placement {
namespace {

// What an instance holds without the part on the source of its evacuation. Nothing if it holds
// nothing there. If the evacuation cannot be settled, sets `why`.
std::optional<ConsumerAllocations> WithoutSource(const State& state,
                                                 const MigrationRecord& evacuation,
                                                 std::string& why) {
  const InstancePtr instance = state.records().FindInstance(evacuation.instance);
  const absl::StatusOr<Settlement> settlement =
      Settle(state, evacuation, *FindMoveEnding(MoveEnd::kCompleted), *instance, "host");
  if (!settlement.ok()) {
    why = std::string(settlement.status().message());
    return std::nullopt;
  }
  if (settlement->migration != nullptr) {
    why = absl::StrCat("the consumer of migration ", evacuation.id.ToString(),
                       " holds something: end the migration");
    return std::nullopt;
  }
  const ConsumerPtr& before = settlement->instance;
  if (before == nullptr || before->allocations == settlement->held) return std::nullopt;
  return WriteKeepingOwner(state, before->id, before, nullptr, settlement->held);
}

// The writes for all evacuations from the host that are `done`. An evacuation that cannot be
// settled gives a warning instead.
std::vector<ConsumerAllocations> WritesFor(const State& state, const std::string& host,
                                           std::vector<std::string>& warnings) {
  std::vector<ConsumerAllocations> writes;
  std::set<InstanceId> seen;
  for (const MigrationPtr& move : state.records().MigrationsOf(host)) {
    if (!LeavesGuest(*move) || move->source_host != host || !seen.insert(move->instance).second) {
      continue;
    }
    std::string why;
    if (auto write = WithoutSource(state, *move, why)) writes.push_back(*std::move(write));
    if (!why.empty()) warnings.push_back(std::move(why));
  }
  return writes;
}

}  // namespace

// Refuses, in this order: a malformed command; HOST_NOT_FOUND if the host has no tracker;
// SERVICE_NOT_FORCED_DOWN, because only then an operator has said that the host is cut off, and its
// guests cannot run any more (T-344). Releases only, so none of the plan's checks can fail.
absl::StatusOr<Outcome> Decide(const State& state, const ReleaseEvacuated& command,
                               const RuleContext& context) {
  Faults faults;
  faults.Length("host", command.host, 1, kTextMax);
  BERTH_RETURN_IF_ERROR(faults.status());
  const ServicePtr service = FindService(state, command.host, kTrackerBinary);
  if (service == nullptr) return TrackerNotFound(command.host);
  if (!service->forced_down) {
    return Refuse(absl::StatusCode::kFailedPrecondition, "SERVICE_NOT_FORCED_DOWN",
                  absl::StrCat("host ", command.host,
                               " may still run the evacuated guests: make sure that it does not, "
                               "and declare its service down"),
                  {{{"host", command.host}, {"field", "host"}}});
  }
  Outcome outcome;
  std::vector<std::string> warnings;
  const std::vector<ConsumerAllocations> writes = WritesFor(state, command.host, warnings);
  if (!writes.empty()) {
    std::vector<Holder> holders;
    holders.reserve(writes.size());
    for (const ConsumerAllocations& wanted : writes) {
      holders.push_back({wanted.consumer, state.FindConsumer(wanted.consumer), &wanted, true});
    }
    BERTH_ASSIGN_OR_RETURN(outcome, DecidePlan(state, std::move(holders), context));
  }
  outcome.result.warnings = std::move(warnings);
  return outcome;
}

}  // namespace berth::placement
