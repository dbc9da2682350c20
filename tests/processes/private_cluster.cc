#include "tests/processes/private_cluster.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ground/check.h"
#include "placement/store/child_process.h"
#include "placement/store/schema.h"

namespace berth::placement {
namespace {

struct Program {
  ScratchDirectory directory;
  std::unique_ptr<Cluster> cluster;
  int databases = 0;
};

std::unique_ptr<Program>& TheProgram() {
  static auto& program = *new std::unique_ptr<Program>();
  return program;
}

// Ends the cluster when the tests are through, before static objects go.
class Ending : public testing::Environment {
 public:
  void TearDown() override { EndPrivateCluster(); }
};
[[maybe_unused]] testing::Environment* const kEnding =
    testing::AddGlobalTestEnvironment(new Ending());

// Sends `signal` to the server and its children.
void SignalServer(const Cluster& cluster, int signal) {
  const pid_t postmaster = cluster.postmaster_pid();
  BERTH_CHECK(postmaster > 0);
  const std::vector<pid_t> children = ChildrenOf(postmaster);
  kill(postmaster, signal);
  for (const pid_t child : children) kill(child, signal);
}

}  // namespace

ScratchDirectory::ScratchDirectory() {
  char path[] = "/tmp/berth-XXXXXX";
  BERTH_CHECK(mkdtemp(path) != nullptr);
  path_ = path;
  std::error_code error;
  // The server runs as another user when the tests run as root.
  std::filesystem::permissions(path_, std::filesystem::perms(0755), error);
  BERTH_CHECK(!error);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

Cluster& PrivateCluster() {
  std::unique_ptr<Program>& program = TheProgram();
  if (program) return *program->cluster;
  program = std::make_unique<Program>();
  ClusterOptions options;
  options.directory = program->directory.path();
  options.settings = {"max_connections=100", "log_lock_waits=on"};
  const char* fsync = getenv("BERTH_TEST_FSYNC");
  if (fsync == nullptr || std::string(fsync) != "on") options.settings.push_back("fsync=off");
  auto cluster = Cluster::Start(options);
  if (!cluster.ok()) std::fprintf(stderr, "%s\n", cluster.status().ToString().c_str());
  BERTH_CHECK(cluster.ok());
  program->cluster = *std::move(cluster);
  CreateDatabase(*program->cluster, "model");
  BERTH_CHECK(BringUpToDate(*ConnectOrDie(program->cluster->Url("model"))).ok());
  return *program->cluster;
}

void CreateDatabase(const Cluster& cluster, const std::string& name, const std::string& model) {
  const auto database = ConnectOrDie(cluster.Url("postgres"));
  const std::string sql = absl::StrCat("CREATE DATABASE ", name, " TEMPLATE ", model);
  BERTH_CHECK(database->Run(sql, nullptr).ok());
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/task/", pid, "/children"));
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

void KillServer(const Cluster& cluster) {
  const pid_t postmaster = cluster.postmaster_pid();
  SignalServer(cluster, SIGKILL);
  while (IsRunning(postmaster)) absl::SleepFor(absl::Milliseconds(1));
}

void RestartServer(Cluster& cluster) {
  // Each start is an hour after the one before: the pace at which a server may end is tested by
  // itself. A server that meets the rest of a killed one ends again, and is started again.
  static BootTime now;
  const absl::Time end = absl::Now() + absl::Minutes(1);
  do {
    BERTH_CHECK(absl::Now() < end);
    now += absl::Hours(1);
    BERTH_CHECK(cluster.Tend(now).ok());
    absl::SleepFor(absl::Milliseconds(5));
  } while (!Database::Connect(cluster.Url("postgres"), "berth test").ok());
}

void FreezeServer(const Cluster& cluster) { SignalServer(cluster, SIGSTOP); }
void ThawServer(const Cluster& cluster) { SignalServer(cluster, SIGCONT); }

void EndPrivateCluster() { TheProgram().reset(); }

std::string NewDatabase() {
  Cluster& cluster = PrivateCluster();
  const std::string name = absl::StrCat("test_", ++TheProgram()->databases);
  CreateDatabase(cluster, name, "model");
  return cluster.Url(name);
}

std::unique_ptr<Database> ConnectOrDie(const std::string& url) {
  auto database = OpenPatiently([&] { return Database::Connect(url, "berth test"); });
  if (!database.ok()) std::fprintf(stderr, "%s\n", database.status().ToString().c_str());
  BERTH_CHECK(database.ok());
  return *std::move(database);
}

std::string QueryOne(Database& database, const std::string& sql) {
  QueryRows rows;
  const absl::Status status = database.Run(sql, &rows);
  if (!status.ok()) return std::string(status.message());
  return rows.size() == 0 ? "no rows" : std::string(rows.Text(0, 0));
}

}  // namespace berth::placement
