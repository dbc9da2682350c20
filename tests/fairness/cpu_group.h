// CpuGroup: a cgroup in which the kernel shares the processors among our processes by nice alone.
//
// Without it a kernel with sched_autogroup_enabled shares them among sessions, and every backend of
// PostgreSQL is a session: beside other busy sessions a commit then waits tens of milliseconds for a
// processor. For the main thread.
#ifndef BERTH_TESTS_FAIRNESS_CPU_GROUP_H_
#define BERTH_TESTS_FAIRNESS_CPU_GROUP_H_

#include <string>

namespace berth::fairness {

class CpuGroup {
 public:
  // Makes the group and moves this process into it, so that children begun from now on are in it, too.
  // Does nothing where that is not possible: it takes root and the `cpu` controller of version 1.
  CpuGroup();
  // Moves this process back and removes the group, if all others of it have ended.
  ~CpuGroup();
  CpuGroup(const CpuGroup&) = delete;
  CpuGroup& operator=(const CpuGroup&) = delete;

  bool exists() const { return !directory_.empty(); }

 private:
  std::string before_;     // the directory of the group in which this process was
  std::string directory_;  // empty: there is no group
};

}  // namespace berth::fairness

#endif  // BERTH_TESTS_FAIRNESS_CPU_GROUP_H_
