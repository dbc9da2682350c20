// UnpluggedDevice: a PCI device that the kernel does not show as long as this object lives.
//
// This process, and the processes that it starts, do not find the device: a libvirt daemon that is
// started meanwhile does not list it. For the main thread.
#ifndef BERTH_TESTS_PROCESSES_UNPLUGGED_DEVICE_H_
#define BERTH_TESTS_PROCESSES_UNPLUGGED_DEVICE_H_

#include <filesystem>
#include <string>

#include "tests/processes/own_mounts.h"
#include "tests/processes/private_cluster.h"

namespace berth::e2e {

// The directory in which the kernel shows the PCI devices, each as a link with its address as name.
inline constexpr char kPciDevices[] = "/sys/bus/pci/devices";

class UnpluggedDevice {
 public:
  // REQUIRES: SeparateMounts was OK, and the machine has PCI devices.
  explicit UnpluggedDevice(const std::string& address)
      : mount_(LinksWithout(address, files_.path()), kPciDevices) {}
  UnpluggedDevice(const UnpluggedDevice&) = delete;
  UnpluggedDevice& operator=(const UnpluggedDevice&) = delete;

 private:
  // Copies the links of all other devices into `directory`, and returns it.
  static const std::string& LinksWithout(const std::string& address, const std::string& directory) {
    for (const auto& link : std::filesystem::directory_iterator(kPciDevices)) {
      const std::string name = link.path().filename();
      if (name != address) std::filesystem::copy_symlink(link.path(), directory + "/" + name);
    }
    return directory;
  }

  const placement::ScratchDirectory files_;
  const MountOver mount_;
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_UNPLUGGED_DEVICE_H_
