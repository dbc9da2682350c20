#include "placement/store/database.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/check.h"
#include "placement/store/connection_string.h"

namespace berth::placement {
namespace {

// A statement of at least this many bytes sends its values as parameters. Its COMMIT then costs a
// second round trip, but parsing so many values as SQL literals would take longer.
constexpr size_t kLongStatement = size_t{32} << 10;

QueryRows RowsOf(const std::shared_ptr<PGresult>& result) {
  const int size = PQntuples(result.get());
  const int columns = PQnfields(result.get());
  std::vector<absl::string_view> values;
  values.reserve(static_cast<size_t>(size) * columns);
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < columns; ++column) {
      const bool is_null = PQgetisnull(result.get(), row, column) != 0;
      values.emplace_back(is_null ? nullptr : PQgetvalue(result.get(), row, column),
                          static_cast<size_t>(PQgetlength(result.get(), row, column)));
    }
  }
  return QueryRows(result, size, columns, std::move(values));
}

int64_t BootTimeNs() { return absl::ToInt64Nanoseconds(BootNow()); }

// The settings that every session needs, whatever defaults the session's role has.
std::string SessionSettings(absl::string_view purpose) {
  std::string sql =
      "SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET TimeZone = 'UTC'; "
      "SET bytea_output = 'hex'; SET extra_float_digits = 1; SET application_name = ";
  AppendQuoted(purpose, &sql);
  return sql;
}

}  // namespace

struct Database::Connection {
  explicit Connection(PGconn* owned) : session(owned) {}
  ~Connection() { PQfinish(session); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  PGconn* const session;
};

absl::StatusOr<std::unique_ptr<Database>> Database::Connect(const std::string& url,
                                                            absl::string_view purpose) {
  auto connection = std::make_unique<Connection>(PQconnectdb(WithDefaults(url).c_str()));
  if (PQstatus(connection->session) != CONNECTION_OK) {
    return absl::UnavailableError(
        absl::StrCat("cannot connect to the database: ",
                     WithoutPassword(PQerrorMessage(connection->session), url)));
  }
  // Without this, libpq writes notices to the standard error stream.
  PQsetNoticeReceiver(
      connection->session, [](void*, const PGresult*) {}, nullptr);
  std::unique_ptr<Database> database(new Database(std::move(connection)));
  if (database->socket_ < 0) {
    return absl::UnavailableError("cannot use the database: no file descriptor is left for Shut");
  }
  const absl::Status status = database->Run(SessionSettings(purpose), nullptr);
  if (!status.ok()) {
    return absl::UnavailableError(absl::StrCat("cannot use the database: ", status.message()));
  }
  return database;
}

Database::Database(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {
  socket_ = fcntl(PQsocket(connection_->session), F_DUPFD_CLOEXEC, 0);
}

Database::~Database() {
  // Closing the connection does not block, even if the server hangs: libpq sends its last message
  // without waiting.
  connection_.reset();
  if (socket_ >= 0) close(socket_);
}

template <typename Call>
absl::Status Database::Begin(const Call& call) {
  if (broken_) return absl::UnavailableError("the connection to the database is broken");
  BERTH_CHECK(!under_way_);
  call_began_ns_ = BootTimeNs();
  under_way_ = true;
  sent_ = call(connection_->session) == 1;
  return absl::OkStatus();
}

absl::Status Database::End(QueryRows* rows) {
  BERTH_CHECK(under_way_);
  std::shared_ptr<PGresult> last;
  std::shared_ptr<PGresult> tuples;
  // The last result is that of the last statement, or the failure that ended the call.
  while (PGresult* const result = sent_ ? PQgetResult(connection_->session) : nullptr) {
    last = std::shared_ptr<PGresult>(result, PQclear);
    BERTH_CHECK(PQresultStatus(result) != PGRES_COPY_IN &&
                PQresultStatus(result) != PGRES_COPY_OUT);
    if (PQresultStatus(result) == PGRES_TUPLES_OK) tuples = last;
  }
  under_way_ = false;
  call_began_ns_ = 0;
  const ExecStatusType kind = last ? PQresultStatus(last.get()) : PGRES_FATAL_ERROR;
  if (kind == PGRES_COMMAND_OK || kind == PGRES_TUPLES_OK) {
    if (rows != nullptr) *rows = tuples ? RowsOf(tuples) : QueryRows();
    return absl::OkStatus();
  }
  const char* const sqlstate = last ? PQresultErrorField(last.get(), PG_DIAG_SQLSTATE) : nullptr;
  const std::string text =
      last ? PQresultErrorMessage(last.get()) : PQerrorMessage(connection_->session);
  if (PQstatus(connection_->session) == CONNECTION_OK) {
    return SqlRefusal(sqlstate == nullptr ? "" : sqlstate, text);
  }
  broken_ = true;
  return absl::UnavailableError(
      absl::StrCat("lost the connection to the database: ", absl::StripAsciiWhitespace(text)));
}

absl::Status Database::Run(absl::string_view sql, QueryRows* rows) {
  BERTH_RETURN_IF_ERROR(
      Begin([&](PGconn* session) { return PQsendQuery(session, std::string(sql).c_str()); }));
  return End(rows);
}

absl::Status Database::RunPrepared(absl::string_view before, const Statement& statement,
                                   absl::string_view after, QueryRows* rows) {
  const std::string text = statement.WithParameters();
  std::string sql(before);
  if (const std::string name = prepared_.NameOf(text); !name.empty()) {
    absl::StrAppend(&sql, "EXECUTE ", name, statement.ValueList(), after);
    absl::Status status = Run(sql, rows);
    // The failure may mean that the prepared statement has become invalid, for example because the
    // type of a column changed. The next call prepares the statement anew.
    if (!status.ok()) prepared_.Forget(text);
    return status;
  }
  const std::string name = prepared_.AppendPrepare(text, &sql);
  absl::StrAppend(&sql, "; EXECUTE ", name, statement.ValueList(), after);
  BERTH_RETURN_IF_ERROR(Run(sql, rows));
  prepared_.KeepChosen(text);
  return absl::OkStatus();
}

absl::Status Database::RunAndCommit(const Statement& statement, QueryRows* rows) {
  if (statement.size() < kLongStatement) {
    return SureOfCommit(RunPrepared("", statement, "; COMMIT", rows));
  }
  const std::vector<const char*> values = statement.Pointers();
  BERTH_RETURN_IF_ERROR(Begin([&](PGconn* session) {
    return PQsendQueryParams(session, statement.WithParameters().c_str(),
                             static_cast<int>(values.size()), nullptr, values.data(), nullptr,
                             nullptr, 0);
  }));
  BERTH_RETURN_IF_ERROR(End(rows));
  return SureOfCommit(Run("COMMIT", nullptr));
}

absl::Status Database::Send(const Statement& statement) {
  sent_text_ = statement.WithParameters();
  std::string name = prepared_.NameOf(sent_text_);
  if (name.empty()) {
    std::string sql;
    name = prepared_.AppendPrepare(sent_text_, &sql);
    BERTH_RETURN_IF_ERROR(Run(sql, nullptr));
    prepared_.KeepChosen(sent_text_);
  }
  const std::vector<const char*> values = statement.Pointers();
  return Begin([&](PGconn* session) {
    return PQsendQueryPrepared(session, name.c_str(), static_cast<int>(values.size()),
                               values.data(), nullptr, nullptr, 0);
  });
}

bool Database::AwaitAnswer(int event, absl::Duration limit) {
  BERTH_CHECK(under_way_);
  // After a failure the answer is the failure, which Receive reports without waiting.
  while (sent_ && PQisBusy(connection_->session) == 1) {
    pollfd waiting[] = {{socket_, POLLIN, 0}, {event, POLLIN, 0}};
    const int ready = poll(waiting, 2, static_cast<int>(absl::ToInt64Milliseconds(limit)));
    // Also if poll saw nothing: the TLS library may hold bytes that it has read from the socket.
    if (PQconsumeInput(connection_->session) == 0) return true;
    if (ready <= 0 || waiting[0].revents == 0) return PQisBusy(connection_->session) == 0;
  }
  return true;
}

absl::Status Database::Receive(QueryRows* rows) {
  absl::Status status = End(rows);
  // The statement is committed only if it was a transaction of its own.
  if (status.ok() && PQtransactionStatus(connection_->session) != PQTRANS_IDLE) {
    status = absl::InternalError("a transaction is open");
  }
  status = SureOfCommit(std::move(status));
  if (!status.ok()) prepared_.Forget(sent_text_);  // as in RunPrepared
  return status;
}

bool Database::Silent() const {
  BERTH_CHECK(!under_way_);  // the thread that sends a statement receives its answer first
  pollfd waiting{socket_, POLLIN, 0};
  return !broken_ && poll(&waiting, 1, 0) == 0;
}

absl::Status Database::SureOfCommit(absl::Status status) {
  if (status.ok() || broken_ || !SqlStateOf(status).empty()) return status;
  Shut();
  broken_ = true;
  return absl::UnavailableError(absl::StrCat(
      "the outcome of a commit is unknown, so placement connects to the database again: ",
      status.message()));
}

void Database::Shut() {
  if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);
}

void Database::ShutIfSlow(absl::Duration limit) {
  const int64_t began_ns = call_began_ns_;
  if (began_ns != 0 && absl::Nanoseconds(BootTimeNs() - began_ns) >= limit) Shut();
}

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
