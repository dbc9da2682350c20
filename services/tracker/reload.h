// Reads the settings again while the tracker runs, because it received the signal SIGHUP.
//
// Called by one thread.
#ifndef BERTH_SERVICES_TRACKER_RELOAD_H_
#define BERTH_SERVICES_TRACKER_RELOAD_H_

#include "absl/status/status.h"
#include "services/tracker/host.h"
#include "services/tracker/settings.h"

namespace berth::services {

// Reads the settings as at the start, with the same command line. Applies the level and the format
// of the log, and gives the nodes' settings to TrackerHost::Reconfigure. Logs the names of the
// changed settings that need a restart. Afterwards, even if the settings were wrong, asks placement
// for all records, and asks for a pass of every node.
//
// kInvalidArgument if the settings are wrong; this is also logged, and no setting changes.
absl::Status ReloadTracker(int argc, const char* const* argv, const TrackerOptions& running,
                           TrackerHost* host);

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_RELOAD_H_
