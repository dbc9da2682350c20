#include "tests/fleet/made_up_fleet.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "services/client/cpp/target.h"
#include "tests/processes/identity.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/check.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/identity.h"

namespace berth::fleet {
namespace {

using tracker::Node;
using tracker::Uplink;
using Clock = tracker::BootClock;

constexpr int kThreads = 4;  // that run the first passes
constexpr int64_t kMoreReservedMib = 1024;
// A host without guests, as libvirt's test driver reads it.
constexpr char kHostXml[] =
    "<node><cpu><mhz>2400</mhz><model>x86_64</model><active>64</active><nodes>2</nodes>"
    "<sockets>1</sockets><cores>16</cores><threads>2</threads></cpu>"
    "<memory>268435456</memory></node>\n";

void Write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

Uplink::Callbacks Silent() {
  Uplink::Callbacks callbacks;
  callbacks.log = callbacks.gave_up = [](const absl::Status&, absl::string_view) {};
  callbacks.refused = [](const std::string& node, const absl::Status& status, bool) {
    std::fprintf(stderr, "%s: %s\n", node.c_str(), status.ToString().c_str());
  };
  callbacks.reshape_failed = [](const std::string&, const absl::Status&) {};
  callbacks.records_changed = [] {};
  callbacks.audit_ordered = [](const std::string&, const tracker::Uuid&) {};
  return callbacks;
}

}  // namespace

MadeUpFleet::MadeUpFleet(const Options& options) : options_(options) {
  // A certificate is that of one host.
  BERTH_CHECK(!e2e::HaveCertificates() || options_.connections == options_.hosts);
  const std::string xml = options_.directory + "/host.xml";
  Write(xml, kHostXml);
  for (int i = 0; i < options_.hosts; ++i) hosts_.push_back(MakeHost(i, "test://" + xml));
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (size_t at = next++; at < hosts_.size(); at = next++) {
        const tracker::PassOutcome outcome = hosts_[at]->node->Pass(Clock::now());
        if (!outcome.error.ok()) std::fprintf(stderr, "%s\n", outcome.error.ToString().c_str());
        BERTH_CHECK(outcome.audit != nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

MadeUpFleet::~MadeUpFleet() {
  for (const std::unique_ptr<Host>& host : hosts_) host->uplink.reset();
}

std::unique_ptr<MadeUpFleet::Host> MadeUpFleet::MakeHost(int number, const std::string& uri) {
  auto host = std::make_unique<Host>();
  host->configuration.uri = uri;
  host->configuration.name = absl::StrFormat("fleet-%05d", number);
  Node::Options options;
  options.configuration = host->configuration;
  options.surroundings.state_path = absl::StrCat(options_.directory, "/", number);
  options.surroundings.host_address = "127.0.0.1";
  options.host = host->configuration.name;
  host->credentials = e2e::CredentialsOf("tracker/" + options.host);
  // The tracker makes such a file itself, but slowly, because the file has to outlast a crash.
  Write(absl::StrCat(options.surroundings.state_path, "/", tracker::kIdentityFileName),
        tracker::Uuid::Random().ToString() + "\n");
  host->node = std::make_unique<Node>(std::move(options), &libvirt_calls_,
                                      [](const tracker::HypervisorEvent&) {});
  return host;
}

void MadeUpFleet::Connect() {
  Uplink::Options options;
  options.target = client::TargetOf(options_.target);
  options.version = "fleet";
  options.started_at = absl::Now();
  const bool shares = options_.connections < static_cast<int>(hosts_.size());
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; shares && i < options_.connections; ++i) {
    options.credentials = hosts_[i]->credentials;
    channels.push_back(Uplink::OpenChannel(options));
  }
  for (size_t i = 0; i < hosts_.size(); ++i) {
    Host& host = *hosts_[i];
    if (shares) options.channel = channels[i % channels.size()];
    options.credentials = host.credentials;  // of an own channel
    options.host = options.machine_id = host.configuration.name;
    options.incarnation = tracker::Uuid::Random().ToString();
    options.seed = i;
    host.uplink = std::make_unique<Uplink>(options, std::vector<Node*>{host.node.get()}, Silent());
  }
}

int64_t MadeUpFleet::registered() {
  int64_t count = 0;
  for (const std::unique_ptr<Host>& host : hosts_) {
    if (!host->registered) host->registered = !host->node->view().acknowledged_digest.empty();
    count += host->registered ? 1 : 0;
  }
  return count;
}

int64_t MadeUpFleet::connected(int64_t sessions) const {
  int64_t count = 0;
  for (const std::unique_ptr<Host>& host : hosts_) {
    const Uplink::Status status = host->uplink->status();
    count += status.state == Uplink::State::kConnected && status.sessions > sessions ? 1 : 0;
  }
  return count;
}

int64_t MadeUpFleet::instances() const {
  int64_t count = 0;
  for (const std::unique_ptr<Host>& host : hosts_) {
    count += host->node->accounting()->counters["num_instances"];
  }
  return count;
}

int64_t MadeUpFleet::heartbeats() const {
  int64_t count = 0;
  for (const std::unique_ptr<Host>& host : hosts_) count += host->uplink->status().heartbeats;
  return count;
}

void MadeUpFleet::Change(int number) {
  Host& host = *hosts_[number];
  host.configuration.reserved_host_memory_mib += kMoreReservedMib;
  host.node->Configure(host.configuration);
  host.node->Pass(Clock::now());
  host.uplink->Notify();
}

}  // namespace berth::fleet
