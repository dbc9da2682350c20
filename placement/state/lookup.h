// The look-ups in a state that many rules share. Each look-up returns what it found, or the
// refusal. The texts by which refusals name things are here, too.
//
// Pure functions of the state.
#ifndef BERTH_PLACEMENT_STATE_LOOKUP_H_
#define BERTH_PLACEMENT_STATE_LOOKUP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/ground/status_macros.h"
#include "placement/state/state.h"
#include "placement/values/refusal.h"

namespace berth::placement {

// OK if `items` is empty, else a refusal with `items`. `message` is about the first item; the
// number of other items is appended to it.
absl::Status RefuseAll(absl::StatusCode code, absl::string_view reason, std::string message,
                       const std::vector<FaultItem>& items);

// How a refusal names a provider: "provider cn1 (2b6f...)".
std::string Describe(const ProviderConfig& config);

// The provider `id`. Fails with NOT_FOUND / PROVIDER_NOT_FOUND, or with ABORTED /
// PROVIDER_GENERATION_CONFLICT if `expected` is given and is not the provider's generation (P-95).
absl::StatusOr<ProviderPlace> RequireProvider(const State& state, ProviderId id,
                                              std::optional<Generation> expected = std::nullopt);

// The consumer `id`. Fails with NOT_FOUND / CONSUMER_NOT_FOUND, or with ABORTED /
// CONSUMER_GENERATION_CONFLICT if `expected` is given and is not the consumer's generation.
absl::StatusOr<ConsumerPtr> RequireConsumer(const State& state, ConsumerId id,
                                            std::optional<Generation> expected);

// The id of the class `name`. Fails with NOT_FOUND / RESOURCE_CLASS_NOT_FOUND.
absl::StatusOr<ClassId> RequireClass(const State& state, absl::string_view name);

// The ids of the traits `names`, sorted and each once. Fails with NOT_FOUND / TRAIT_NOT_FOUND,
// which names all unknown traits (P-46).
absl::StatusOr<std::vector<TraitId>> RequireTraits(const State& state,
                                                   const std::vector<std::string>& names);

// The provider that has `name` and is not `id`, if there is one (P-11).
std::optional<ProviderId> NameHolder(const State& state, absl::string_view name, ProviderId id);

// The time at which the first lease ends; none if no consumer has a lease.
std::optional<absl::Time> FirstLeaseEnd(const State& state);

// How many entities `state` has, except standard names and usages, which can be computed from the
// consumers: as many as an export has.
int64_t EntityCount(const State& state);

// OK if the history of `newest` contains `wanted` or may still reach it. Else kOutOfRange /
// EPOCH_UNKNOWN if the epoch of `wanted` has not begun, or kFailedPrecondition / REVISION_LOST if
// the database has lost `wanted`.
absl::Status CheckRevision(const State& newest, Revision wanted);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_LOOKUP_H_
