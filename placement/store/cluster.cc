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
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/check.h"
#include "placement/store/child_process.h"
#include "placement/store/database.h"
#include "placement/store/restart_pace.h"

namespace berth::placement {
namespace {

namespace fs = std::filesystem;

constexpr char kInstalled[] = "/usr/lib/postgresql";
constexpr char kRole[] = "berth";
// Linux limits a unix socket's path to 107 bytes. The server's socket is ".s.PGSQL.5432".
constexpr size_t kSocketDirectoryMax = 107 - 15;
constexpr absl::Duration kInitLimit = absl::Minutes(2);
// This limit is long, because after a crash PostgreSQL first replays its log.
constexpr absl::Duration kStartLimit = absl::Minutes(5);
constexpr absl::Duration kFastStopLimit = absl::Seconds(20);
constexpr absl::Duration kImmediateStopLimit = absl::Seconds(10);
constexpr absl::Duration kPollInterval = absl::Milliseconds(5);
constexpr uintmax_t kServerLogBytesMax = 16 << 20;

// The account that the server runs as: our own, or another one if we are root, because PostgreSQL
// refuses to run as root.
absl::StatusOr<Account> ChooseAccount(const std::string& run_as) {
  if (geteuid() != 0) return Account{geteuid(), getegid()};
  std::vector<std::string> names = {"postgres", "nobody"};
  if (!run_as.empty()) names = {run_as};
  for (const std::string& name : names) {
    passwd entry{};
    passwd* found = nullptr;
    char buffer[4096];
    if (getpwnam_r(name.c_str(), &entry, buffer, sizeof(buffer), &found) == 0 && found != nullptr) {
      return Account{entry.pw_uid, entry.pw_gid};
    }
  }
  return absl::NotFoundError(
      absl::StrCat("there is no user ", names.back(),
                   " on this machine: PostgreSQL needs a user that is not root"));
}

absl::Status MakeDirectory(const std::string& path, mode_t mode, const Account& account) {
  std::error_code error;
  fs::create_directories(path, error);
  // No chown if the account is our own: a service manager may forbid the system call altogether.
  const bool give_away = account.uid != geteuid();
  if (error || (give_away && chown(path.c_str(), account.uid, account.gid) != 0) ||
      chmod(path.c_str(), mode) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("cannot create directory ", path, ": ",
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

// The directory with PostgreSQL's programs, in the version that made `data`, or in the newest
// version if there is no data yet.
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
    if (newest == 0)
      return absl::NotFoundError(
          "PostgreSQL is not installed: install it, or name a running one with --database");
    version = absl::StrCat(newest);
  }
  const std::string programs = absl::StrCat(kInstalled, "/", version, "/bin");
  std::error_code error;
  if (fs::exists(programs + "/postgres", error)) return programs;
  return absl::NotFoundError(absl::StrCat(data, " was created by PostgreSQL ", version,
                                          ", which is not installed under ", kInstalled));
}

// Waits until process `pid` (our child or not) has ended; false if it still runs after `limit`.
bool WaitUntilGone(pid_t pid, absl::Duration limit) {
  const BootTime end = BootNow() + limit;
  while (IsRunning(pid)) {
    if (BootNow() >= end) return false;
    absl::SleepFor(kPollInterval);
  }
  return true;
}

// Stops postmaster `pid`: asks for a fast shutdown, then for an immediate one, then kills it.
void StopServer(pid_t pid) {
  kill(pid, SIGINT);
  if (!WaitUntilGone(pid, kFastStopLimit)) {
    kill(pid, SIGQUIT);
    if (!WaitUntilGone(pid, kImmediateStopLimit)) kill(pid, SIGKILL);
  }
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
    BERTH_ASSIGN_OR_RETURN(account_, ChooseAccount(options_.run_as));
    BERTH_RETURN_IF_ERROR(TakeDirectory());
    BERTH_RETURN_IF_ERROR(ChooseSocketDirectory());
    BERTH_ASSIGN_OR_RETURN(programs_, FindPrograms(data_));
    std::error_code error;
    return fs::exists(data_ + "/PG_VERSION", error) ? absl::OkStatus() : MakeData();
  }

  absl::Status SpawnServer() {
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
    BERTH_ASSIGN_OR_RETURN(postmaster_, Spawn(child));
    return absl::OkStatus();
  }

  absl::Status AwaitReady() {
    const BootTime end = BootNow() + kStartLimit;
    while (BootNow() < end) {
      const absl::StatusOr<int> code = WaitForChild(postmaster_, absl::ZeroDuration());
      if (code.ok()) {
        postmaster_ = -1;
        return absl::UnavailableError(
            absl::StrCat("the private PostgreSQL ended at its start, with exit code ", *code, ": ",
                         EndOf(log_)));
      }
      // The first line of the file is the postmaster's pid, the eighth line its status.
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
    return absl::UnavailableError(absl::StrCat(
        "the private PostgreSQL was started, but did not become ready in time: ", EndOf(log_)));
  }

  absl::StatusOr<absl::Duration> Tend(BootTime now) {
    if (postmaster_ > 0) {
      const absl::StatusOr<int> code = WaitForChild(postmaster_, absl::ZeroDuration());
      if (!code.ok()) return absl::InfiniteDuration();
      postmaster_ = -1;
      BERTH_RETURN_IF_ERROR(NoteEnd(now, absl::StrCat("with exit code ", *code)));
    }
    if (now < start_at_) return start_at_ - now;
    const absl::Status spawned = SpawnServer();
    if (spawned.ok()) return absl::InfiniteDuration();
    BERTH_RETURN_IF_ERROR(NoteEnd(now, absl::StrCat("and does not start: ", spawned.message())));
    return start_at_ - now;
  }

  std::string Url(absl::string_view name) const {
    // The directory is percent-encoded, so that the result is a URI that psql accepts.
    return absl::StrCat(
        "postgresql:///", name, "?host=",
        absl::StrReplaceAll(socket_directory_,
                            {{"%", "%25"}, {"&", "%26"}, {" ", "%20"}, {"#", "%23"}}),
        "&user=", kRole);
  }

  pid_t postmaster() const { return postmaster_; }

 private:
  // Ends every server process that a crash left behind in the data directory, and removes the pid
  // file, because another program may have the same pid by now.
  void StopLeftovers() {
    pid_t pid = 0;
    if (absl::SimpleAtoi(FirstLine(data_ + "/postmaster.pid"), &pid) && pid > 0) {
      for (const pid_t ours : ProcessesIn(data_, "postgres")) {
        if (ours == pid) StopServer(pid);
      }
    }
    const BootTime end = BootNow() + kImmediateStopLimit;
    std::vector<pid_t> rest = ProcessesIn(data_, "postgres");
    while (!rest.empty() && BootNow() < end) {
      for (const pid_t ours : rest) kill(ours, SIGKILL);
      absl::SleepFor(kPollInterval);
      rest = ProcessesIn(data_, "postgres");
    }
    std::error_code error;
    fs::remove(data_ + "/postmaster.pid", error);
  }

  // Decides when the server that ended at `now` is started again. Fails if it shall stay down.
  absl::Status NoteEnd(BootTime now, absl::string_view how) {
    const std::string words = absl::StrCat("the private PostgreSQL ended ", how);
    const std::optional<absl::Duration> pause = pace_.NoteEnd(now);
    if (!pause) {
      return absl::ResourceExhaustedError(
          absl::StrCat(words, ", too often, so it is not started again: ", EndOf(log_)));
    }
    start_at_ = now + *pause;
    if (options_.tell_operator) {
      options_.tell_operator(
          absl::StrCat(words, " and is started again in ", absl::FormatDuration(*pause)));
    }
    return absl::OkStatus();
  }

  absl::Status TakeDirectory() {
    std::error_code error;
    if (!fs::is_directory(options_.directory, error)) {
      // The server's user must be allowed to enter this directory, and owns the directories in it.
      BERTH_RETURN_IF_ERROR(MakeDirectory(options_.directory, 0755, {geteuid(), getegid()}));
    }
    const std::string path = options_.directory + "/lock";
    lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_ < 0) {
      return absl::PermissionDeniedError(
          absl::StrCat("cannot write ", path, ": ", strerror(errno)));
    }
    if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("another process uses the directory ", options_.directory));
  }

  absl::Status ChooseSocketDirectory() {
    socket_directory_ = options_.directory + "/run";
    if (socket_directory_.size() > kSocketDirectoryMax) {
      char path[] = "/tmp/berth-XXXXXX";
      if (mkdtemp(path) == nullptr) {
        return absl::PermissionDeniedError("cannot create a directory under /tmp");
      }
      socket_directory_ = path;
    }
    return MakeDirectory(socket_directory_, 0700, account_);
  }

  // Runs initdb in another directory, and renames that directory when initdb has succeeded. So a
  // data directory is either complete or absent.
  absl::Status MakeData() {
    const std::string unfinished = data_ + ".new";
    std::error_code error;
    fs::remove_all(unfinished, error);
    BERTH_RETURN_IF_ERROR(MakeDirectory(unfinished, 0700, account_));
    ChildOptions child;
    child.arguments = {programs_ + "/initdb", "--pgdata=" + unfinished, "--no-locale",
                       "--encoding=UTF8", "--data-checksums",
                       // Commits wait while a WAL segment is made: 20 ms for the default of 16 MB.
                       "--wal-segsize=4", "--auth=trust", absl::StrCat("--username=", kRole)};
    for (const std::string& setting : options_.settings) {
      if (setting == "fsync=off") child.arguments.push_back("--no-sync");
    }
    child.account = account_;
    child.output_path = log_;
    BERTH_ASSIGN_OR_RETURN(const pid_t pid, Spawn(child));
    const absl::StatusOr<int> code = WaitForChild(pid, kInitLimit);
    if (!code.ok()) kill(pid, SIGKILL);  // it still runs
    if (!code.ok() || *code != 0) {
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
        // Old WAL segments up to this total size are reused instead of making new ones.
        "min_wal_size=256MB",
        "checkpoint_timeout=15min",
        "jit=off",
        // Claims make old versions of rows all the time, which must be removed soon.
        "autovacuum_naptime=15s",
        "log_line_prefix=%m [%p] %a ",
    };
    settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
    return settings;
  }

  const ClusterOptions options_;
  const std::string data_;
  const std::string log_;
  std::string socket_directory_;
  std::string programs_;
  Account account_;
  int lock_ = -1;
  pid_t postmaster_ = -1;
  RestartPace pace_;
  BootTime start_at_ = -absl::InfiniteDuration();  // when a server that is down is started again
};

Cluster::Cluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cluster::~Cluster() = default;

absl::StatusOr<absl::Duration> Cluster::Tend(BootTime now) { return impl_->Tend(now); }

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::Start(ClusterOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  BERTH_RETURN_IF_ERROR(impl->Prepare());
  BERTH_RETURN_IF_ERROR(impl->SpawnServer());
  BERTH_RETURN_IF_ERROR(impl->AwaitReady());
  return std::unique_ptr<Cluster>(new Cluster(std::move(impl)));
}

std::string Cluster::Url(absl::string_view name) const { return impl_->Url(name); }
pid_t Cluster::postmaster_pid() const { return impl_->postmaster(); }

}  // namespace berth::placement
