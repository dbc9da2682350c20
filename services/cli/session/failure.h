// Failure: how a failed command is reported to people and to programs, and its exit code.
//
// The error of a server is passed on as an absl::Status whose payload is the google.rpc.Status that
// the server sent. Errors of the command line itself are built in the same way. Pure functions.
#ifndef BERTH_SERVICES_CLI_SESSION_FAILURE_H_
#define BERTH_SERVICES_CLI_SESSION_FAILURE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace berth::cli {

// The exit codes. They never change, because scripts rely on them.
enum ExitCode {
  kExitOk = 0,
  kExitError = 1,           // any other failure
  kExitUsage = 2,           // the command line, or a value in it, is wrong
  kExitNotFound = 3,        // something that the command names does not exist
  kExitConflict = 4,        // the entity has changed, exists already, or is in use
  kExitDoesNotFit = 5,      // the request does not fit
  kExitPermission = 6,      // the caller may not do this
  kExitUnreachable = 7,     // no answer; nothing was changed
  kExitOutcomeUnknown = 8,  // a write may or may not have been done
  kExitProblems = 9,        // a check found problems
  kExitInterrupted = 130,
  // The exit codes of `berth audit` are those of OpenStack's audit (T-345), with kExitOk and
  // kExitError.
  kExitAuditFound = 3,     // something is wrong
  kExitAuditRepaired = 4,  // something was wrong, and everything was repaired
  kExitAuditUsage = 127,   // the command line, or a value in it, is wrong
};

using Item = std::map<std::string, std::string>;

struct Failure {
  ExitCode exit_code = kExitError;
  std::string status;   // the canonical code, such as NOT_FOUND
  std::string reason;   // such as PROVIDER_NOT_FOUND; empty: none was sent
  std::string message;  // one sentence that names what is at fault
  std::string advice;   // what the user can do; may be empty
  std::vector<Item> items;
  std::string request_id;  // of the failed write; empty: the call was no write
};

// Reasons of the command line's own errors. The reasons of servers are listed in their error.proto.
inline constexpr char kNothingFits[] = "NOTHING_FITS";
inline constexpr char kProblemsFound[] = "PROBLEMS_FOUND";
inline constexpr char kAuditFound[] = "AUDIT_FOUND";
inline constexpr char kAuditRepaired[] = "AUDIT_REPAIRED";
inline constexpr char kUnreachable[] = "UNREACHABLE";
inline constexpr char kInterrupted[] = "INTERRUPTED";

// An error of the command line itself.
absl::Status Refused(absl::StatusCode code, absl::string_view reason, absl::string_view message,
                     const std::vector<Item>& items = {});

// Returns `status` with a payload: the details that the server sent, a serialized
// google.rpc.Status.
absl::Status WithDetails(absl::Status status, absl::string_view details);
// Returns `status`, marked as the error of the write with `request_id`. `open` is true if nobody
// knows whether the write was done.
absl::Status OfRequest(absl::Status status, absl::string_view request_id, bool open);

// The reason that `status` carries. Empty: `status` has no reason.
std::string ReasonOf(const absl::Status& status);

// Describes the failure that `status` reports. REQUIRES: `status` is not OK.
Failure FailureOf(const absl::Status& status);

// The exit code of `failure` if the command was `berth audit`.
ExitCode AuditExitCode(const Failure& failure);

// The failure as text for people: the message, the items if there are several, then the advice.
std::string InWords(const Failure& failure);
// The failure as JSON for programs: an object with status, reason, message, items, advice,
// requestId and exitCode.
std::string InJson(const Failure& failure);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_FAILURE_H_
