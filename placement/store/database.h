// Database: one connection to PostgreSQL.
//
// Turns the errors of libpqxx and of libpq into statuses; no other file includes either library. A
// broken connection stays broken: the caller opens a new one. Not thread-safe, with two exceptions:
// any thread may call Shut and ShutIfSlow, to make a call that hangs in another thread fail.
#ifndef BERTH_PLACEMENT_STORE_DATABASE_H_
#define BERTH_PLACEMENT_STORE_DATABASE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/ground/status_macros.h"
#include "placement/store/prepared_statements.h"
#include "placement/store/query_rows.h"
#include "placement/store/sql_state.h"
#include "placement/store/statement.h"

namespace berth::placement {

class Database {
 public:
  // Connects. `purpose` becomes the session's application_name, for example "berth-placement
  // writer". Fails with kUnavailable; the message is for an operator and contains no password.
  static absl::StatusOr<std::unique_ptr<Database>> Connect(const std::string& url,
                                                           absl::string_view purpose);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs `sql`: one or more statements, separated by semicolons, in one round trip. Each statement
  // has its own snapshot. `*rows` gets the rows of the last statement that returns rows; `rows` may
  // be null. Fails with
  //   kUnavailable  the connection broke: nobody knows whether the statements took effect
  //   kAborted      PostgreSQL cannot run any such statement now: a timeout, a conflict, a full
  //                 disk, a standby. The failed statement and its transaction had no effect
  //   kInternal     PostgreSQL refused this statement. The statement and its transaction had no
  //                 effect. The message contains PostgreSQL's text: for the log, never for a client
  // SqlStateOf returns the SQLSTATE of the failure; 08000 may stand for any SQLSTATE of class 08. A
  // kInternal without a SQLSTATE is a failure of this process, which for example has no memory: the
  // statements may have taken effect.
  // After a failure in an open transaction the caller runs ROLLBACK.
  absl::Status Run(absl::string_view sql, QueryRows* rows);
  // Runs `before` and `statement` in one round trip, otherwise like Run. `before` is empty or ends
  // in a semicolon. The first call with a text prepares the text as a statement of this connection;
  // later calls execute the prepared statement. REQUIRES: `statement` is a SELECT, INSERT, UPDATE
  // or DELETE, and everything that differs from call to call is one of its values. A value that is
  // no UTF-8 fails with kInternal and the SQLSTATE 22021.
  absl::Status RunPrepared(absl::string_view before, const Statement& statement, QueryRows* rows) {
    return RunPrepared(before, statement, "", rows);
  }
  // Runs `statement` in the open transaction and commits. A short statement is prepared like in
  // RunPrepared and takes one round trip. A long one sends its values as parameters and takes two
  // round trips. `*rows` gets the rows of `statement`; `rows` may be null. Fails with
  //   kUnavailable         the connection broke: nobody knows whether the transaction was committed
  //   kAborted, kInternal  as Run: nothing was committed; the caller runs ROLLBACK
  absl::Status RunAndCommit(const Statement& statement, QueryRows* rows);

  // Sends `statement`, which is prepared like in RunPrepared, and returns without waiting for its
  // answer. The statement is a transaction of its own. Fails as Run: the statement could not be
  // prepared, or the connection is known to be broken; nothing was sent then. After a success the
  // next call must be Receive.
  absl::Status Send(const Statement& statement);
  // Whether `statement` is prepared already, so that Send makes no round trip.
  bool HasPrepared(const Statement& statement) const {
    return !prepared_.NameOf(statement.WithParameters()).empty();
  }
  // Waits until the answer to the statement that Send sent can be received without waiting, or
  // until the file descriptor `event` can be read, at most for `limit`. Returns whether the answer
  // can be received.
  bool AwaitAnswer(int event, absl::Duration limit);
  // Waits for the answer to the statement that Send sent. `*rows` gets its rows; `rows` may be
  // null. Fails as RunAndCommit, but no ROLLBACK is needed: no transaction is open afterwards.
  absl::Status Receive(QueryRows* rows);
  // Whether the server has sent nothing since the last call ended. False if it has: it may have
  // ended the session.
  bool Silent() const;

  // Shuts the socket, so that a call that waits for PostgreSQL fails at once.
  void Shut();
  // Calls Shut if the present call has lasted for `limit`.
  void ShutIfSlow(absl::Duration limit);
  bool broken() const { return broken_; }

 private:
  class Session;
  explicit Database(std::unique_ptr<Session> session);

  // Begins a call. Fails if the connection is known to be broken.
  absl::Status Begin();
  // Ends the call that Begin began, and returns `status`; or kUnavailable if the connection broke.
  absl::Status End(absl::Status status);
  // Waits for the results of the message that was sent, and ends the call. `*rows` gets the last
  // result with rows, or an empty one. Fails as Run.
  absl::Status Collect(QueryRows* rows);
  // Like Run, for one statement; libpqxx sends it and makes its result.
  absl::Status RunStatement(const std::string& sql, QueryRows* rows);
  // Like Run, through libpq's handle.
  absl::Status RunMessage(const std::string& sql, QueryRows* rows);
  // As the public RunPrepared, with `after` behind the statement in the same message. `after` is
  // empty or begins with a semicolon.
  absl::Status RunPrepared(absl::string_view before, const Statement& statement,
                           absl::string_view after, QueryRows* rows);
  // Checks `status`, the result of a COMMIT, and returns it. Exception: if PostgreSQL itself did
  // not report the failure, e.g. because this process has no memory, nobody knows whether the
  // commit took effect. Then gives up the connection and returns kUnavailable.
  absl::Status SureOfCommit(absl::Status status);
  // What libpq says of the connection, which broke during the present call.
  std::string LostText() const;
  // Gives up the connection, and returns kUnavailable with the text `why`.
  absl::Status GiveUp(absl::string_view why);

  std::unique_ptr<Session> session_;
  bool broken_ = false;
  bool under_way_ = false;  // Begin was called, End was not
  bool sent_ = false;       // libpq has taken the message of the last call through the handle
  PreparedStatements prepared_;
  std::string sent_text_;                  // of the statement that Send sent last
  std::atomic<int64_t> call_began_ns_{0};  // on the boot clock; 0: no call
  // A second file descriptor of the same socket, for Shut. libpq may close its own descriptor at
  // any time, and another file could then get the same number.
  int socket_ = -1;
};

// Like Database::Connect, but also fails with kUnavailable if the server is a standby. A standby
// that is late would look like a database that went back in time.
absl::StatusOr<std::unique_ptr<Database>> ConnectToPrimary(const std::string& url,
                                                           absl::string_view purpose);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_DATABASE_H_
