// Outcome: what a rule returns, i.e. the changes, and the Result with all else for the caller.
#ifndef BERTH_PLACEMENT_COMMANDS_OUTCOME_H_
#define BERTH_PLACEMENT_COMMANDS_OUTCOME_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "placement/state/state.h"
#include "placement/values/candidate.h"
#include "placement/values/change.h"

namespace berth::placement {

// The values that a rule may use in addition to the state and the command.
struct RuleContext {
  absl::Time now;    // the batch's ledger time
  Generation fresh;  // the command's number: the first generation of entities that it makes
  int format_max = kLogFormat;  // the newest format of the log that this release knows
};

// An inventory whose use exceeds its capacity, because the capacity was lowered (P-89).
struct OverCapacity {
  ProviderId provider;
  std::string resource_class;
  Amount used = 0;
  Amount capacity = 0;
};

// A provider that the command named, changed or not, as it is after the command.
struct ProviderAnswer {
  std::shared_ptr<const ProviderConfig> config;
  ProviderId root;
};

// A part of a tracker's report that differs from what is stored, because of the tracker's limits.
struct LimitedPart {
  ProviderId provider;
  std::string trait;           // is as it was before the report; empty: the part is an inventory
  std::string resource_class;  // of the inventory
  bool withheld = false;       // the class is withheld, so its inventory is as it was
  Amount asked = 0;   // the total in the report; 0: the report has no inventory of the class
  Amount stored = 0;  // the total after the report; 0: there is no inventory of the class
};

// All that the caller is told in addition to the changes. An answer is made from the changes and
// this result alone, never from a later state, because a later state may contain the effects of
// other commands.
struct Result {
  std::vector<ProviderAnswer> providers;
  std::vector<std::pair<ConsumerId, Generation>> consumers;  // of those that hold something now
  std::vector<Candidate> candidates;  // PlaceClaims: one for each member, in their order
  uint64_t seed = 0;                  // PlaceClaims: of the random order; 0: none was drawn
  bool created = false;  // CreateClass, EnsureTrait, RegisterService: it did not exist before
  std::vector<ConsumerId> absent;           // ReleaseConsumers: those that held nothing
  std::vector<OverCapacity> over_capacity;  // provider by provider
  std::vector<std::string> unknown_traits;  // ApplyReport: trait names that it ignored (T-213)
  std::vector<LimitedPart> limited;         // ApplyReport: provider by provider
  int64_t imported = 0;                     // ImportLedger: how many entities it made
  std::vector<std::string> warnings;        // in words, e.g. an unallocatable inventory (P-18)
};

struct Outcome {
  Changes changes;  // in the order of change.h; empty: nothing had to change
  Result result;
};

// The outcome of a command that replaces a provider's configuration by `config`. `root` is the root
// of the provider's tree.
Outcome PutProvider(ProviderConfig config, ProviderId root);
// The outcome of a command that leaves the provider at `place` unchanged.
Outcome KeepProvider(const ProviderPlace& place);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_OUTCOME_H_
