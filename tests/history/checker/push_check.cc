#include "tests/history/checker/push_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/history/checker/node_views.h"

namespace berth::history {
namespace {

std::string SightText(const Sight& sight) {
  if (sight.generation == 0) return "nothing";
  std::string text = absl::StrCat("generation ", sight.generation);
  for (const Row& row : sight.rows) {
    absl::StrAppend(&text, ", ", row.amount, " of ", row.provider, ".", row.resource_class);
  }
  return text;
}

// When the calls began that changed the ledger.
class Begins {
 public:
  explicit Begins(const History& history, const Replay& replay) {
    for (uint16_t c = 0; c < history.clients.size(); ++c) {
      for (uint32_t n = 0; n < history.clients[c].operations.size(); ++n) {
        const uint32_t step = replay.StepOf({c, n});
        if (step != 0) begins_.emplace_back(replay.At({c, n}).begin_ns, step);
      }
    }
    std::sort(begins_.begin(), begins_.end());
    for (size_t b = begins_.size(); b > 1; --b) {
      begins_[b - 2].second = std::min(begins_[b - 2].second, begins_[b - 1].second);
    }
  }

  // The last step that somebody can know at `time_ns`.
  uint32_t LastAt(int64_t time_ns) const {
    const auto after = std::partition_point(
        begins_.begin(), begins_.end(), [&](const auto& begin) { return begin.first <= time_ns; });
    return after == begins_.end() ? UINT32_MAX : after->second - 1;
  }

 private:
  // The time, and the lowest step of a call that began then or later.
  std::vector<std::pair<int64_t, uint32_t>> begins_;
};

// Follows what one tracker knows.
class PushChecker {
 public:
  PushChecker(const PushLog& log, const NodeViews& views, const Begins& begins,
              const Replay& replay, Findings* findings)
      : log_(log), views_(views), begins_(begins), replay_(replay), findings_(findings) {}

  void Run() {
    int64_t revision = 0;
    for (const Push& push : log_.pushes) {
      Take(push);
      revision = push.revision;
    }
    if (revision >= log_.wanted) return;
    findings_->Add(10, absl::StrCat("the tracker of host ", log_.host, " was not told of revision ",
                                    log_.wanted, ": its last push is of revision ", revision));
  }

 private:
  void Take(const Push& push) {
    const uint32_t at = replay_.EndOf(push.revision);
    std::set<uint64_t> numbers = views_.Changed(log_.host, at_, at);
    for (const uint64_t number : numbers) {
      if (views_.At(log_.host, number, at).generation != 0) {
        concerned_.insert(number);
      } else {
        concerned_.erase(number);
      }
    }
    at_ = at;
    if (push.restarts || push.complete) {
      for (const auto& [number, sight] : seen_) numbers.insert(number);
      numbers.insert(concerned_.begin(), concerned_.end());
      seen_.clear();
    }
    for (uint32_t p = push.first_part; p < push.first_part + push.parts; ++p) {
      const Part& part = log_.parts[p];
      const auto first = log_.rows.begin() + part.first_row;
      seen_[part.consumer] = {part.generation, {first, first + part.rows}};
      numbers.insert(part.consumer);
    }
    for (const uint64_t number : numbers) Compare(push, number);
  }

  void Compare(const Push& push, uint64_t number) {
    Sight& seen = seen_[number];
    if (!views_.Shows(log_.host, number, seen, at_, begins_.LastAt(push.received_ns))) {
      const Sight sight = views_.At(log_.host, number, at_);
      findings_->Add(
          10, absl::StrCat("after the ", push.complete ? "complete " : "", "push of revision ",
                           push.revision, " the tracker of host ", log_.host, " has of ",
                           absl::Hex(number), " ", SightText(seen),
                           ", by the ledger it should have ", SightText(sight)));
      seen = sight;  // one fault gives one finding
    }
    if (seen.generation == 0) seen_.erase(number);
  }

  const PushLog& log_;
  const NodeViews& views_;
  const Begins& begins_;
  const Replay& replay_;
  Findings* const findings_;
  uint32_t at_ = 0;                 // the last step that the last push covers
  std::set<uint64_t> concerned_;    // what concerns the host after that step
  std::map<uint64_t, Sight> seen_;  // what the tracker has
};

}  // namespace

void CheckPushes(const History& history, const Replay& replay, Findings* findings) {
  if (history.pushes.empty()) return;
  const NodeViews views(history.story, replay.timeline());
  const Begins begins(history, replay);
  for (const PushLog& log : history.pushes) {
    PushChecker(log, views, begins, replay, findings).Run();
  }
}

}  // namespace berth::history
