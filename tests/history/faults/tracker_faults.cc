// The ways to spoil the reports of trackers, and the pushes to them, in a random history.
#include <algorithm>

#include "tests/history/faults/fault.h"

namespace berth::history {
namespace {

PushLog& AnyPushLog(std::mt19937_64& random, History* history) {
  return history->pushes[random() % history->pushes.size()];
}

bool IsReport(const Operation& operation) { return operation.kind == Kind::kReport; }

// A report takes effect for one of its two providers.
bool ApplyHalf(std::mt19937_64& random, History* history) {
  Step* const step = PickOf(random, history->story.steps, [&](const Step& one) {
    return one.client != kNobody && one.configs == 2 && IsReport(OperationOf(history, one));
  });
  if (step != nullptr) --step->configs;
  return step != nullptr;
}

bool ReportOldState(std::mt19937_64& random, History* history) {
  const int step = PickStep(random, history, IsReport);
  if (step < 0) return false;
  const Operation& operation = OperationOf(history, history->story.steps[step]);
  --history->clients[operation.client].parts[operation.first_part + random() % 2].expected;
  return true;
}

bool AckOtherGeneration(std::mt19937_64& random, History* history) {
  Operation* report = PickOperation(random, history, [](const Operation& operation) {
    return IsReport(operation) && IsDone(operation);
  });
  if (report == nullptr) return false;
  ++history->clients[report->client].parts[report->first_part].generation;
  return true;
}

// The second answer to a report names an older revision than that of the report.
bool AckBefore(std::mt19937_64& random, History* history) {
  Operation* report = PickOperation(random, history, [](const Operation& operation) {
    return IsReport(operation) && IsDone(operation);
  });
  if (report == nullptr) return false;
  report->late = true;
  --report->revision;
  return true;
}

bool AckWhatIsAbsent(std::mt19937_64& random, History* history) {
  Operation* report = PickOperation(random, history, [](const Operation& operation) {
    return IsReport(operation) && operation.outcome == Outcome::kRefused;
  });
  if (report == nullptr) return false;
  report->outcome = Outcome::kDone;
  return true;
}

bool RejectWithoutCause(std::mt19937_64& random, History* history) {
  Operation* report = PickOperation(random, history, [](const Operation& operation) {
    return IsReport(operation) && operation.outcome == Outcome::kRefused;
  });
  if (report == nullptr) return false;
  report->generation += 1000;
  return true;
}

template <typename Fits>
Push* PickPush(std::mt19937_64& random, PushLog* log, const Fits& fits) {
  return PickOf(random, log->pushes,
                [&](const Push& push) { return push.parts > 0 && fits(push); });
}

bool LeaveOut(std::mt19937_64& random, History* history, bool complete) {
  PushLog& log = AnyPushLog(random, history);
  Push* const push = PickPush(random, &log, [&](const Push& one) {
    const Part& first = log.parts[one.first_part];
    return one.complete == complete && first.generation != 0 && !IsRecord(first.consumer);
  });
  if (push == nullptr) return false;
  ++push->first_part;
  --push->parts;
  return true;
}
bool LeaveOutOfChanges(std::mt19937_64& random, History* history) {
  return LeaveOut(random, history, false);
}
bool LeaveOutOfAll(std::mt19937_64& random, History* history) {
  return LeaveOut(random, history, true);
}

// A push does not come, and the next one has only what changed since.
bool LosePush(std::mt19937_64& random, History* history) {
  PushLog& log = AnyPushLog(random, history);
  const auto names = [&log](const Push& push, uint64_t number) {
    const auto first = log.parts.begin() + push.first_part;
    return std::any_of(first, first + push.parts,
                       [number](const Part& part) { return part.consumer == number; });
  };
  for (size_t p = 0; p + 1 < log.pushes.size(); ++p) {
    const Push push = log.pushes[p], next = log.pushes[p + 1];
    if (push.complete || next.complete) continue;
    const auto first = log.parts.begin() + push.first_part;
    const bool matters = std::any_of(first, first + push.parts, [&](const Part& part) {
      return part.generation != 0 && !IsRecord(part.consumer) && !names(next, part.consumer);
    });
    if (!matters) continue;
    log.pushes.erase(log.pushes.begin() + static_cast<int64_t>(p));
    return true;
  }
  return false;
}

bool StopPushes(std::mt19937_64& random, History* history) {
  AnyPushLog(random, history).pushes.pop_back();
  return true;
}

bool PushWhatNeverWas(std::mt19937_64& random, History* history) {
  PushLog& log = AnyPushLog(random, history);
  Push* const push = PickPush(random, &log, [&](const Push& one) {
    const Part& first = log.parts[one.first_part];
    return first.generation != 0 && !IsRecord(first.consumer);
  });
  if (push == nullptr) return false;
  log.parts[push->first_part].generation += 1000;
  return true;
}

bool PushOtherAmount(std::mt19937_64& random, History* history) {
  PushLog& log = AnyPushLog(random, history);
  Push* const push = PickPush(random, &log, [&](const Push& one) {
    return log.parts[one.first_part].rows > 0 && !IsRecord(log.parts[one.first_part].consumer);
  });
  if (push == nullptr) return false;
  ++log.rows[log.parts[push->first_part].first_row].amount;
  return true;
}

bool ForgetWithoutPush(std::mt19937_64& random, History* history) {
  PushLog& log = AnyPushLog(random, history);
  Push* const push = PickPush(random, &log, [](const Push& one) { return one.complete; });
  if (push == nullptr || push->parts < 2) return false;
  push->complete = false;
  push->restarts = true;
  push->parts = 1;
  return true;
}

}  // namespace

std::vector<Fault> TrackerFaults() {
  return {
      {"a report takes effect in part", 2, ApplyHalf},
      {"a report overwrites what has changed", 2, ReportOldState},
      {"an ack tells another generation", 1, AckOtherGeneration},
      {"an ack is older than its report", 7, AckBefore},
      {"an acknowledged report is not in the ledger", 7, AckWhatIsAbsent},
      {"a report is rejected without a cause", 5, RejectWithoutCause},
      {"a push leaves a change out", 10, LeaveOutOfChanges},
      {"a complete push leaves something out", 10, LeaveOutOfAll},
      {"a push is lost", 10, LosePush},
      {"the last push does not come", 10, StopPushes},
      {"a push shows what never was", 10, PushWhatNeverWas},
      {"a push shows another amount", 10, PushOtherAmount},
      {"a tracker that knows nothing gets only changes", 10, ForgetWithoutPush},
  };
}

}  // namespace berth::history
