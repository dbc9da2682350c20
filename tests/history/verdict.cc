// What the status of a call says about its outcome.

#include <cstdio>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/history/record_wire.h"
#include "tests/history/wire.h"

namespace berth::history {
namespace {

Reason ReasonOf(const std::string& words) {
  if (words == "CAPACITY_EXCEEDED") return Reason::kNoRoom;
  if (words == "NO_CANDIDATE") return Reason::kNoCandidate;
  if (words == "CONSUMER_GENERATION_CONFLICT") return Reason::kConsumerConflict;
  if (words == "PROVIDER_GENERATION_CONFLICT") return Reason::kProviderConflict;
  if (words == "CONSUMER_NOT_FOUND") return Reason::kConsumerNotFound;
  if (words == "NEGATIVE_ALLOCATION") return Reason::kNegative;
  if (words == "INSTANCE_NOT_FOUND") return Reason::kInstanceNotFound;
  if (words == "MIGRATION_NOT_FOUND") return Reason::kMigrationNotFound;
  if (words == "DUPLICATE_MIGRATION") return Reason::kDuplicateMigration;
  if (words == "RECORD_CONFLICT") return Reason::kRecordConflict;
  if (words == "MOVE_HOLDS_ALLOCATIONS") return Reason::kMoveHolds;
  if (words == "WRONG_MOVE_END") return Reason::kWrongMoveEnd;
  if (words == "INSTANCE_ELSEWHERE") return Reason::kInstanceElsewhere;
  if (words == "NOTHING_HELD") return Reason::kNothingHeld;
  return Reason::kOther;
}

// Whether the service says of itself that it cannot do it now.
bool IsAway(const std::string& words) {
  static const auto& away = *new std::set<std::string>{
      "STORE_UNAVAILABLE", "OVERLOADED",        "STALE",
      "NOT_SERVING",       "TOO_MANY_WAIT",     "DEADLINE_BEFORE_START",
      "CANCELLED",         "RECOVERY_REQUIRED", "REVISION_NOT_REACHED",
      "REVISION_LOST",     "EPOCH_UNKNOWN",     "SEARCH_BUDGET_EXCEEDED"};
  return away.contains(words);
}

// The number or the status of a migration at `key`; 0 if there is neither.
int64_t NumberAt(const google::rpc::ErrorInfo& info, const char* key) {
  const auto found = info.metadata().find(key);
  if (found == info.metadata().end()) return 0;
  int64_t number = 0;
  return absl::SimpleAtoi(found->second, &number) ? number : StatusOf(found->second).value_or(0);
}

}  // namespace

Verdict VerdictOf(const grpc::Status& status) {
  if (status.ok()) return {Outcome::kDone, Reason::kNone, 0};
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  if (!details.ParseFromString(status.error_details()) || details.details().empty() ||
      !details.details(0).UnpackTo(&info) || info.reason() == "OUTCOME_UNKNOWN") {
    return {};
  }
  if (IsAway(info.reason())) return {Outcome::kAway, Reason::kNone, 0};
  Verdict verdict = {Outcome::kRefused, ReasonOf(info.reason()), 0};
  // The checker takes such a refusal for a fault, and a finding does not have its words.
  if (verdict.reason == Reason::kOther) {
    std::fprintf(stderr, "refused with %s: %s\n", info.reason().c_str(),
                 status.error_message().c_str());
  }
  verdict.there = NumberAt(info, verdict.reason == Reason::kNoRoom           ? "used"
                                 : verdict.reason == Reason::kRecordConflict ? "actual"
                                                                             : "actual_generation");
  return verdict;
}

}  // namespace berth::history
