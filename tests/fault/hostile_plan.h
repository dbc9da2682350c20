// HostilePlan: what the callers of a hostile peer share: their knowledge, the pace that bounds their
// messages per second, and the counts of the answers.
#ifndef BERTH_TESTS_FAULT_HOSTILE_PLAN_H_
#define BERTH_TESTS_FAULT_HOSTILE_PLAN_H_

#include <grpcpp/support/status.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "tests/fault/certified_site.h"
#include "tests/fault/hostile_knowledge.h"

namespace berth::fault {

// Gives out the moments at which messages may be sent. Thread-safe.
class Pace {
 public:
  explicit Pace(double per_second) : interval_(absl::Seconds(1) / per_second) {}
  // Waits for the next moment. Returns false once the pace has been stopped.
  bool Await();
  void Stop();
  bool stopped() const;

 private:
  const absl::Duration interval_;
  mutable placement::Mutex mutex_;
  placement::CondVar stopping_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time next_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

// How often each kind of message got each kind of answer. Thread-safe.
class HostileTally {
 public:
  void Add(const std::string& kind, const std::string& answer);
  int64_t sent() const { return sent_; }
  // How often this kind of message got this answer.
  int64_t Count(const std::string& kind, const std::string& answer) const;
  // All counts, a line for each kind.
  std::string Text() const;

 private:
  std::atomic<int64_t> sent_{0};
  mutable placement::Mutex mutex_;
  std::map<std::string, std::map<std::string, int64_t>> counts_ ABSL_GUARDED_BY(mutex_);
};

// The answer to a message for which its sender has waited in vain.
inline constexpr char kNoAnswer[] = "no answer";
// The name of an answer: OK, the reason in the status, or its code.
std::string AnswerOf(const grpc::Status& status);

// What it points to outlives the callers.
struct HostilePlan {
  const CertifiedSite* site;
  const CertifiedSite::Host* attacked;
  HostileKnowledge* knowledge;
  Pace* pace;
  HostileTally* tally;
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_HOSTILE_PLAN_H_
