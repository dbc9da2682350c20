// Hosts: its views are what a naive reading of all entities says, whatever happened before.
#include "services/client/cpp/hosts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/services/client/naive_hosts.h"
#include "tests/worlds/seed.h"

namespace berth::client {
namespace {

absl::Status CellsFit(const HostView& /*view*/) { return absl::OkStatus(); }
absl::Status CellsDoNotFit(const HostView& /*view*/) {
  return absl::ResourceExhaustedError("no cells");
}

// A ledger that changes at random, and a manager that follows it.
class Fleet {
 public:
  explicit Fleet(uint64_t seed) : random_(seed) {}

  // One revision of some changes; or a snapshot, as when a mirror begins anew.
  void Step() {
    pb::WatchResponse message;
    const int changes = 1 + Below(4);
    changed_.clear();
    for (int i = 0; i < changes; ++i) Change(&message);
    if (number_ == 0 || Below(10) == 0) {
      for (const auto& [id, promise] : ledger_.promises) changed_.insert(id);
      Failure lost;
      lost.reason = "REVISION_LOST";
      if (number_ > 0) state_.End(lost);
      state_.Begin();
      message = Snapshot();
    }
    message.mutable_revision()->set_epoch(1);
    message.mutable_revision()->set_number(++number_);
    message.set_complete(true);
    const absl::StatusOr<bool> complete = state_.Apply(&message);
    ASSERT_TRUE(complete.ok()) << complete.status();
    ASSERT_TRUE(*complete);
    hosts_.Follow(state_.TakeChange());
    std::erase_if(ledger_.promises, [this](const auto& promise) {
      const auto instance = ledger_.instances.find(promise.first);
      const bool waits = instance != ledger_.instances.end() && instance->second.host().empty();
      return changed_.contains(promise.first) && !waits;
    });
    for (const auto& [uuid, node] : ledger_.nodes) Record(uuid, node);
  }

  void Consume() {
    const std::string uuid = Node();
    const HostDemand demand = {Below(1000), Below(10), Below(8)};
    pb::Instance instance;
    instance.set_uuid(absl::StrCat("i", Below(20)));
    instance.mutable_flavor()->set_memory_mib(demand.memory_mib);
    instance.mutable_flavor()->set_root_disk_gib(demand.disk_gib);
    instance.mutable_flavor()->set_vcpus(static_cast<int32_t>(demand.vcpus));
    const bool exists = !Naive(ledger_, uuid).empty();
    const bool fits = Below(4) > 0;
    const absl::Status status = hosts_.Consume(uuid, instance, fits ? CellsFit : CellsDoNotFit);
    const auto wanted = !exists ? absl::StatusCode::kNotFound
                        : fits  ? absl::StatusCode::kOk
                                : absl::StatusCode::kResourceExhausted;
    EXPECT_EQ(status.code(), wanted);
    if (!status.ok()) return;  // T-336: all or nothing
    ledger_.consumed[uuid].push_back(demand);
    ledger_.promises[instance.uuid()] = {uuid, ledger_.nodes.at(uuid).host()};
  }

  // A request for some roots, of which some are no node's.
  void Compare() {
    std::vector<std::string> roots;
    for (int i = 0; i < 12; ++i) roots.push_back(absl::StrCat("n", i));
    std::shuffle(roots.begin(), roots.end(), random_);
    roots.resize(1 + Below(12));
    const std::string group = absl::StrCat("g", Below(4));
    const Hosts::Views views = hosts_.ViewsOf({roots.begin(), roots.end()}, group);
    EXPECT_EQ(views.revision.number(), number_);
    std::vector<std::string> shown, wanted;
    for (const auto& host : views.hosts) shown.push_back(InWords(*host));
    std::set<std::string> names;
    size_t warnings = 0;
    for (const std::string& root : roots) {
      const std::string naive = Naive(ledger_, root);
      if (naive.empty()) continue;  // T-338
      const pb::Node& node = ledger_.nodes.at(root);
      const bool twice = !names.insert(node.host() + ":" + node.name()).second;
      const bool skipped = twice || ServiceOf(ledger_, node.host()) == nullptr;  // T-338
      if (!skipped) wanted.push_back(naive);
      warnings += skipped || naive.back() == '1';  // T-341: a stale one is told
    }
    EXPECT_EQ(shown, wanted);  // T-332, T-334, T-335, T-336
    EXPECT_EQ(views.warnings.size(), warnings) << absl::StrJoin(views.warnings, "\n");
    EXPECT_EQ(InWords(views.group), NaiveGroup(ledger_, group));
  }

 private:
  int Below(int end) { return static_cast<int>(random_() % end); }
  std::string Node() { return absl::StrCat("n", Below(10)); }
  std::string Host() { return absl::StrCat("h", Below(5)); }

  void Record(const std::string& uuid, const pb::Node& node) {
    const auto known = ledger_.records.find(uuid);
    const bool same = known != ledger_.records.end() && known->second.host() == node.host() &&
                      known->second.name() == node.name() &&
                      known->second.sequence() == node.sequence();
    std::vector<HostDemand>& consumed = ledger_.consumed[uuid];
    if (node.retired()) {
      consumed.clear();
      ledger_.records.erase(uuid);
      return;
    }
    if (!same) {
      // Nobody will say that this one has a host.
      std::erase_if(ledger_.promises, [&](const auto& promise) {
        return promise.second.node == uuid && !ledger_.instances.contains(promise.first);
      });
      consumed.clear();
    }
    // T-334: the same report says nothing of what was consumed since.
    if (!same || consumed.empty() || !node.has_account()) ledger_.records[uuid] = node;
  }

  template <typename Entity>
  void Put(pb::EntityKind kind, const Entity& entity, bool removed,
           std::map<std::string, Entity>* all, Entity* (pb::Entity::*slot)(),
           pb::WatchResponse* message) {
    if (removed) {
      if (all->erase(entity.uuid()) == 0) return;
      message->add_changes()->mutable_removed()->set_kind(kind);
      message->mutable_changes()->rbegin()->mutable_removed()->set_key(entity.uuid());
      return;
    }
    (*all)[entity.uuid()] = entity;
    *(message->add_changes()->mutable_present()->*slot)() = entity;
  }

  void Change(pb::WatchResponse* message) {
    const bool removed = Below(5) == 0;
    switch (Below(8)) {
      case 0:
        return Put(pb::ENTITY_KIND_SERVICE, AnyService(), removed, &ledger_.services,
                   &pb::Entity::mutable_service, message);
      case 1:
        return Put(pb::ENTITY_KIND_PROVIDER, AnyProvider(), removed, &ledger_.providers,
                   &pb::Entity::mutable_provider, message);
      case 2:
        return Put(pb::ENTITY_KIND_AGGREGATE, AnyAggregate(), removed, &ledger_.aggregates,
                   &pb::Entity::mutable_aggregate, message);
      case 3:
        return Put(pb::ENTITY_KIND_SERVER_GROUP, AnyGroup(), removed, &ledger_.groups,
                   &pb::Entity::mutable_server_group, message);
      case 4:
      case 5:
        return ChangeInstance(removed, message);
      default: {
        const pb::Node node = AnyNode();
        if (removed) ledger_.records.erase(node.uuid());
        return Put(pb::ENTITY_KIND_NODE, node, removed, &ledger_.nodes, &pb::Entity::mutable_node,
                   message);
      }
    }
  }

  void ChangeInstance(bool removed, pb::WatchResponse* message) {
    const pb::Instance instance = AnyInstance();
    if (!removed || ledger_.instances.contains(instance.uuid())) changed_.insert(instance.uuid());
    Put(pb::ENTITY_KIND_INSTANCE, instance, removed, &ledger_.instances,
        &pb::Entity::mutable_instance, message);
  }

  pb::Service AnyService() {
    pb::Service service;
    service.set_host(Host());
    const bool tracker = Below(6) > 0;
    service.set_uuid((tracker ? "s" : "o") + service.host());
    service.set_binary(tracker ? "berth-tracker" : "other");
    service.set_zone(absl::StrCat("z", Below(100)));
    service.set_state(Below(3) > 0 ? pb::SERVICE_STATE_UP : pb::SERVICE_STATE_DOWN);
    return service;
  }
  pb::Provider AnyProvider() {
    pb::Provider provider;
    provider.set_uuid(Node());
    for (int i = 0; i < 3; ++i) {
      if (Below(2) == 0) provider.add_aggregate_uuids(absl::StrCat("a", i));
    }
    return provider;
  }
  pb::Aggregate AnyAggregate() {
    pb::Aggregate aggregate;
    aggregate.set_uuid(absl::StrCat("a", Below(3)));
    aggregate.set_name(absl::StrCat("rack", Below(9)));
    (*aggregate.mutable_metadata())["key"] = absl::StrCat(Below(9));
    return aggregate;
  }
  pb::ServerGroup AnyGroup() {
    pb::ServerGroup group;
    group.set_uuid(absl::StrCat("g", Below(3)));
    group.set_policy(static_cast<pb::ServerGroupPolicy>(1 + Below(4)));
    if (Below(2) == 0) group.set_max_server_per_host(1 + Below(3));
    return group;
  }
  pb::Instance AnyInstance() {
    static const char* const kStates[] = {"active", "active", "deleted", "shelved_offloaded"};
    pb::Instance instance;
    instance.set_uuid(absl::StrCat("i", Below(20)));
    instance.set_vm_state(kStates[Below(4)]);
    if (Below(2) == 0) instance.set_task_state("spawning");
    if (Below(3) > 0) instance.set_group_uuid(absl::StrCat("g", Below(4)));
    if (Below(4) == 0) return instance;  // it has no host yet
    instance.set_node_uuid(Node());
    const auto node = ledger_.nodes.find(instance.node_uuid());
    const bool is_there = node != ledger_.nodes.end() && Below(5) > 0;
    instance.set_host(is_there ? node->second.host() : Host());
    return instance;
  }
  pb::Node AnyNode() {
    const std::string uuid = Node();
    const auto old = ledger_.nodes.find(uuid);
    pb::Node node;
    if (old != ledger_.nodes.end()) node = old->second;
    node.set_uuid(uuid);
    node.set_host(Host());
    node.set_name(absl::StrCat("name", Below(6)));
    node.set_retired(Below(8) == 0);
    if (old != ledger_.nodes.end() && Below(3) == 0) return node;  // not by a report
    node.set_sequence(++reports_);
    node.mutable_updated_at()->set_seconds(Below(1000));  // clocks go back, too
    node.mutable_facts()->set_memory_mib(Below(10'000));
    node.mutable_facts()->set_disk_gib(Below(100));
    node.clear_account();
    if (Below(6) == 0) return node;  // it was never audited
    pb::NodeAccount& account = *node.mutable_account();
    account.mutable_used()->set_memory_mib(Below(5'000));
    account.mutable_used()->set_disk_gib(Below(50));
    account.mutable_used()->set_vcpus(Below(64));
    if (Below(2) == 0) account.set_disk_available_least_gib(Below(100) - 20);
    for (const char* const name : {"num_instances", "io_workload", "failed_builds"}) {
      if (Below(3) > 0) (*account.mutable_counters())[name] = Below(50);
    }
    return node;
  }

  pb::WatchResponse Snapshot() const {
    pb::WatchResponse message;
    message.set_snapshot(true);
    const auto put = [&message]() { return message.add_changes()->mutable_present(); };
    for (const auto& [uuid, one] : ledger_.nodes) *put()->mutable_node() = one;
    for (const auto& [uuid, one] : ledger_.services) *put()->mutable_service() = one;
    for (const auto& [uuid, one] : ledger_.providers) *put()->mutable_provider() = one;
    for (const auto& [uuid, one] : ledger_.instances) *put()->mutable_instance() = one;
    for (const auto& [uuid, one] : ledger_.groups) *put()->mutable_server_group() = one;
    for (const auto& [uuid, one] : ledger_.aggregates) *put()->mutable_aggregate() = one;
    return message;
  }

  std::mt19937_64 random_;
  Ledger ledger_;
  std::set<std::string> changed_;  // the instances of this step
  int64_t number_ = 0;
  int64_t reports_ = 0;
  MirrorState state_{Hosts::Kinds()};
  Hosts hosts_;
};

TEST(HostsTest, HasWhatANaiveReadingOfTheLedgerHas) {
  const uint64_t seed = placement::Seed();
  const int fleets = kSanitized ? 100 : 1000;
  for (int i = 0; i < fleets && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(absl::StrCat("fleet ", i));
    Fleet fleet(seed + i);
    for (int step = 0; step < 40 && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(absl::StrCat("step ", step));
      fleet.Step();
      fleet.Compare();
      fleet.Consume();
      fleet.Compare();
    }
  }
}

TEST(HostsTest, KnowsNothingBeforeASnapshot) {
  Hosts hosts;
  const Hosts::Views views = hosts.ViewsOf({"n1"}, "g1");
  EXPECT_EQ(views.revision.epoch(), 0);
  EXPECT_TRUE(views.hosts.empty());
  EXPECT_FALSE(views.group.has_value());
  EXPECT_EQ(hosts.Consume("n1", pb::Instance()).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace berth::client
