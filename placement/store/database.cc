// What goes through libpqxx, and what through the handle of libpq below it.
//
// libpqxx 6.4 connects, escapes values, and runs a text without a semicolon or the EXECUTE of one
// prepared statement: it sends the text, makes the result and throws the error. Through the handle
// goes what libpqxx cannot do:
//   - to wait for a result. If the connection breaks meanwhile, libpqxx never frees the result that
//     it then gets. So Session::WaitForResult waits, and nothing uses what sends and waits in one
//     call: exec, exec_params, exec_prepared, prepare_now. Nor is a statement pending when its
//     pipeline is destroyed: the pipeline would cancel it, which waits for the server.
//   - a message of several statements, of which another one than the last returns rows.
//   - values that are sent as parameters, without waiting for the answer.
#include "placement/store/database.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <pqxx/connection_base>
#include <pqxx/connectionpolicy>
#include <pqxx/except>
#include <pqxx/nontransaction>
#include <pqxx/pipeline>
#include <pqxx/result>
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

// How long a call waits until it looks again: what a library keeps of encrypted bytes wakes nobody.
constexpr int kLookAgainMicros = 10'000;

// The settings that every session needs, whatever defaults the session's role has.
constexpr absl::string_view kSessionSettings =
    "SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET TimeZone = 'UTC'; "
    "SET bytea_output = 'hex'; SET extra_float_digits = 1; SET application_name = ";

template <typename Type>
bool IsThrownAs(const std::exception& failure) {
  return dynamic_cast<const Type*>(&failure) != nullptr;
}

// The SQLSTATE of a failure that PostgreSQL reported and libpqxx threw. Some of its exceptions do
// not keep their SQLSTATE; then their type tells it. For class 08 the type tells the class alone.
// A type is asked for before the type that it is derived from.
std::string SqlStateIn(const std::exception& failure) {
  if (IsThrownAs<pqxx::too_many_connections>(failure)) return "53300";
  if (IsThrownAs<pqxx::broken_connection>(failure)) return "08000";
  if (IsThrownAs<pqxx::serialization_failure>(failure)) return "40001";
  if (IsThrownAs<pqxx::statement_completion_unknown>(failure)) return "40003";
  if (IsThrownAs<pqxx::deadlock_detected>(failure)) return "40P01";
  if (IsThrownAs<pqxx::transaction_rollback>(failure)) return "40000";
  if (IsThrownAs<pqxx::insufficient_privilege>(failure)) return "42501";
  const auto* const error = dynamic_cast<const pqxx::sql_error*>(&failure);
  return error == nullptr ? std::string() : error->sqlstate();
}

QueryRows RowsOf(const pqxx::result& result) {
  std::vector<absl::string_view> values;
  values.reserve(result.size() * result.columns());
  // To compute an end copies the result, and so does result[row][column].
  const auto last = result.end();
  for (auto row = result.begin(); row != last; ++row) {
    const auto end = row->end();
    for (auto value = row->begin(); value != end; ++value) {
      values.emplace_back(value->is_null() ? nullptr : value->c_str(), value->size());
    }
  }
  return QueryRows(std::make_shared<const pqxx::result>(result), static_cast<int>(result.size()),
                   static_cast<int>(result.columns()), std::move(values));
}

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

// Connects like libpqxx's own policies, and keeps the handle, which libpqxx hides.
class HandlePolicy final : public pqxx::connectionpolicy {
 public:
  using pqxx::connectionpolicy::connectionpolicy;

  // libpqxx calls this with null to connect, then again with the handle that it got.
  handle do_startconnect(handle present) override {
    if (present != nullptr) return present;
    handle_ = normalconnect(nullptr);
    return handle_;
  }

  // The handle. Valid from the return of do_startconnect until libpqxx disconnects.
  PGconn* get() const { return handle_; }

 private:
  PGconn* handle_ = nullptr;
};

}  // namespace

class Database::Session final : public pqxx::connection_base {
 public:
  // Connects. Throws if that fails.
  explicit Session(const std::string& url) : Session(std::make_unique<HandlePolicy>(url)) {
    // If init throws, the destructor runs: the other constructor has made a whole object.
    init();
    // A broken connection stays broken, and keeps its handle until close.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    inhibit_reactivation(true);
#pragma GCC diagnostic pop
  }
  ~Session() { close(); }

  PGconn* handle() const { return policy_->get(); }

  // Takes what the server has sent. Returns false if the connection cannot be read.
  bool TakeInput() {
    if (PQconsumeInput(handle()) == 0) return false;
    // Twice with TLS: the TLS library may have kept the rest of a record, which wakes nobody.
    return PQsslInUse(handle()) == 0 || PQisBusy(handle()) == 0 || PQconsumeInput(handle()) == 1;
  }

  // Waits until libpqxx can get the result of the statement that it sent without waiting. Returns
  // false if the connection breaks.
  bool WaitForResult() {
    while (PQisBusy(handle()) == 1) {
      wait_read(0, kLookAgainMicros);
      if (!TakeInput()) return false;
    }
    return is_open();
  }

  // Waits for the next result of the present message; null after the last one.
  std::shared_ptr<PGresult> NextResult() const {
    PGresult* const result = PQgetResult(handle());
    if (result == nullptr) return nullptr;
    BERTH_CHECK(PQresultStatus(result) != PGRES_COPY_IN &&
                PQresultStatus(result) != PGRES_COPY_OUT);
    return {result, PQclear};
  }

  // Waits for the end of the present message's results.
  void SkipResults() const {
    while (NextResult() != nullptr) continue;
  }

 private:
  explicit Session(std::unique_ptr<HandlePolicy> policy)
      : pqxx::connection_base(*policy), policy_(std::move(policy)) {}

  const std::unique_ptr<HandlePolicy> policy_;
};

absl::StatusOr<std::unique_ptr<Database>> Database::Connect(const std::string& url,
                                                            absl::string_view purpose) {
  std::unique_ptr<Session> session;
  std::string settings;
  try {
    session = std::make_unique<Session>(WithDefaults(url));
    settings = absl::StrCat(kSessionSettings, "'", session->esc(std::string(purpose)), "'");
  } catch (const std::exception& failure) {
    return absl::UnavailableError(
        absl::StrCat("cannot connect to the database: ", WithoutPassword(failure.what(), url)));
  }
  std::unique_ptr<Database> database(new Database(std::move(session)));
  if (database->socket_ < 0) {
    return absl::UnavailableError("cannot use the database: no file descriptor is left for Shut");
  }
  const absl::Status status = database->RunMessage(settings, nullptr);
  if (!status.ok()) {
    return absl::UnavailableError(absl::StrCat("cannot use the database: ", status.message()));
  }
  return database;
}

Database::Database(std::unique_ptr<Session> session) : session_(std::move(session)) {
  socket_ = fcntl(session_->sock(), F_DUPFD_CLOEXEC, 0);
}

Database::~Database() {
  // Closing the connection does not block, even if the server hangs: libpq sends its last message
  // without waiting.
  session_.reset();
  if (socket_ >= 0) close(socket_);
}

absl::Status Database::Begin() {
  if (broken_) return absl::UnavailableError("the connection to the database is broken");
  BERTH_CHECK(!under_way_);
  call_began_ns_ = absl::ToInt64Nanoseconds(BootNow());
  under_way_ = true;
  return absl::OkStatus();
}

absl::Status Database::End(absl::Status status) {
  under_way_ = false;
  call_began_ns_ = 0;
  return broken_ || session_->is_open() ? std::move(status) : GiveUp(LostText());
}

absl::Status Database::Collect(QueryRows* rows) {
  BERTH_CHECK(under_way_);
  std::shared_ptr<PGresult> last;
  std::shared_ptr<PGresult> tuples;
  // The last result is that of the last statement, or the failure that ended the call.
  while (std::shared_ptr<PGresult> result = sent_ ? session_->NextResult() : nullptr) {
    last = std::move(result);
    if (PQresultStatus(last.get()) == PGRES_TUPLES_OK) tuples = last;
  }
  const ExecStatusType kind = last ? PQresultStatus(last.get()) : PGRES_FATAL_ERROR;
  if (kind == PGRES_COMMAND_OK || kind == PGRES_TUPLES_OK) {
    if (rows != nullptr) *rows = tuples ? RowsOf(tuples) : QueryRows();
    return End(absl::OkStatus());
  }
  const char* const sqlstate = last ? PQresultErrorField(last.get(), PG_DIAG_SQLSTATE) : nullptr;
  return End(
      SqlRefusal(sqlstate == nullptr ? "" : sqlstate,
                 last ? PQresultErrorMessage(last.get()) : PQerrorMessage(session_->handle())));
}

absl::Status Database::RunMessage(const std::string& sql, QueryRows* rows) {
  BERTH_RETURN_IF_ERROR(Begin());
  sent_ = PQsendQuery(session_->handle(), sql.c_str()) == 1;
  return Collect(rows);
}

absl::Status Database::RunStatement(const std::string& sql, QueryRows* rows) {
  BERTH_RETURN_IF_ERROR(Begin());
  absl::Status status;
  bool answered = false;
  try {
    pqxx::nontransaction transaction(*session_);
    pqxx::pipeline statements(transaction);
    const pqxx::pipeline::query_id statement = statements.insert(sql);
    answered = session_->WaitForResult();
    if (answered) {
      const pqxx::result result = statements.retrieve(statement);
      if (rows != nullptr) *rows = RowsOf(result);
    } else {
      status = GiveUp(LostText());
      session_->SkipResults();
      statements.flush();  // finds no result, so the statement is not pending any more
    }
  } catch (const std::exception& failure) {
    // Before its answer PostgreSQL has reported nothing.
    status = answered ? SqlRefusal(SqlStateIn(failure), failure.what()) : GiveUp(LostText());
  }
  // The end of the answer. If PostgreSQL has ended the session, this shows it.
  if (!broken_) session_->SkipResults();
  return End(std::move(status));
}

absl::Status Database::Run(absl::string_view sql, QueryRows* rows) {
  // A text without a semicolon is one statement.
  const bool is_one = sql.find(';') == absl::string_view::npos;
  return is_one ? RunStatement(std::string(sql), rows) : RunMessage(std::string(sql), rows);
}

absl::Status Database::RunPrepared(absl::string_view before, const Statement& statement,
                                   absl::string_view after, QueryRows* rows) {
  std::string literals;  // ('…','…'), or empty
  literals.reserve(statement.size());
  try {
    for (const std::string& value : statement.values()) {
      absl::StrAppend(&literals, literals.empty() ? "('" : "','",
                      session_->esc(value.data(), value.size()));
    }
  } catch (const pqxx::argument_error& failure) {
    return SqlRefusal("22021", failure.what());  // as PostgreSQL refuses such a text
  }
  if (!literals.empty()) literals += "')";
  const std::string text = statement.WithParameters();
  std::string sql(before);
  if (const std::string name = prepared_.NameOf(text); !name.empty()) {
    absl::StrAppend(&sql, "EXECUTE ", name, literals, after);
    const bool is_one = before.empty() && after.empty();
    absl::Status status = is_one ? RunStatement(sql, rows) : RunMessage(sql, rows);
    // The failure may mean that the prepared statement has become invalid, for example because the
    // type of a column changed. The next call prepares the statement anew.
    if (!status.ok()) prepared_.Forget(text);
    return status;
  }
  const std::string name = prepared_.AppendPrepare(text, &sql);
  absl::StrAppend(&sql, "; EXECUTE ", name, literals, after);
  BERTH_RETURN_IF_ERROR(RunMessage(sql, rows));
  prepared_.KeepChosen(text);
  return absl::OkStatus();
}

absl::Status Database::RunAndCommit(const Statement& statement, QueryRows* rows) {
  if (statement.size() < kLongStatement) {
    return SureOfCommit(RunPrepared("", statement, "; COMMIT", rows));
  }
  const std::vector<const char*> values = statement.Pointers();
  BERTH_RETURN_IF_ERROR(Begin());
  sent_ = PQsendQueryParams(session_->handle(), statement.WithParameters().c_str(),
                            static_cast<int>(values.size()), nullptr, values.data(), nullptr,
                            nullptr, 0) == 1;
  BERTH_RETURN_IF_ERROR(Collect(rows));
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
  BERTH_RETURN_IF_ERROR(Begin());
  sent_ = PQsendQueryPrepared(session_->handle(), name.c_str(), static_cast<int>(values.size()),
                              values.data(), nullptr, nullptr, 0) == 1;
  return absl::OkStatus();
}

bool Database::AwaitAnswer(int event, absl::Duration limit) {
  BERTH_CHECK(under_way_);
  // After a failure the answer is the failure, which Receive reports without waiting.
  while (sent_ && PQisBusy(session_->handle()) == 1) {
    pollfd waiting[] = {{socket_, POLLIN, 0}, {event, POLLIN, 0}};
    const int ready = poll(waiting, 2, static_cast<int>(absl::ToInt64Milliseconds(limit)));
    // Also if poll saw nothing: the TLS library may hold bytes that it has read from the socket.
    if (!session_->TakeInput()) return true;
    if (ready <= 0 || waiting[0].revents == 0) return PQisBusy(session_->handle()) == 0;
  }
  return true;
}

absl::Status Database::Receive(QueryRows* rows) {
  absl::Status status = Collect(rows);
  // The statement is committed only if it was a transaction of its own.
  if (status.ok() && PQtransactionStatus(session_->handle()) != PQTRANS_IDLE) {
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
  return GiveUp(absl::StrCat(
      "the outcome of a commit is unknown, so placement connects to the database again: ",
      status.message()));
}

std::string Database::LostText() const {
  return absl::StrCat("lost the connection to the database: ",
                      absl::StripAsciiWhitespace(PQerrorMessage(session_->handle())));
}

absl::Status Database::GiveUp(absl::string_view why) {
  Shut();
  broken_ = true;
  return absl::UnavailableError(why);
}

void Database::Shut() {
  if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);
}

void Database::ShutIfSlow(absl::Duration limit) {
  const int64_t began_ns = call_began_ns_;
  if (began_ns != 0 && BootNow() - absl::Nanoseconds(began_ns) >= limit) Shut();
}

}  // namespace berth::placement
