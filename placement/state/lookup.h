// Guards: the lines that many rules' ladders share, and how refusals name things.
//
// Pure functions of the state. Each returns what it looked for, or the refusal of section 9.
#ifndef BERTH_PLACEMENT_STATE_LOOKUP_H_
#define BERTH_PLACEMENT_STATE_LOOKUP_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/state/state.h"
#include "placement/values/refusal.h"

namespace berth::placement {

// Refuses with the items that a stage found, if any; `message` is that of the first and is told how
// many there are besides.
absl::Status RefuseAll(absl::StatusCode code, absl::string_view reason, std::string message,
                       const std::vector<FaultItem>& items);

// "provider cn1 (2b6f...)".
std::string Describe(const ProviderConfig& config);

// NOT_FOUND with PROVIDER_NOT_FOUND.
absl::StatusOr<ProviderPlace> RequireProvider(const State& state, ProviderId id);

// ABORTED with PROVIDER_GENERATION_CONFLICT where `expected` is given and not the provider's own
// (P-95).
absl::Status CheckGeneration(const ProviderConfig& config, std::optional<Generation> expected);

// NOT_FOUND with CONSUMER_NOT_FOUND; ABORTED with CONSUMER_GENERATION_CONFLICT where `expected` is
// given and not the consumer's own.
absl::StatusOr<ConsumerPtr> RequireConsumer(const State& state, ConsumerId id,
                                            std::optional<Generation> expected);

// NOT_FOUND with RESOURCE_CLASS_NOT_FOUND.
absl::StatusOr<ClassId> RequireClass(const State& state, absl::string_view name);

// Ids of `names`, rising and each once; NOT_FOUND with TRAIT_NOT_FOUND naming all that are unknown
// (P-46).
absl::StatusOr<std::vector<TraitId>> RequireTraits(const State& state,
                                                   const std::vector<std::string>& names);

// The provider that has `name` and is not `id`, if there is one (P-11).
std::optional<ProviderId> NameHolder(const State& state, absl::string_view name, ProviderId id);

// Fails with kOutOfRange / EPOCH_UNKNOWN, then kFailedPrecondition / REVISION_LOST; OK where the
// ledger that stands at `newest` has passed `wanted` or may get there.
absl::Status CheckRevision(const State& newest, Revision wanted);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_LOOKUP_H_
