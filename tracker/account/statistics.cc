#include "tracker/account/statistics.h"

#include "absl/strings/str_cat.h"
#include "tracker/ground/check.h"

namespace berth::tracker {
namespace {

constexpr absl::string_view kNoTask = "None";
constexpr absl::string_view kTasksWithMuchIo[] = {
    "rebuilding",   "resize_prep", "resize_migrating", "image_snapshot",
    "image_backup", "rescuing",    "unshelving"};

void CountWord(std::map<std::string, int64_t>& counts, absl::string_view word, int sign) {
  const auto counted = counts.emplace(std::string(word), 0).first;
  counted->second += sign;
  BERTH_CHECK(counted->second >= 0);  // NodeAccount removes only what it has added before
  if (counted->second == 0) counts.erase(counted);
}

int64_t CountOf(const std::map<std::string, int64_t>& counts, absl::string_view word) {
  const auto found = counts.find(std::string(word));
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

void Statistics::Count(const Snapshot& instance, int sign) {
  instances_ += sign;
  CountWord(by_vm_state_, instance.vm_state, sign);
  CountWord(by_task_state_, instance.task_state.empty() ? kNoTask : instance.task_state, sign);
  const auto project = by_project_.emplace(instance.project_id, ProjectUsage()).first;
  project->second.instances += sign;
  if (sign > 0) {
    project->second.used += instance.used;
  } else {
    project->second.used -= instance.used;
  }
  if (project->second.instances == 0) by_project_.erase(project);
}

int64_t Statistics::io_workload() const {
  int64_t sum = CountOf(by_vm_state_, "building");
  for (absl::string_view task : kTasksWithMuchIo) sum += CountOf(by_task_state_, task);
  return sum;
}

int64_t Statistics::current_workload() const {
  return instances_ - CountOf(by_task_state_, kNoTask);
}

std::map<std::string, int64_t> Statistics::Counters() const {
  std::map<std::string, int64_t> counters;
  for (const auto& [state, count] : by_vm_state_) counters[absl::StrCat("num_vm_", state)] = count;
  for (const auto& [task, count] : by_task_state_)
    counters[absl::StrCat("num_task_", task)] = count;
  for (const auto& [project, usage] : by_project_) {
    counters[absl::StrCat("num_proj_", project)] = usage.instances;
  }
  if (instances_ > 0) counters["num_instances"] = instances_;
  if (io_workload() > 0) counters["io_workload"] = io_workload();
  return counters;
}

}  // namespace berth::tracker
