// BatchTally: counts of the outcomes of the commands of one batch, for metrics. A plain value.
#ifndef BERTH_PLACEMENT_PUBLISH_BATCH_TALLY_H_
#define BERTH_PLACEMENT_PUBLISH_BATCH_TALLY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "placement/commands/command.h"

namespace berth::placement {

struct BatchTally {
  int64_t refusals = 0;
  // Counts of claims. A claim here is a PlaceClaims, or a SetAllocations with at least one
  // allocation. Counted separately: the claims that were done, those that were refused with the
  // reason CAPACITY_EXCEEDED or NO_CANDIDATE, and those that were refused otherwise.
  int64_t claims_done = 0, claims_without_room = 0, claims_refused = 0;
  // Refusals with the reason PROVIDER_GENERATION_CONFLICT, or CONSUMER_GENERATION_CONFLICT.
  int64_t provider_conflicts = 0, consumer_conflicts = 0;

  // Counts the outcome `status` of the command `body`. Counts nothing for a FindRequest, nor for a
  // command that was done and is no claim. Not to be called for an answer that was kept under the
  // request id of an earlier command (Decision::replayed), so that no command counts twice.
  void Add(const CommandBody& body, const absl::Status& status);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PUBLISH_BATCH_TALLY_H_
