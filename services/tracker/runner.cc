#include "services/tracker/runner.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_join.h"
#include "services/log/log.h"
#include "tracker/facts/version.h"
#include "tracker/ground/boot_clock.h"

namespace berth::services {
namespace {

using tracker::PassCause;
using tracker::PassOutcome;
using Clock = tracker::BootClock;

constexpr std::chrono::hours kLong{1};
constexpr std::chrono::seconds kReconnectPause{5};
constexpr int kSayAgain = 12;  // of equal failures in a row, one in so many is logged

std::string CauseNames(const std::vector<PassCause>& causes) {
  return absl::StrJoin(causes, ",", [](std::string* out, PassCause cause) {
    out->append(tracker::PassCauseName(cause));
  });
}

void LogWarnings(const std::string& node, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) Log(LogLevel::kWarning, warning, {{"node", node}});
}

std::vector<std::string> TakeWarnings(tracker::Node* node) {
  return node->Audits([](tracker::NodeAudits* audits) { return audits->TakeWarnings(); });
}

// When a pass should run to confirm an orphan of the last audit. Nothing: no orphan is to be
// confirmed.
std::optional<tracker::MonotonicTime> ConfirmAt(const tracker::Node& node) {
  const std::shared_ptr<const tracker::Audit> audit = node.view().audit;
  return audit == nullptr ? std::nullopt : audit->confirm_at;
}

}  // namespace

NodeRunner::NodeRunner(tracker::Node* node, const tracker::PassSchedule::Options& schedule,
                       std::function<void(const PassOutcome&)> passed)
    : node_(node),
      passed_(std::move(passed)),
      schedule_(schedule, Clock::now()),
      thread_([this] { Run(); }) {}

NodeRunner::~NodeRunner() {
  Stop();
  thread_.join();
}

void NodeRunner::Request(PassCause cause, std::function<void()> done) {
  tracker::MutexLock lock(&mutex_);
  if (stopping_) {
    if (done) done();
    return;
  }
  schedule_.Request(cause, Clock::now());
  if (done) waiting_.push_back(std::move(done));
  changed_.NotifyAll();
}

void NodeRunner::RecordsChanged() {
  LogWarnings(node_->name(), TakeWarnings(node_));
  const std::optional<tracker::MonotonicTime> confirm = ConfirmAt(*node_);
  tracker::MutexLock lock(&mutex_);
  if (confirm) schedule_.RequestAt(*confirm);
  changed_.NotifyAll();
}

void NodeRunner::Stop() {
  tracker::MutexLock lock(&mutex_);
  stopping_ = true;
  schedule_.Stop();
  changed_.NotifyAll();
}

int64_t NodeRunner::passes() const {
  tracker::MutexLock lock(&mutex_);
  return passes_;
}

std::map<std::string, int64_t> NodeRunner::results() const {
  tracker::MutexLock lock(&mutex_);
  return results_;
}

absl::Duration NodeRunner::last_duration() const {
  tracker::MutexLock lock(&mutex_);
  return last_duration_;
}

void NodeRunner::Run() {
  while (true) {
    std::vector<PassCause> causes;
    std::vector<std::function<void()>> served;
    bool last = false;
    {
      tracker::MutexLock lock(&mutex_);
      while (!stopping_ && !schedule_.Due(Clock::now())) {
        changed_.WaitUntil(&mutex_, schedule_.NextDue().value_or(Clock::now() + kLong));
      }
      served.swap(waiting_);
      last = stopping_;
      if (!last) causes = schedule_.Begin(Clock::now());
    }
    if (!last) {
      const Clock::time_point begun = Clock::now();
      const PassOutcome outcome = node_->Pass(begun);
      Log(outcome, causes);
      passed_(outcome);
      tracker::MutexLock lock(&mutex_);
      schedule_.End();
      ++passes_;
      ++results_[tracker::PassResultName(outcome.result)];
      last_duration_ = absl::FromChrono(Clock::now() - begun);
      const std::optional<tracker::MonotonicTime> confirm = ConfirmAt(*node_);
      if (confirm) schedule_.RequestAt(*confirm);
      if (outcome.result == PassOutcome::Result::kNotReady) {
        schedule_.RequestAt(Clock::now() + kReconnectPause);
      }
    }
    for (const std::function<void()>& done : served) done();
    if (last) return;
  }
}

void NodeRunner::Log(const PassOutcome& outcome, const std::vector<PassCause>& causes) {
  const std::string name =
      node_->name().empty() ? node_->options().configuration.uri : node_->name();
  const bool news = outcome.result != logged_;
  logged_ = outcome.result;
  if (news) silent_ = 0;
  if (outcome.audit == nullptr) {
    if (!news && ++silent_ % kSayAgain != 0) return;
    const bool away = outcome.result == PassOutcome::Result::kNotReady;
    services::Log(
        away ? LogLevel::kWarning : LogLevel::kError,
        away ? "the hypervisor is not ready" : "the pass failed",
        {{"node", name}, {"error", outcome.error.ToString()}, {"cause", CauseNames(causes)}});
    return;
  }
  if (news) {
    services::Log(
        LogLevel::kInfo, "the node is audited",
        {{"node", name}, {"result", std::string(tracker::PassResultName(outcome.result))}});
    const tracker::Facts& facts = *outcome.audit->report.facts;
    const std::string advice =
        facts.hypervisor_type == "QEMU"
            ? tracker::VersionAdvice(facts.library_version, facts.hypervisor_version)
            : "";
    if (!advice.empty()) services::Log(LogLevel::kWarning, advice, {{"node", name}});
  }
  services::Log(LogLevel::kDebug, outcome.texts.hypervisor_view, {{"node", name}});
  const std::vector<std::string>& view = outcome.texts.final_view;
  for (size_t i = 0; i + 1 < view.size(); ++i) {
    services::Log(LogLevel::kInfo, view[i], {{"node", name}});
  }
  services::Log(LogLevel::kInfo, view.back(),
                {{"node", name},
                 {"parts", outcome.texts.accounting_parts},
                 {"ratios", outcome.texts.ratios},
                 {"cause", CauseNames(causes)}});
  LogWarnings(name, TakeWarnings(node_));
  LogWarnings(name, outcome.repairs);
}

}  // namespace berth::services
