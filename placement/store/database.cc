#include "placement/store/database.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/check.h"

namespace berth::placement {
namespace {

// A statement of at least this many bytes sends its values as parameters. Its COMMIT then costs a
// second round trip, but parsing so many values as SQL literals would take longer.
constexpr size_t kLongStatement = size_t{32} << 10;

// Batches need only a few different statements. After this many attempts to prepare one,
// failed attempts included, all prepared statements are deallocated.
constexpr int kPreparedMax = 64;

constexpr char kSqlStatePayload[] = "berth.sqlstate";

// With these settings a dead server is noticed within seconds. They come first in the connection
// string, so that the operator's own settings override them.
constexpr std::array<absl::string_view, 5> kConnectionDefaults = {
    "connect_timeout=2", "keepalives_idle=5", "keepalives_interval=2", "keepalives_count=3",
    "tcp_user_timeout=5000"};

bool IsUri(absl::string_view url) {
  return absl::StartsWith(url, "postgresql://") || absl::StartsWith(url, "postgres://");
}

std::string WithDefaults(const std::string& url) {
  if (!IsUri(url)) return absl::StrCat(absl::StrJoin(kConnectionDefaults, " "), " ", url);
  const std::string defaults = absl::StrJoin(kConnectionDefaults, "&");
  const size_t question = url.find('?');
  if (question == std::string::npos) return absl::StrCat(url, "?", defaults);
  return absl::StrCat(url.substr(0, question + 1), defaults, "&", url.substr(question + 1));
}

// The password in `url`; empty if there is none.
absl::string_view PasswordIn(absl::string_view url) {
  size_t begin = url.find("password=");
  if (begin != absl::string_view::npos) {
    begin += sizeof("password=") - 1;
    return url.substr(begin, url.find_first_of(" &", begin) - begin);
  }
  const size_t at = url.find('@');
  const size_t user = url.find("://");
  if (at == absl::string_view::npos || user == absl::string_view::npos) return {};
  const size_t colon = url.find(':', user + 3);
  if (colon == absl::string_view::npos || colon > at) return {};
  return url.substr(colon + 1, at - colon - 1);
}

std::string WithoutPassword(absl::string_view text, absl::string_view url) {
  const absl::string_view password = PasswordIn(url);
  if (password.empty()) return std::string(absl::StripAsciiWhitespace(text));
  return absl::StrReplaceAll(absl::StripAsciiWhitespace(text), {{password, "..."}});
}

// Whether the SQLSTATE is about a condition of the server, such as a full disk, and not about the
// statement.
bool IsCondition(absl::string_view sqlstate) {
  const absl::string_view kind = sqlstate.substr(0, 2);
  return kind == "40" || kind == "53" || kind == "57" || kind == "58" || sqlstate == "55P03" ||
         sqlstate == "25006";
}

absl::Status Refused(const std::string& sqlstate, absl::string_view text) {
  absl::Status status(
      IsCondition(sqlstate) ? absl::StatusCode::kAborted : absl::StatusCode::kInternal,
      absl::StripAsciiWhitespace(text));
  if (!sqlstate.empty()) status.SetPayload(kSqlStatePayload, absl::Cord(sqlstate));
  return status;
}

int64_t BootTimeNs() { return absl::ToInt64Nanoseconds(BootNow()); }

// The values of `statement` as libpq takes them.
std::vector<const char*> Pointers(const Statement& statement) {
  std::vector<const char*> pointers;
  pointers.reserve(statement.values().size());
  for (const std::string& value : statement.values()) pointers.push_back(value.c_str());
  return pointers;
}

// The settings that every session needs, whatever defaults the session's role has.
std::string SessionSettings(absl::string_view purpose) {
  std::string sql =
      "SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET TimeZone = 'UTC'; "
      "SET bytea_output = 'hex'; SET extra_float_digits = 1; SET application_name = ";
  AppendQuoted(purpose, &sql);
  return sql;
}

}  // namespace

struct QueryRows::Data {
  explicit Data(PGresult* owned) : result(owned) {}
  ~Data() { PQclear(result); }
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
  PGresult* const result;
};

struct Database::Connection {
  explicit Connection(PGconn* owned) : session(owned) {}
  ~Connection() { PQfinish(session); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  PGconn* const session;
};

int QueryRows::size() const { return data_ ? PQntuples(data_->result) : 0; }

bool QueryRows::IsNull(int row, int column) const {
  return PQgetisnull(data_->result, row, column) != 0;
}

absl::string_view QueryRows::Text(int row, int column) const {
  return absl::string_view(PQgetvalue(data_->result, row, column),
                           static_cast<size_t>(PQgetlength(data_->result, row, column)));
}

int64_t QueryRows::Int(int row, int column) const {
  int64_t value = 0;
  BERTH_CHECK(absl::SimpleAtoi(Text(row, column), &value));
  return value;
}

bool QueryRows::Bool(int row, int column) const { return Text(row, column) == "t"; }

std::string QueryRows::Bytes(int row, int column) const {
  const absl::string_view text = Text(row, column);
  BERTH_CHECK(absl::StartsWith(text, "\\x"));
  return absl::HexStringToBytes(text.substr(2));
}

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
  std::shared_ptr<const QueryRows::Data> last;
  std::shared_ptr<const QueryRows::Data> tuples;
  // The last result is that of the last statement, or the failure that ended the call.
  while (PGresult* const result = sent_ ? PQgetResult(connection_->session) : nullptr) {
    last = std::make_shared<const QueryRows::Data>(result);
    BERTH_CHECK(PQresultStatus(result) != PGRES_COPY_IN &&
                PQresultStatus(result) != PGRES_COPY_OUT);
    if (PQresultStatus(result) == PGRES_TUPLES_OK) tuples = last;
  }
  under_way_ = false;
  call_began_ns_ = 0;
  const ExecStatusType kind = last ? PQresultStatus(last->result) : PGRES_FATAL_ERROR;
  if (kind == PGRES_COMMAND_OK || kind == PGRES_TUPLES_OK) {
    if (rows != nullptr) rows->data_ = std::move(tuples);
    return absl::OkStatus();
  }
  const char* const sqlstate = last ? PQresultErrorField(last->result, PG_DIAG_SQLSTATE) : nullptr;
  const std::string text =
      last ? PQresultErrorMessage(last->result) : PQerrorMessage(connection_->session);
  if (PQstatus(connection_->session) == CONNECTION_OK) {
    return Refused(sqlstate == nullptr ? "" : sqlstate, text);
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
                                   QueryRows* rows) {
  return RunPrepared(before, statement, "", rows);
}

// Chooses a number for a statement with the text `text`, and appends to `sql` what prepares the
// statement under that number. To be followed by KeepPrepared if `sql` succeeds.
int Database::AppendPrepare(absl::string_view text, std::string* sql) {
  if (last_prepared_ - last_forgotten_ >= kPreparedMax) {
    prepared_.clear();
    forgets_ = true;
    absl::StrAppend(sql, "DEALLOCATE ALL; ");
  }
  // Each number is used only once: after a failure nobody knows whether a statement has the number.
  const int number = ++last_prepared_;
  absl::StrAppend(sql, "PREPARE s", number, " AS ", text);
  return number;
}

void Database::KeepPrepared(const std::string& text, int number) {
  if (std::exchange(forgets_, false)) last_forgotten_ = number - 1;
  prepared_.emplace(text, number);
}

absl::Status Database::RunPrepared(absl::string_view before, const Statement& statement,
                                   absl::string_view after, QueryRows* rows) {
  std::string text = statement.WithParameters();
  std::string sql(before);
  if (const auto known = prepared_.find(text); known != prepared_.end()) {
    absl::StrAppend(&sql, "EXECUTE s", known->second, statement.ValueList(), after);
    absl::Status status = Run(sql, rows);
    // The failure may mean that the prepared statement has become invalid, for example because the
    // type of a column changed. The next call prepares the statement anew.
    if (!status.ok()) prepared_.erase(known);
    return status;
  }
  const int number = AppendPrepare(text, &sql);
  absl::StrAppend(&sql, "; EXECUTE s", number, statement.ValueList(), after);
  BERTH_RETURN_IF_ERROR(Run(sql, rows));
  KeepPrepared(text, number);
  return absl::OkStatus();
}

absl::Status Database::RunAndCommit(const Statement& statement, QueryRows* rows) {
  if (statement.size() < kLongStatement) {
    return SureOfCommit(RunPrepared("", statement, "; COMMIT", rows));
  }
  const std::vector<const char*> values = Pointers(statement);
  BERTH_RETURN_IF_ERROR(Begin([&](PGconn* session) {
    return PQsendQueryParams(session, statement.WithParameters().c_str(),
                             static_cast<int>(values.size()), nullptr, values.data(), nullptr,
                             nullptr, 0);
  }));
  BERTH_RETURN_IF_ERROR(End(rows));
  return SureOfCommit(Run("COMMIT", nullptr));
}

absl::Status Database::Send(const Statement& statement) {
  std::string text = statement.WithParameters();
  auto known = prepared_.find(text);
  if (known == prepared_.end()) {
    std::string sql;
    const int number = AppendPrepare(text, &sql);
    BERTH_RETURN_IF_ERROR(Run(sql, nullptr));
    KeepPrepared(text, number);
    known = prepared_.find(text);
  }
  const std::string name = absl::StrCat("s", known->second);
  const std::vector<const char*> values = Pointers(statement);
  sent_text_ = std::move(text);
  return Begin([&](PGconn* session) {
    return PQsendQueryPrepared(session, name.c_str(), static_cast<int>(values.size()),
                               values.data(), nullptr, nullptr, 0);
  });
}

bool Database::HasPrepared(const Statement& statement) const {
  return prepared_.contains(statement.WithParameters());
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
  if (!status.ok()) prepared_.erase(sent_text_);  // as in RunPrepared
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

std::string SqlStateOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kSqlStatePayload);
  return payload ? std::string(*payload) : std::string();
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
