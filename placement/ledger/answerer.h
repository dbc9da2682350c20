// Answerer: the thread that tells callers what became of their commands, so that the writer goes on
// at once.
//
// Owns the thread. Thread-safe. What is handed over is called in the order in which it came.
#ifndef BERTH_PLACEMENT_LEDGER_ANSWERER_H_
#define BERTH_PLACEMENT_LEDGER_ANSWERER_H_

#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "placement/commands/decision.h"
#include "placement/ground/mutex.h"

namespace berth::placement {

struct Answer {
  absl::AnyInvocable<void(Decision)> done;
  Decision decision;
};

class Answerer {
 public:
  Answerer();
  // Stops as Stop does.
  ~Answerer();

  void Post(std::vector<Answer> answers);
  void Post(absl::AnyInvocable<void()> call);
  // Makes every call that was handed over, then ends the thread. What comes later is called by the
  // thread that brings it. Idempotent; not to be called from the answering thread.
  void Stop();

 private:
  void Run();

  Mutex mutex_;
  CondVar changed_;
  std::vector<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::AnyInvocable<void()>> calls_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_ANSWERER_H_
