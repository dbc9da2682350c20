#include "placement/store/cluster.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/store/child_process.h"
#include "placement/store/restart_pace.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

ClusterOptions QuickOptions(const std::string& directory) {
  ClusterOptions options;
  options.directory = directory;
  options.settings = {"fsync=off"};
  return options;
}

// Starts a cluster in another process and ends that process at once, as kill -9 does. Returns the
// postmaster that it left.
pid_t StartAndDie(const std::string& directory, bool forget_death_signal) {
  int channel[2];
  if (pipe(channel) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    auto cluster = Cluster::Start(QuickOptions(directory));
    const pid_t postmaster = cluster.ok() ? (*cluster)->postmaster_pid() : -1;
    // Frozen, it cannot heed the death signal.
    if (forget_death_signal && postmaster > 0) kill(postmaster, SIGSTOP);
    if (write(channel[1], &postmaster, sizeof(postmaster)) < 0) _exit(1);
    kill(getpid(), SIGKILL);
  }
  pid_t postmaster = -1;
  EXPECT_EQ(read(channel[0], &postmaster, sizeof(postmaster)), sizeof(postmaster));
  close(channel[0]);
  close(channel[1]);
  waitpid(child, nullptr, 0);
  return postmaster;
}

// Waits until process `pid` has ended and, if it is our child, waitpid returns it. A child has
// several threads until it becomes PostgreSQL under the thread sanitizer; then it looks ended before
// waitpid returns it.
bool EndsSoon(pid_t pid) {
  const absl::Time end = absl::Now() + absl::Seconds(30);
  while (absl::Now() < end) {
    siginfo_t ended = {};
    const int found = waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (found == 0 ? ended.si_pid == pid : !IsRunning(pid)) return true;
    std::this_thread::yield();
  }
  return false;
}

TEST(Cluster, KeepsItsDataAcrossRestartsAndCrashes) {
  ScratchDirectory directory;
  {
    auto cluster = Cluster::Start(QuickOptions(directory.path()));
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    CreateDatabase(**cluster, "berth");
    auto database = ConnectOrDie((*cluster)->Url("berth"));
    ASSERT_TRUE(database->Run("CREATE TABLE t AS SELECT 42 AS x", nullptr).ok());
    KillServer(**cluster);
    EXPECT_FALSE(database->Run("SELECT 1", nullptr).ok());
    RestartServer(**cluster);
    database = ConnectOrDie((*cluster)->Url("berth"));
    EXPECT_EQ(QueryOne(*database, "SELECT x FROM t"), "42");
    EXPECT_EQ(QueryOne(*database, "SHOW data_checksums"), "on");
    EXPECT_EQ(QueryOne(*database, "SHOW lc_collate"), "C");
    EXPECT_EQ(QueryOne(*database, "SHOW listen_addresses"), "");
  }
  auto again = Cluster::Start(QuickOptions(directory.path()));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(QueryOne(*ConnectOrDie((*again)->Url("berth")), "SELECT x FROM t"), "42");
}

TEST(Cluster, KeepsSmallSegmentsOfItsLog) {
  ScratchDirectory directory;
  auto cluster = Cluster::Start(QuickOptions(directory.path()));
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  auto database = ConnectOrDie((*cluster)->Url("postgres"));
  EXPECT_EQ(QueryOne(*database, "SHOW wal_segment_size"), "4MB");
  EXPECT_EQ(QueryOne(*database, "SHOW min_wal_size"), "256MB");
}

TEST(RestartPace, StartsAgainSlowerAndSlowerAndThenNoMore) {
  RestartPace pace;
  const BootTime first;
  EXPECT_EQ(pace.NoteEnd(first), absl::ZeroDuration());
  EXPECT_EQ(pace.NoteEnd(first + absl::Seconds(1)), absl::Seconds(1));
  EXPECT_EQ(pace.NoteEnd(first + absl::Seconds(3)), absl::Seconds(2));
  EXPECT_EQ(pace.NoteEnd(first + absl::Seconds(6)), absl::Seconds(4));
  EXPECT_EQ(pace.NoteEnd(first + RestartPace::kWindow), absl::Seconds(8));
  EXPECT_EQ(pace.NoteEnd(first + RestartPace::kWindow), std::nullopt);
  // Once the window has passed, the pace begins anew.
  EXPECT_EQ(pace.NoteEnd(first + 3 * RestartPace::kWindow), absl::ZeroDuration());
}

// Only the postmaster is killed: its backends notice by themselves, sooner or later.
TEST(Cluster, StartsAServerAgainThatWasKilled) {
  ScratchDirectory directory;
  std::string told;
  ClusterOptions options = QuickOptions(directory.path());
  options.tell_operator = [&told](const std::string& words) { absl::StrAppend(&told, words, ";"); };
  auto cluster = Cluster::Start(options);
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  BootTime now;
  EXPECT_EQ((*cluster)->Tend(now).value_or(absl::Hours(-1)), absl::InfiniteDuration());
  auto idle = ConnectOrDie((*cluster)->Url("postgres"));

  const pid_t killed = (*cluster)->postmaster_pid();
  kill(killed, SIGKILL);
  ASSERT_TRUE(EndsSoon(killed));
  EXPECT_EQ((*cluster)->Tend(now).value_or(absl::Hours(-1)), absl::InfiniteDuration());
  EXPECT_NE((*cluster)->postmaster_pid(), killed);
  EXPECT_EQ(told, "the private PostgreSQL ended with exit code 137 and is started again in 0;");
  EXPECT_FALSE(idle->Run("SELECT 1", nullptr).ok());
  absl::StatusOr<std::unique_ptr<Database>> again = absl::UnknownError("not tried");
  const absl::Time until = absl::Now() + absl::Seconds(30);
  while (!again.ok() && absl::Now() < until) {
    again = Database::Connect((*cluster)->Url("postgres"), "berth test");
    // A server ends by itself while a backend of the killed one still holds the shared memory.
    const absl::Duration pause = (*cluster)->Tend(now).value_or(absl::Hours(-1));
    ASSERT_GE(pause, absl::ZeroDuration());
    if (pause != absl::InfiniteDuration()) now += pause;
  }
  ASSERT_TRUE(again.ok()) << again.status();

  // The second end follows at once: now there is a pause.
  kill((*cluster)->postmaster_pid(), SIGKILL);
  ASSERT_TRUE(EndsSoon((*cluster)->postmaster_pid()));
  const absl::Duration pause = (*cluster)->Tend(now).value_or(absl::Hours(-1));
  EXPECT_GE(pause, absl::Seconds(1));
  EXPECT_EQ((*cluster)->postmaster_pid(), -1);
  EXPECT_EQ((*cluster)->Tend(now + pause).value_or(absl::Hours(-1)), absl::InfiniteDuration());
  EXPECT_GT((*cluster)->postmaster_pid(), 0);
}

TEST(Cluster, GivesUpAServerThatKeepsEnding) {
  ScratchDirectory directory;
  auto cluster = Cluster::Start(QuickOptions(directory.path()));
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  absl::StatusOr<absl::Duration> tended = absl::InfiniteDuration();
  BootTime now;
  size_t ends = 0;
  while (tended.ok() && ends <= RestartPace::kEndsMax) {
    ++ends;
    kill((*cluster)->postmaster_pid(), SIGKILL);
    ASSERT_TRUE(EndsSoon((*cluster)->postmaster_pid()));
    while ((tended = (*cluster)->Tend(now)).ok() && *tended != absl::InfiniteDuration()) {
      now += *tended;
    }
  }
  EXPECT_EQ(tended.status().code(), absl::StatusCode::kResourceExhausted) << tended.status();
  EXPECT_EQ(ends, RestartPace::kEndsMax + 1);
  EXPECT_EQ((*cluster)->postmaster_pid(), -1);
}

TEST(Cluster, IsNotSharedBetweenProcesses) {
  ScratchDirectory directory;
  auto first = Cluster::Start(QuickOptions(directory.path()));
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Cluster::Start(QuickOptions(directory.path()));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
  EXPECT_EQ(QueryOne(*ConnectOrDie((*first)->Url("postgres")), "SELECT 1"), "1");
}

TEST(Cluster, TheServerEndsWithAKilledParent) {
  ScratchDirectory directory;
  const pid_t postmaster = StartAndDie(directory.path(), false);
  ASSERT_GT(postmaster, 0);
  EXPECT_TRUE(EndsSoon(postmaster));
}

TEST(Cluster, StopsALivePostmasterThatACrashLeft) {
  ScratchDirectory directory;
  const pid_t left = StartAndDie(directory.path(), true);
  ASSERT_GT(left, 0);
  kill(left, SIGCONT);
  auto cluster = Cluster::Start(QuickOptions(directory.path()));
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_FALSE(IsRunning(left));
  EXPECT_EQ(QueryOne(*ConnectOrDie((*cluster)->Url("postgres")), "SELECT 1"), "1");
}

TEST(Cluster, APidFileThatNamesSomebodyElseIsRemoved) {
  ScratchDirectory directory;
  {
    auto cluster = Cluster::Start(QuickOptions(directory.path()));
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    KillServer(**cluster);
  }
  const std::string path = directory.path() + "/data/postmaster.pid";
  ASSERT_TRUE(std::filesystem::exists(path));
  // This very process: alive, and no postgres of that directory.
  std::ofstream(path) << getpid() << "\n" << directory.path() << "/data\n1\n5432\n\n\n\n\n";
  auto cluster = Cluster::Start(QuickOptions(directory.path()));
  EXPECT_TRUE(cluster.ok()) << cluster.status();
}

TEST(Cluster, ALongPathGetsASocketElsewhere) {
  ScratchDirectory directory;
  const std::string deep = absl::StrCat(directory.path(), "/", std::string(120, 'x'));
  auto cluster = Cluster::Start(QuickOptions(deep));
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ(QueryOne(*ConnectOrDie((*cluster)->Url("postgres")), "SELECT 1"), "1");
}

TEST(Cluster, AnInterruptedInitdbIsBegunAgain) {
  ScratchDirectory directory;
  std::filesystem::create_directories(directory.path() + "/data.new/base");
  auto cluster = Cluster::Start(QuickOptions(directory.path()));
  EXPECT_TRUE(cluster.ok()) << cluster.status();
}

TEST(Cluster, SaysWhyItCannotStart) {
  ScratchDirectory directory;
  const std::string wrong = directory.path() + "/wrong_version";
  std::filesystem::create_directories(wrong + "/data");
  std::ofstream(wrong + "/data/PG_VERSION") << "7\n";
  EXPECT_EQ(Cluster::Start(QuickOptions(wrong)).status().code(), absl::StatusCode::kNotFound);

  ClusterOptions options = QuickOptions(directory.path() + "/bad_setting");
  options.settings.push_back("no_such_setting=1");
  const absl::Status status = Cluster::Start(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(status.message()).find("no_such_setting"), std::string::npos) << status;

  if (geteuid() == 0) {
    const std::string closed = directory.path() + "/closed";
    std::filesystem::create_directories(closed);
    std::filesystem::permissions(closed, std::filesystem::perms(0700));
    EXPECT_EQ(Cluster::Start(QuickOptions(closed + "/inside")).status().code(),
              absl::StatusCode::kPermissionDenied);
  }
}

}  // namespace
}  // namespace berth::placement
