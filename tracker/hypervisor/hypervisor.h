// Hypervisor: one hypervisor, reached through libvirt. Each call has a deadline and returns plain
// values.
//
// Owns the connection. A call that fails because the connection is lost, or that overruns its
// deadline, drops the connection; Connect() opens a new one. Thread-safe.
//
// Invariant: libvirt is called only while a method of this class, or a function that CapacityReader
// has returned, runs. At other times the connection carries only keepalive messages and events.
// Tests check this with call_counts().
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
    absl::Duration timeout = absl::Seconds(60);  // for each call (T-70)
  };
  // `pool` runs the calls and outlives the hypervisor. `listener` is called on the thread of the
  // event loop, for all events but kGuestMemory: those come so often that a pass of their own would
  // cost too much, and only TakeChanges tells them.
  //
  // REQUIRES: a HypervisorEventLoop exists.
  Hypervisor(Options options, DeadlinePool* pool, HypervisorListener listener);
  ~Hypervisor();
  Hypervisor(const Hypervisor&) = delete;
  Hypervisor& operator=(const Hypervisor&) = delete;

  // Opens a connection, unless a working connection exists. Unavailable or DeadlineExceeded if it
  // cannot be opened.
  absl::Status Connect();
  bool connected() const;
  // Returns how many connections were opened so far. When this number has changed, values that are
  // read once per connection must be read again.
  int64_t connection_number() const;
  // Returns one text for each event that the present connection does not send.
  std::vector<std::string> connect_warnings() const;
  // Returns how often each function of libvirt was called so far, by its name.
  std::map<std::string, int64_t> call_counts() const;

  // Each of the following methods fails with Unavailable if there is no connection or the
  // connection is lost, with DeadlineExceeded if libvirt does not answer in time, with
  // Unimplemented if the hypervisor does not have the call, and with Internal for every other
  // error.
  absl::StatusOr<std::string> HostName();
  absl::StatusOr<std::string> Type();
  absl::StatusOr<int64_t> Version();
  absl::StatusOr<int64_t> LibraryVersion();
  absl::StatusOr<std::string> CapabilitiesXml();
  // Returns what the emulator offers for this architecture, machine type and virtualization type.
  // Empty `machine`: the default machine type.
  absl::StatusOr<std::string> DomainCapabilitiesXml(const std::string& emulator,
                                                    const std::string& arch,
                                                    const std::string& machine,
                                                    const std::string& domain_type);
  // Returns the CPU that `cpu_xml` describes, with all features that its model implies.
  absl::StatusOr<std::string> ExpandCpuXml(const std::string& cpu_xml);
  absl::StatusOr<HostReading> Host();
  // What the host's CPUs have done since the boot. Internal if a part is missing.
  absl::StatusOr<CpuTimes> HostCpuTimes();
  // Lists all guests, running or not, sorted by uuid, with one bulk call that asks for their states
  // and for nothing else.
  absl::StatusOr<std::vector<ListedGuest>> Guests();
  // Reads the definition of each of `guests` with a call of its own. At most 64 definitions are read
  // before one deadline, so that a host with many guests does not seem to hang. NotFound instead of
  // a definition: the guest was removed meanwhile (T-391).
  absl::StatusOr<DocumentTexts> Definitions(const std::vector<ListedGuest>& guests);
  // Lists all devices with the capability pci, net, vdpa, vpd or mdev, with one call.
  absl::StatusOr<std::vector<ListedDevice>> Devices();
  // Reads the document of each of `devices` like Definitions. NotFound instead of a document: the
  // device was removed meanwhile.
  absl::StatusOr<DocumentTexts> DeviceDocuments(const std::vector<ListedDevice>& devices);
  // Returns a function that asks libvirt for the size in bytes of one disk of a guest. The function
  // has no deadline: while the guest's emulator hangs, it hangs too. It may be called on any
  // thread, and may outlive the hypervisor. A failure does not drop the connection.
  std::function<absl::StatusOr<int64_t>()> CapacityReader(const ListedGuest& guest,
                                                          const std::string& target) const;

  // Returns the guests and devices for which events came since the last call.
  ChangedSubjects TakeChanges() { return events_->Take(); }

 private:
  // Runs `work` on the pool with the present connection. If that connection is lost, or if `work`
  // hangs, drops the connection.
  template <typename T>
  absl::StatusOr<T> Call(const char* name,
                         std::function<absl::StatusOr<T>(const HypervisorConnection&)> work);
  // Calls `read` with portions of `listed`, and returns the texts of all portions.
  template <typename Listed>
  absl::StatusOr<DocumentTexts> ReadInPortions(
      const char* name, const std::vector<Listed>& listed,
      absl::StatusOr<DocumentTexts> (*read)(const HypervisorConnection&,
                                            const std::vector<Listed>&));
  std::shared_ptr<HypervisorConnection> connection() const;
  // Whether there is a connection and it works. Also notices (and drops) a lost connection on which
  // no call has failed yet. Sends nothing.
  bool IsAlive();
  void Drop(const std::shared_ptr<HypervisorConnection>& broken);

  const Options options_;
  DeadlinePool* const pool_;
  const std::shared_ptr<CallCounter> calls_;
  const std::shared_ptr<EventMemory> events_;

  mutable Mutex mutex_;
  std::shared_ptr<HypervisorListener> listener_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<HypervisorConnection> connection_ ABSL_GUARDED_BY(mutex_);
  int64_t connection_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_HYPERVISOR_H_
