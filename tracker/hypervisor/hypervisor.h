// One hypervisor through libvirt: every call as a plain value, none without a deadline.
//
// Owns the connection. A call on a lost or hung connection fails and drops it; Connect() opens a new one.
// Libvirt's errors end here. Thread-safe; events come on the event loop's thread.
//
// Invariant: no call is made but on behalf of a method: at rest there are none, keepalive and events
// aside, and `call_counts` proves it.
#ifndef BERTH_TRACKER_HYPERVISOR_HYPERVISOR_H_
#define BERTH_TRACKER_HYPERVISOR_HYPERVISOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tracker/ground/mutex.h"
#include "tracker/hypervisor/deadline_pool.h"
#include "tracker/hypervisor/events.h"
#include "tracker/hypervisor/reading.h"

namespace berth::tracker {

class CallCounter;
class HypervisorConnection;

class Hypervisor {
 public:
  struct Options {
    std::string uri;
    absl::Duration timeout = absl::Seconds(60);  // of each call (T-70)
  };
  // `pool` outlives the hypervisor; `listener` is called from the event loop's thread.
  //
  // REQUIRES: a HypervisorEventLoop lives.
  Hypervisor(Options options, DeadlinePool* pool, HypervisorListener listener);
  ~Hypervisor();
  Hypervisor(const Hypervisor&) = delete;
  Hypervisor& operator=(const Hypervisor&) = delete;

  const std::string& uri() const { return options_.uri; }

  // Opens a connection unless one stands. Unavailable or DeadlineExceeded when that fails.
  absl::Status Connect();
  bool connected() const;
  // Counts the connections opened so far: what was read once for each is stale when it moves.
  int64_t connection_number() const;
  // What the last Connect() could not register.
  std::vector<std::string> connect_warnings() const;
  // Every call made so far, by libvirt's name of it.
  std::map<std::string, int64_t> call_counts() const;

  // Each fails with Unavailable when there is no connection or it broke, DeadlineExceeded when libvirt
  // does not answer in time, Unimplemented when the hypervisor has no such call, else Internal.
  absl::StatusOr<std::string> HostName();
  absl::StatusOr<std::string> Type();
  absl::StatusOr<int64_t> Version();
  absl::StatusOr<int64_t> LibraryVersion();
  absl::StatusOr<std::string> CapabilitiesXml();
  // `machine` may be empty: the default one.
  absl::StatusOr<std::string> DomainCapabilitiesXml(const std::string& emulator,
                                                    const std::string& arch,
                                                    const std::string& machine,
                                                    const std::string& domain_type);
  // The baseline of one CPU with its features spelled out.
  absl::StatusOr<std::string> ExpandCpuXml(const std::string& cpu_xml);
  absl::StatusOr<HostReading> Host();
  // All guests, running or not, by one bulk call; definitions have none and are read one by one. A
  // guest that goes meanwhile is left out (T-391).
  absl::StatusOr<GuestList> Guests();
  // PCI, network, vDPA and vital-product-data devices.
  absl::StatusOr<DeviceList> Devices();

 private:
  // Runs `work` on the pool with the connection that stands; drops that one when it broke or hangs.
  template <typename T>
  absl::StatusOr<T> Call(const char* name,
                         std::function<absl::StatusOr<T>(const HypervisorConnection&)> work);
  std::shared_ptr<HypervisorConnection> connection() const;
  void Drop(const std::shared_ptr<HypervisorConnection>& broken);

  const Options options_;
  DeadlinePool* const pool_;
  const std::shared_ptr<CallCounter> calls_;

  mutable Mutex mutex_;
  std::shared_ptr<HypervisorListener> listener_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<HypervisorConnection> connection_ ABSL_GUARDED_BY(mutex_);
  int64_t connection_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_HYPERVISOR_H_
