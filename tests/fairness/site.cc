#include "tests/fairness/site.h"

#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fairness/child.h"
#include "tests/fleet/process_figures.h"
#include "tests/processes/client_credentials.h"
#include "tests/processes/identity.h"

namespace berth::fairness {
namespace {

constexpr absl::Duration kLoadingMax = absl::Minutes(5);
constexpr absl::Duration kConnectMax = absl::Seconds(30);
constexpr absl::Duration kHealthEach = absl::Milliseconds(50);
constexpr absl::Duration kReadsEach = absl::Milliseconds(100);
constexpr absl::Duration kRareEach = absl::Seconds(1);
constexpr int kHonestTracker = 2;
// Placement is at rest when for so long no claim takes longer than this, and all callers are served.
constexpr absl::Duration kSettleStep = absl::Seconds(1);
constexpr double kRestMs = 20;
constexpr absl::Duration kSettleMax = absl::Seconds(20);

std::unique_ptr<e2e::ServiceProcess> StartPlacement(const std::string& directory,
                                                    const std::string& program) {
  const std::vector<std::string> command = {program, "--database=" + placement::NewDatabase(),
                                            "--state-dir=" + directory + "/state"};
  auto server = std::make_unique<e2e::ServiceProcess>(directory, "placement", command);
  const absl::Status started = server->AwaitAddress();
  if (started.ok()) return server;
  std::fprintf(stderr, "placement does not start: %s\n", std::string(started.message()).c_str());
  std::abort();
}

}  // namespace

int64_t SiteFigures::bad() const {
  return claims.bad() + health.bad() + reads.bad() + exports.bad() + log_ins.bad();
}

Site::Site(const std::string& program, int hosts)
    : server_(StartPlacement(directory_.path(), program)) {
  CreateHosts(hosts);
  scheduler_ = std::make_unique<HonestScheduler>(Connect("scheduler/honest"), kClaimsPerSecond);
  scheduler_->ClaimFor(kSettleStep);  // learns the revision
  health_check_ = std::make_unique<HealthCheck>(Connect("reader/health"));
  read_ = std::make_unique<ReadOfTheNext>(Connect("reader/honest"),
                                          [this] { return scheduler_->newest(); });
  export_ = std::make_unique<ExportsFirst>(Connect("operator/honest"));
  log_in_ = std::make_unique<LogIn>(Connect("tracker/honest"), "honest", kHonestTracker);
  health_ = std::make_unique<Probe>(kHealthEach, [this] { return health_check_->Run(); });
  reads_ = std::make_unique<Probe>(kReadsEach, [this] { return read_->Run(); });
  exports_ = std::make_unique<Probe>(kRareEach, [this] { return export_->Run(); });
  log_ins_ = std::make_unique<Probe>(kRareEach, [this] { return log_in_->Run(); });
}

std::shared_ptr<grpc::Channel> Site::Connect(const std::string& identity) const {
  auto channel = testing::OwnChannel(server_->address(), e2e::CredentialsOf(identity));
  if (channel->WaitForConnected(absl::ToChronoTime(absl::Now() + kConnectMax))) return channel;
  std::fprintf(stderr, "%s cannot connect: %s\n", identity.c_str(), server_->Log().c_str());
  std::abort();
}

void Site::CreateHosts(int hosts) const {
  Child child({"load", "--address=" + address(), absl::StrCat("--hosts=", hosts)}, "admin/loader");
  const std::string line = child.Line(kLoadingMax);
  if (child.AwaitEnd(kLoadingMax) == 0) return;
  std::fprintf(stderr, "the hosts cannot be created: %s\n", line.c_str());
  std::abort();
}

SiteFigures Site::Measure(absl::Duration duration) {
  SiteFigures figures;
  TakeAll(&figures);  // and forget it
  const absl::Time begun = absl::Now();
  const double cpu = fleet::CpuSeconds(server_->pid());
  const int64_t batches = scheduler_->newest().number();
  figures.claims = scheduler_->ClaimFor(duration);
  TakeAll(&figures);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begun);
  figures.cpu_percent = 100 * (fleet::CpuSeconds(server_->pid()) - cpu) / seconds;
  figures.batches_per_second =
      static_cast<double>(scheduler_->newest().number() - batches) / seconds;
  return figures;
}

void Site::TakeAll(SiteFigures* figures) {
  figures->health = health_->Take();
  figures->reads = reads_->Take();
  figures->exports = exports_->Take();
  figures->log_ins = log_ins_->Take();
}

void Site::Settle() {
  const absl::Time until = absl::Now() + kSettleMax;
  while (absl::Now() < until) {
    const SiteFigures told = Measure(kSettleStep);
    if (told.bad() == 0 && told.claims.max_ms <= kRestMs) return;
  }
}

}  // namespace berth::fairness
