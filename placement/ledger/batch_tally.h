// BatchTally: what the commands of a batch came to, counted as they are decided. A value.
#ifndef BERTH_PLACEMENT_LEDGER_BATCH_TALLY_H_
#define BERTH_PLACEMENT_LEDGER_BATCH_TALLY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "placement/commands/command.h"

namespace berth::placement {

struct BatchTally {
  int64_t refusals = 0;
  // Writes after which somebody holds something, by result; without room: no place was found, too.
  int64_t claims_done = 0, claims_without_room = 0, claims_refused = 0;
  // Refusals because the author knew an older generation, by whose it was.
  int64_t provider_conflicts = 0, consumer_conflicts = 0;

  // `status` is what became of `body`. What look-ups of a request id are told does not
  // count; answers that are given again are not to be counted.
  void Add(const CommandBody& body, const absl::Status& status);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_BATCH_TALLY_H_
