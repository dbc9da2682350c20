// berth-tracker: audits the hypervisors of this host and reports to placement what they have.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "grpcpp/impl/codegen/service_type.h"
#include "services/client/cpp/target.h"
#include "services/log/log.h"
#include "services/process/libraries.h"
#include "services/process/loops.h"
#include "services/process/metrics.h"
#include "services/process/server.h"
#include "services/process/version.h"
#include "services/tls/tls.h"
#include "services/tracker/host.h"
#include "services/tracker/reload.h"
#include "services/tracker/service.h"
#include "services/tracker/settings.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/identity.h"
#include "tracker/settings/state_directory.h"

namespace berth::services {
namespace {

constexpr char kServiceName[] = "berth.tracker.v1.TrackerService";

// The signals that this process receives with sigtimedwait.
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

// Returns the uuids of nodes that this host had earlier and that the settings no longer name.
std::vector<tracker::Uuid> RetiredNodes(const TrackerHost& host) {
  std::vector<tracker::Uuid> own;
  for (const auto& runner : host.runners()) {
    const std::optional<tracker::NodeIdentity> identity = runner->node()->identity();
    if (identity) own.push_back(identity->uuid);
  }
  const tracker::Configuration& configuration = host.configuration();
  return tracker::FindRetired(configuration.state_path, own,
                              own.size() == configuration.nodes.size());
}

tracker::Uplink::Options UplinkOptions(const TrackerOptions& options, const TrackerHost& host,
                                       const std::string& machine_id,
                                       const std::string& incarnation, const Server& server,
                                       Tls* tls) {
  tracker::Uplink::Options uplink;
  uplink.target = client::TargetOf(options.placement);
  if (tls != nullptr) uplink.credentials = tls->ForChannel({client::kPlacementRole});
  uplink.host = host.configuration().host;
  uplink.incarnation = incarnation;
  uplink.machine_id = machine_id;
  uplink.version = kVersion;
  uplink.zone = options.zone;
  if (!server.addresses().empty()) uplink.address = server.addresses()[0];
  uplink.retired_node_uuids = RetiredNodes(host);
  uplink.started_at = absl::Now();
  uplink.seed = std::hash<std::string>()(incarnation);
  return uplink;
}

// Gives the uplink each new certificate of this process.
class Renewals {
 public:
  explicit Renewals(const Tls* tls) : tls_(tls), seen_(tls == nullptr ? 0 : tls->renewals()) {}

  // To be called every second.
  void Tick(TrackerHost* host) {
    if (tls_ == nullptr || tls_->renewals() == seen_) return;
    seen_ = tls_->renewals();
    host->RenewUplink(tls_->ForChannel({client::kPlacementRole}), tls_->renewal_spread());
  }

 private:
  const Tls* const tls_;  // null: no TLS
  int64_t seen_;
};

// Calls `tick` every second and `reload` for every SIGHUP, and returns at SIGTERM or SIGINT.
void ServeUntilStopped(const std::function<void()>& tick, const std::function<void()>& reload) {
  const sigset_t signals = Signals();
  const timespec second = {1, 0};
  while (true) {
    const int signal = sigtimedwait(&signals, nullptr, &second);
    if (signal == SIGTERM || signal == SIGINT) return;
    signal == SIGHUP ? reload() : tick();
  }
}

// Reports to placement and answers calls until a signal stops the process. Returns the exit code.
int RunUntilStopped(tracker::Uplink::Options uplink, TrackerHost* host, Server* server,
                    Renewals* renewals, const std::function<void(TrackerHost*)>& reload) {
  server->health().Set("", true);
  server->health().Set(kServiceName, true);
  Log(LogLevel::kInfo, "serving",
      {{"host", uplink.host},
       {"address", server->addresses()[0]},
       {"placement", uplink.target},
       {"incarnation", uplink.incarnation}});
  std::atomic<bool> refused = false;
  host->Connect(std::move(uplink), [&refused](const absl::Status&) {
    refused = true;
    kill(getpid(), SIGTERM);
  });
  const auto tick = [&] {
    renewals->Tick(host);
    host->TickUplink();
  };
  ServeUntilStopped(tick, [&] { reload(host); });
  Log(LogLevel::kInfo, "stopping");
  server->Drain([host] { host->Stop(); });
  Log(LogLevel::kInfo, "stopped");
  return refused ? 1 : 0;
}

int Serve(const TrackerSettings& settings, const std::function<void(TrackerHost*)>& reload) {
  const TrackerOptions& options = settings.options;
  const absl::StatusOr<std::unique_ptr<Tls>> tls =
      OpenTls(options, TrackerCertificateUse(settings.configuration.host));
  if (!tls.ok()) return Fail(tls.status());
  absl::StatusOr<std::unique_ptr<tracker::StateDirectory>> state =
      tracker::StateDirectory::Open(settings.configuration.state_path);
  if (!state.ok()) return Fail(state.status());
  const absl::StatusOr<std::string> machine_id = tracker::MachineId(**state);
  if (!machine_id.ok()) return Fail(machine_id.status());
  const std::string incarnation = tracker::Uuid::Random().ToString();

  Metrics metrics("tracker");
  TrackerHost host(settings.configuration);
  host.AddMetrics(&metrics);
  if (*tls != nullptr) MeasureTls(tls->get(), &metrics);
  const absl::Status started = host.Start(StopPending);
  if (!started.ok()) return Fail(started);
  const std::unique_ptr<grpc::Service> service = MakeTrackerService(&host, incarnation, &metrics);
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(options, {service.get()}, tls->get());
  if (!server.ok()) return Fail(server.status());
  MeasureConnections((*server)->connections(), &metrics);
  if (!options.metrics_listen.empty()) {
    const absl::StatusOr<std::string> address = metrics.Listen(options.metrics_listen);
    if (!address.ok()) return Fail(address.status());
    Log(LogLevel::kInfo, "metrics are served", {{"address", *address}});
  }
  Renewals renewals(
      tls->get());  // before the files are looked at, and before the uplink has credentials
  const std::unique_ptr<Loop> certificates = FollowCertificates(tls->get());
  return RunUntilStopped(
      UplinkOptions(options, host, *machine_id, incarnation, **server, tls->get()), &host,
      server->get(), &renewals, [&](TrackerHost* reloaded) {
        if (*tls != nullptr) (*tls)->Look();
        reload(reloaded);
      });
}

// Lets all threads share one heap. By default the C library gives a dozen threads heaps of their
// own, each with what the largest pass needed of it: with 1,000 guests these were 10 of 51 MiB.
void KeepOneHeap() { mallopt(M_ARENA_MAX, 1); }

int Main(int argc, char** argv) {
  KeepOneHeap();
  SetUpLibraries();
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread, so that all inherit it
  const absl::StatusOr<TrackerSettings> settings = ReadTrackerSettings(argc, argv);
  if (!settings.ok()) {
    std::fprintf(stderr, "berth-tracker: %s\n", std::string(settings.status().message()).c_str());
    return 2;
  }
  if (settings->next == Config::Next::kEnd) return 0;
  const absl::Status certificates =
      CheckTls(settings->options.tls, TrackerCertificateUse(settings->configuration.host));
  if (!certificates.ok()) {
    std::fprintf(stderr, "berth-tracker: %s\n", std::string(certificates.message()).c_str());
    return 2;
  }
  if (settings->next == Config::Next::kCheckOnly) {
    for (const std::string& warning : settings->warnings) {
      std::printf("warning: %s\n", warning.c_str());
    }
    for (const std::string& note : settings->notes) std::printf("note: %s\n", note.c_str());
    std::printf("the settings are good\n");
    return 0;
  }
  StartLog(LogFormatOf(settings->options.log_format), LogLevelOf(settings->options.log_level));
  for (const std::string& warning : settings->warnings) Log(LogLevel::kWarning, warning);
  for (const std::string& note : settings->notes) Log(LogLevel::kInfo, note);
  return Serve(*settings, [&](TrackerHost* host) {
    ReloadTracker(argc, argv, settings->options, host).IgnoreError();
  });
}

}  // namespace
}  // namespace berth::services

int main(int argc, char** argv) { return berth::services::Main(argc, argv); }
