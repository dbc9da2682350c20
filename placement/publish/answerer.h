// Answerer: calls the callbacks of submitted commands and waiting readers on a thread of its own,
// so that the writer can start its next batch at once.
//
// Owns the thread. Thread-safe. One call is made at a time. Answers are given in the order of
// posting, and other calls are made in the order of posting. But an answer may be given before a
// call that was posted earlier.
#ifndef BERTH_PLACEMENT_PUBLISH_ANSWERER_H_
#define BERTH_PLACEMENT_PUBLISH_ANSWERER_H_

#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "placement/commands/decision.h"
#include "placement/ground/mutex.h"

namespace berth::placement {

// A decision and the callback that shall receive it.
struct Answer {
  absl::AnyInvocable<void(Decision)> done;
  Decision decision;
};

class Answerer {
 public:
  Answerer();
  // Calls Stop.
  ~Answerer();

  void Post(std::vector<Answer> answers);
  // Gives `answers` on this thread if the answering thread has nothing to do; else posts them.
  // Waking a thread costs more than giving few answers.
  void Give(std::vector<Answer> answers);
  void Post(absl::AnyInvocable<void()> call);
  // Gives all answers and makes all calls that were posted, then ends the thread. What is posted
  // later runs on the thread that posts it, before Post returns. A second Stop does nothing. Not to
  // be called from the answering thread.
  void Stop();

 private:
  void Run();
  void Append(std::vector<Answer> answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  std::vector<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::AnyInvocable<void()>> calls_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // a thread makes calls
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PUBLISH_ANSWERER_H_
