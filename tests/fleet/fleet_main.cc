// berth-fleet: many made-up hosts against one berth-placement, and what they cost it. Prints a
// table, and writes summary.json.
//
// Ends with 1 if a host does not register, a change does not arrive, or the hosts do not come back
// after placement was killed. A promise that is not kept is only told.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "services/client/cpp/endpoint.h"
#include "services/process/libraries.h"
#include "services/tls/grpc_log.h"
#include "tests/fleet/change_watcher.h"
#include "tests/fleet/made_up_fleet.h"
#include "tests/fleet/process_figures.h"
#include "tests/fleet/scheduling.h"
#include "tests/processes/identity.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/private_cluster.h"
#include "tracker/hypervisor/command.h"

namespace berth::fleet {
namespace {

// Between two looks, of which each asks all hosts.
constexpr absl::Duration kLook = absl::Milliseconds(250);
constexpr absl::Duration kWarmUp = absl::Seconds(12);  // each host has sent a heartbeat by then
// Threads of gRPC, libvirt and this program. A thread per host would be many more.
constexpr int64_t kThreadsMax = 64;
// What is promised of 9,000 hosts with certificates.
constexpr absl::Duration kBackWithin = absl::Seconds(60);
constexpr double kKibPerTrackerMax = 100;

struct Settings {
  int hosts = 200;
  int connections = 200;
  int changes = 20;
  int instances = 400;
  int rest_seconds = 10;
  int limit_seconds = 300;  // for each step
  std::string directory = "build/fleet";
};

// The figures in the order in which they were measured.
using Figures = nlohmann::ordered_json;

double Seconds(absl::Duration duration) { return absl::ToDoubleSeconds(duration); }

// A port that the system gives to no client. A client that tries to reach a port of its own machine
// may otherwise connect to itself, and keep placement from listening there.
std::string FreeAddress() {
  return absl::StrCat("127.0.0.1:", 20000 + std::random_device()() % 10000);
}

class Measurement {
 public:
  explicit Measurement(const Settings& settings)
      : settings_(settings),
        address_(FreeAddress()),
        url_(placement::NewDatabase()),
        server_(StartPlacement({"--listen=" + address_})) {
    const absl::Time begun = absl::Now();
    fleet_ = std::make_unique<MadeUpFleet>(MadeUpFleet::Options{
        settings_.hosts, settings_.connections, address_, scratch_.path() + "/hosts"});
    figures_ = {{"hosts", settings_.hosts},
                {"connections", settings_.connections},
                {"certificates", e2e::HaveCertificates()}};
    figures_["prepared_s"] = Seconds(absl::Now() - begun);
  }

  // Each step returns false if it failed, and says why.
  bool Run() { return Register() && Rest() && Change() && Schedule() && Kill() && Weigh(); }
  const Figures& figures() const { return figures_; }

 private:
  std::unique_ptr<e2e::PlacementServer> StartPlacement(std::vector<std::string> arguments) const {
    return e2e::StartAt(scratch_.path(), url_, std::move(arguments));
  }
  bool Await(const char* what, const std::function<int64_t()>& count, int64_t enough) const {
    const absl::Time until = absl::Now() + absl::Seconds(settings_.limit_seconds);
    while (count() < enough) {
      if (absl::Now() > until) {
        std::fprintf(stderr, "%s: %ld of %ld in %d s\n", what, count(), enough,
                     settings_.limit_seconds);
        return false;
      }
      absl::SleepFor(kLook);
    }
    return true;
  }
  int64_t Transactions() const {
    return std::stoll(placement::QueryOne(
        *placement::ConnectOrDie(url_),
        "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = "
        "current_database()"));
  }

  bool Register();
  bool Rest();
  bool Change();
  bool Schedule();
  bool MeasureScheduler();
  bool Kill();
  bool Weigh();

  const Settings settings_;
  const placement::ScratchDirectory scratch_;
  const std::string address_;
  const std::string url_;
  std::unique_ptr<e2e::PlacementServer> server_;
  std::unique_ptr<MadeUpFleet> fleet_;
  Figures figures_;
};

bool Measurement::Register() {
  const absl::Time begun = absl::Now();
  fleet_->Connect();
  if (!Await(
          "registered", [this] { return fleet_->registered(); }, settings_.hosts))
    return false;
  figures_["registered_s"] = Seconds(absl::Now() - begun);
  return true;
}

bool Measurement::Rest() {
  absl::SleepFor(kWarmUp);
  const absl::Time begun = absl::Now();
  const double cpu = CpuSeconds(server_->pid());
  const double own_cpu = CpuSeconds(getpid());
  const int64_t transactions = Transactions();
  const int64_t beats = fleet_->heartbeats();
  absl::SleepFor(absl::Seconds(settings_.rest_seconds));
  const double seconds = Seconds(absl::Now() - begun);
  figures_["rest_placement_cpu_percent"] = 100 * (CpuSeconds(server_->pid()) - cpu) / seconds;
  figures_["rest_hosts_cpu_percent"] = 100 * (CpuSeconds(getpid()) - own_cpu) / seconds;
  figures_["rest_transactions_per_s"] =
      static_cast<double>(Transactions() - transactions) / seconds;
  const int64_t threads = Threads(getpid());
  figures_["rest_threads_of_all_hosts"] = threads;
  figures_["rest_beats_per_s"] = static_cast<double>(fleet_->heartbeats() - beats) / seconds;
  if (threads > kThreadsMax) std::fprintf(stderr, "%ld threads\n", threads);
  return threads <= kThreadsMax;
}

bool Measurement::Change() {
  ChangeWatcher watcher(address_);
  std::vector<double> took_ms;
  for (int i = 0; i < settings_.changes; ++i) {
    const int host = static_cast<int>(int64_t{i} * settings_.hosts / settings_.changes);
    const absl::Time begun = absl::Now();
    fleet_->Change(host);
    if (!watcher.Await(fleet_->uuid(host), std::chrono::seconds(settings_.limit_seconds))) {
      std::fprintf(stderr, "the watcher does not hear of the change of host %d\n", host);
      return false;
    }
    took_ms.push_back(absl::ToDoubleMilliseconds(absl::Now() - begun));
  }
  std::sort(took_ms.begin(), took_ms.end());
  figures_["change_median_ms"] = took_ms[took_ms.size() / 2];
  figures_["change_most_ms"] = took_ms.back();
  return true;
}

bool Measurement::Schedule() {
  const absl::Time begun = absl::Now();
  if (!ImportInstances(server_->address(), *fleet_, settings_.hosts, settings_.instances)) {
    return false;
  }
  figures_["instances_recorded_s"] = Seconds(absl::Now() - begun);
  const auto known = [this] { return fleet_->instances(); };
  if (!Await("instances", known, settings_.instances)) return false;
  figures_["instances_known_to_hosts_s"] = Seconds(absl::Now() - begun);
  absl::SleepFor(kWarmUp);  // the hosts report what has changed
  return MeasureScheduler();
}

// In a process of its own.
bool Measurement::MeasureScheduler() {
  std::vector<std::string> command = {"/proc/self/exe", "scheduler", server_->address()};
  for (std::string& argument : e2e::CertificateArguments()) command.push_back(std::move(argument));
  const auto printed = tracker::RunCommand(command, absl::Seconds(settings_.limit_seconds));
  const Figures found = Figures::parse(printed.value_or(""), nullptr, /*allow_exceptions=*/false);
  if (found.is_object()) {
    figures_.update(found);
  } else {
    std::fprintf(stderr, "the scheduler: %s\n", printed.status().ToString().c_str());
  }
  return found.is_object();
}

bool Measurement::Kill() {
  const int64_t all = settings_.hosts;
  const auto back = [this] { return fleet_->connected(1); };
  const absl::Time begun = absl::Now();
  server_->Signal(SIGKILL);
  server_.reset();
  server_ = StartPlacement({"--listen=" + address_});
  figures_["killed_until_started_s"] = Seconds(absl::Now() - begun);
  if (!Await("back", back, (all * 99 + 99) / 100)) return false;
  figures_["killed_until_99_percent_back_s"] = Seconds(absl::Now() - begun);
  if (!Await("back", back, all)) return false;
  const absl::Duration took = absl::Now() - begun;
  figures_["killed_until_all_back_s"] = Seconds(took);
  figures_["killed_until_all_back_kept"] = took <= kBackWithin;
  return true;
}

// Compares two processes that have just read the same database, one with trackers, one without.
bool Measurement::Weigh() {
  absl::SleepFor(kWarmUp);
  const int64_t with = ResidentKib(server_->pid());
  const std::string alone_directory = scratch_.path() + "/alone";
  std::filesystem::create_directories(alone_directory);
  const auto alone = e2e::StartAt(alone_directory, url_, {});
  const int64_t without = ResidentKib(alone->pid());
  figures_["placement_mib"] = static_cast<double>(with) / 1024;
  figures_["placement_without_trackers_mib"] = static_cast<double>(without) / 1024;
  const double each = static_cast<double>(with - without) / static_cast<double>(settings_.hosts);
  figures_["placement_kib_per_tracker"] = each;
  figures_["placement_kib_per_tracker_kept"] = each <= kKibPerTrackerMax;
  figures_["hosts_kib_per_host"] =
      static_cast<double>(ResidentKib(getpid())) / static_cast<double>(settings_.hosts);
  return true;
}

// Placement and this program have a file for each connection.
void AllowManyFiles() {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

// The subcommand `scheduler`: prints what it has measured.
int RunScheduler(const std::string& address, const client::TlsSettings& tls) {
  const auto endpoints = client::Endpoints::Open({address}, tls);
  if (!endpoints.ok()) {
    std::fprintf(stderr, "the certificate: %s\n", endpoints.status().ToString().c_str());
    return 1;
  }
  Figures figures;
  if (!MeasureScheduling(*endpoints, &figures)) return 1;
  std::printf("%s\n", figures.dump().c_str());
  return 0;
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Many made-up hosts against one berth-placement.");
  app.option_defaults()->take_last();
  app.add_option("--hosts", settings.hosts)->check(CLI::PositiveNumber);
  app.add_option("--connections", settings.connections, "The hosts share them")
      ->check(CLI::PositiveNumber);
  app.add_option("--changes", settings.changes)->check(CLI::PositiveNumber);
  app.add_option("--instances", settings.instances, "That a scheduler sees on all hosts together");
  app.add_option("--rest", settings.rest_seconds, "How long the fleet at rest is measured, in s")
      ->check(CLI::PositiveNumber);
  app.add_option("--limit", settings.limit_seconds, "For each step, in s");
  app.add_option("--out", settings.directory, "Directory of summary.json");
  bool certificates = false;
  app.add_flag("--certificates", certificates,
               "All connect over mutual TLS; each host with a certificate and a connection of its "
               "own, whatever --connections says");
  CLI::App* const scheduler = app.add_subcommand("scheduler", "Used by the program itself");
  std::string address;
  client::TlsSettings tls;
  scheduler->add_option("address", address)->required();
  scheduler->add_option("--tls-certificate", tls.files.certificate);
  scheduler->add_option("--tls-key", tls.files.key);
  scheduler->add_option("--tls-ca", tls.files.ca);
  scheduler->add_option("--trust-domain", tls.trust_domain);
  CLI11_PARSE(app, argc, argv);
  if (scheduler->parsed()) return RunScheduler(address, tls);
  if (certificates) {
    setenv("BERTH_TEST_CERTIFICATES", "1", 1);
    services::PassOnGrpcLog([](bool, const std::string&) {});  // else a line for each handshake
  }
  if (e2e::HaveCertificates()) settings.connections = settings.hosts;
  settings.connections = std::min(settings.connections, settings.hosts);
  settings.changes = std::min(settings.changes, settings.hosts);
  AllowManyFiles();
  bool good = false;
  {
    Measurement measurement(settings);
    good = measurement.Run();
    for (const auto& [name, value] : measurement.figures().items()) {
      std::printf("%-34s %s\n", name.c_str(),
                  value.is_number_float() ? absl::StrFormat("%.2f", value.get<double>()).c_str()
                                          : value.dump().c_str());
    }
    std::filesystem::create_directories(settings.directory);
    std::ofstream(settings.directory + "/summary.json") << measurement.figures().dump(2) << "\n";
  }
  placement::EndPrivateCluster();
  return good ? 0 : 1;
}

}  // namespace
}  // namespace berth::fleet

int main(int argc, char** argv) {
  berth::services::SetUpLibraries();  // as trackers do
  return berth::fleet::Main(argc, argv);
}
