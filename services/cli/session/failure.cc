#include "services/cli/session/failure.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "nlohmann/json.hpp"
#include "services/cli/text/display_width.h"

namespace berth::cli {
namespace {

constexpr char kDetailsUrl[] = "type.googleapis.com/google.rpc.Status";
constexpr char kRequestUrl[] = "berth.cli/request_id";
constexpr char kOpenUrl[] = "berth.cli/outcome_open";
constexpr char kDomain[] = "berth.cli";

struct Rule {
  const char* reason;
  ExitCode exit_code;
  const char* advice;
};

// The exit code and the advice for particular reasons. For all other reasons, the exit code and the
// advice depend on the canonical status code.
constexpr Rule kRules[] = {
    {"PROVIDER_NOT_FOUND", kExitNotFound, "`berth provider list` shows all providers"},
    {"RESOURCE_CLASS_NOT_FOUND", kExitNotFound,
     "`berth class list` shows all classes; `berth class create NAME` creates a CUSTOM_ class"},
    {"TRAIT_NOT_FOUND", kExitNotFound,
     "`berth trait list` shows all traits; `berth trait create NAME` creates a CUSTOM_ trait"},
    {"INVENTORY_NOT_FOUND", kExitNotFound, "`berth inventory show PROVIDER` shows its inventories"},
    {"CONSUMER_NOT_FOUND", kExitNotFound, "a consumer that holds nothing does not exist"},
    {"NODE_NOT_FOUND", kExitNotFound, "`berth node list` shows all nodes"},
    {"INSTANCE_NOT_FOUND", kExitNotFound,
     "`berth instance list --deleted --hidden` shows all instances"},
    {"MIGRATION_NOT_FOUND", kExitNotFound, "`berth migration list` shows all migrations"},
    {"SERVICE_NOT_FOUND", kExitNotFound, "`berth service list` shows all services"},
    {"SERVER_GROUP_NOT_FOUND", kExitNotFound, "`berth group list` shows all groups"},
    {"AGGREGATE_NOT_FOUND", kExitNotFound,
     "`berth aggregate list` shows the aggregates that have a name; `berth aggregate create` gives "
     "one"},
    {"CAPACITY_EXCEEDED", kExitDoesNotFit,
     "ask for less, or let `berth candidates` find a provider with enough free"},
    {"DAILY_LIMIT_REACHED", kExitError, "`berth auth show` lists the daily limits of trackers"},
    {"NEGATIVE_ALLOCATION", kExitConflict,
     "`berth allocations CONSUMER` shows what the consumer holds"},
    {"NO_CANDIDATE", kExitDoesNotFit,
     "ask for less or leave out a constraint; `berth explain` shows which one would help"},
    {kNothingFits, kExitDoesNotFit,
     "ask for less or leave out a constraint; `berth explain` shows which one would help"},
    {"NO_INVENTORY", kExitDoesNotFit, "`berth inventory show PROVIDER` shows its inventories"},
    {"UNIT_CONSTRAINT_VIOLATED", kExitDoesNotFit,
     "`berth inventory show PROVIDER` shows the smallest and largest amount and the step"},
    {"PROVIDER_IN_USE", kExitConflict,
     "`berth allocations --provider PROVIDER` shows the consumers"},
    {"INVENTORY_IN_USE", kExitConflict,
     "`berth allocations --provider PROVIDER` shows the consumers"},
    {"PROVIDER_HAS_CHILDREN", kExitConflict, "`berth provider tree PROVIDER` shows the children"},
    {"RESOURCE_CLASS_IN_USE", kExitConflict, "delete the inventories of the class first"},
    {"TRAIT_IN_USE", kExitConflict, "remove the trait from all providers first"},
    {"SERVICE_IN_USE", kExitConflict, ""},
    {"SERVICE_NOT_FORCED_DOWN", kExitConflict,
     "`berth service force-down HOST` declares the service down"},
    {"EVACUATION_PENDING", kExitConflict, "start the tracker of the host: it ends the evacuations"},
    {"NOT_REPAIRABLE", kExitConflict, "`berth allocations CONSUMER` shows what the consumer holds"},
    {"HOST_NOT_FOUND", kExitNotFound, "`berth service list` shows all hosts"},
    {"PROVIDER_GENERATION_CONFLICT", kExitConflict,
     "read the provider again, decide again, try again"},
    {"RECORD_CONFLICT", kExitConflict, "read the record again, decide again, try again"},
    {"CONSUMER_GENERATION_CONFLICT", kExitConflict,
     "`berth allocations CONSUMER` shows what the consumer holds now"},
    {"WRONG_MOVE_END", kExitConflict, ""},
    {"INSTANCE_ELSEWHERE", kExitConflict, "read the instance again, and end the move as it fits"},
    {"MOVE_HOLDS_ALLOCATIONS", kExitConflict,
     "`berth migration end` ends the move and settles its allocations"},
    {"NOTHING_HELD", kExitConflict, "`berth allocations CONSUMER` shows what the consumer holds"},
    {"FOREIGN_CONSUMER", kExitConflict, ""},
    {"DUPLICATE_AGGREGATE", kExitConflict,
     "`berth aggregate list --name NAME` shows the one that has the name"},
    {"SERVER_GROUP_POLICY_VIOLATED", kExitDoesNotFit,
     "`berth group show GROUP` shows where its members are"},
    {"FOREIGN_SERVER_GROUP", kExitConflict, ""},
    {"SERVER_GROUP_FULL", kExitConflict, "use another group"},
    {"SERVER_GROUP_IN_USE", kExitConflict,
     "`berth group remove GROUP INSTANCE...` takes instances out of the group"},
    {"OTHER_SERVER_GROUP", kExitConflict,
     "`berth group remove GROUP INSTANCE...` takes instances out of the group"},
    {"REQUEST_CANCELLED", kExitConflict,
     "the request id was cancelled; to send the write all the same, use another --request-id"},
    {"RECOVERY_REQUIRED", kExitError,
     "an operator has to look at `berth ledger lost`, then call `berth ledger start-epoch`"},
    {"WRONG_LEDGER_STATE", kExitConflict, ""},
    {"SEARCH_BUDGET_EXCEEDED", kExitError,
     "use a longer --timeout, or narrow the query, for example with --in-tree"},
    {"REVISION_NOT_REACHED", kExitUnreachable, "try again, or ask another server"},
    {"DEADLINE_BEFORE_START", kExitUnreachable, "nothing was changed: try again"},
    {"OUTCOME_UNKNOWN", kExitOutcomeUnknown, ""},
    {"ROLE_NOT_PERMITTED", kExitPermission,
     "`berth auth whoami` shows your role, `berth auth can-i METHOD` who may call a method"},
    {"POLICY_DENIED", kExitPermission, ""},
    {"IDENTITY_DENIED", kExitPermission,
     "use another identity, or ask an operator: `berth auth show` lists those that are denied"},
    {"UNAUTHENTICATED", kExitPermission, "use a certificate that is valid and names your role"},
    {"NOT_OFFERED", kExitError, "`berth list` shows what the server offers"},
    {kProblemsFound, kExitProblems, ""},
    {kAuditFound, kExitAuditFound, "`berth audit --fix all` repairs what it can"},
    {kAuditRepaired, kExitAuditRepaired, ""},
    {kUnreachable, kExitUnreachable,
     "check that the server runs; --endpoint HOST:PORT names another server"},
    {kInterrupted, kExitInterrupted, ""},
};

ExitCode ExitCodeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return kExitUsage;
    case absl::StatusCode::kNotFound:
      return kExitNotFound;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists:
      return kExitConflict;
    case absl::StatusCode::kResourceExhausted:
      return kExitDoesNotFit;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kExitPermission;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    default:
      return kExitError;
  }
}

std::string AdviceFor(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return "`berth COMMAND --help` shows an example";
    case absl::StatusCode::kUnimplemented:
      return "the server does not offer this call; `berth list` shows what it offers";
    case absl::StatusCode::kUnavailable:
      return "nothing was changed: try again";
    case absl::StatusCode::kDeadlineExceeded:
      return "try again, perhaps with a longer --timeout";
    default:
      return "";
  }
}

google::rpc::Status DetailsOf(const absl::Status& status) {
  google::rpc::Status details;
  const auto payload = status.GetPayload(kDetailsUrl);
  if (payload) details.ParseFromString(std::string(*payload));
  return details;
}

std::optional<int64_t> Number(const Item& item, const std::string& key) {
  const auto found = item.find(key);
  int64_t number = 0;
  if (found == item.end() || !absl::SimpleAtoi(found->second, &number)) return std::nullopt;
  return number;
}

std::string Text(const Item& item, const std::string& key) {
  const auto found = item.find(key);
  return found == item.end() ? "" : found->second;
}

// Whether a caller wanted to create the record of an instance that has one.
bool HasRecordAlready(const std::string& reason, const Item& item) {
  return reason == "RECORD_CONFLICT" && item.contains("instance") &&
         Text(item, "expected") == "none";
}

// Returns a sentence about `item` that adds to the server's message; empty if there is none.
std::string Sentence(const std::string& reason, const Item& item) {
  const auto used = Number(item, "used");
  const auto capacity = Number(item, "capacity");
  const auto requested = Number(item, "requested");
  if (reason == "CAPACITY_EXCEEDED" && used && capacity && requested) {
    return absl::StrCat("provider ", Text(item, "provider"), " has too little free for ",
                        *requested, " ", Text(item, "resource_class"), ": ", *used, " of ",
                        *capacity, " are used and ", std::max<int64_t>(0, *capacity - *used),
                        " are free");
  }
  if (reason == "PROVIDER_GENERATION_CONFLICT" && item.contains("actual_generation")) {
    return absl::StrCat(
        "provider ", Text(item, "provider"), " has changed: the command expected generation ",
        Text(item, "expected_generation"), ", but it is at ", Text(item, "actual_generation"));
  }
  if (reason == "CONSUMER_GENERATION_CONFLICT" && Text(item, "expected_generation") == "new") {
    return absl::StrCat("consumer ", Text(item, "consumer"), " holds something already");
  }
  return "";
}

}  // namespace

absl::Status Refused(absl::StatusCode code, absl::string_view reason, absl::string_view message,
                     const std::vector<Item>& items) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(reason));
  info.set_domain(kDomain);
  for (const Item& item : items) {
    google::rpc::ErrorInfo with_item = info;
    with_item.mutable_metadata()->insert(item.begin(), item.end());
    details.add_details()->PackFrom(with_item);
  }
  if (items.empty()) details.add_details()->PackFrom(info);
  return WithDetails(absl::Status(code, message), details.SerializeAsString());
}

absl::Status WithDetails(absl::Status status, absl::string_view details) {
  if (!details.empty()) status.SetPayload(kDetailsUrl, absl::Cord(details));
  return status;
}

absl::Status OfRequest(absl::Status status, absl::string_view request_id, bool open) {
  status.SetPayload(kRequestUrl, absl::Cord(request_id));
  if (open) status.SetPayload(kOpenUrl, absl::Cord("1"));
  return status;
}

std::string ReasonOf(const absl::Status& status) {
  const google::rpc::Status details = DetailsOf(status);
  for (const auto& any : details.details()) {
    google::rpc::ErrorInfo info;
    if (any.UnpackTo(&info)) return info.reason();
  }
  return "";
}

Failure FailureOf(const absl::Status& status) {
  Failure failure;
  failure.status = absl::StatusCodeToString(status.code());
  failure.message = Printable(status.message());
  failure.exit_code = ExitCodeOf(status.code());
  failure.advice = AdviceFor(status.code());
  const google::rpc::Status details = DetailsOf(status);
  for (const auto& any : details.details()) {
    google::rpc::ErrorInfo info;
    if (!any.UnpackTo(&info)) continue;
    failure.reason = info.reason();
    if (info.metadata().empty()) continue;
    failure.items.emplace_back(info.metadata().begin(), info.metadata().end());
  }
  for (const Rule& rule : kRules) {
    if (failure.reason != rule.reason) continue;
    failure.exit_code = rule.exit_code;
    failure.advice = rule.advice;
  }
  if (!failure.items.empty() && HasRecordAlready(failure.reason, failure.items.front())) {
    failure.advice = "`berth instance set` changes the record";
  }
  const auto request = status.GetPayload(kRequestUrl);
  if (request) failure.request_id = std::string(*request);
  if (status.GetPayload(kOpenUrl) || failure.exit_code == kExitOutcomeUnknown) {
    if (failure.exit_code != kExitInterrupted) failure.exit_code = kExitOutcomeUnknown;
    failure.advice = absl::StrCat(
        "it is not known whether the write was done: `berth request ", failure.request_id,
        "` tells; repeating the same command with --request-id ", failure.request_id, " is safe");
  }
  return failure;
}

ExitCode AuditExitCode(const Failure& failure) {
  if (failure.reason == kAuditFound) return kExitAuditFound;
  if (failure.reason == kAuditRepaired) return kExitAuditRepaired;
  if (failure.exit_code == kExitInterrupted) return kExitInterrupted;
  return failure.exit_code == kExitUsage ? kExitAuditUsage : kExitError;
}

std::string InWords(const Failure& failure) {
  const Item first = failure.items.empty() ? Item() : failure.items.front();
  const std::string sentence = Sentence(failure.reason, first);
  const std::string line = Text(first, "line");
  std::string words = absl::StrCat("berth: ", line, line.empty() ? "" : ": ",
                                   sentence.empty() ? failure.message : sentence);
  if (failure.items.size() > 1) {
    for (const Item& item : failure.items) {
      absl::StrAppend(&words, "\n ");
      for (const auto& [key, value] : item) {
        absl::StrAppend(&words, " ", key, "=", Printable(value));
      }
    }
  }
  if (!failure.advice.empty()) absl::StrAppend(&words, "\n  ", failure.advice);
  return words + "\n";
}

std::string InJson(const Failure& failure) {
  nlohmann::ordered_json object;
  object["status"] = failure.status;
  object["reason"] = failure.reason;
  object["message"] = failure.message;
  object["items"] = failure.items;
  if (!failure.advice.empty()) object["advice"] = failure.advice;
  if (!failure.request_id.empty()) object["requestId"] = failure.request_id;
  object["exitCode"] = static_cast<int>(failure.exit_code);
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace berth::cli
