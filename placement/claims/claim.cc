#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/claims/claims.h"
#include "placement/claims/form.h"
#include "placement/claims/plan.h"
#include "placement/claims/search.h"
#include "placement/commands/record_form.h"
#include "placement/state/lookup.h"
#include "placement/values/catalog.h"

namespace berth::placement {
namespace {

// The limit of steps of a search under the ledger's lock, during which all writers wait. This many
// steps take some milliseconds, even if 100,000 roots must be sorted.
constexpr int64_t kStepsUnderLockMax = 50'000;

// Checks the syntax and the names of the queries. A query with choices is skipped: it was checked
// when the choices were found.
absl::Status CheckQueries(const State& state, const PlaceClaims& command) {
  for (size_t m = command.choices.size(); m < command.members.size(); ++m) {
    CandidateRequest request = command.members[m].query;
    request.order = command.order;
    const absl::Status status = PlanSearch(state, request).status();
    if (!status.ok()) return OfMember(command, m, status);
  }
  return absl::OkStatus();
}

absl::Status CheckConsumers(const State& state, const PlaceClaims& command) {
  std::vector<FaultItem> items;
  std::string message;
  for (size_t m = 0; m < command.members.size(); ++m) {
    const ClaimMember& member = command.members[m];
    CompareConsumer(
        member.consumer, state.FindConsumer(member.consumer), member.expected_generation,
        [&] { return FieldOf(command, m, "generation"); }, items, message);
  }
  return RefuseAll(absl::StatusCode::kAborted, "CONSUMER_GENERATION_CONFLICT", std::move(message),
                   items);
}

// RECORD_CONFLICT, which names every instance that is to get a record and has one. Then, for the
// first instance that has the fault, UUID_IN_USE if its uuid is that of a migration, and what
// CheckMembership refuses.
absl::Status CheckRecords(const State& state, const PlaceClaims& command) {
  std::vector<FaultItem> items;
  std::string message;
  absl::Status in_use;
  for (size_t m = 0; m < command.members.size(); ++m) {
    if (command.members[m].instance == nullptr) continue;
    const InstanceId id = command.members[m].instance->id;
    if (in_use.ok() && state.records().FindMigration(MigrationId{id.uuid}) != nullptr) {
      in_use = UuidOfMigration(id, FieldOf(command, m, "instance.uuid"));
    }
    const InstancePtr present = state.records().FindInstance(id);
    if (present == nullptr) continue;
    if (items.empty()) message = absl::StrCat("instance ", id.ToString(), " has a record already");
    items.push_back({{"instance", id.ToString()},
                     {"field", FieldOf(command, m, "instance")},
                     {"expected", "none"},
                     {"actual", absl::StrCat(present->generation.value)}});
  }
  BERTH_RETURN_IF_ERROR(
      RefuseAll(absl::StatusCode::kAborted, "RECORD_CONFLICT", std::move(message), items));
  BERTH_RETURN_IF_ERROR(in_use);
  for (size_t m = 0; m < command.members.size(); ++m) {
    const InstancePtr& instance = command.members[m].instance;
    if (instance == nullptr) continue;
    BERTH_RETURN_IF_ERROR(
        CheckMembership(state, nullptr, *instance, FieldOf(command, m, "instance.group_uuid")));
  }
  return absl::OkStatus();
}

}  // namespace

// Finds a candidate for each member, gives it to the member's consumer, and creates the record of
// the member's instance, for all members or for none. Refuses, in this order: a malformed command;
// query by query, what FindCandidates refuses (P-175); CONSUMER_GENERATION_CONFLICT;
// RECORD_CONFLICT; UUID_IN_USE; SERVER_GROUP_NOT_FOUND; FOREIGN_SERVER_GROUP; NO_CANDIDATE or
// SEARCH_BUDGET_EXCEEDED.
absl::StatusOr<Outcome> Decide(const State& state, const PlaceClaims& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  BERTH_RETURN_IF_ERROR(CheckQueries(state, command));
  BERTH_RETURN_IF_ERROR(CheckConsumers(state, command));
  BERTH_RETURN_IF_ERROR(CheckRecords(state, command));
  // If the worker's search exceeded its budget, the queries are not searched again under the lock.
  ClaimSearch search(state, command, 1, command.search_gave_up ? 0 : kStepsUnderLockMax);
  BERTH_ASSIGN_OR_RETURN(std::vector<Candidate> placed, search.Place());
  std::vector<ConsumerAllocations> wanted;
  for (size_t m = 0; m < command.members.size(); ++m) {
    wanted.push_back(AllocationsOf(state.catalog(), command.members[m], placed[m]));
  }
  std::vector<Holder> holders;
  holders.reserve(wanted.size());
  for (const ConsumerAllocations& each : wanted) {
    holders.push_back({each.consumer, state.FindConsumer(each.consumer), &each});
  }
  // The checks below cannot fail, because every candidate that a search finds can be claimed
  // (P-203).
  ClaimPlan plan(state, std::move(holders));
  BERTH_RETURN_IF_ERROR(plan.FindProviders());
  BERTH_RETURN_IF_ERROR(plan.FindClasses());
  BERTH_RETURN_IF_ERROR(plan.FindInventories());
  BERTH_RETURN_IF_ERROR(plan.CheckUnits(false));
  BERTH_RETURN_IF_ERROR(plan.CheckRoom());
  Outcome outcome = plan.MakeOutcome(context);
  for (const ClaimMember& member : command.members) {
    if (member.instance == nullptr) continue;
    outcome.changes.push_back(InstancePut{StoredInstance(*member.instance, nullptr, context)});
  }
  outcome.result.candidates = std::move(placed);
  if (command.order.strategy == Strategy::kRandom) outcome.result.seed = command.order.seed;
  return outcome;
}

}  // namespace berth::placement
