// TrackerProcess: a berth-tracker process that lives as long as this object.
#ifndef BERTH_TESTS_PROCESSES_TRACKER_PROCESS_H_
#define BERTH_TESTS_PROCESSES_TRACKER_PROCESS_H_

#include <string>
#include <vector>

#include "tests/processes/service_process.h"

namespace berth::e2e {

class TrackerProcess : public ServiceProcess {
 public:
  // `arguments` name placement and the hypervisor. The tracker keeps its identity in `directory`,
  // which also gets its log and its address.
  TrackerProcess(const std::string& directory, std::vector<std::string> arguments);
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_TRACKER_PROCESS_H_
