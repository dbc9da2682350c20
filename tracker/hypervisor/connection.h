// HypervisorConnection: an open libvirt connection with its event registrations.
//
// Only Hypervisor and the functions of reading.h use it. The calls that run on a connection hold it
// by shared_ptr, so that the connection stays open while one of them hangs. Thread-safe.
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

// Counts the calls of libvirt by the name of the called function. Thread-safe.
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
  // Opens `uri` with keepalive, and registers `listener` for the events of HypervisorEvent. For each
  // event that the hypervisor cannot send, adds a text to `warnings`. Unavailable if
  // the connection cannot be opened.
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
  template <typename RegisterAny, typename Callback>
  void RegisterEvent(RegisterAny register_any, const char* name, int event, Callback callback,
                     const std::shared_ptr<HypervisorListener>& listener,
                     std::vector<int>* callbacks, std::vector<std::string>* warnings);
  void RegisterEvents(const std::shared_ptr<HypervisorListener>& listener,
                      std::vector<std::string>* warnings);

  const virConnectPtr connection_;
  const std::shared_ptr<CallCounter> calls_;
  // These members do not change after Open.
  std::vector<int> guest_callbacks_;
  std::vector<int> device_callbacks_;
  std::shared_ptr<void> on_close_;  // the registration that the close callback uses
};

// Returns libvirt's last error on this thread as a status: Unimplemented if the hypervisor does not
// have the call, NotFound if the guest or device does not exist, Unavailable if the connection is
// lost, Internal for every other error.
absl::Status LibvirtError(absl::string_view call);

// Copies `text`, which libvirt has allocated, and frees it. If `text` is null, fails as
// LibvirtError says.
absl::StatusOr<std::string> TakeText(char* text, absl::string_view call);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_CONNECTION_H_
