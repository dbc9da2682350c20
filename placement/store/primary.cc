#include "placement/store/database.h"

namespace berth::placement {

absl::StatusOr<std::unique_ptr<Database>> ConnectToPrimary(const std::string& url,
                                                           absl::string_view purpose) {
  BERTH_ASSIGN_OR_RETURN(auto database, Database::Connect(url, purpose));
  QueryRows rows;
  const absl::Status status = database->Run("SELECT pg_is_in_recovery()", &rows);
  if (!status.ok()) return absl::UnavailableError(status.message());
  if (rows.Bool(0, 0)) {
    return absl::UnavailableError("the database is a standby, which accepts no writes");
  }
  return database;
}

}  // namespace berth::placement
