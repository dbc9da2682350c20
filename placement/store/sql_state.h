// What PostgreSQL says when it refuses a statement, as a status with a SQLSTATE. Pure.
#ifndef BERTH_PLACEMENT_STORE_SQL_STATE_H_
#define BERTH_PLACEMENT_STORE_SQL_STATE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace berth::placement {

// A refusal with the SQLSTATE `sqlstate`, which may be empty. kAborted if the SQLSTATE is about a
// condition of the server, such as a full disk; kInternal if it is about the statement.
absl::Status SqlRefusal(absl::string_view sqlstate, absl::string_view text);

// The SQLSTATE of `status`, a failure of a call of Database; empty if the failure has none.
std::string SqlStateOf(const absl::Status& status);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_SQL_STATE_H_
