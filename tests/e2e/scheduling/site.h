// Site: berth-placement over a real PostgreSQL, and hosts with a berth-tracker each, over libvirt's
// test driver. FollowedHosts: the views of a scheduler that is built on the C++ client library.
//
// A host has no guests and 3 CPUs, of which placement gives away 12, because the ratio of a new node
// is 4. Not thread-safe, but for the calls that say so.
#ifndef BERTH_TESTS_E2E_SCHEDULING_SITE_H_
#define BERTH_TESTS_E2E_SCHEDULING_SITE_H_

#include <grpcpp/channel.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/placement/v1/host_state.grpc.pb.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/placement/v1/node.pb.h"
#include "berth/placement/v1/server_group.pb.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "services/client/cpp/endpoint.h"
#include "services/client/cpp/failure.h"
#include "services/client/cpp/hosts.h"
#include "services/client/cpp/mirror.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/tracker_process.h"

namespace berth::e2e {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;

class FollowedHosts {
 public:
  explicit FollowedHosts(const std::shared_ptr<client::Endpoints>& endpoints)
      : mirror_(endpoints, {client::Hosts::Kinds()},
                {[this](const client::ViewChange& change) { hosts_.Follow(change); }}) {}

  // Waits for the revision, and returns the views of these nodes at this revision or a later one.
  // The test fails if the revision does not come.
  client::Hosts::Views ViewsAt(const pb::Revision& revision, const std::vector<std::string>& nodes);
  // The same for one node, which must have a view.
  client::Hosts::Host ViewAt(const pb::Revision& revision, const std::string& node);

  client::Hosts& hosts() { return hosts_; }

 private:
  client::Hosts hosts_;
  client::Mirror mirror_;  // last: its thread uses the views
};

class Site : public ::testing::Test {
 protected:
  struct Host {
    std::string name;
    placement::ScratchDirectory directory;
    std::unique_ptr<TrackerProcess> tracker;
    std::shared_ptr<grpc::Channel> channel;  // to the tracker
    std::string node;                        // its uuid
  };

  explicit Site(std::vector<std::string> placement_arguments = {});

  // Adds a host with this memory, of which 512 MiB are reserved, and waits until its tracker takes
  // claims. Its node is called node-of-NAME, and its disk is what the file system of
  // `instances_path` has: /proc has none. `arguments`: further ones of the tracker.
  Host* AddHost(const std::string& name, int64_t memory_mib,
                const std::string& instances_path = "/proc",
                const std::vector<std::string>& arguments = {});

  // The record of an instance that is about to be built, and that placement does not have yet.
  // Thread-safe.
  static pb::Instance NewInstance(const pb::Flavor& flavor, const std::string& group = "");
  static pb::Flavor FlavorOf(int64_t memory_mib, int vcpus = 1, int64_t disk_gib = 0);
  // Makes a server group. Returns its uuid.
  std::string NewGroup(pb::ServerGroupPolicy policy);

  // Claims for the instance on the host's node, and creates its record, in one step. `instance` gets
  // the record. The amounts are those of the flavor, or of another one if that is given, as by a
  // scheduler that counts wrongly. Thread-safe.
  client::Failure Place(const Host& host, pb::Instance* instance);
  client::Failure Place(const Host& host, const pb::Flavor& amounts, pb::Instance* instance);
  // Stores the record, and returns it as stored. The test fails if placement refuses it.
  pb::Instance Store(const pb::Instance& record);
  // Gives back what the instance holds.
  void Release(const pb::Instance& instance);
  // Thread-safe.
  pb::Instance Read(const pb::Instance& instance);
  // The uuids of the providers of which the instance holds something.
  std::vector<std::string> HeldBy(const pb::Instance& instance);

  // Claims at the tracker of the host. Null: without limits. Thread-safe.
  static grpc::Status ClaimOn(const Host& host, const pb::Instance& instance,
                              const tracker_pb::Limits* limits = nullptr);
  // Gives the claim back.
  static void Abort(const Host& host, const pb::Instance& instance);
  // Lets the host be audited. Returns a revision with what was reported of it.
  pb::Revision Audit(const Host& host);
  // What the tracker knows of its node.
  static tracker_pb::GetNodeViewResponse AccountOf(const Host& host);
  // The service of the host's tracker.
  pb::Service ServiceOf(const Host& host);
  // Disables the service. Returns the revision with the change.
  pb::Revision Disable(const Host& host);
  // What placement answers to a scheduler that asks for the states of all nodes, at this revision or
  // a later one.
  pb::ListHostStatesResponse StatesAt(const pb::Revision& revision);

  const PlacementServer& placement() const { return *placement_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  const std::shared_ptr<client::Endpoints>& endpoints() const { return endpoints_; }

 private:
  const placement::ScratchDirectory scratch_;
  const std::unique_ptr<PlacementServer> placement_;
  const std::shared_ptr<grpc::Channel> channel_;  // to placement
  const std::shared_ptr<client::Endpoints> endpoints_;
  std::vector<std::unique_ptr<Host>> hosts_;
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_E2E_SCHEDULING_SITE_H_
