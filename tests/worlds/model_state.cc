#include "tests/worlds/model_state.h"

#include <algorithm>
#include <set>
#include <type_traits>
#include <variant>

#include "gtest/gtest.h"
#include "placement/values/migration_status.h"

namespace berth::placement {
namespace {

void ExpectSameCatalog(const State& state, const ModelState& model) {
  EXPECT_EQ(state.catalog().classes.by_name().size(), model.classes.size());
  for (const auto& [id, name] : model.classes) {
    EXPECT_EQ(state.catalog().classes.Find(name), id);
    EXPECT_EQ(state.catalog().classes.NameOf(id), name);
    int64_t offers = 0;
    for (const auto& [provider, config] : model.providers) offers += config.FindInventory(id) >= 0;
    EXPECT_EQ(state.inventories_of(id), offers);
  }
  EXPECT_EQ(state.catalog().traits.by_name().size(), model.traits.size());
  for (const auto& [id, name] : model.traits) {
    EXPECT_EQ(state.catalog().traits.Find(name), id);
    int64_t holders = 0;
    for (const auto& [provider, config] : model.providers) holders += config.HasTrait(id);
    EXPECT_EQ(state.providers_with(id), holders);
  }
}

void ExpectSameConfig(const ProviderConfig& config, const ProviderConfig& expected) {
  EXPECT_EQ(config.id, expected.id);
  EXPECT_EQ(config.name, expected.name);
  EXPECT_EQ(config.parent, expected.parent);
  EXPECT_EQ(config.generation, expected.generation);
  EXPECT_EQ(config.inventories, expected.inventories);
  EXPECT_EQ(config.traits, expected.traits);
  EXPECT_EQ(config.aggregates, expected.aggregates);
}

void ExpectSameProviders(const State& state, const ModelState& model) {
  ASSERT_EQ(state.provider_count(), static_cast<int64_t>(model.providers.size()));
  std::map<ProviderId, std::set<ConsumerId>> holders;
  for (const auto& [id, consumer] : model.consumers) {
    for (const Allocation& row : consumer.allocations) holders[row.provider].insert(id);
  }
  for (const auto& [id, expected] : model.providers) {
    const std::optional<ProviderPlace> place = state.FindProvider(id);
    ASSERT_TRUE(place) << id.ToString();
    ExpectSameConfig(place->config(), expected);
    EXPECT_EQ(state.FindProviderByName(expected.name), id);
    EXPECT_EQ(place->tree->root_id(), model.RootOf(id));  // P-1, P-13
    EXPECT_EQ(place->allocation_generation(), model.allocation_generations.at(id));
    for (size_t i = 0; i < expected.inventories.size(); ++i) {
      EXPECT_EQ(place->used(static_cast<int>(i)),
                model.UsedOf(id, expected.inventories[i].resource_class));  // P-2, P-29
    }
    std::set<ConsumerId> seen;
    place->consumers().ForEach([&](ConsumerId consumer, std::monostate) { seen.insert(consumer); });
    EXPECT_EQ(seen, holders[id]);
  }
}

// What the column of a class must hold for one tree, from the model alone.
int64_t FreeMax(const ModelState& model, ProviderId root, ClassId resource_class) {
  Amount most = 0;
  for (const auto& [id, config] : model.providers) {
    if (model.RootOf(id) != root) continue;
    const int row = config.FindInventory(resource_class);
    if (row < 0) continue;
    const InventoryRow& inventory = config.inventories[row];
    const Amount free = inventory.capacity - model.UsedOf(id, resource_class);
    most = std::max(most, std::min({free, inventory.inventory.max_unit, Amount{kAmountMax}}));
  }
  return most;
}

void ExpectSameRoots(const State& state, const ModelState& model) {
  std::set<ProviderId> roots;
  for (const auto& [id, config] : model.providers) roots.insert(model.RootOf(id));
  auto expected = roots.begin();
  for (const auto& chunk : state.roots().chunks()) {
    ASSERT_FALSE(chunk->ids.empty());
    ASSERT_EQ(chunk->ids.size(), static_cast<size_t>(chunk->trees.size()));
    for (int at = 0; at < chunk->trees.size(); ++at) {
      ASSERT_NE(expected, roots.end());
      EXPECT_EQ(chunk->ids[at], *expected++);
      EXPECT_EQ(chunk->trees[at]->root_id(), chunk->ids[at]);
      for (const auto& [resource_class, name] : model.classes) {
        const auto column = std::find_if(
            chunk->columns.begin(), chunk->columns.end(),
            [id = resource_class](const auto& entry) { return entry.resource_class == id; });
        EXPECT_EQ(column == chunk->columns.end() ? 0 : column->free->max[at],
                  FreeMax(model, chunk->ids[at], resource_class));
      }
    }
  }
  EXPECT_EQ(expected, roots.end());
  EXPECT_EQ(state.roots().size(), static_cast<int64_t>(roots.size()));
}

void ExpectSameConsumers(const State& state, const ModelState& model) {
  ASSERT_EQ(state.consumers().size(), static_cast<int64_t>(model.consumers.size()));
  auto expected = model.consumers.begin();
  std::map<Owner, std::pair<int64_t, std::map<ClassId, Amount>>> owners;
  state.consumers().ForEach([&](ConsumerId id, const ConsumerPtr& consumer) {
    ASSERT_EQ(id, expected->first);
    EXPECT_EQ(consumer->generation, expected->second.generation);
    EXPECT_EQ(*consumer->owner, *expected->second.owner);
    EXPECT_EQ(consumer->allocations, expected->second.allocations);
    EXPECT_EQ(consumer->created_at, expected->second.created_at);
    EXPECT_EQ(consumer->updated_at, expected->second.updated_at);
    EXPECT_EQ(consumer->lease_expires_at, expected->second.lease_expires_at);
    EXPECT_EQ(state.FindConsumer(id)->generation, consumer->generation);
    EXPECT_EQ(state.ShareOwner(*consumer->owner), consumer->owner);
    auto& [count, sums] = owners[*consumer->owner];
    ++count;
    for (const Allocation& row : consumer->allocations) sums[row.resource_class] += row.amount;
    ++expected;
  });
  ASSERT_EQ(state.owners().size(), static_cast<int64_t>(owners.size()));
  auto owner = owners.begin();
  state.owners().ForEach([&](const Owner& key, const Counted<OwnerUsage>& usage) {
    EXPECT_EQ(key, owner->first);
    EXPECT_EQ(*usage->owner, owner->first);
    EXPECT_EQ(usage->consumer_count, owner->second.first);  // P-162
    std::map<ClassId, Amount> sums;
    for (const ClassAmount& sum : usage->used) sums[sum.resource_class] = sum.amount;
    EXPECT_EQ(sums, owner->second.second);
    ++owner;
  });
}

void ExpectSameServices(const State& state, const ModelState& model) {
  ASSERT_EQ(state.services().size(), static_cast<int64_t>(model.services.size()));
  for (const auto& [key, service] : model.services) {
    ASSERT_NE(state.services().Find(key), nullptr);
    EXPECT_EQ(**state.services().Find(key), service);
  }
}

std::string FactsOf(const NodeRecord& node) { return node.facts == nullptr ? "" : *node.facts; }

void ExpectSameNodes(const State& state, const ModelState& model) {
  ASSERT_EQ(state.nodes().size(), static_cast<int64_t>(model.nodes.size()));
  for (const auto& [id, node] : model.nodes) {
    ASSERT_NE(state.nodes().Find(id), nullptr);
    NodeRecord found = **state.nodes().Find(id);
    EXPECT_EQ(FactsOf(found), FactsOf(node));
    found.facts = node.facts;
    EXPECT_EQ(found, node);
    EXPECT_EQ(state.fleet().IsRetired(id), node.retired);
    const auto service = model.services.find({node.host, "berth-tracker"});
    const bool up =
        service != model.services.end() && service->second.up && !service->second.forced_down;
    EXPECT_EQ(state.fleet().IsStale(id), !up || node.digest.empty());
  }
  for (uint64_t number = 0; number < 4; ++number) {  // the nodes of RandomCommands
    const ProviderId id{Uuid{7, number}};
    if (model.nodes.contains(id)) continue;
    EXPECT_FALSE(state.fleet().IsRetired(id) || state.fleet().IsStale(id));
  }
}

bool IsAt(const MigrationRecord& migration, const std::string& host) {
  return migration.source_host == host || migration.destination_host == host;
}

std::vector<MigrationId> IdsOf(const std::vector<MigrationPtr>& migrations) {
  std::vector<MigrationId> ids;
  for (const MigrationPtr& one : migrations) ids.push_back(one->id);
  return ids;
}

void ExpectSameAggregates(const State& state, const ModelState& model) {
  const Aggregates& aggregates = state.aggregates();
  ASSERT_EQ(aggregates.by_id().size(), static_cast<int64_t>(model.aggregates.size()));
  for (const auto& [id, aggregate] : model.aggregates) {
    const AggregatePtr found = aggregates.Find(id);
    ASSERT_NE(found, nullptr) << id.ToString();
    EXPECT_EQ(*found, aggregate);
    EXPECT_EQ(aggregates.FindByName(aggregate.name), found) << aggregate.name;
  }
}

void ExpectSameGroups(const State& state, const ModelState& model) {
  const Records& records = state.records();
  ASSERT_EQ(records.groups().size(), static_cast<int64_t>(model.groups.size()));
  for (const auto& [id, group] : model.groups) {
    const ServerGroupPtr found = FindGroup(records, id);
    ASSERT_NE(found, nullptr) << id.ToString();
    EXPECT_EQ(*found, group);
    std::vector<InstanceId> members;
    for (const auto& [instance, record] : model.instances) {
      if (record.group == id && record.vm_state != kDeletedState) members.push_back(instance);
    }
    std::vector<InstanceId> listed;
    for (const InstancePtr& member : records.MembersOf(id)) listed.push_back(member->id);
    EXPECT_EQ(listed, members) << id.ToString();
  }
}

void ExpectSameInstances(const State& state, const ModelState& model) {
  const Records& records = state.records();
  ASSERT_EQ(records.instances().size(), static_cast<int64_t>(model.instances.size()));
  std::map<std::string, std::vector<InstanceId>> by_host;
  for (const auto& [id, instance] : model.instances) {
    ASSERT_NE(records.FindInstance(id), nullptr);
    EXPECT_EQ(*records.FindInstance(id), instance);
    by_host[instance.host].push_back(id);
    std::vector<MigrationId> migrations, moves;
    for (const auto& [other, migration] : model.migrations) {
      if (migration.instance != id) continue;
      migrations.push_back(other);
      if (HoldsResources(migration.status)) moves.push_back(other);
    }
    EXPECT_EQ(IdsOf(records.MigrationsOf(id)), migrations);
    EXPECT_EQ(IdsOf(records.MovesOf(id)), moves);
  }
  by_host[""].clear();  // instances without a host are in no list
  for (const auto& [host, ids] : by_host) {
    std::vector<InstanceId> found;
    for (const InstancePtr& one : records.InstancesOf(host)) found.push_back(one->id);
    EXPECT_EQ(found, ids) << host;
  }
}

void ExpectSameMigrations(const State& state, const ModelState& model) {
  const Records& records = state.records();
  ASSERT_EQ(records.migrations().size(), static_cast<int64_t>(model.migrations.size()));
  std::set<std::string> hosts = {"nowhere"};
  for (const auto& [id, migration] : model.migrations) {
    ASSERT_NE(records.FindMigration(id), nullptr);
    EXPECT_EQ(*records.FindMigration(id), migration);
    hosts.insert({migration.source_host, migration.destination_host});
  }
  hosts.erase("");
  for (const std::string& host : hosts) {
    std::vector<MigrationId> migrations, moves;
    for (const auto& [id, migration] : model.migrations) {
      if (!IsAt(migration, host)) continue;
      migrations.push_back(id);
      if (HoldsResources(migration.status)) moves.push_back(id);
    }
    EXPECT_EQ(IdsOf(records.MigrationsOf(host)), migrations) << host;
    EXPECT_EQ(IdsOf(records.MovesOf(host)), moves) << host;
  }
}

}  // namespace

void ModelState::Apply(const Changes& changes) {
  const EachKind apply{
      [this](const ClassPut& put) { classes[put.id] = put.name; },
      [this](const ClassRemoved& removed) { classes.erase(removed.id); },
      [this](const TraitPut& put) { traits[put.id] = put.name; },
      [this](const TraitRemoved& removed) { traits.erase(removed.id); },
      [this](const ProviderPut& put) {
        allocation_generations.emplace(put.config->id, put.config->generation);
        providers[put.config->id] = *put.config;
      },
      [this](const ProviderRemoved& removed) {
        allocation_generations.erase(removed.id);
        providers.erase(removed.id);
      },
      [this](const ProviderUsed& used) {
        allocation_generations[used.id] = used.allocation_generation;
      },
      [this](const ConsumerPut& put) { consumers[put.consumer->id] = *put.consumer; },
      [this](const ConsumerRemoved& removed) { consumers.erase(removed.id); },
      [this](const ServicePut& put) {
        services[{put.service->host, put.service->binary}] = *put.service;
      },
      [this](const ServiceRemoved& removed) {
        services.erase({removed.host, removed.binary});
      },
      [this](const NodePut& put) {
        NodeRecord& node = nodes[put.node->id];
        const auto facts = node.facts;
        node = *put.node;
        if (node.facts == nullptr) node.facts = facts;
      },
      [this](const NodeRemoved& removed) { nodes.erase(removed.id); },
      [this](const AggregatePut& put) { aggregates[put.aggregate->id] = *put.aggregate; },
      [this](const AggregateRemoved& removed) { aggregates.erase(removed.id); },
      [this](const ServerGroupPut& put) { groups[put.group->id] = *put.group; },
      [this](const ServerGroupRemoved& removed) { groups.erase(removed.id); },
      [this](const InstancePut& put) { instances[put.instance->id] = *put.instance; },
      [this](const InstanceRemoved& removed) { instances.erase(removed.id); },
      [this](const MigrationPut& put) { migrations[put.migration->id] = *put.migration; },
      [this](const MigrationRemoved& removed) { migrations.erase(removed.id); },
      Ignore<FormatRaised>()};
  for (const Change& change : changes) std::visit(apply, change);
}

Amount ModelState::UsedOf(ProviderId provider, ClassId resource_class) const {
  Amount used = 0;
  for (const auto& [id, consumer] : consumers) {
    for (const Allocation& row : consumer.allocations) {
      if (row.provider == provider && row.resource_class == resource_class) used += row.amount;
    }
  }
  return used;
}

ProviderId ModelState::RootOf(ProviderId provider) const {
  while (providers.at(provider).parent) provider = *providers.at(provider).parent;
  return provider;
}

void ExpectSame(const State& state, const ModelState& model) {
  ForEachEntityKind([&](EntityKind kind) {
    switch (kind) {
      case EntityKind::kResourceClass:
        return ExpectSameCatalog(state, model);
      case EntityKind::kTrait:
        return;  // compared with the classes
      case EntityKind::kProvider:
        ExpectSameProviders(state, model);
        return ExpectSameRoots(state, model);
      case EntityKind::kProviderUsage:
        return;  // compared with the providers
      case EntityKind::kConsumer:
        return ExpectSameConsumers(state, model);
      case EntityKind::kService:
        return ExpectSameServices(state, model);
      case EntityKind::kNode:
        return ExpectSameNodes(state, model);
      case EntityKind::kAggregate:
        return ExpectSameAggregates(state, model);
      case EntityKind::kServerGroup:
        return ExpectSameGroups(state, model);
      case EntityKind::kInstance:
        return ExpectSameInstances(state, model);
      case EntityKind::kMigration:
        return ExpectSameMigrations(state, model);
    }
  });
}

}  // namespace berth::placement
