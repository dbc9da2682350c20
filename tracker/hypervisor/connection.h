// An open libvirt connection, with its registrations and its count of calls. For hypervisor*.cc only.
//
// Shared by the calls that use it, so that one that hangs keeps what it uses. Thread-safe.
#ifndef BERTH_TRACKER_HYPERVISOR_CONNECTION_H_
#define BERTH_TRACKER_HYPERVISOR_CONNECTION_H_

#include <libvirt/libvirt.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tracker/ground/mutex.h"
#include "tracker/hypervisor/events.h"

namespace berth::tracker {

// How often each call of libvirt was made, by its name.
class CallCounter {
 public:
  void Count(const char* name);
  std::map<std::string, int64_t> counts() const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, int64_t> counts_ ABSL_GUARDED_BY(mutex_);
};

class HypervisorConnection {
 public:
  // Opens `uri` with keepalive and a close callback. Events are registered where the hypervisor has
  // them; `warnings` tells which it has not.
  static absl::StatusOr<std::shared_ptr<HypervisorConnection>> Open(
      const std::string& uri, const std::shared_ptr<CallCounter>& calls,
      const std::shared_ptr<HypervisorListener>& listener, std::vector<std::string>* warnings);
  ~HypervisorConnection();
  HypervisorConnection(const HypervisorConnection&) = delete;
  HypervisorConnection& operator=(const HypervisorConnection&) = delete;

  virConnectPtr get() const { return connection_; }
  void Count(const char* name) const { calls_->Count(name); }

 private:
  HypervisorConnection(virConnectPtr connection, std::shared_ptr<CallCounter> calls)
      : connection_(connection), calls_(std::move(calls)) {}
  void RegisterEvents(const std::shared_ptr<HypervisorListener>& listener,
                      std::vector<std::string>* warnings);

  const virConnectPtr connection_;
  const std::shared_ptr<CallCounter> calls_;
  std::vector<int> guest_callbacks_;   // constant after Open
  std::vector<int> device_callbacks_;  // constant after Open
  std::shared_ptr<void> on_close_;     // whom the close callback tells
};

// The last error of libvirt on this thread as a status: Unimplemented for what the hypervisor has not,
// NotFound for a guest that is gone, Unavailable for a lost connection, Internal for all else.
absl::Status LibvirtError(absl::string_view call);

// A text that libvirt made and that has to be given back.
absl::StatusOr<std::string> TakeText(char* text, absl::string_view call);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_CONNECTION_H_
