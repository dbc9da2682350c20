#include "tests/history/nemesis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/processes/private_cluster.h"

namespace berth::history {
namespace {

constexpr int kKinds = 5;
constexpr std::chrono::milliseconds kLook{5};
constexpr int kCutsInARow = 4;

}  // namespace

void Nemesis::Act(absl::Time until) {
  if (next_.empty()) {
    for (int kind = 0; kind < kKinds; ++kind) next_.push_back(kind);
    std::shuffle(next_.begin(), next_.end(), random_);
  }
  const int which = Upto(kServers);
  switch (next_.back()) {
    case 0:
      Kill(which);
      break;
    case 1:
      KillDatabase();
      break;
    case 2:
      Cut(which);
      break;
    case 3:
      Pause(which);
      break;
    default:
      Hold(which);
  }
  next_.pop_back();
  Await(100 + Upto(400), std::max(until - absl::Now(), absl::ZeroDuration()));
}

void Nemesis::Await(int64_t more, absl::Duration limit) const {
  const absl::Time until = absl::Now() + limit;
  const int64_t goal = run_->done + more;
  while (run_->done < goal && absl::Now() < until) std::this_thread::sleep_for(kLook);
}

void Nemesis::Kill(int which) {
  ++count_["kills of placement"];
  servers_->Kill(which);
}

void Nemesis::KillDatabase() {
  ++count_["kills of PostgreSQL"];
  placement::KillServer(placement::PrivateCluster());
  placement::RestartServer(placement::PrivateCluster());
}

// Cuts the writer off right before or right after it commits, a few times.
void Nemesis::Cut(int which) {
  for (int i = 0; i < kCutsInARow; ++i) {
    ++count_["cuts at a commit"];
    placement::CuttingProxy& proxy = servers_->proxy(which);
    const int cuts = proxy.cuts();
    proxy.CutNext(Upto(4) == 0 ? placement::CuttingProxy::Cut::kBeforeCommit
                               : placement::CuttingProxy::Cut::kAfterCommit);
    const absl::Time until = absl::Now() + absl::Seconds(2);
    while (proxy.cuts() == cuts && absl::Now() < until) std::this_thread::sleep_for(kLook);
    Await(20 + Upto(60), absl::Milliseconds(400));
  }
}

// Sometimes for so long that whoever waits for the ledger's lock takes it away.
void Nemesis::Pause(int which) {
  ++count_["pauses"];
  servers_->Pause(which);
  Await(1'000'000, absl::Milliseconds(Upto(3) == 0 ? 3500 : 100 + Upto(1500)));
  servers_->GoOn(which);
}

// For longer than a state may be old.
void Nemesis::Hold(int which) {
  ++count_["silent databases"];
  servers_->proxy(which).Hold(true);
  Await(1'000'000, absl::Milliseconds(1500 + Upto(1500)));
  servers_->proxy(which).Hold(false);
}

std::string Nemesis::Count() const {
  std::string text;
  for (const auto& [name, count] : count_) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", name);
  }
  return text;
}

}  // namespace berth::history
