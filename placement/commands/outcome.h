// Outcome: what a rule answers: changes, and what its caller is told besides.
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

// What a rule may know besides the state.
struct RuleContext {
  absl::Time now;    // the batch's ledger time
  Generation fresh;  // the command's number: where the counters of entities made by it begin
  int format_max = kLogFormat;  // the newest format of the log that this release knows
};

// An inventory that is used beyond its capacity after a lawful shrink (P-89).
struct OverCapacity {
  ProviderId provider;
  std::string resource_class;
  Amount used = 0;
  Amount capacity = 0;
};

// A provider that the command addressed, as it stands afterwards, changed or not.
struct ProviderAnswer {
  std::shared_ptr<const ProviderConfig> config;
  ProviderId root;
};

// What the caller is told besides the changes. An answer is built from changes and result alone,
// never from a state that may hold what other commands did since.
struct Result {
  std::vector<ProviderAnswer> providers;
  std::vector<std::pair<ConsumerId, Generation>> consumers;  // those that hold something afterwards
  std::vector<Candidate> candidates;  // PlaceClaims: where, in the order of its members
  uint64_t seed = 0;                  // PlaceClaims: what chance was drawn from; 0: nothing was
  bool created = false;  // EnsureClass, EnsureTrait, RegisterService: it was not there before
  std::vector<ConsumerId> absent;           // ReleaseConsumers: those that held nothing
  std::vector<OverCapacity> over_capacity;  // of the providers, one after another
  std::vector<std::string> unknown_traits;  // ApplyReport: names that it left out (T-213)
  int64_t imported = 0;                     // ImportLedger: how many entities it brought
  std::vector<std::string> warnings;        // in words, e.g. an unallocatable inventory (P-18)
};

struct Outcome {
  Changes changes;  // in order; empty: nothing had to change
  Result result;
};

// The outcome of a command that puts `config`, whose tree has the root `root`, in place of the
// provider's present configuration.
Outcome PutProvider(ProviderConfig config, ProviderId root);
// The outcome of a command that leaves the provider at `place` unchanged.
Outcome KeepProvider(const ProviderPlace& place);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_OUTCOME_H_
