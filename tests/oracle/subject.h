// Subject: the placement that recordings are replayed against.
//
// There are two: a process over gRPC, and the rules and the search in this process. Both take the
// domain's commands and return its refusals, so a replay need not know which it drives. Not
// thread-safe.
#ifndef BERTH_TESTS_ORACLE_SUBJECT_H_
#define BERTH_TESTS_ORACLE_SUBJECT_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "placement/commands/command.h"
#include "placement/values/candidate.h"

namespace berth::oracle {

using placement::AggregateId;
using placement::Amount;
using placement::CandidateRequest;
using placement::CommandBody;
using placement::ConsumerId;
using placement::Generation;
using placement::Inventory;
using placement::ProviderId;

using Amounts = std::map<std::string, Amount>;  // by class

struct FoundCandidate {
  std::map<ProviderId, Amounts> allocations;
  std::map<std::string, std::set<ProviderId>> mappings;  // by suffix
  friend auto operator<=>(const FoundCandidate&, const FoundCandidate&) = default;
};

struct Summary {
  std::optional<ProviderId> parent;
  ProviderId root;
  std::set<std::string> traits;
  Amounts capacity;
  Amounts used;
  friend bool operator==(const Summary&, const Summary&) = default;
};

struct Found {
  std::set<FoundCandidate> candidates;
  std::map<ProviderId, Summary> summaries;
};

struct ProviderView {
  std::string name;
  std::optional<ProviderId> parent;
  ProviderId root;
  Generation generation;
  std::map<std::string, Inventory> inventories;
  Amounts used;
  std::set<std::string> traits;
  std::set<AggregateId> aggregates;
};

struct ConsumerView {
  Generation generation;
  std::string project;
  std::string user;
  std::string type;
  std::map<ProviderId, Amounts> allocations;
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual absl::Status Write(const CommandBody& command) = 0;
  // Fails like FindCandidates, and if a candidate appears twice.
  virtual absl::StatusOr<Found> Find(const CandidateRequest& request) = 0;
  // The entity, or nothing if it does not exist.
  virtual std::optional<ProviderView> Provider(ProviderId id) = 0;
  virtual std::optional<ConsumerView> Consumer(ConsumerId id) = 0;
};

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_SUBJECT_H_
