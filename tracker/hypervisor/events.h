// Events that a hypervisor sends without being asked; HypervisorEventLoop, which receives them; and
// EventMemory, which keeps them until the next pass.
//
// HypervisorEventLoop owns one thread, on which it calls the listeners. A listener must not block.
// The loop must be created before the first connection is opened, and destroyed after the last
// connection is closed.
#ifndef BERTH_TRACKER_HYPERVISOR_EVENTS_H_
#define BERTH_TRACKER_HYPERVISOR_EVENTS_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "tracker/ground/mutex.h"

namespace berth::tracker {

struct HypervisorEvent {
  enum class Kind {
    kGuest,        // a guest started, stopped or was defined, or its devices or images changed
    kGuestMemory,  // the size of a guest's memory changed; it may change every second
    kDevice,       // a device of the host was added, removed or changed
    kClosed,       // the connection was lost
  };
  Kind kind = Kind::kGuest;
  std::string subject;  // the uuid of the guest, or the name of the device
};

using HypervisorListener = std::function<void(const HypervisorEvent&)>;

// The subjects of events.
struct ChangedSubjects {
  std::set<std::string> guests;
  std::set<std::string> devices;
};

// Remembers the subjects of the events that came since the last Take. Thread-safe.
class EventMemory {
 public:
  void Note(const HypervisorEvent& event);
  ChangedSubjects Take();

 private:
  Mutex mutex_;
  ChangedSubjects changed_ ABSL_GUARDED_BY(mutex_);
};

class HypervisorEventLoop {
 public:
  HypervisorEventLoop();
  ~HypervisorEventLoop();
  HypervisorEventLoop(const HypervisorEventLoop&) = delete;
  HypervisorEventLoop& operator=(const HypervisorEventLoop&) = delete;

 private:
  struct Stop;
  const std::shared_ptr<Stop> stop_;
  std::thread thread_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_EVENTS_H_
