// What a hypervisor tells by itself, and the loop that hears it.
//
// HypervisorEventLoop owns one thread. It has to live before the first connection is opened and until
// the last one is closed. Listeners are called on that thread and must not block.
#ifndef BERTH_TRACKER_HYPERVISOR_EVENTS_H_
#define BERTH_TRACKER_HYPERVISOR_EVENTS_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace berth::tracker {

struct HypervisorEvent {
  enum class Kind {
    kGuest,   // one started, stopped, was defined, or its devices changed; `subject` is its uuid
    kDevice,  // a device of the host came, went or changed; `subject` is its name
    kClosed,  // the connection was lost
  };
  Kind kind = Kind::kGuest;
  std::string subject;
};

using HypervisorListener = std::function<void(const HypervisorEvent&)>;

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
