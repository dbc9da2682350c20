// Database: one connection to PostgreSQL, and the end of its exceptions.
//
// With rows.* the only files that include libpqxx. A connection that broke stays broken: open a new
// one. Not thread-safe, but for Shut, which any thread may call to make a call that hangs in
// another one fail.
#ifndef BERTH_PLACEMENT_DATABASE_H_
#define BERTH_PLACEMENT_DATABASE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace pqxx {
class connection;
class result;
}  // namespace pqxx

namespace berth::placement {

class Database {
 public:
  // Connects. `purpose` becomes the application_name, e.g. "berth-placement writer". Fails with
  // kUnavailable, in words for an operator and without the password.
  static absl::StatusOr<std::unique_ptr<Database>> Connect(const std::string& url,
                                                           absl::string_view purpose);
  ~Database();

  // Runs `sql` as one simple query: several statements, separated by semicolons, are one round
  // trip, each with its own snapshot; `*result` (may be null) gets the last one's rows. Fails with
  //   kUnavailable   the connection broke: whether the statements took effect is unknown
  //   kAborted       lock or statement time-out, serialization failure, deadlock: nothing took
  //   effect kInternal      PostgreSQL refused; the message holds its text for the log, never for a
  //   client
  // The payload "berth.sqlstate" carries the SQLSTATE where there was one.
  absl::Status Run(absl::string_view sql, pqxx::result* result);

  // Text as an SQL literal, quotes included.
  std::string Quote(absl::string_view text);
  std::string QuoteBytes(absl::string_view bytes);

  int backend_pid() const;
  // Shuts the socket, so that whatever waits on it fails at once.
  void Shut();
  bool broken() const { return broken_; }

 private:
  explicit Database(std::unique_ptr<pqxx::connection> connection);

  std::unique_ptr<pqxx::connection> connection_;
  bool broken_ = false;
  int socket_ = -1;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_DATABASE_H_
