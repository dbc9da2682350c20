// RealHost: a test with one host that is as real as a test machine allows. Its guests run in QEMU
// under emulation on a private libvirt daemon; its berth-tracker and its berth-placement are the
// programs themselves. The test starts, stops and kills guests with virsh, and nobody tells Berth.
//
// Not thread-safe.
#ifndef BERTH_TESTS_E2E_REAL_HOST_H_
#define BERTH_TESTS_E2E_REAL_HOST_H_

#include <grpcpp/channel.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "tests/processes/libvirt_daemon.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/tracker_process.h"

namespace berth::e2e {

class RealHost : public ::testing::Test {
 protected:
  // An amount of virtual CPUs and of memory.
  struct Size {
    int64_t vcpus = 0;
    int64_t memory_mib = 0;

    void Add(const Size& other) {
      vcpus += other.vcpus;
      memory_mib += other.memory_mib;
    }
  };

  void SetUp() override;
  void TearDown() override;

  // Starts the tracker with these arguments, and waits until it takes claims.
  void StartTracker(const std::vector<std::string>& arguments);
  void KillTracker();
  void RestartTracker() { StartTracker(arguments_); }
  // Ends the libvirt daemon as a crash does, and starts it again.
  void RestartLibvirt() { ASSERT_TRUE(daemon_->Restart()); }

  // What virsh prints for this command; the test fails if virsh fails.
  std::string Virsh(std::vector<std::string> command) const;
  // Starts a guest whose name is its uuid. `cpus`: the host CPUs that it is pinned to; empty: all.
  void StartGuest(const std::string& uuid, const Size& size, const std::string& cpus = "") const;
  // Defines a guest with this XML among its devices, and does not start it.
  void DefineGuest(const std::string& uuid, const std::string& devices) const;
  // Ends the guest's QEMU with SIGKILL.
  void KillGuest(const std::string& uuid);
  // The running guests as virsh lists them, by uuid.
  std::map<std::string, Size> RunningGuests() const;

  // Makes the record of an instance. It is on no host yet.
  berth::placement::v1::Instance Create(const Size& size);
  // Stores the changed record.
  berth::placement::v1::Instance Store(const berth::placement::v1::Instance& instance);
  // Allocates what the instance needs, as a scheduler does: dedicated CPUs if it wants pinned CPUs.
  void Allocate(const berth::placement::v1::Instance& instance);
  void Release(const std::string& instance);
  // `claim`: gets what was claimed. Null: nobody wants to know.
  grpc::Status Claim(const berth::placement::v1::Instance& instance,
                     berth::tracker::v1::Claim* claim = nullptr);
  // Allocates and claims.
  berth::tracker::v1::Claim Grant(const berth::placement::v1::Instance& instance);
  void Abort(const berth::tracker::v1::Claim& claim);
  // The node must lack what the instance, which is on no host, needs.
  void ExpectRefused(const berth::placement::v1::Instance& instance);
  // The record of an instance as a whole build leaves it: claimed, and its guest running.
  berth::placement::v1::Instance Build(const Size& size);
  berth::placement::v1::Instance Get(const std::string& instance);
  void DeleteRecord(const std::string& instance);
  // Deletes the record and the allocations.
  void Delete(const std::string& instance) {
    DeleteRecord(instance);
    Release(instance);
  }

  // Runs a pass, and waits for its end.
  berth::placement::v1::AuditSummary Audit();
  // The tracker's view of its node, and placement's record of the node.
  berth::tracker::v1::GetNodeViewResponse View();
  berth::placement::v1::Node Node();

  // Waits until account, virsh and ledger agree, or fails. `when` is for the message.
  void ExpectAgreement(const std::string& when);

  // Waits until `holds` returns true; false after a minute.
  static bool Eventually(const std::function<bool()>& holds);

  std::string instances_path_ = "/proc";  // on which no disk fills up
  const placement::ScratchDirectory scratch_;
  std::unique_ptr<tracker::LibvirtDaemon> daemon_;
  std::unique_ptr<PlacementServer> placement_;
  std::unique_ptr<TrackerProcess> tracker_;
  std::shared_ptr<grpc::Channel> channel_;  // to placement
  std::string node_;                        // the uuid of the node

 private:
  // The path of a file with the definition of a guest.
  std::string WriteGuest(const std::string& uuid, const Size& size, const std::string& cpus,
                         const std::string& devices) const;
  // What the account, the list of orphans and the reserved amounts have to be, from what virsh and
  // the ledger say.
  std::string Wanted();
  // The same values as tracker and placement have them.
  std::string Held();
  std::set<std::string> WritePins(const std::map<std::string, Size>& running);
  std::vector<berth::placement::v1::Instance> Instances();

  std::vector<std::string> arguments_;  // of the tracker
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_E2E_REAL_HOST_H_
