// World: a state that a test builds in a few lines, by the rules themselves.
//
//   World world(R"(
//     cn1[HW_NUMA_ROOT]{VCPU:8 ratio 2 used 3}(agg1)
//       pf1{SRIOV_NET_VF:8}
//     shr[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:1000}(agg1)
//   )");
//
// Indentation says who is whose child; notation.h has the rest. Classes and traits that occur come
// into being; what is `used` is held by a consumer "held-by-cn1". Names stand for ids, which rise
// in the order in which the names are first met. Time moves by one second with each command. Not
// thread-safe.
#ifndef BERTH_TESTS_WORLDS_WORLD_H_
#define BERTH_TESTS_WORLDS_WORLD_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/rules/rules.h"
#include "placement/state/state.h"
#include "tests/worlds/notation.h"

namespace berth::placement {

class World {
 public:
  // Holds the standard classes and the traits that rules look at.
  World();
  explicit World(absl::string_view notation);

  const State& state() const { return state_; }
  StatePtr Snapshot() const { return std::make_shared<const State>(state_); }

  // Adds providers; a line without indentation is a root.
  void Add(absl::string_view notation);

  // Decides `body` and applies what it does; the safety properties hold afterwards.
  absl::StatusOr<Outcome> Do(CommandBody body);
  // The same, failing the test where it is refused.
  Outcome Must(CommandBody body);

  ProviderId provider(absl::string_view name);
  ConsumerId consumer(absl::string_view name);
  AggregateId aggregate(absl::string_view name);

  // Of what stands now; the test fails where it is not there.
  ProviderPlace place(absl::string_view name);
  Generation generation(absl::string_view provider_name);
  Generation allocation_generation(absl::string_view provider_name);
  Amount used(absl::string_view provider_name, absl::string_view resource_class);
  // None: it holds nothing.
  std::optional<Generation> consumer_generation(absl::string_view name);

  // A claim of `consumer` as it stands now, of what `notation` says: "cn1{VCPU:2} cn2{VCPU:1}".
  ConsumerAllocations Claim(absl::string_view consumer, absl::string_view notation);

  // Everything that stands, a line each, without generations and times.
  std::string Text() const;

  // The number of commands that took effect or were decided so far: the next one gets one more.
  int64_t commands() const { return commands_; }

 private:
  void AddProvider(const ProviderNotation& line, std::optional<ProviderId> parent);
  void Ensure(const ProviderNotation& line);

  State state_;
  int64_t commands_ = 0;
  std::map<std::string, ProviderId> providers_;
  std::map<std::string, ConsumerId> consumers_;
  std::map<std::string, AggregateId> aggregates_;
};

// Everything that `state` holds, a line each, without generations and times; equal states are equal
// texts.
std::string TextOf(const State& state);

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_WORLD_H_
