// The primary of a PostgreSQL installation: the one server that takes writes.
#ifndef BERTH_PLACEMENT_PRIMARY_H_
#define BERTH_PLACEMENT_PRIMARY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/database.h"

namespace berth::placement {

// As Database::Connect; also kUnavailable where the server is a standby: one that lags would look
// like a database that went back in time.
absl::StatusOr<std::unique_ptr<Database>> ConnectToPrimary(const std::string& url,
                                                           absl::string_view purpose);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PRIMARY_H_
