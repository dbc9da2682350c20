// The directory that a tracker keeps its state in, held by one process at a time.
//
// Owns an advisory lock for as long as it lives; the system drops it when the process ends, however
// that happens. Not thread-safe.
#ifndef BERTH_TRACKER_SETTINGS_STATE_DIRECTORY_H_
#define BERTH_TRACKER_SETTINGS_STATE_DIRECTORY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace berth::tracker {

class StateDirectory {
 public:
  // Creates what is missing of `path` and locks it.
  //
  // PermissionDenied when it cannot be created or written; FailedPrecondition, naming the process,
  // when another one holds it; Internal for any other failure.
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

// The machine's own id: /etc/machine-id, else one that is made once and kept in `state`.
absl::StatusOr<std::string> MachineId(const StateDirectory& state);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_STATE_DIRECTORY_H_
