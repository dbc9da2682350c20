// TestHost: a host of libvirt's test driver. A test starts and ends its guests, and trackers open
// its URI.
//
// Owns a daemon and a connection to it, because the driver forgets its guests without a connection.
// Not thread-safe.
#ifndef BERTH_TESTS_PROCESSES_TEST_HOST_H_
#define BERTH_TESTS_PROCESSES_TEST_HOST_H_

#include <libvirt/libvirt.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/processes/libvirt_daemon.h"

namespace berth::fault {

struct RunningGuest {
  std::string uuid;
  int64_t vcpus = 0;
  int64_t memory_mib = 0;
};

class TestHost {
 public:
  // A host without guests. Null, with the reason in `why`, if libvirt cannot run.
  static std::unique_ptr<TestHost> Start(std::string* why);
  ~TestHost();
  TestHost(const TestHost&) = delete;
  TestHost& operator=(const TestHost&) = delete;

  std::string uri() const { return daemon_->TestUri(); }

  // Starts a new guest with 1 to 3 vCPUs and 64 to 192 MiB.
  void StartGuest(uint64_t random);
  // Ends one running guest.
  void StopGuest(uint64_t random);

  // The guests that libvirt lists, by uuid.
  std::vector<RunningGuest> Running() const;
  std::string name() const;
  int64_t cpus() const;
  int64_t memory_mib() const;

 private:
  TestHost(std::unique_ptr<tracker::LibvirtDaemon> daemon, virConnectPtr connection)
      : daemon_(std::move(daemon)), connection_(connection) {}
  std::vector<virDomainPtr> Domains() const;

  const std::unique_ptr<tracker::LibvirtDaemon> daemon_;
  const virConnectPtr connection_;
  int guests_ = 0;  // started so far
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_PROCESSES_TEST_HOST_H_
