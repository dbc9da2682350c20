// The settings of resources that only some hosts have: virtual GPUs, encrypted memory, persistent
// memory.
//
// A function without state.
#ifndef BERTH_SERVICES_TRACKER_EXTRA_SETTINGS_H_
#define BERTH_SERVICES_TRACKER_EXTRA_SETTINGS_H_

#include <vector>

#include "services/tracker/node_setting.h"

namespace berth::services {

std::vector<NodeSetting> ExtraSettings();

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_EXTRA_SETTINGS_H_
