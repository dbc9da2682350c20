// Site: a placement process with many hosts, and the honest callers that are measured.
//
// All call over mutual TLS. For the main thread.
#ifndef BERTH_TESTS_FAIRNESS_SITE_H_
#define BERTH_TESTS_FAIRNESS_SITE_H_

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/fairness/honest_callers.h"
#include "tests/fairness/honest_scheduler.h"
#include "tests/fairness/probe.h"
#include "tests/processes/private_cluster.h"
#include "tests/processes/service_process.h"

namespace berth::fairness {

// What the honest callers were told in a time.
struct SiteFigures {
  CallFigures claims;
  CallFigures health;
  CallFigures reads;              // of the next revision
  CallFigures exports;            // until the first message
  CallFigures log_ins;            // of a tracker, until its snapshot is acknowledged
  double batches_per_second = 0;  // of writes, by all
  double cpu_percent = 0;         // of placement

  // How many calls of all these were refused or failed.
  int64_t bad() const;
};

class Site {
 public:
  // Starts `program`, which is a berth-placement, and has a child of this program create the hosts.
  // Ends this program if that fails.
  Site(const std::string& program, int hosts);

  const std::string& address() const { return server_->address(); }

  // Claims for so long while the other callers go on, too.
  SiteFigures Measure(absl::Duration duration);
  // Waits until placement has done what former callers have left behind.
  void Settle();

 private:
  static constexpr double kClaimsPerSecond = 100;

  // A connection of its own.
  std::shared_ptr<grpc::Channel> Connect(const std::string& identity) const;
  void CreateHosts(int hosts) const;
  void TakeAll(SiteFigures* figures);

  const placement::ScratchDirectory directory_;
  const std::unique_ptr<e2e::ServiceProcess> server_;
  std::unique_ptr<HonestScheduler> scheduler_;
  std::unique_ptr<HealthCheck> health_check_;
  std::unique_ptr<ReadOfTheNext> read_;
  std::unique_ptr<ExportsFirst> export_;
  std::unique_ptr<LogIn> log_in_;
  // Their threads end before what they call goes.
  std::unique_ptr<Probe> health_, reads_, exports_, log_ins_;
};

}  // namespace berth::fairness

#endif  // BERTH_TESTS_FAIRNESS_SITE_H_
