// Answerer: gives answers and makes other calls, mostly on a thread of its own, so that the writer
// can start its next batch at once.
//
// Owners take turns (FairQueue): to give an answer may take as long as to decide it, so an owner
// with hundreds of answers would keep the others waiting.
//
// Owns the thread. Thread-safe. Until Stop has ended the thread, one callback runs at a time, the
// answers of one owner and priority are given in the order of Post and Give, and calls are made in
// the order of Post. Between answers and calls there is no order: all calls that have been posted are
// made after a few answers.
#ifndef BERTH_PLACEMENT_PUBLISH_ANSWERER_H_
#define BERTH_PLACEMENT_PUBLISH_ANSWERER_H_

#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "placement/commands/decision.h"
#include "placement/ground/fair_queue.h"
#include "placement/ground/mutex.h"

namespace berth::placement {

// The decision about a command. To give the answer means to call `done` with `decision`.
struct Answer {
  absl::AnyInvocable<void(Decision)> done;
  Decision decision;
  // As in the Flow of the command.
  std::string owner;
  Priority priority = Priority::kFirst;
};

class Answerer {
 public:
  Answerer();
  // Calls Stop.
  ~Answerer();

  void Post(std::vector<Answer> answers);
  // If a callback runs or waits, posts `answers`. Else gives them on the caller's thread. For few
  // answers: to wake the answering thread would cost more than to give them.
  void Give(std::vector<Answer> answers);
  void Post(absl::AnyInvocable<void()> call);
  // Waits until all answers that were posted are given and all calls that were posted are made.
  // Then ends the thread. What is posted after that runs on the thread that posts it, before Post
  // returns. A Stop after the first has returned does nothing. Not to be called from a callback.
  void Stop();

 private:
  void Run();
  void Append(std::vector<Answer> answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Answer> TakeSome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  FairQueue<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::AnyInvocable<void()>> calls_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // a callback runs, or is about to
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PUBLISH_ANSWERER_H_
