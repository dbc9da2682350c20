// The ways to spoil the leases of a random history.
#include <map>
#include <utility>

#include "tests/history/faults/fault.h"

namespace berth::history {
namespace {

constexpr int32_t kMuchLongerSeconds = 100;
constexpr int64_t kSecondUs = 1'000'000;

Part& FirstPart(History* history, const Step& step) {
  return history->story.parts[step.first_part];
}

// Where a lease was given: the index of a step of kLease that gives one; -1: there is none.
int PickLease(std::mt19937_64& random, History* history) {
  return PickStep(random, history, [](const Operation& operation) {
    return operation.kind == Kind::kLease && operation.lease_s > 0;
  });
}

// The index of the step that gave the lease which a random end of leases ends; -1: there is none.
int PickEndedLease(std::mt19937_64& random, History* history) {
  Story& story = history->story;
  const Step* const expiry =
      PickOf(random, story.steps, [](const Step& step) { return step.expires; });
  if (expiry == nullptr) return -1;
  const uint64_t consumer = story.parts[expiry->first_part + random() % expiry->parts].consumer;
  int given = -1;
  for (int s = 0; &story.steps[s] != expiry; ++s) {
    const Step& step = story.steps[s];
    const bool is_lease = step.client != kNobody && OperationOf(history, step).kind == Kind::kLease;
    if (is_lease && FirstPart(history, step).consumer == consumer) given = s;
  }
  return given;
}

// Makes the request at step `given` ask for a lease of `seconds`, with all that follows from it for
// the consumer until its next request for a lease. 0: the request confirms the consumer.
void AskForOtherLease(History* history, int given, int32_t seconds) {
  Story& story = history->story;
  Operation& operation = OperationOf(history, story.steps[given]);
  const Part& first = FirstPart(history, story.steps[given]);
  const uint64_t consumer = first.consumer;
  const int64_t before = first.lease_end_us;
  const int64_t after =
      seconds == 0 ? 0 : before + (int64_t{seconds} - operation.lease_s) * kSecondUs;
  operation.lease_s = seconds;
  for (uint32_t p = story.steps[given].first_part; p < story.parts.size(); ++p) {
    Part& part = story.parts[p];
    if (part.consumer != consumer) continue;
    if (part.lease_end_us != before) return;
    part.lease_end_us = after;
  }
}

bool EndLastingLease(std::mt19937_64& random, History* history) {
  const int given = PickEndedLease(random, history);
  if (given >= 0) AskForOtherLease(history, given, kMuchLongerSeconds);
  return given >= 0;
}

bool EndConfirmed(std::mt19937_64& random, History* history) {
  const int given = PickEndedLease(random, history);
  if (given >= 0) AskForOtherLease(history, given, 0);
  return given >= 0;
}

// The last step of a history that ends leases releases all that are left.
bool NeverEndLease(std::mt19937_64&, History* history) {
  Story& story = history->story;
  if (story.steps.empty() || !story.steps.back().expires) return false;
  story.steps.pop_back();
  --story.revisions.back().steps_end;
  return true;
}

bool EndRecordToo(std::mt19937_64& random, History* history) {
  Story& story = history->story;
  Step* const expiry = PickOf(random, story.steps, [](const Step& step) { return step.expires; });
  const Part* const record =
      PickOf(random, story.parts, [](const Part& part) { return IsRecord(part.consumer); });
  if (expiry == nullptr || record == nullptr) return false;
  const auto first_part = static_cast<uint32_t>(story.parts.size());
  for (uint32_t p = 0; p < expiry->parts; ++p) {
    story.parts.push_back(story.parts[expiry->first_part + p]);
  }
  story.parts.push_back({record->consumer});
  expiry->first_part = first_part;
  ++expiry->parts;
  return true;
}

bool LengthenLease(std::mt19937_64& random, History* history) {
  const int given = PickLease(random, history);
  if (given >= 0) FirstPart(history, history->story.steps[given]).lease_end_us += kSecondUs;
  return given >= 0;
}

// Without a request id a step of one part is an adjustment.
bool AdjustWithoutLease(std::mt19937_64& random, History* history) {
  Step* const step = PickOf(random, history->story.steps, [&](const Step& one) {
    return one.client == kNobody && !one.expires && FirstPart(history, one).lease_end_us != 0;
  });
  if (step != nullptr) FirstPart(history, *step).lease_end_us = 0;
  return step != nullptr;
}

// A consumer that gets new allocations keeps the lease that it had.
bool KeepLease(std::mt19937_64& random, History* history) {
  std::vector<std::pair<Part*, int64_t>> all;
  std::map<uint64_t, int64_t> leases;
  for (const Step& step : history->story.steps) {
    for (uint32_t p = step.first_part; p < step.first_part + step.parts; ++p) {
      Part& part = history->story.parts[p];
      int64_t& lease = leases[part.consumer];
      const bool is_set = step.client != kNobody && part.generation != 0 &&
                          OperationOf(history, step).kind == Kind::kSet;
      if (is_set && lease != 0) all.emplace_back(&part, lease);
      lease = part.lease_end_us;
    }
  }
  if (all.empty()) return false;
  const auto& [part, lease] = all[random() % all.size()];
  part->lease_end_us = lease;
  return true;
}

bool LogAsOwn(std::mt19937_64& random, History* history) {
  const int step = PickStep(random, history, IsDone);
  if (step >= 0) history->story.steps[step].expires = true;
  return step >= 0;
}

bool StoreOtherLease(std::mt19937_64& random, History* history) {
  ConsumerState* const held =
      PickOf(random, history->end.consumers, [](const ConsumerState&) { return true; });
  if (held != nullptr) held->lease_end_us = 1;
  return held != nullptr;
}

}  // namespace

std::vector<Fault> LeaseFaults() {
  return {
      {"a lease ends before its time", 2, EndLastingLease},
      {"a consumer without a lease is released", 2, EndConfirmed},
      {"a lease never ends", 2, NeverEndLease},
      {"the end of leases changes a record", 2, EndRecordToo},
      {"a lease lasts a second longer", 2, LengthenLease},
      {"an adjustment drops the lease", 2, AdjustWithoutLease},
      {"new allocations keep the lease", 2, KeepLease},
      {"a request is in the log as the ledger's own", 7, LogAsOwn},
      {"a consumer's row has another lease in the end", 9, StoreOtherLease},
  };
}

}  // namespace berth::history
