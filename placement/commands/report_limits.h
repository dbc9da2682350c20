// ReportLimits: applies the limits of a tracker (TrackerLimits) to one report (ApplyReport).
//
// - A withheld trait stays as the provider has it, whatever the report says.
// - A withheld class stays as the provider has it, too: its inventory, or that there is none.
// - A provider with something withheld is not removed (HasWithheld): a report could make it again,
//   without what operators gave it.
// - A ceiling holds for the sum of `total` over all providers of the nodes of the report's host. What
//   the report changes and removes counts as it is after the report. Each reported provider gets at
//   most what the providers before it in the report, and those that it does not name, leave. `total`
//   and `reserved` are cut to that. If nothing is left, the provider gets no inventory of the class.
//   But an inventory of which consumers hold some before the report keeps a total of 1, which the
//   other providers of the report do not get, and which may be above the ceiling. So no report raises
//   the sum above the ceiling. What consumers shall hold by the report (holdings) lifts nothing.
//   Nothing limits the allocation ratio.
//
// Has to be asked for each reported provider once, in the order of the report. A local value of one
// decision; keeps references to the state and the report. Pure.
#ifndef BERTH_PLACEMENT_COMMANDS_REPORT_LIMITS_H_
#define BERTH_PLACEMENT_COMMANDS_REPORT_LIMITS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "placement/commands/command.h"
#include "placement/commands/outcome.h"
#include "placement/state/state.h"

namespace berth::placement {

// Whether the provider has a trait, or an inventory of a class, that `limits` withhold. Then no
// tracker may take the provider away. `limits`: null if nothing is limited.
bool HasWithheld(const State& state, const TrackerLimits* limits, const ProviderConfig& provider);
// Whether a provider of the node (NodeProviders) has something withheld.
bool HasWithheld(const State& state, const TrackerLimits* limits, ProviderId node);

class ReportLimits {
 public:
  // `going`: the providers that the report removes.
  ReportLimits(const State& state, const ApplyReport& report,
               const absl::flat_hash_set<ProviderId>& going)
      : state_(state), report_(report), going_(going) {}

  // Whether the report has no limits. Then InventoriesOf must not be called.
  bool none() const { return report_.limits == nullptr; }

  // The inventories that `provider` of the report gets, each class once. `place`: where the provider
  // is; none: the report makes it.
  std::vector<NamedInventory> InventoriesOf(const ReportedProvider& provider,
                                            const std::optional<ProviderPlace>& place);
  // Whether the trait is withheld. `asked`: the report says that `provider` has it.
  bool KeepsTrait(const ReportedProvider& provider, const std::optional<ProviderPlace>& place,
                  const std::string& trait, bool asked);

  // What differs from the report, provider by provider. To be called once, last.
  std::vector<LimitedPart> TakeLimited() { return std::move(limited_); }

 private:
  // What is left below the ceiling of a class, for one reported provider after the other: without
  // what KeepHeld keeps for those to come.
  struct Ceiling {
    std::string resource_class;
    Amount left = 0;  // below 0: the others have more
  };

  bool Withholds(absl::string_view resource_class) const;
  // The inventories of withheld classes that the provider has, and gets again.
  void KeepWithheld(const ReportedProvider& provider, const std::optional<ProviderPlace>& place,
                    std::vector<NamedInventory>* kept);
  // What the provider gets for `asked`; none: no inventory of the class.
  std::optional<NamedInventory> Cut(const ReportedProvider& provider,
                                    const std::optional<ProviderPlace>& place,
                                    const NamedInventory& asked);
  // The ceiling of the class; null: it has none.
  Ceiling* CeilingOf(absl::string_view resource_class);
  // Sets ceilings_, in one pass over the providers of the host.
  void CountOthers();
  // Whether consumers hold some of the class on the provider before the report.
  bool IsHeld(const std::optional<ProviderPlace>& place, absl::string_view resource_class) const;
  // Keeps 1 for each reported inventory of which consumers hold some.
  void KeepHeld();

  const State& state_;
  const ApplyReport& report_;
  const absl::flat_hash_set<ProviderId>& going_;
  std::optional<std::vector<Ceiling>> ceilings_;  // sorted by class; none: not needed so far
  // The traits in limited_: a report may name one many times.
  absl::flat_hash_set<std::pair<ProviderId, absl::string_view>> told_traits_;
  std::vector<LimitedPart> limited_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_REPORT_LIMITS_H_
