#include "tests/history/checker/real_time.h"

#include <algorithm>

namespace berth::history {
namespace {

// A moment at which somebody knew that `step` had happened, or at which it cannot have happened yet.
struct Moment {
  int64_t at_ns = 0;
  uint32_t step = 0;
  uint16_t process = 0;
  friend bool operator<(const Moment& a, const Moment& b) { return a.at_ns < b.at_ns; }
};

class Sweep {
 public:
  Sweep(const History& history, const Replay& replay) : history_(history), replay_(replay) {
    for (uint16_t c = 0; c < history.clients.size(); ++c) {
      for (uint32_t n = 0; n < history.clients[c].operations.size(); ++n) {
        by_begin_.push_back({c, n});
        Note({c, n});
      }
    }
    std::sort(told_.begin(), told_.end());
    std::sort(begun_.begin(), begun_.end());
    std::sort(by_begin_.begin(), by_begin_.end(), [&](const Place& a, const Place& b) {
      return replay.At(a).begin_ns < replay.At(b).begin_ns;
    });
  }

  void Fill(std::vector<std::vector<Bounds>>* bounds) {
    LookBack(bounds);
    LookAhead(bounds);
  }

 private:
  void Note(const Place& place) {
    const Operation& operation = replay_.At(place);
    const uint32_t step = replay_.StepOf(place);
    if (step != 0) begun_.push_back({operation.begin_ns, step, operation.process});
    if (operation.outcome != Outcome::kDone || replay_.IsLost(operation)) return;
    // A later page has the revision of the first page, which another process may have read.
    if (operation.cursor != 0) return;
    if (step != 0 || IsRead(operation.kind)) {
      const uint32_t told = step != 0 ? step : replay_.EndOf(operation.revision);
      told_.push_back({operation.end_ns, told, operation.process});
    }
  }

  // In the order in which operations begin: the highest step told before.
  void LookBack(std::vector<std::vector<Bounds>>* bounds) {
    uint32_t highest = 0, settled = 0;
    std::vector<uint32_t> by_process;
    auto told = told_.begin();
    auto old = told_.begin();
    for (const Place& place : by_begin_) {
      const Operation& operation = replay_.At(place);
      for (; told != told_.end() && told->at_ns < operation.begin_ns; ++told) {
        highest = std::max(highest, told->step);
        if (by_process.size() <= told->process) by_process.resize(told->process + 1);
        by_process[told->process] = std::max(by_process[told->process], told->step);
      }
      const int64_t horizon = operation.begin_ns - history_.staleness_ns;
      for (; old != told_.end() && old->at_ns < horizon; ++old) {
        settled = std::max(settled, old->step);
      }
      Bounds& bound = (*bounds)[place.client][place.number];
      bound.first = highest;
      bound.settled = settled;
      if (operation.process < by_process.size()) bound.process = by_process[operation.process];
    }
  }

  // In the order in which operations end, from behind: the lowest step that began later.
  void LookAhead(std::vector<std::vector<Bounds>>* bounds) {
    std::sort(by_begin_.begin(), by_begin_.end(), [&](const Place& a, const Place& b) {
      return replay_.At(a).end_ns > replay_.At(b).end_ns;
    });
    auto lowest = static_cast<uint32_t>(history_.story.steps.size()) + 1;
    auto begun = begun_.rbegin();
    for (const Place& place : by_begin_) {
      for (; begun != begun_.rend() && begun->at_ns > replay_.At(place).end_ns; ++begun) {
        lowest = std::min(lowest, begun->step);
      }
      (*bounds)[place.client][place.number].last = lowest - 1;
    }
  }

  const History& history_;
  const Replay& replay_;
  std::vector<Place> by_begin_;
  std::vector<Moment> told_;
  std::vector<Moment> begun_;
};

}  // namespace

RealTime::RealTime(const History& history, const Replay& replay) {
  for (const ClientLog& log : history.clients) bounds_.emplace_back(log.operations.size());
  Sweep(history, replay).Fill(&bounds_);
}

}  // namespace berth::history
