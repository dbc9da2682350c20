#include "tests/counted/account_side.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tracker/account/account.h"
#include "tracker/audit/records.h"
#include "tracker/uplink/push.h"

namespace berth::counted {
namespace {

tracker::NodeResources Offered() {
  tracker::NodeResources resources;
  tracker::NumaCell cell;
  cell.id = 0;
  cell.cpus = tracker::CpuSet::Range(0, kCpus - 1);
  cell.dedicated_cpus = cell.cpus;
  cell.memory_mib = 4096;
  cell.pages = {{4, 1048576, 0, 0}};
  resources.topology = tracker::NumaTopology{{cell}, {}};
  return resources;
}

}  // namespace

class AccountSide::Node {
 public:
  explicit Node(Place place)
      : place_(std::move(place)),
        account_({place_.host, *tracker::Uuid::Parse(place_.node)}, Offered()) {}

  const Place& place() const { return place_; }
  const tracker::NodeAccount& account() const { return account_; }
  void Hear(const pb::Push& push) {
    pb::Revision revision;
    revision.set_epoch(1);
    revision.set_number(++pushes_);
    tracker::ApplyPush(push, revision, &records_, &account_);
  }

 private:
  const Place place_;
  tracker::NodeAccount account_;
  tracker::Records records_;
  int64_t pushes_ = 0;
};

AccountSide::AccountSide(const Place& place) : node_(std::make_unique<Node>(place)) {}
AccountSide::~AccountSide() = default;

void AccountSide::Hear(const pb::Push& push) {
  node_->Hear(push);
  EXPECT_TRUE(node_->account() == node_->account().Rebuilt());  // T-394
  EXPECT_TRUE(node_->account().unreadable().empty());
}

void AccountSide::Restart(const pb::Push& complete) {
  node_ = std::make_unique<Node>(Place(node_->place()));
  Hear(complete);
}

Counted AccountSide::Now() const {
  const tracker::NodeAccount& account = node_->account();
  Counted counted;
  for (const tracker::Uuid& uuid : account.tracked_instances()) {
    counted.instances.insert(uuid.ToString());
  }
  for (const auto& [instance, migration] : account.tracked_migrations()) {
    counted.migrations[instance.ToString()] = migration.ToString();
  }
  for (const tracker::HostCell& cell : account.owners().OfferedCells()) {
    for (const int cpu : cell.usage.pinned_cpus.Cpus()) counted.cpus.insert(NameOf(cpu));
  }
  for (const auto& [address, instance] : account.owners().by_device()) {
    counted.owners["d" + address] = instance.ToString();
  }
  for (const auto& [unit, instance] : account.owners().by_unit()) {
    counted.owners[absl::StrCat("u", unit.provider_uuid.ToString(), "/", unit.resource_class, "/",
                                unit.name)] = instance.ToString();
  }
  return counted;
}

Sizes AccountSide::Used() const {
  const tracker::Amounts used = node_->account().used();
  return {used.vcpus, used.memory_mib, tracker::CeilGib(used.disk_mib)};
}

}  // namespace berth::counted
