#include "tracker/hypervisor/hypervisor.h"

#include <libvirt/libvirt.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/hypervisor/connection.h"
#include "tracker/hypervisor/reading.h"

namespace berth::tracker {
namespace {

// How many documents are read before one deadline.
constexpr std::ptrdiff_t kPortion = 64;

}  // namespace

Hypervisor::Hypervisor(Options options, DeadlinePool* pool, HypervisorListener listener)
    : options_(std::move(options)),
      pool_(pool),
      calls_(std::make_shared<CallCounter>()),
      events_(std::make_shared<EventMemory>()),
      // The event is noted first: the pass that the listener asks for must find it.
      listener_(std::make_shared<HypervisorListener>(
          [events = events_, listener = std::move(listener)](const HypervisorEvent& event) {
            events->Note(event);
            if (event.kind != HypervisorEvent::Kind::kGuestMemory) listener(event);
          })) {}

Hypervisor::~Hypervisor() = default;

template <typename T>
absl::StatusOr<T> Hypervisor::Call(
    const char* name, std::function<absl::StatusOr<T>(const HypervisorConnection&)> work) {
  std::shared_ptr<HypervisorConnection> current = connection();
  if (current == nullptr) {
    return absl::UnavailableError(absl::StrCat(name, ": not connected to ", options_.uri));
  }
  absl::StatusOr<T> answer = pool_->Call<T>(
      name,
      [current, work = std::move(work)]() -> absl::StatusOr<T> {
        absl::StatusOr<T> result = work(*current);
        if (!result.ok() && virConnectIsAlive(current->get()) != 1) {
          return absl::UnavailableError(result.status().message());
        }
        return result;
      },
      options_.timeout);
  if (absl::IsUnavailable(answer.status()) || absl::IsDeadlineExceeded(answer.status())) {
    Drop(current);
  }
  return answer;
}

bool Hypervisor::IsAlive() {
  const auto look = [](const HypervisorConnection& connection) -> absl::StatusOr<bool> {
    connection.Count("virConnectIsAlive");
    if (virConnectIsAlive(connection.get()) == 1) return true;
    return absl::UnavailableError("the connection was lost");
  };
  return connected() && Call<bool>("virConnectIsAlive", look).ok();
}

absl::Status Hypervisor::Connect() {
  if (IsAlive()) return absl::OkStatus();
  struct Opened {
    std::shared_ptr<HypervisorConnection> connection;
    std::vector<std::string> warnings;
  };
  std::shared_ptr<HypervisorListener> listener;
  {
    MutexLock lock(&mutex_);
    listener = listener_;
  }
  BERTH_ASSIGN_OR_RETURN(
      Opened opened,
      pool_->Call<Opened>(
          "virConnectOpen",
          [uri = options_.uri, calls = calls_, listener]() -> absl::StatusOr<Opened> {
            Opened result;
            BERTH_ASSIGN_OR_RETURN(result.connection, HypervisorConnection::Open(
                                                          uri, calls, listener, &result.warnings));
            return result;
          },
          options_.timeout));
  MutexLock lock(&mutex_);
  if (connection_ == nullptr) {
    connection_ = std::move(opened.connection);
    warnings_ = std::move(opened.warnings);
    ++connection_number_;
  }
  return absl::OkStatus();
}

bool Hypervisor::connected() const { return connection() != nullptr; }

int64_t Hypervisor::connection_number() const {
  MutexLock lock(&mutex_);
  return connection_number_;
}

std::vector<std::string> Hypervisor::connect_warnings() const {
  MutexLock lock(&mutex_);
  return warnings_;
}

std::map<std::string, int64_t> Hypervisor::call_counts() const { return calls_->counts(); }

std::shared_ptr<HypervisorConnection> Hypervisor::connection() const {
  MutexLock lock(&mutex_);
  return connection_;
}

void Hypervisor::Drop(const std::shared_ptr<HypervisorConnection>& broken) {
  std::shared_ptr<HypervisorConnection> last;  // destroyed after the lock is released
  MutexLock lock(&mutex_);
  if (connection_ == broken) last = std::move(connection_);
}

absl::StatusOr<std::string> Hypervisor::HostName() {
  return Call<std::string>("virConnectGetHostname", [](const HypervisorConnection& connection) {
    connection.Count("virConnectGetHostname");
    return TakeText(virConnectGetHostname(connection.get()), "virConnectGetHostname");
  });
}

absl::StatusOr<std::string> Hypervisor::Type() {
  return Call<std::string>(
      "virConnectGetType",
      [](const HypervisorConnection& connection) -> absl::StatusOr<std::string> {
        connection.Count("virConnectGetType");
        const char* const type = virConnectGetType(connection.get());
        if (type == nullptr) return LibvirtError("virConnectGetType");
        return std::string(type);
      });
}

absl::StatusOr<int64_t> Hypervisor::Version() {
  return Call<int64_t>("virConnectGetVersion",
                       [](const HypervisorConnection& connection) -> absl::StatusOr<int64_t> {
                         connection.Count("virConnectGetVersion");
                         unsigned long version = 0;  // NOLINT(google-runtime-int): libvirt's type
                         if (virConnectGetVersion(connection.get(), &version) != 0) {
                           return LibvirtError("virConnectGetVersion");
                         }
                         return static_cast<int64_t>(version);
                       });
}

absl::StatusOr<int64_t> Hypervisor::LibraryVersion() {
  return Call<int64_t>("virConnectGetLibVersion",
                       [](const HypervisorConnection& connection) -> absl::StatusOr<int64_t> {
                         connection.Count("virConnectGetLibVersion");
                         unsigned long version = 0;  // NOLINT(google-runtime-int): libvirt's type
                         if (virConnectGetLibVersion(connection.get(), &version) != 0) {
                           return LibvirtError("virConnectGetLibVersion");
                         }
                         return static_cast<int64_t>(version);
                       });
}

absl::StatusOr<std::string> Hypervisor::CapabilitiesXml() {
  return Call<std::string>("virConnectGetCapabilities", [](const HypervisorConnection& connection) {
    connection.Count("virConnectGetCapabilities");
    return TakeText(virConnectGetCapabilities(connection.get()), "virConnectGetCapabilities");
  });
}

absl::StatusOr<std::string> Hypervisor::DomainCapabilitiesXml(const std::string& emulator,
                                                              const std::string& arch,
                                                              const std::string& machine,
                                                              const std::string& domain_type) {
  return Call<std::string>(
      "virConnectGetDomainCapabilities",
      [emulator, arch, machine, domain_type](const HypervisorConnection& connection) {
        connection.Count("virConnectGetDomainCapabilities");
        return TakeText(
            virConnectGetDomainCapabilities(
                connection.get(), emulator.empty() ? nullptr : emulator.c_str(), arch.c_str(),
                machine.empty() ? nullptr : machine.c_str(), domain_type.c_str(), 0),
            "virConnectGetDomainCapabilities");
      });
}

absl::StatusOr<std::string> Hypervisor::ExpandCpuXml(const std::string& cpu_xml) {
  return Call<std::string>(
      "virConnectBaselineCPU", [cpu_xml](const HypervisorConnection& connection) {
        connection.Count("virConnectBaselineCPU");
        const char* texts[] = {cpu_xml.c_str()};
        return TakeText(virConnectBaselineCPU(connection.get(), texts, 1,
                                              VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES),
                        "virConnectBaselineCPU");
      });
}

absl::StatusOr<HostReading> Hypervisor::Host() { return Call<HostReading>("host", ReadHost); }

absl::StatusOr<CpuTimes> Hypervisor::HostCpuTimes() {
  return Call<CpuTimes>("CPU times", ReadCpuTimes);
}

absl::StatusOr<std::vector<ListedGuest>> Hypervisor::Guests() {
  return Call<std::vector<ListedGuest>>("guests", ListGuests);
}

template <typename Listed>
absl::StatusOr<DocumentTexts> Hypervisor::ReadInPortions(
    const char* name, const std::vector<Listed>& listed,
    absl::StatusOr<DocumentTexts> (*read)(const HypervisorConnection&,
                                          const std::vector<Listed>&)) {
  DocumentTexts all;
  while (all.size() < listed.size()) {
    const auto begin = listed.begin() + static_cast<std::ptrdiff_t>(all.size());
    std::vector<Listed> portion(begin, begin + std::min(kPortion, listed.end() - begin));
    BERTH_ASSIGN_OR_RETURN(DocumentTexts texts,
                           Call<DocumentTexts>(name, [read, portion = std::move(portion)](
                                                         const HypervisorConnection& connection) {
                             return read(connection, portion);
                           }));
    std::move(texts.begin(), texts.end(), std::back_inserter(all));
  }
  return all;
}

absl::StatusOr<DocumentTexts> Hypervisor::Definitions(const std::vector<ListedGuest>& guests) {
  return ReadInPortions("definitions", guests, ReadDefinitions);
}

absl::StatusOr<std::vector<ListedDevice>> Hypervisor::Devices() {
  return Call<std::vector<ListedDevice>>("devices", ListDevices);
}

absl::StatusOr<DocumentTexts> Hypervisor::DeviceDocuments(
    const std::vector<ListedDevice>& devices) {
  return ReadInPortions("documents of devices", devices, ReadDevices);
}

std::function<absl::StatusOr<int64_t>()> Hypervisor::CapacityReader(
    const ListedGuest& guest, const std::string& target) const {
  return [current = connection(), guest, target]() -> absl::StatusOr<int64_t> {
    if (current == nullptr) return absl::UnavailableError("not connected");
    return ReadCapacity(*current, guest, target);
  };
}

}  // namespace berth::tracker
