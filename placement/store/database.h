// Database: one connection to PostgreSQL, and the end of its exceptions.
//
// The only file that includes libpqxx. A connection that broke stays broken: open a new one. Not
// thread-safe, but for Shut and ShutIfSlow, which any thread may call to make a call that hangs in
// another one fail.
#ifndef BERTH_PLACEMENT_STORE_DATABASE_H_
#define BERTH_PLACEMENT_STORE_DATABASE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/store/statement.h"

namespace berth::placement {

// The rows of one answer. Columns are addressed by position; asking for a value of another form
// than the statement gives ends the process. Cheap to copy.
class QueryRows {
 public:
  int size() const;
  bool IsNull(int row, int column) const;
  // Valid as long as this, or a copy of it.
  absl::string_view Text(int row, int column) const;
  int64_t Int(int row, int column) const;
  double Double(int row, int column) const;
  bool Bool(int row, int column) const;
  // Of a bytea.
  std::string Bytes(int row, int column) const;

 private:
  friend class Database;
  struct Data;
  std::shared_ptr<const Data> data_;
};

class Database {
 public:
  // Connects. `purpose` becomes the application_name, e.g. "berth-placement writer". Fails with
  // kUnavailable, in words for an operator and without the password.
  static absl::StatusOr<std::unique_ptr<Database>> Connect(const std::string& url,
                                                           absl::string_view purpose);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs `sql` as one simple query: several statements, separated by semicolons, are one round
  // trip, each with its own snapshot; `*rows` (may be null) gets the last one's. Fails with
  //   kUnavailable  the connection broke: whether the statements took effect is unknown
  //   kAborted      PostgreSQL cannot do it now, whatever the statement: a time-out, a conflict, a
  //                 full disk, a standby; the failed statement and its transaction took no effect
  //   kInternal     PostgreSQL refused the statement; it and its transaction took no effect. The
  //                 message holds PostgreSQL's text for the log, never for a client
  // SqlStateOf tells the SQLSTATE where there was one. After a failure inside BEGIN, ROLLBACK.
  absl::Status Run(absl::string_view sql, QueryRows* rows);
  // Runs `before`, which is empty or ends in a semicolon, and `statement` in one round trip; otherwise
  // as Run. PostgreSQL reads the statement's text when it comes first and keeps it for this
  // connection, planned as the session's plan_cache_mode says. REQUIRES: a SELECT, INSERT, UPDATE or
  // DELETE, in which all that differs from call to call are values.
  absl::Status RunPrepared(absl::string_view before, const Statement& statement, QueryRows* rows);
  // Runs `statement` in the open transaction and commits that: one round trip for a short statement,
  // prepared as above, two for a long one, whose values then go as parameters. Fails with
  //   kUnavailable  the connection broke: whether it was committed is unknown
  //   kAborted, kInternal, as Run: nothing was committed; ROLLBACK
  absl::Status RunAndCommit(const Statement& statement);

  int backend_pid() const;
  // Shuts the socket, so that whatever waits on it fails at once.
  void Shut();
  // The same where the present call has lasted for `limit`.
  void ShutIfSlow(absl::Duration limit);
  bool broken() const { return broken_; }

 private:
  struct Connection;
  explicit Database(std::unique_ptr<Connection> connection);

  // Has `call` use the connection, and turns what it throws into a status.
  template <typename Call>
  absl::Status Try(const Call& call);
  absl::Status RunPrepared(absl::string_view before, const Statement& statement,
                           absl::string_view after, QueryRows* rows);
  absl::Status SureOfCommit(absl::Status status);

  std::unique_ptr<Connection> connection_;
  bool broken_ = false;
  // What PostgreSQL keeps for this connection, by text. The last number that was given away, and the
  // last of those that PostgreSQL keeps no more.
  absl::flat_hash_map<std::string, int> prepared_;
  int last_prepared_ = 0;
  int last_forgotten_ = 0;
  std::atomic<int64_t> call_began_ns_{0};  // on the boot clock; 0: no call
  // A second descriptor of the same socket: libpq closes its own whenever it likes, and the number
  // might be another file's by the time that Shut is called.
  int socket_ = -1;
};

// The SQLSTATE that came with a failure of Database::Run, or empty.
std::string SqlStateOf(const absl::Status& status);

// As Database::Connect; also kUnavailable where the server is a standby: one that lags would look
// like a database that went back in time.
absl::StatusOr<std::unique_ptr<Database>> ConnectToPrimary(const std::string& url,
                                                           absl::string_view purpose);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_DATABASE_H_
