#include "tracker/hypervisor/events.h"

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "tracker/ground/check.h"

namespace berth::tracker {

struct HypervisorEventLoop::Stop {
  std::atomic<bool> asked = false;
};

namespace {

void IgnoreTimer(int /*timer*/, void* /*opaque*/) {}

void RegisterImplementationOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    BERTH_CHECK(virInitialize() == 0);                // fails without memory or pipes
    BERTH_CHECK(virEventRegisterDefaultImpl() == 0);  // so does this
    // Without this function libvirt would print each error to stderr. Errors are returned as
    // statuses instead.
    virSetErrorFunc(nullptr, [](void* /*opaque*/, virErrorPtr /*error*/) {});
  });
}

}  // namespace

void EventMemory::Note(const HypervisorEvent& event) {
  MutexLock lock(&mutex_);
  using Kind = HypervisorEvent::Kind;
  const bool guest = event.kind == Kind::kGuest || event.kind == Kind::kGuestMemory;
  if (guest) changed_.guests.insert(event.subject);
  if (event.kind == Kind::kDevice) changed_.devices.insert(event.subject);
}

ChangedSubjects EventMemory::Take() {
  MutexLock lock(&mutex_);
  return std::exchange(changed_, {});
}

HypervisorEventLoop::HypervisorEventLoop() : stop_(std::make_shared<Stop>()) {
  RegisterImplementationOnce();
  thread_ = std::thread([stop = stop_] {
    while (!stop->asked.load()) virEventRunDefaultImpl();
  });
}

HypervisorEventLoop::~HypervisorEventLoop() {
  stop_->asked.store(true);
  // Wakes the loop, which sleeps until an event comes, by a timer that is due immediately.
  const int timer = virEventAddTimeout(0, IgnoreTimer, nullptr, nullptr);
  thread_.join();
  if (timer >= 0) virEventRemoveTimeout(timer);
}

}  // namespace berth::tracker
