// Collects what a hypervisor tells, so that a test can wait for it.
#ifndef BERTH_TESTS_TRACKER_HYPERVISOR_EVENT_INBOX_H_
#define BERTH_TESTS_TRACKER_HYPERVISOR_EVENT_INBOX_H_

#include <chrono>
#include <string>
#include <vector>

#include "tracker/ground/boot_clock.h"
#include "tracker/ground/mutex.h"
#include "tracker/hypervisor/events.h"

namespace berth::tracker {

class EventInbox {
 public:
  HypervisorListener listener() {
    return [this](const HypervisorEvent& event) {
      MutexLock lock(&mutex_);
      events_.push_back(event);
      changed_.NotifyAll();
    };
  }

  // Waits until an event of this kind and subject is there (any subject when empty); false when it did
  // not come within `patience`. What came before it is forgotten.
  bool Wait(HypervisorEvent::Kind kind, const std::string& subject,
            std::chrono::milliseconds patience = std::chrono::seconds(10)) {
    const auto deadline = BootClock::now() + patience;
    MutexLock lock(&mutex_);
    while (true) {
      for (const HypervisorEvent& event : events_) {
        if (event.kind != kind || (!subject.empty() && event.subject != subject)) continue;
        events_.clear();
        return true;
      }
      if (!changed_.WaitUntil(&mutex_, deadline) && BootClock::now() >= deadline) {
        return false;
      }
    }
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<HypervisorEvent> events_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_HYPERVISOR_EVENT_INBOX_H_
