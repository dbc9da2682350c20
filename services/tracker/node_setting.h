// NodeSetting: a setting of a hypervisor, and how its text is read.
//
// Plain values.
#ifndef BERTH_SERVICES_TRACKER_NODE_SETTING_H_
#define BERTH_SERVICES_TRACKER_NODE_SETTING_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tracker/settings/configuration.h"

namespace berth::services {

using Texts = std::vector<std::string>;

// On the command line a setting applies to all hypervisors; in a [[hypervisor]] table it applies to
// the hypervisor of that table.
struct NodeSetting {
  const char* name;
  const char* description;
  std::function<absl::Status(const Texts&, tracker::NodeConfiguration*)> apply;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_NODE_SETTING_H_
