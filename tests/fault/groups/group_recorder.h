// GroupRecorder: a watcher that has all changes of the ledger from a snapshot on, whichever placement
// process it asks, and keeps them.
//
// One thread runs it; EndAt, Stop and newest are for any thread.
#ifndef BERTH_TESTS_FAULT_GROUPS_GROUP_RECORDER_H_
#define BERTH_TESTS_FAULT_GROUPS_GROUP_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "berth/placement/v1/watch.pb.h"
#include "tests/fault/groups/group_history.h"
#include "tests/fault/groups/group_plan.h"

namespace berth::fault {

class GroupRecorder {
 public:
  // `plan` names the processes, once Run is called.
  explicit GroupRecorder(const GroupPlan* plan) : plan_(plan) {}

  // Until the revision of EndAt has come.
  void Run();
  void EndAt(int64_t revision) { last_ = revision; }
  // Gives up.
  void Stop() { stop_ = true; }
  // The last complete revision that has come; 0: none.
  int64_t newest() const { return newest_; }

  // Not during Run. The first one is the snapshot.
  const std::vector<RecordedRevision>& revisions() const { return revisions_; }

 private:
  bool IsAtEnd() const { return stop_ || newest_ >= last_; }
  void Take(const placement::v1::WatchResponse& response, RecordedRevision* open);

  const GroupPlan* const plan_;
  std::atomic<int64_t> last_{std::numeric_limits<int64_t>::max()}, newest_{0};
  std::atomic<bool> stop_{false};
  placement::v1::Revision position_;
  std::vector<RecordedRevision> revisions_;
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_GROUPS_GROUP_RECORDER_H_
