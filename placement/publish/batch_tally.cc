#include "placement/publish/batch_tally.h"

#include <algorithm>
#include <string>
#include <variant>

#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

bool IsClaim(const CommandBody& body) {
  if (std::holds_alternative<PlaceClaims>(body)) return true;
  const auto* set = std::get_if<SetAllocations>(&body);
  return set != nullptr &&
         std::any_of(set->consumers.begin(), set->consumers.end(),
                     [](const auto& consumer) { return !consumer.allocations.empty(); });
}

}  // namespace

void BatchTally::Add(const CommandBody& body, const absl::Status& status) {
  if (std::holds_alternative<FindRequest>(body)) return;  // "not found" is an answer, not a refusal
  const bool claim = IsClaim(body);
  if (status.ok()) {
    claims_done += claim ? 1 : 0;
    return;
  }
  ++refusals;
  const std::optional<Refusal> refusal = RefusalOf(status);
  const std::string reason = refusal ? refusal->reason : "";
  const bool no_room = reason == "CAPACITY_EXCEEDED" || reason == "NO_CANDIDATE";
  if (claim) ++(no_room ? claims_without_room : claims_refused);
  provider_conflicts += reason == "PROVIDER_GENERATION_CONFLICT" ? 1 : 0;
  consumer_conflicts += reason == "CONSUMER_GENERATION_CONFLICT" ? 1 : 0;
}

}  // namespace berth::placement
