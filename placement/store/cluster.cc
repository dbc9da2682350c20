#include "placement/store/cluster.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "placement/ground/check.h"
#include "placement/store/child_process.h"
#include "placement/store/database.h"

namespace berth::placement {
namespace {

namespace fs = std::filesystem;

constexpr char kInstalled[] = "/usr/lib/postgresql";
constexpr char kRole[] = "berth";
// A path of a unix socket has 107 bytes at the most; the server appends "/.s.PGSQL.5432".
constexpr size_t kSocketDirectoryMax = 107 - 15;
constexpr absl::Duration kInitLimit = absl::Minutes(2);
// Replaying the log of a crash takes its time.
constexpr absl::Duration kStartLimit = absl::Minutes(5);
constexpr absl::Duration kFastStopLimit = absl::Seconds(20);
constexpr absl::Duration kImmediateStopLimit = absl::Seconds(10);
constexpr absl::Duration kPollInterval = absl::Milliseconds(5);
constexpr uintmax_t kServerLogBytesMax = 16 << 20;

// The account that the server runs under: ours, or another one when we are root, since PostgreSQL
// refuses root.
absl::StatusOr<Account> ChooseAccount(const std::string& run_as) {
  if (geteuid() != 0) return Account{geteuid(), getegid()};
  const std::vector<std::string> names =
      run_as.empty() ? std::vector<std::string>{"postgres", "nobody"} : std::vector{run_as};
  for (const std::string& name : names) {
    passwd entry{};
    passwd* found = nullptr;
    char buffer[4096];
    if (getpwnam_r(name.c_str(), &entry, buffer, sizeof(buffer), &found) == 0 && found != nullptr) {
      return Account{entry.pw_uid, entry.pw_gid};
    }
  }
  return absl::NotFoundError(absl::StrCat("no user ", names.back(), " to run PostgreSQL as"));
}

absl::Status MakeDirectory(const std::string& path, mode_t mode, const Account& account) {
  std::error_code error;
  fs::create_directories(path, error);
  // A service manager may forbid chown altogether; without another account there is no need for it.
  const bool give_away = account.uid != geteuid();
  if (error || (give_away && chown(path.c_str(), account.uid, account.gid) != 0) ||
      chmod(path.c_str(), mode) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("cannot make directory ", path, ": ",
                                                    error ? error.message() : strerror(errno)));
  }
  return absl::OkStatus();
}

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string EndOf(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return text.size() > 2000 ? text.substr(text.size() - 2000) : text;
}

// The directory with the programs of the version that `data` was made by, or of the newest one.
absl::StatusOr<std::string> FindPrograms(const std::string& data) {
  std::string version = FirstLine(data + "/PG_VERSION");
  if (version.empty()) {
    int newest = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(kInstalled, error)) {
      int number = 0;
      if (absl::SimpleAtoi(entry.path().filename().string(), &number) && number > newest &&
          fs::exists(entry.path() / "bin/postgres", error)) {
        newest = number;
      }
    }
    if (newest == 0) return absl::NotFoundError("PostgreSQL is not installed");
    version = absl::StrCat(newest);
  }
  const std::string programs = absl::StrCat(kInstalled, "/", version, "/bin");
  std::error_code error;
  if (fs::exists(programs + "/postgres", error)) return programs;
  return absl::NotFoundError(absl::StrCat(data, " is of PostgreSQL ", version,
                                          ", which is not installed under ", kInstalled));
}

// Waits until `pid`, our child or somebody else's, runs no more.
bool WaitUntilGone(pid_t pid, absl::Duration limit) {
  const absl::Time end = absl::Now() + limit;
  while (IsRunning(pid)) {
    if (absl::Now() >= end) return false;
    absl::SleepFor(kPollInterval);
  }
  return true;
}

// Stops postmaster `pid`: politely, then at once, then by force.
void StopServer(pid_t pid) {
  kill(pid, SIGINT);
  if (!WaitUntilGone(pid, kFastStopLimit)) {
    kill(pid, SIGQUIT);
    if (!WaitUntilGone(pid, kImmediateStopLimit)) kill(pid, SIGKILL);
  }
}

bool IsPlainIdentifier(absl::string_view name) {
  for (const char character : name) {
    if (!absl::ascii_isalnum(character) && character != '_') return false;
  }
  return !name.empty();
}

}  // namespace

class Cluster::Impl {
 public:
  explicit Impl(ClusterOptions options)
      : options_(std::move(options)),
        data_(options_.directory + "/data"),
        log_(options_.directory + "/postgres.log") {}

  ~Impl() {
    if (postmaster_ > 0) {
      Signal(SIGCONT);
      StopServer(postmaster_);
      (void)WaitForChild(postmaster_, kImmediateStopLimit);
    }
    std::error_code error;
    if (!absl::StartsWith(socket_directory_, options_.directory)) {
      fs::remove_all(socket_directory_, error);
    }
    if (lock_ >= 0) close(lock_);
  }

  absl::Status Prepare() {
    absl::StatusOr<Account> account = ChooseAccount(options_.run_as);
    if (!account.ok()) return account.status();
    account_ = *account;
    absl::Status status = TakeDirectory();
    if (!status.ok()) return status;
    status = ChooseSocketDirectory();
    if (!status.ok()) return status;
    absl::StatusOr<std::string> programs = FindPrograms(data_);
    if (!programs.ok()) return programs.status();
    programs_ = *std::move(programs);
    StopLeftovers();
    std::error_code error;
    return fs::exists(data_ + "/PG_VERSION", error) ? absl::OkStatus() : MakeData();
  }

  absl::Status StartServer() {
    StopLeftovers();
    std::error_code error;
    if (fs::file_size(log_, error) > kServerLogBytesMax && !error) {
      fs::rename(log_, log_ + ".old", error);
    }
    ChildOptions child;
    child.arguments = {programs_ + "/postgres", "-D", data_};
    for (const std::string& setting : Settings()) {
      child.arguments.insert(child.arguments.end(), {"-c", setting});
    }
    child.account = account_;
    child.output_path = log_;
    child.death_signal = SIGINT;
    absl::StatusOr<pid_t> pid = Spawn(child);
    if (!pid.ok()) return pid.status();
    postmaster_ = *pid;
    return AwaitReady();
  }

  // Ends all processes of the data directory that a crash of their parent left behind, and removes
  // the pid file, which may name anybody by now.
  void StopLeftovers() {
    pid_t pid = 0;
    if (absl::SimpleAtoi(FirstLine(data_ + "/postmaster.pid"), &pid) && pid > 0) {
      for (const pid_t ours : ProcessesIn(data_, "postgres")) {
        if (ours == pid) StopServer(pid);
      }
    }
    const absl::Time end = absl::Now() + kImmediateStopLimit;
    std::vector<pid_t> rest = ProcessesIn(data_, "postgres");
    while (!rest.empty() && absl::Now() < end) {
      for (const pid_t ours : rest) kill(ours, SIGKILL);
      absl::SleepFor(kPollInterval);
      rest = ProcessesIn(data_, "postgres");
    }
    std::error_code error;
    fs::remove(data_ + "/postmaster.pid", error);
  }

  void Signal(int signal) {
    if (postmaster_ <= 0) return;
    kill(postmaster_, signal);
    for (const pid_t child : ChildrenOf(postmaster_)) kill(child, signal);
  }

  void Kill() {
    if (postmaster_ <= 0) return;
    const std::vector<pid_t> children = ChildrenOf(postmaster_);
    kill(postmaster_, SIGKILL);
    for (const pid_t child : children) kill(child, SIGKILL);
    (void)WaitForChild(postmaster_, kImmediateStopLimit);
    postmaster_ = -1;
  }

  std::string Url(absl::string_view name) const {
    // Spelled as a URI so that an operator can paste it; the path is percent-encoded where needed.
    return absl::StrCat(
        "postgresql:///", name, "?host=",
        absl::StrReplaceAll(socket_directory_,
                            {{"%", "%25"}, {"&", "%26"}, {" ", "%20"}, {"#", "%23"}}),
        "&user=", kRole);
  }

  pid_t postmaster() const { return postmaster_; }

 private:
  absl::Status TakeDirectory() {
    std::error_code error;
    if (!fs::is_directory(options_.directory, error)) {
      // Open to the server's user, who owns what is inside.
      absl::Status status = MakeDirectory(options_.directory, 0755, {geteuid(), getegid()});
      if (!status.ok()) return status;
    }
    const std::string path = options_.directory + "/lock";
    lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_ < 0) {
      return absl::PermissionDeniedError(
          absl::StrCat("cannot write ", path, ": ", strerror(errno)));
    }
    if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("another process uses ", options_.directory));
  }

  absl::Status ChooseSocketDirectory() {
    socket_directory_ = options_.directory + "/run";
    if (socket_directory_.size() > kSocketDirectoryMax) {
      char path[] = "/tmp/berth-XXXXXX";
      if (mkdtemp(path) == nullptr) {
        return absl::PermissionDeniedError("cannot make a directory under /tmp");
      }
      socket_directory_ = path;
    }
    return MakeDirectory(socket_directory_, 0700, account_);
  }

  // Runs initdb beside the place, so that a data directory is whole or absent.
  absl::Status MakeData() {
    const std::string unfinished = data_ + ".new";
    std::error_code error;
    fs::remove_all(unfinished, error);
    absl::Status status = MakeDirectory(unfinished, 0700, account_);
    if (!status.ok()) return status;
    ChildOptions child;
    child.arguments = {programs_ + "/initdb", "--pgdata=" + unfinished, "--no-locale",
                       "--encoding=UTF8", "--data-checksums",
                       // To make a new segment stops all commits, for 20 ms where it has 16 MB.
                       "--wal-segsize=4", "--auth=trust", absl::StrCat("--username=", kRole)};
    for (const std::string& setting : options_.settings) {
      if (setting == "fsync=off") child.arguments.push_back("--no-sync");
    }
    child.account = account_;
    child.output_path = log_;
    absl::StatusOr<pid_t> pid = Spawn(child);
    if (!pid.ok()) return pid.status();
    const absl::StatusOr<int> code = WaitForChild(*pid, kInitLimit);
    if (!code.ok() || *code != 0) {
      kill(*pid, SIGKILL);
      const std::string said = EndOf(log_);
      return absl::StrContains(said, "Permission denied")
                 ? absl::PermissionDeniedError(absl::StrCat("initdb failed: ", said))
                 : absl::UnavailableError(absl::StrCat("initdb failed: ", said));
    }
    fs::rename(unfinished, data_, error);
    return error ? absl::UnavailableError(error.message()) : absl::OkStatus();
  }

  std::vector<std::string> Settings() const {
    std::vector<std::string> settings = {
        "listen_addresses=",
        "unix_socket_directories=" + socket_directory_,
        "unix_socket_permissions=0700",
        "max_connections=50",
        "shared_buffers=256MB",
        "max_wal_size=4GB",
        // Segments that are kept to be used again.
        "min_wal_size=256MB",
        "checkpoint_timeout=15min",
        "jit=off",
        // Rows of providers change all the time; keep them short of dead versions.
        "autovacuum_naptime=15s",
        "log_line_prefix=%m [%p] %a ",
    };
    settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
    return settings;
  }

  absl::Status AwaitReady() {
    const absl::Time end = absl::Now() + kStartLimit;
    while (absl::Now() < end) {
      const absl::StatusOr<int> code = WaitForChild(postmaster_, absl::ZeroDuration());
      if (code.ok()) {
        postmaster_ = -1;
        return absl::UnavailableError(
            absl::StrCat("PostgreSQL ended with exit code ", *code, ": ", EndOf(log_)));
      }
      // The file's first line is the pid, its eighth the condition.
      std::ifstream file(data_ + "/postmaster.pid");
      std::string line;
      std::string pid;
      for (int i = 0; i < 8 && std::getline(file, line); ++i) {
        if (i == 0) pid = line;
        if (i == 7 && pid == absl::StrCat(postmaster_) && absl::StartsWith(line, "ready")) {
          return absl::OkStatus();
        }
      }
      absl::SleepFor(kPollInterval);
    }
    return absl::UnavailableError(absl::StrCat("PostgreSQL does not get ready: ", EndOf(log_)));
  }

  const ClusterOptions options_;
  const std::string data_;
  const std::string log_;
  std::string socket_directory_;
  std::string programs_;
  Account account_;
  int lock_ = -1;
  pid_t postmaster_ = -1;
};

Cluster::Cluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cluster::~Cluster() = default;

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::Start(ClusterOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  absl::Status status = impl->Prepare();
  if (status.ok()) status = impl->StartServer();
  if (!status.ok()) return status;
  return std::unique_ptr<Cluster>(new Cluster(std::move(impl)));
}

absl::Status Cluster::CreateDatabase(absl::string_view name, absl::string_view model) {
  BERTH_CHECK(IsPlainIdentifier(name) && IsPlainIdentifier(model));
  auto database = Database::Connect(Url("postgres"), "berth setup");
  if (!database.ok()) return database.status();
  const absl::Status status =
      (*database)->Run(absl::StrCat("CREATE DATABASE ", name, " TEMPLATE ", model), nullptr);
  return SqlStateOf(status) == "42P04" ? absl::OkStatus() : status;
}

std::string Cluster::Url(absl::string_view name) const { return impl_->Url(name); }
pid_t Cluster::postmaster_pid() const { return impl_->postmaster(); }

absl::Status Cluster::Kill() {
  impl_->Kill();
  return absl::OkStatus();
}
absl::Status Cluster::Restart() { return impl_->StartServer(); }
void Cluster::Freeze() { impl_->Signal(SIGSTOP); }
void Cluster::Thaw() { impl_->Signal(SIGCONT); }

}  // namespace berth::placement
