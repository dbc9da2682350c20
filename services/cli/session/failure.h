// Failure: what a command that did not succeed tells people and programs, and its exit code.
//
// A server's error travels through the command line as an absl::Status with the google.rpc.Status of
// the wire as payload; errors made here are built the same way. Pure functions over statuses.
#ifndef BERTH_SERVICES_CLI_SESSION_FAILURE_H_
#define BERTH_SERVICES_CLI_SESSION_FAILURE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace berth::cli {

// Stable: scripts rely on them.
enum ExitCode {
  kExitOk = 0,
  kExitError = 1,           // anything else
  kExitUsage = 2,           // the command line, or a value in it, is wrong
  kExitNotFound = 3,        // what the command names is not there
  kExitConflict = 4,        // changed meanwhile, exists already, or is in use
  kExitDoesNotFit = 5,      // no room
  kExitPermission = 6,      // not allowed
  kExitUnreachable = 7,     // no answer; nothing was changed
  kExitOutcomeUnknown = 8,  // a write may or may not have been done
  kExitProblems = 9,        // a check found something
  kExitInterrupted = 130,
};

using Item = std::map<std::string, std::string>;

struct Failure {
  ExitCode exit_code = kExitError;
  std::string status;   // the canonical code, as NOT_FOUND
  std::string reason;   // as PROVIDER_NOT_FOUND; empty: the server gave none
  std::string message;  // one sentence that names what is at fault
  std::string advice;   // what to do; empty: nothing in particular
  std::vector<Item> items;
  std::string request_id;  // of the write that failed; empty: it was none
};

// Reasons that are made here; those of servers stand in their error.proto.
inline constexpr char kNothingFits[] = "NOTHING_FITS";
inline constexpr char kProblemsFound[] = "PROBLEMS_FOUND";
inline constexpr char kUnreachable[] = "UNREACHABLE";
inline constexpr char kInterrupted[] = "INTERRUPTED";

// An error that is made here.
absl::Status Refused(absl::StatusCode code, absl::string_view reason, absl::string_view message,
                     const std::vector<Item>& items = {});

// `status` with what the wire said in its details: a serialized google.rpc.Status.
absl::Status WithDetails(absl::Status status, absl::string_view details);
// `status` marked as that of the write `request_id`, whose outcome is open if `open`.
absl::Status OfRequest(absl::Status status, absl::string_view request_id, bool open);

// The reason that `status` carries; empty: none.
std::string ReasonOf(const absl::Status& status);

// REQUIRES: `status` is not OK.
Failure FailureOf(const absl::Status& status);

// For people: the sentence, the items where there are several, then what to do.
std::string InWords(const Failure& failure);
// For programs: an object with status, reason, message, items, advice, requestId, exitCode.
std::string InJson(const Failure& failure);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_FAILURE_H_
