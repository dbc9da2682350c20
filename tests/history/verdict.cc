// What the status of a call says about its outcome.

#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
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

int64_t NumberAt(const google::rpc::ErrorInfo& info, const char* key) {
  const auto found = info.metadata().find(key);
  int64_t number = 0;
  if (found == info.metadata().end() || !absl::SimpleAtoi(found->second, &number)) return 0;
  return number;
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
  verdict.there = NumberAt(info, verdict.reason == Reason::kNoRoom           ? "used"
                                 : verdict.reason == Reason::kRecordConflict ? "actual"
                                                                             : "actual_generation");
  return verdict;
}

}  // namespace berth::history
