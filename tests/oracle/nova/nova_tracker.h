// What Nova's tracker counts and answers otherwise than Berth's, for the replay of lives of a node.
//
// Pure functions. Text in another form ends the process with an exception of nlohmann.
#ifndef BERTH_TESTS_ORACLE_NOVA_NOVA_TRACKER_H_
#define BERTH_TESTS_ORACLE_NOVA_NOVA_TRACKER_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/oracle/nova/nova_world.h"
#include "tracker/claims/claim.h"

namespace berth::oracle::nova {

// The migration that Nova's tracker makes for a move to `destination` that has none: a resize if
// the flavors differ, else a cold migration. In Berth others make the migration before the claim.
tracker::Migration MigrationOfNova(const tracker::Uuid& uuid, const tracker::Instance& instance,
                                   const tracker::Flavor& new_flavor,
                                   const tracker::HostAndNode& destination, absl::Time now);

// An account with the cells, devices and units that Nova counts, all of them for one instance, and
// without amounts. `recorded`: what stands after a step. These three are what Nova tests (T-162).
tracker::NodeAccount AccountOfNova(const NovaWorld& world, const Json& recorded);

// Whether Nova counts other cells, devices or units than the account: how many of each kind.
bool CountsOtherwise(const NovaWorld& world, const Json& recorded,
                     const tracker::NodeAccount& account);

// The answer to a claim.
struct ClaimAnswer {
  bool tested = false;                      // whether it says what the node has room for
  std::vector<std::string> reasons;         // of a refusal, without those about memory
  std::vector<std::string> memory_reasons;  // Nova does not test memory (T-162)
};
ClaimAnswer ReadAnswer(const absl::Status& status);

// The cells that a claim has placed. `instance`: its record after the claim. Null: none.
Json PlacedCells(const Json& step, const Json& instance);

// Whether the claim has the recorded reasons, memory apart, and if it is granted, the recorded cells.
bool IsAsRecorded(const NovaWorld& world, const Json& step,
                  const absl::StatusOr<tracker::OpenClaim>& claim);

// The account of a host that has as many free pages of the smallest size as the host of `account`
// has pages, used and reserved ones included (T-277).
tracker::NodeAccount WithFreePages(const tracker::NodeAccount& account);

// The classes of named units, each as often as a unit of it is named. Null: no units.
std::multiset<std::string> UnitClasses(const NovaWorld& world, const Json& units);

// The reason that a refusal has to give about memory (T-159, T-160), or nothing if memory suffices.
std::vector<std::string> MemoryReasons(const tracker::Flavor& flavor,
                                       const tracker::ClaimLimits& limits,
                                       const tracker::NaiveAccount& before);

// The rule by which Berth refuses a claim that the recorded Nova granted, if any rule can be it.
std::string RuleAgainst(const Json& step);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_NOVA_TRACKER_H_
