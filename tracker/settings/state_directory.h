// StateDirectory: the directory in which a tracker keeps its state. A lock lets only one process
// use it.
//
// Owns an advisory lock. The operating system releases the lock when the process ends, even after a
// crash. Immutable.
#ifndef BERTH_TRACKER_SETTINGS_STATE_DIRECTORY_H_
#define BERTH_TRACKER_SETTINGS_STATE_DIRECTORY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace berth::tracker {

class StateDirectory {
 public:
  // Creates the directory if it does not exist, and locks it.
  //
  // PermissionDenied if this process may not create the directory or write to it;
  // FailedPrecondition, with the process id, if another process has locked it; Internal for every
  // other failure.
  static absl::StatusOr<std::unique_ptr<StateDirectory>> Open(const std::string& path);
  ~StateDirectory();
  StateDirectory(const StateDirectory&) = delete;
  StateDirectory& operator=(const StateDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  StateDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;  // descriptor of the locked file
};

// Returns the id of this machine: the content of /etc/machine-id. Without this file: an id that is
// drawn once and kept in `state`. Internal or PermissionDenied if that id cannot be written.
absl::StatusOr<std::string> MachineId(const StateDirectory& state);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_STATE_DIRECTORY_H_
