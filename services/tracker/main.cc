// berth-tracker: audits the hypervisors of this host and tells placement what they have.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/impl/codegen/service_type.h"
#include "services/process/libraries.h"
#include "services/process/log.h"
#include "services/process/metrics.h"
#include "services/process/server.h"
#include "services/process/version.h"
#include "services/tracker/host.h"
#include "services/tracker/options.h"
#include "services/tracker/reload.h"
#include "services/tracker/service.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/identity.h"
#include "tracker/settings/state_directory.h"

namespace berth::services {
namespace {

constexpr char kServiceName[] = "berth.tracker.v1.TrackerService";

// Signals that this process waits for, instead of being interrupted by them.
sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

bool StopPending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1;
}

int Fail(const absl::Status& status) {
  Log(LogLevel::kError, "cannot start", {{"error", std::string(status.message())}});
  return 1;
}

tracker::Uplink::Options UplinkOptions(const TrackerOptions& options,
                                       const tracker::Configuration& configuration,
                                       const std::string& machine_id,
                                       const std::string& incarnation, const Server& server) {
  tracker::Uplink::Options uplink;
  uplink.target = options.placement;
  uplink.host = configuration.host;
  uplink.incarnation = incarnation;
  uplink.machine_id = machine_id;
  uplink.version = kVersion;
  if (!server.addresses().empty()) uplink.address = server.addresses()[0];
  uplink.started_at = absl::Now();
  uplink.seed = std::hash<std::string>()(incarnation);
  return uplink;
}

// Waits for signals until one says stop; SIGHUP calls `reload`.
void ServeUntilStopped(const std::function<void()>& reload) {
  const sigset_t signals = Signals();
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    if (signal != SIGHUP) return;
    reload();
  }
}

int Serve(const TrackerSettings& settings, const std::function<void(TrackerHost*)>& reload) {
  const TrackerOptions& options = settings.options;
  const tracker::Configuration& configuration = settings.configuration;
  absl::StatusOr<std::unique_ptr<tracker::StateDirectory>> state =
      tracker::StateDirectory::Open(configuration.state_path);
  if (!state.ok()) return Fail(state.status());
  const absl::StatusOr<std::string> machine_id = tracker::MachineId(**state);
  if (!machine_id.ok()) return Fail(machine_id.status());
  const std::string incarnation = tracker::RandomUuid();

  Metrics metrics("tracker");
  TrackerHost host(configuration);
  host.AddMetrics(&metrics);
  const absl::Status started = host.Start(StopPending);
  if (!started.ok()) return Fail(started);
  const std::unique_ptr<grpc::Service> service = MakeTrackerService(&host, incarnation, &metrics);
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(ServerOptionsOf(options), {service.get()});
  if (!server.ok()) return Fail(server.status());
  if (!options.metrics_listen.empty()) {
    const absl::StatusOr<std::string> address = metrics.Listen(options.metrics_listen);
    if (!address.ok()) return Fail(address.status());
    Log(LogLevel::kInfo, "metrics are served", {{"address", *address}});
  }
  std::atomic<bool> refused = false;
  tracker::Uplink::Options uplink =
      UplinkOptions(options, configuration, *machine_id, incarnation, **server);
  std::vector<std::string> own;
  for (const auto& runner : host.runners()) {
    const std::optional<tracker::NodeIdentity> identity = runner->node()->identity();
    if (identity) own.push_back(identity->uuid);
  }
  uplink.retired_node_uuids =
      tracker::FindRetired(configuration.state_path, own, own.size() == configuration.nodes.size());
  host.Connect(std::move(uplink), [&refused](const absl::Status&) {
    refused = true;
    kill(getpid(), SIGTERM);
  });
  (*server)->health().Set("", true);
  (*server)->health().Set(kServiceName, true);
  Log(LogLevel::kInfo, "serving",
      {{"host", configuration.host},
       {"address", (*server)->addresses()[0]},
       {"placement", options.placement},
       {"incarnation", incarnation}});

  ServeUntilStopped([&] { reload(&host); });
  Log(LogLevel::kInfo, "stopping");
  (*server)->Drain([&host] { host.Stop(); });
  Log(LogLevel::kInfo, "stopped");
  return refused ? 1 : 0;
}

int Main(int argc, char** argv) {
  SetUpLibraries();
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread, so that all inherit it
  const absl::StatusOr<TrackerSettings> settings = ReadTrackerSettings(argc, argv);
  if (!settings.ok()) {
    std::fprintf(stderr, "berth-tracker: %s\n", std::string(settings.status().message()).c_str());
    return 2;
  }
  if (settings->next == Config::Next::kEnd) return 0;
  if (settings->next == Config::Next::kCheckOnly) {
    for (const std::string& warning : settings->warnings) {
      std::printf("warning: %s\n", warning.c_str());
    }
    std::printf("the settings are good\n");
    return 0;
  }
  StartLog(LogFormatOf(settings->options.log_format), LogLevelOf(settings->options.log_level));
  for (const std::string& warning : settings->warnings) Log(LogLevel::kWarning, warning);
  return Serve(*settings, [&](TrackerHost* host) {
    ReloadTracker(argc, argv, settings->options, host).IgnoreError();
  });
}

}  // namespace
}  // namespace berth::services

int main(int argc, char** argv) { return berth::services::Main(argc, argv); }
