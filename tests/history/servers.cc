#include "tests/history/servers.h"

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace berth::history {
namespace {

constexpr absl::Duration kEndMax = absl::Seconds(30);
constexpr int kStartsMax = 5;

// Whether placement ended at its start because it had no connection to the database.
bool LacksDatabase(const absl::Status& started) {
  return absl::StrContains(started.message(), "berth-placement: cannot connect to the database") ||
         absl::StrContains(started.message(),
                           "berth-placement: placement has no connection to the database");
}

// The roads on which the process `which` writes: BERTH_HISTORY_ROADS has a name for each process,
// for example "short,long".
std::string RoadsOf(int which) {
  const char* const given = std::getenv("BERTH_HISTORY_ROADS");
  const std::vector<std::string> names =
      absl::StrSplit(given == nullptr ? "short,auto" : given, ',');
  return names[static_cast<size_t>(which) % names.size()];
}

std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

Servers::Servers(const std::string& url) : url_(url) {
  for (int which = 0; which < kServers; ++which) {
    proxies_[which] = std::make_unique<placement::CuttingProxy>(url);
    Start(which);
  }
}

void Servers::Start(int which) {
  std::unique_ptr<e2e::PlacementServer> process;
  // A process that cannot connect to the database within two seconds says so and ends; a busy
  // machine may need longer. Such a process is started again, as systemd does it. A process that
  // ends for any other reason is a finding.
  absl::Status started;
  for (int tries = 0; tries < kStartsMax; ++tries) {
    process = std::make_unique<e2e::PlacementServer>(
        directories_[which].path(),
        std::vector<std::string>{
            absl::StrCat("--database=", proxies_[which]->Through(url_), "&connect_timeout=2"),
            "--staleness-max=1s", "--access-log=none", "--ledger-roads=" + RoadsOf(which)});
    started = process->AwaitAddress();
    if (!LacksDatabase(started)) break;
  }
  EXPECT_TRUE(started.ok()) << started.message();
  const placement::MutexLock lock(&mutex_);
  servers_[which] = {starts_++, process->address()};
  processes_[which] = std::move(process);
}

Server Servers::Find(int which) const {
  const placement::MutexLock lock(&mutex_);
  return servers_[which];
}

void Servers::Kill(int which) {
  processes_[which]->Signal(SIGKILL);
  EXPECT_EQ(processes_[which]->AwaitEnd(kEndMax), 128 + SIGKILL);
  Start(which);
}

void Servers::Pause(int which) { processes_[which]->Signal(SIGSTOP); }
void Servers::GoOn(int which) { processes_[which]->Signal(SIGCONT); }

Channels::Open Channels::To(int which) {
  const Server server = servers_->Find(which);
  if (channels_[which] == nullptr || known_[which].process != server.process) {
    known_[which] = server;
    channels_[which] = ConnectTo(server.address);
  }
  return {server.process, channels_[which].get()};
}

}  // namespace berth::history
