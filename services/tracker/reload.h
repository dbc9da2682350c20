// What SIGHUP does: the settings are read anew into a tracker that runs.
#ifndef BERTH_SERVICES_TRACKER_RELOAD_H_
#define BERTH_SERVICES_TRACKER_RELOAD_H_

#include "absl/status/status.h"
#include "services/tracker/host.h"
#include "services/tracker/options.h"

namespace berth::services {

// Reads the settings as at the start, with the same command line, and takes over what may change: the
// level and format of the log, and what TrackerHost::Reconfigure does. What waits for a restart is named
// in the log. Then asks placement for all its records and every node for a pass, whatever was read.
//
// kInvalidArgument for settings that are wrong: said in the log, and all old values stay.
absl::Status ReloadTracker(int argc, const char* const* argv, const TrackerOptions& running,
                           TrackerHost* host);

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_RELOAD_H_
