// TwoHosts: a scheduler, berth-placement, and a berth-tracker on each of two hosts, over libvirt's
// test driver. The scheduler moves one instance with dedicated CPUs.
//
// Each host has a node with the shared CPU 0 and the dedicated CPUs 2 and 4. Not thread-safe.
#ifndef BERTH_TESTS_E2E_TWO_HOSTS_H_
#define BERTH_TESTS_E2E_TWO_HOSTS_H_

#include <grpcpp/channel.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/tracker_process.h"

namespace berth::e2e {

class TwoHosts : public ::testing::Test {
 protected:
  struct Host {
    explicit Host(std::string own_name) : name(std::move(own_name)) {}
    const std::string name;
    const placement::ScratchDirectory directory;
    std::unique_ptr<TrackerProcess> tracker;
    std::string node;  // the uuid of the host's node
  };

  TwoHosts();

  // A flavor of which each virtual CPU has a CPU of its own.
  static berth::placement::v1::Flavor FlavorOf(const std::string& id, int vcpus,
                                               int64_t memory_mib);

  // Builds the instance with this flavor on the source; the scheduler has allocated for it.
  void Build(const berth::placement::v1::Flavor& flavor);
  // Begins a move of the instance: the migration gets what the instance holds, the instance what
  // `flavor` needs on the destination, and there is a record of the move (T-221).
  void BeginMove(berth::placement::v1::MigrationType type,
                 const berth::placement::v1::Flavor& flavor);
  // Claims the move on the destination.
  void ClaimMove(const berth::placement::v1::Flavor& flavor);
  // The guest has moved: the migration is `finished`, and the instance is on the destination with
  // what was claimed there.
  void Arrive();
  // Gives one side of the move up. `dropped`: gets whether it held something.
  grpc::Status DropSide(const Host& host, berth::tracker::v1::MoveSide side, bool* dropped);
  // Waits until the host's account has this record.
  void AwaitRecord(const Host& host, const berth::placement::v1::Instance& record);

  berth::placement::v1::Instance Store(const berth::placement::v1::Instance& record);
  berth::placement::v1::Instance Instance();
  berth::placement::v1::Migration Migration();
  void SetStatus(const std::string& status);
  // What the consumer with this uuid holds: "h1{MEMORY_MB:256 PCPU:1}", by the name of the host.
  std::string HeldBy(const std::string& consumer);
  // What the host's account counts: "256 MiB, moving 512 MiB, CPUs 2,4".
  std::string AccountOf(const Host& host);
  // Waits until the accounts of source and destination are these, or fails.
  void ExpectAccounts(const std::string& source, const std::string& destination);

  Host source_{"h1"};
  Host destination_{"h2"};
  const std::string instance_;   // the uuid of the instance
  const std::string migration_;  // the uuid of its move

 private:
  void StartTracker(Host* host);
  berth::tracker::v1::GetNodeViewResponse View(const Host& host);
  berth::placement::v1::Consumer Consumer(const std::string& uuid);
  // What the consumer shall hold on the host for an instance with this flavor.
  berth::placement::v1::ConsumerAllocations Wish(const std::string& consumer, const Host& host,
                                                 const berth::placement::v1::Flavor& flavor);
  static bool Eventually(const std::function<bool()>& holds);

  const placement::ScratchDirectory scratch_;
  const std::unique_ptr<PlacementServer> placement_;
  const std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_E2E_TWO_HOSTS_H_
