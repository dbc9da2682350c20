// BatchTally: counts of the outcomes of the commands of one batch, for metrics. A plain value.
#ifndef BERTH_PLACEMENT_PUBLISH_BATCH_TALLY_H_
#define BERTH_PLACEMENT_PUBLISH_BATCH_TALLY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "placement/commands/command.h"

namespace berth::placement {

struct BatchTally {
  int64_t refusals = 0;
  // Counts of the commands that give allocations to a consumer ("claims"): those that were done,
  // those that were refused because of missing capacity or a missing candidate, and those that were
  // refused for another reason.
  int64_t claims_done = 0, claims_without_room = 0, claims_refused = 0;
  // Refusals because the command named an old generation of a provider, or of a consumer.
  int64_t provider_conflicts = 0, consumer_conflicts = 0;

  // Counts the command `body`, which was decided with `status`. A FindRequest is not counted. Not
  // to be called for an answer that was kept under a request id: that command was counted when it
  // was decided.
  void Add(const CommandBody& body, const absl::Status& status);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PUBLISH_BATCH_TALLY_H_
