#include "placement/store/database.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <pqxx/pqxx>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
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

int64_t BootTimeNs() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::ToInt64Nanoseconds(absl::DurationFromTimespec(now));
}

// Marks a call as running for as long as this object exists.
class Calling {
 public:
  explicit Calling(std::atomic<int64_t>* began_ns) : began_ns_(began_ns) {
    *began_ns_ = BootTimeNs();
  }
  ~Calling() { *began_ns_ = 0; }
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;

 private:
  std::atomic<int64_t>* const began_ns_;
};

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
  pqxx::result result;
};

struct Database::Connection {
  explicit Connection(const std::string& url) : session(url) {}
  pqxx::connection session;
  // Without this, libpqxx writes notices to the standard error stream.
  pqxx::quiet_errorhandler quiet{session};
};

int QueryRows::size() const { return data_ ? static_cast<int>(data_->result.size()) : 0; }

bool QueryRows::IsNull(int row, int column) const { return data_->result[row][column].is_null(); }

absl::string_view QueryRows::Text(int row, int column) const {
  const pqxx::field field = data_->result[row][column];
  return absl::string_view(field.c_str(), field.size());
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
  std::unique_ptr<Connection> connection;
  try {
    connection = std::make_unique<Connection>(WithDefaults(url));
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot connect to the database: ", WithoutPassword(error.what(), url)));
  }
  std::unique_ptr<Database> database(new Database(std::move(connection)));
  const absl::Status status = database->Run(SessionSettings(purpose), nullptr);
  if (!status.ok()) {
    return absl::UnavailableError(absl::StrCat("cannot use the database: ", status.message()));
  }
  return database;
}

Database::Database(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {
  socket_ = fcntl(connection_->session.sock(), F_DUPFD_CLOEXEC, 0);
}

Database::~Database() {
  // Closing the connection does not block, even if the server hangs: libpq sends its last message
  // without waiting.
  connection_.reset();
  if (socket_ >= 0) close(socket_);
}

template <typename Call>
absl::Status Database::Try(const Call& call) {
  if (broken_) return absl::UnavailableError("the connection to the database is broken");
  const Calling calling(&call_began_ns_);
  std::string sqlstate;
  std::string text;
  try {
    pqxx::nontransaction work(connection_->session);
    call(work);
    return absl::OkStatus();
  } catch (const pqxx::sql_error& error) {
    sqlstate = error.sqlstate();
    text = error.what();
  } catch (const pqxx::deadlock_detected& error) {
    sqlstate = "40P01";
    text = error.what();
  } catch (const pqxx::transaction_rollback& error) {
    sqlstate = "40001";
    text = error.what();
  } catch (const std::exception& error) {
    text = error.what();
  }
  if (connection_->session.is_open()) return Refused(sqlstate, text);
  broken_ = true;
  return absl::UnavailableError(
      absl::StrCat("lost the connection to the database: ", absl::StripAsciiWhitespace(text)));
}

absl::Status Database::Run(absl::string_view sql, QueryRows* rows) {
  return Try([&](pqxx::nontransaction& work) {
    const pqxx::result result = work.exec(std::string(sql));
    if (rows == nullptr) return;
    rows->data_ = std::make_shared<const QueryRows::Data>(QueryRows::Data{result});
  });
}

absl::Status Database::RunPrepared(absl::string_view before, const Statement& statement,
                                   QueryRows* rows) {
  return RunPrepared(before, statement, "", rows);
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
  const int last_before = last_prepared_;
  const bool forget = last_before - last_forgotten_ >= kPreparedMax;
  if (forget) {
    prepared_.clear();
    absl::StrAppend(&sql, "DEALLOCATE ALL; ");
  }
  // Each number is used only once: after a failure nobody knows whether a statement has the number.
  const int number = ++last_prepared_;
  absl::StrAppend(&sql, "PREPARE s", number, " AS ", text, "; EXECUTE s", number,
                  statement.ValueList(), after);
  BERTH_RETURN_IF_ERROR(Run(sql, rows));
  if (forget) last_forgotten_ = last_before;
  prepared_.emplace(std::move(text), number);
  return absl::OkStatus();
}

absl::Status Database::RunAndCommit(const Statement& statement) {
  if (statement.size() < kLongStatement) {
    return SureOfCommit(RunPrepared("", statement, "; COMMIT", nullptr));
  }
  BERTH_RETURN_IF_ERROR(Try([&](pqxx::nontransaction& work) {
    work.exec_params(statement.WithParameters(),
                     pqxx::prepare::make_dynamic_params(statement.values()));
  }));
  return SureOfCommit(Run("COMMIT", nullptr));
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
