#include "tracker/hypervisor/connection.h"

#include <libvirt/virterror.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace berth::tracker {
namespace {

constexpr int kKeepaliveSeconds = 5;
constexpr unsigned kKeepaliveMisses = 3;

// The data that libvirt passes to a callback. libvirt frees it with FreeRegistration when the
// callback is deregistered.
struct Registration {
  std::shared_ptr<HypervisorListener> listener;
};

void FreeRegistration(void* opaque) { delete static_cast<Registration*>(opaque); }

void Tell(void* opaque, HypervisorEvent::Kind kind, std::string subject) {
  (*static_cast<Registration*>(opaque)->listener)({kind, std::move(subject)});
}

std::string GuestUuid(virDomainPtr guest) {
  char text[VIR_UUID_STRING_BUFLEN];
  return virDomainGetUUIDString(guest, text) == 0 ? text : "";
}

int OnLifecycle(virConnectPtr /*connection*/, virDomainPtr guest, int /*event*/, int /*detail*/,
                void* opaque) {
  Tell(opaque, HypervisorEvent::Kind::kGuest, GuestUuid(guest));
  return 0;
}

void OnGuestDevice(virConnectPtr /*connection*/, virDomainPtr guest, const char* /*alias*/,
                   void* opaque) {
  Tell(opaque, HypervisorEvent::Kind::kGuest, GuestUuid(guest));
}

// A block job, for example the merge of a snapshot, may give a disk another image when it ends.
void OnBlockJob(virConnectPtr /*connection*/, virDomainPtr guest, const char* /*disk*/,
                int /*type*/, int /*status*/, void* opaque) {
  Tell(opaque, HypervisorEvent::Kind::kGuest, GuestUuid(guest));
}

void OnDisk(virConnectPtr /*connection*/, virDomainPtr guest, const char* /*old_path*/,
            const char* /*new_path*/, const char* /*alias*/, int /*reason*/, void* opaque) {
  Tell(opaque, HypervisorEvent::Kind::kGuest, GuestUuid(guest));
}

void OnBalloon(virConnectPtr /*connection*/, virDomainPtr guest,
               unsigned long long /*kib*/,  // NOLINT(google-runtime-int): libvirt's type
               void* opaque) {
  Tell(opaque, HypervisorEvent::Kind::kGuestMemory, GuestUuid(guest));
}

void OnMemoryDevice(virConnectPtr /*connection*/, virDomainPtr guest, const char* /*alias*/,
                    unsigned long long /*kib*/,  // NOLINT(google-runtime-int): libvirt's type
                    void* opaque) {
  Tell(opaque, HypervisorEvent::Kind::kGuestMemory, GuestUuid(guest));
}

void OnDevice(virConnectPtr /*connection*/, virNodeDevicePtr device, int /*event*/, int /*detail*/,
              void* opaque) {
  Tell(opaque, HypervisorEvent::Kind::kDevice, virNodeDeviceGetName(device));
}

void OnDeviceUpdate(virConnectPtr /*connection*/, virNodeDevicePtr device, void* opaque) {
  Tell(opaque, HypervisorEvent::Kind::kDevice, virNodeDeviceGetName(device));
}

void OnClose(virConnectPtr /*connection*/, int /*reason*/, void* opaque) {
  Tell(opaque, HypervisorEvent::Kind::kClosed, "");
}

}  // namespace

void CallCounter::Count(const char* name) {
  MutexLock lock(&mutex_);
  ++counts_[name];
}

std::map<std::string, int64_t> CallCounter::counts() const {
  MutexLock lock(&mutex_);
  return counts_;
}

absl::Status LibvirtError(absl::string_view call) {
  const virErrorPtr error = virGetLastError();
  if (error == nullptr)
    return absl::InternalError(absl::StrCat(call, " failed, and libvirt gave no reason"));
  const std::string text =
      absl::StrCat(call, ": ", error->message == nullptr ? "no message" : error->message);
  switch (error->code) {
    case VIR_ERR_NO_SUPPORT:
    case VIR_ERR_CONFIG_UNSUPPORTED:
      return absl::UnimplementedError(text);
    case VIR_ERR_NO_DOMAIN:
    case VIR_ERR_NO_NODE_DEVICE:
      return absl::NotFoundError(text);
    case VIR_ERR_INVALID_CONN:
    case VIR_ERR_NO_CONNECT:
    case VIR_ERR_RPC:
    case VIR_ERR_SYSTEM_ERROR:
    case VIR_ERR_AUTH_FAILED:
      return absl::UnavailableError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::StatusOr<std::string> TakeText(char* text, absl::string_view call) {
  if (text == nullptr) return LibvirtError(call);
  std::string copy = text;
  std::free(text);
  return copy;
}

absl::StatusOr<std::shared_ptr<HypervisorConnection>> HypervisorConnection::Open(
    const std::string& uri, const std::shared_ptr<CallCounter>& calls,
    const std::shared_ptr<HypervisorListener>& listener, std::vector<std::string>* warnings) {
  calls->Count("virConnectOpen");
  const virConnectPtr raw = virConnectOpen(uri.c_str());
  if (raw == nullptr) {
    const absl::Status error = LibvirtError("virConnectOpen");
    return absl::UnavailableError(absl::StrCat(uri, ": ", error.message()));
  }
  const std::shared_ptr<HypervisorConnection> connection(new HypervisorConnection(raw, calls));
  calls->Count("virConnectSetKeepAlive");
  if (virConnectSetKeepAlive(raw, kKeepaliveSeconds, kKeepaliveMisses) < 0) {
    // libvirt's test driver runs in this process, so it has no keepalive and needs none.
    const absl::Status error = LibvirtError("virConnectSetKeepAlive");
    if (!absl::IsUnimplemented(error)) warnings->push_back(std::string(error.message()));
  }
  connection->RegisterEvents(listener, warnings);
  return connection;
}

// Calls `register_any`, a function of libvirt that registers `callback` for one event.
template <typename RegisterAny, typename Callback>
void HypervisorConnection::RegisterEvent(RegisterAny register_any, const char* name, int event,
                                         Callback callback,
                                         const std::shared_ptr<HypervisorListener>& listener,
                                         std::vector<int>* callbacks,
                                         std::vector<std::string>* warnings) {
  Count(name);
  auto* const registration = new Registration{listener};
  const int id =
      register_any(connection_, nullptr, event, callback, registration, FreeRegistration);
  if (id >= 0) {
    callbacks->push_back(id);
    return;
  }
  FreeRegistration(registration);
  warnings->push_back(std::string(LibvirtError(name).message()));
}

void HypervisorConnection::RegisterEvents(const std::shared_ptr<HypervisorListener>& listener,
                                          std::vector<std::string>* warnings) {
  Count("virConnectRegisterCloseCallback");
  // on_close_ owns the registration, because a driver without this event would never free it.
  auto* const on_close = new Registration{listener};
  on_close_.reset(static_cast<void*>(on_close), FreeRegistration);
  (void)virConnectRegisterCloseCallback(connection_, OnClose, on_close, nullptr);
  const std::pair<int, virConnectDomainEventGenericCallback> guest_events[] = {
      {VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_CALLBACK(OnLifecycle)},
      {VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, VIR_DOMAIN_EVENT_CALLBACK(OnGuestDevice)},
      {VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, VIR_DOMAIN_EVENT_CALLBACK(OnGuestDevice)},
      {VIR_DOMAIN_EVENT_ID_BLOCK_JOB_2, VIR_DOMAIN_EVENT_CALLBACK(OnBlockJob)},
      {VIR_DOMAIN_EVENT_ID_DISK_CHANGE, VIR_DOMAIN_EVENT_CALLBACK(OnDisk)},
      {VIR_DOMAIN_EVENT_ID_BALLOON_CHANGE, VIR_DOMAIN_EVENT_CALLBACK(OnBalloon)},
      {VIR_DOMAIN_EVENT_ID_MEMORY_DEVICE_SIZE_CHANGE, VIR_DOMAIN_EVENT_CALLBACK(OnMemoryDevice)},
  };
  for (const auto& [event, callback] : guest_events) {
    RegisterEvent(virConnectDomainEventRegisterAny, "virConnectDomainEventRegisterAny", event,
                  callback, listener, &guest_callbacks_, warnings);
  }
  const std::pair<int, virConnectNodeDeviceEventGenericCallback> device_events[] = {
      {VIR_NODE_DEVICE_EVENT_ID_LIFECYCLE, VIR_NODE_DEVICE_EVENT_CALLBACK(OnDevice)},
      {VIR_NODE_DEVICE_EVENT_ID_UPDATE, VIR_NODE_DEVICE_EVENT_CALLBACK(OnDeviceUpdate)},
  };
  for (const auto& [event, callback] : device_events) {
    RegisterEvent(virConnectNodeDeviceEventRegisterAny, "virConnectNodeDeviceEventRegisterAny",
                  event, callback, listener, &device_callbacks_, warnings);
  }
}

HypervisorConnection::~HypervisorConnection() {
  // Callbacks hold references to the connection, so libvirt would not close it before they are
  // deregistered.
  for (const int id : guest_callbacks_) virConnectDomainEventDeregisterAny(connection_, id);
  for (const int id : device_callbacks_) virConnectNodeDeviceEventDeregisterAny(connection_, id);
  virConnectUnregisterCloseCallback(connection_, OnClose);
  virConnectClose(connection_);
}

}  // namespace berth::tracker
