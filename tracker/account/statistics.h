// Statistics: how many instances of a node are in which state, do which task and belong to which
// project (T-118 to T-122).
//
// A plain value. Two statistics that count the same instances are equal, in whatever order the
// instances came and went.
#ifndef BERTH_TRACKER_ACCOUNT_STATISTICS_H_
#define BERTH_TRACKER_ACCOUNT_STATISTICS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "tracker/account/amounts.h"

namespace berth::tracker {

// What the instances of one project use on a node.
struct ProjectUsage {
  int64_t instances = 0;
  Amounts used;
  friend bool operator==(const ProjectUsage&, const ProjectUsage&) = default;
};

class Statistics {
 public:
  // One instance: its state, its task (empty: none), its project, and its usage.
  struct Snapshot {
    std::string vm_state;
    std::string task_state;
    std::string project_id;
    Amounts used;
    friend bool operator==(const Snapshot&, const Snapshot&) = default;
  };

  void Add(const Snapshot& instance) { Count(instance, 1); }
  // REQUIRES: the same snapshot was added before.
  void Remove(const Snapshot& instance) { Count(instance, -1); }

  // The number of instances, whether they run or not (T-120).
  int64_t instances() const { return instances_; }
  // What the instances of each project use. A project without instances is left out.
  const std::map<std::string, ProjectUsage>& by_project() const { return by_project_; }
  // The number of instances that are being built, or whose task reads or writes much (T-120).
  int64_t io_workload() const;
  // The number of instances that do any task (T-120).
  int64_t current_workload() const;

  // All numbers that are not 0, by name (T-119), for example num_vm_active.
  std::map<std::string, int64_t> Counters() const;

  friend bool operator==(const Statistics&, const Statistics&) = default;

 private:
  void Count(const Snapshot& instance, int sign);

  int64_t instances_ = 0;
  std::map<std::string, int64_t> by_vm_state_;
  std::map<std::string, int64_t> by_task_state_;  // `None`: no task
  std::map<std::string, ProjectUsage> by_project_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_ACCOUNT_STATISTICS_H_
