// Measures the ledger alone, without gRPC: claims per second and the time of one, with a given
// number in flight, on a PostgreSQL of its own that makes every commit durable.
//
// usage: ledger_speed [in-flight] [seconds] [providers] [request-ids: 0 or 1]

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ground/check.h"
#include "placement/store/child_process.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

// Keeps `in_flight` claims on their way: each answer sends the next claim.
class Load {
 public:
  Load(Ledger& ledger, int providers, bool request_ids)
      : ledger_(ledger), providers_(providers), request_ids_(request_ids) {}

  void Run(int in_flight, absl::Duration length) {
    end_ = absl::Now() + length;
    {
      const MutexLock lock(&mutex_);
      running_ = in_flight;
    }
    for (int i = 0; i < in_flight; ++i) Send();
    const MutexLock lock(&mutex_);
    while (running_ > 0) changed_.Wait(&mutex_);
  }

  int64_t count() {
    const MutexLock lock(&mutex_);
    return static_cast<int64_t>(times_us_.size());
  }

  void Print(absl::Duration length) {
    const MutexLock lock(&mutex_);
    std::sort(times_us_.begin(), times_us_.end());
    BERTH_CHECK(!times_us_.empty());
    const auto at = [&](double share) {
      return times_us_[static_cast<size_t>(share * static_cast<double>(times_us_.size() - 1))];
    };
    std::printf("%.0f claims/s, p50 %lld us, p99 %lld us, max %lld us, %d refused\n",
                static_cast<double>(times_us_.size()) / absl::ToDoubleSeconds(length),
                static_cast<long long>(at(0.5)), static_cast<long long>(at(0.99)),
                static_cast<long long>(at(1)), refused_);
  }

 private:
  void Send() {
    int consumer = 0;
    int provider = 0;
    {
      const MutexLock lock(&mutex_);
      consumer = ++consumers_;
      provider = 1 + static_cast<int>(random_() % providers_);
    }
    const absl::Time begun = absl::Now();
    Command command = WithId(Claim(consumer, {provider}, 1),
                             request_ids_ ? absl::StrCat("request-", consumer) : "");
    ledger_.Submit(std::move(command), absl::InfiniteDuration(), nullptr,
                   [this, begun](const Decision& decision) { Answered(begun, decision); });
  }

  void Answered(absl::Time begun, const Decision& decision) {
    const absl::Time now = absl::Now();
    {
      const MutexLock lock(&mutex_);
      times_us_.push_back(absl::ToInt64Microseconds(now - begun));
      refused_ += decision.status.ok() ? 0 : 1;
      if (now >= end_) {
        if (--running_ == 0) changed_.Signal();
        return;
      }
    }
    Send();
  }

  Ledger& ledger_;
  const int providers_;
  const bool request_ids_;
  absl::Time end_;
  Mutex mutex_;
  CondVar changed_;
  std::mt19937_64 random_{1};
  std::vector<int64_t> times_us_;
  int consumers_ = 0;
  int running_ = 0;
  int refused_ = 0;
};

double ProcessorUs() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return absl::ToDoubleMicroseconds(absl::DurationFromTimeval(usage.ru_utime) +
                                    absl::DurationFromTimeval(usage.ru_stime));
}

// Of all processes of the cluster; fields 14 and 15 of stat are ticks.
double ServerUs() {
  double ticks = 0;
  for (const pid_t pid : ChildrenOf(PrivateCluster().postmaster_pid())) {
    std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
    std::string text;
    std::getline(file, text);
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    std::string field;
    for (int i = 3; fields >> field && i <= 15; ++i) {
      if (i >= 14) ticks += std::atof(field.c_str());
    }
  }
  return ticks * 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void Measure(int in_flight, absl::Duration length, int providers, bool request_ids) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, providers, 1'000'000, 1'000'000);
  Load load(runner.ledger(), providers, request_ids);
  const int64_t batches = runner.ledger().health().batches;
  const double processor_us = ProcessorUs();
  const double server_us = ServerUs();
  load.Run(in_flight, length);
  std::printf("%d in flight, %d providers, request ids %s: ", in_flight, providers,
              request_ids ? "on" : "off");
  load.Print(length);
  const auto count = static_cast<double>(load.count());
  std::printf("  %lld batches; processor time per claim: %.1f us here, %.1f us in PostgreSQL\n",
              static_cast<long long>(runner.ledger().health().batches - batches),
              (ProcessorUs() - processor_us) / count, (ServerUs() - server_us) / count);
  if (getenv("BERTH_SHOW_TABLES") != nullptr) {
    auto database = ConnectOrDie(url);
    std::printf("  %s\n", QueryOne(*database,
                                   "SELECT string_agg(relname || ' ' || n_tup_upd || ' updates ' "
                                   "|| n_tup_hot_upd || ' hot', '; ') FROM pg_stat_user_tables "
                                   "WHERE n_tup_upd > 0")
                              .c_str());
  }
}

}  // namespace
}  // namespace berth::placement

int main(int argc, char** argv) {
  setenv("BERTH_TEST_FSYNC", "on", 0);
  const auto argument = [&](int at, int otherwise) {
    return argc > at ? std::atoi(argv[at]) : otherwise;
  };
  berth::placement::Measure(argument(1, 64), absl::Seconds(argument(2, 5)), argument(3, 1000),
                            argument(4, 0) != 0);
  berth::placement::EndPrivateCluster();
  return 0;
}
