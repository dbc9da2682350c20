#include "tests/worlds/safety.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "placement/values/capacity.h"

namespace berth::placement {
namespace {

// What the whole state says, gathered from the trees.
struct Gathered {
  std::map<ProviderId, ProviderPlace> providers;
  std::map<std::pair<ProviderId, ClassId>, Amount> used;
  std::map<ClassId, int64_t> class_uses;
  std::map<TraitId, int64_t> trait_uses;
};

// P-1: walks each tree and asks the state for each provider.
void GatherTree(const State& state, const TreePtr& tree, Gathered& all) {
  for (int p = 0; p < tree->size(); ++p) {
    const ProviderConfig& config = tree->config(p);
    EXPECT_TRUE(all.providers.emplace(config.id, ProviderPlace{tree, p}).second)
        << config.name << " stands twice";
    if (p == 0) {
      EXPECT_FALSE(config.parent.has_value()) << config.name << " is a root with a parent";
    } else {
      const int parent = tree->shape->parent_of[p];
      ASSERT_GE(parent, 0);
      ASSERT_LT(parent, p) << config.name << " stands before its parent";
      EXPECT_EQ(config.parent, tree->config(parent).id) << config.name;
    }
    const auto place = state.FindProvider(config.id);
    ASSERT_TRUE(place.has_value()) << config.name << " is not found by its id";
    EXPECT_EQ(place->tree->root_id(), tree->root_id()) << config.name;
    EXPECT_EQ(place->position, p) << config.name;
    EXPECT_EQ(state.FindProviderByName(config.name), config.id) << config.name;
    for (size_t i = 0; i < config.inventories.size(); ++i) {
      const InventoryRow& row = config.inventories[i];
      if (i > 0) {
        EXPECT_LT(config.inventories[i - 1].resource_class, row.resource_class);
      }
      EXPECT_TRUE(state.catalog().classes.Contains(row.resource_class)) << config.name;
      EXPECT_EQ(row.capacity, CapacityOf(row.inventory)) << config.name;
      all.used[{config.id, row.resource_class}] = 0;
      ++all.class_uses[row.resource_class];
    }
    for (const TraitId trait : config.traits) {
      EXPECT_TRUE(state.catalog().traits.Contains(trait)) << config.name;
      ++all.trait_uses[trait];
    }
  }
}

Gathered Gather(const State& state) {
  Gathered all;
  for (const auto& chunk : state.roots().chunks()) {
    for (int t = 0; t < chunk->trees.size(); ++t) GatherTree(state, chunk->trees[t], all);
  }
  EXPECT_EQ(state.provider_count(), static_cast<int64_t>(all.providers.size()));
  return all;
}

// P-2, P-3: every row of every consumer.
void CheckConsumers(const State& state, Gathered& all) {
  std::map<ProviderId, std::set<ConsumerId>> holders;
  std::map<Owner, int64_t> counts;
  std::map<std::pair<Owner, ClassId>, Amount> owned;
  state.consumers().ForEach([&](const ConsumerId& id, const ConsumerPtr& consumer) {
    EXPECT_EQ(consumer->id, id);
    EXPECT_FALSE(consumer->allocations.empty()) << id.ToString() << " holds nothing";  // P-3
    ++counts[*consumer->owner];
    for (size_t i = 0; i < consumer->allocations.size(); ++i) {
      const Allocation& row = consumer->allocations[i];
      if (i > 0) {
        EXPECT_LT(std::tie(consumer->allocations[i - 1].provider,
                           consumer->allocations[i - 1].resource_class),
                  std::tie(row.provider, row.resource_class));
      }
      EXPECT_GE(row.amount, 1);
      const auto used = all.used.find({row.provider, row.resource_class});
      ASSERT_NE(used, all.used.end()) << id.ToString() << " holds of no inventory";  // P-2
      used->second += row.amount;
      owned[{*consumer->owner, row.resource_class}] += row.amount;
      holders[row.provider].insert(id);
    }
  });
  for (const auto& [id, place] : all.providers) {
    const ProviderConfig& config = place.config();
    for (size_t i = 0; i < config.inventories.size(); ++i) {
      EXPECT_EQ(place.used(static_cast<int>(i)),
                (all.used[{id, config.inventories[i].resource_class}]))
          << config.name;  // P-2
    }
    std::set<ConsumerId> kept;
    place.consumers().ForEach(
        [&](const ConsumerId& consumer, const auto&) { kept.insert(consumer); });
    EXPECT_EQ(kept, holders[id]) << config.name;
  }
  int64_t lease_count = 0;
  state.consumers().ForEach([&](const ConsumerId& id, const ConsumerPtr& consumer) {
    if (!consumer->lease_expires_at) return;
    ++lease_count;
    EXPECT_NE(state.leases().Find(std::make_pair(*consumer->lease_expires_at, id)), nullptr)
        << id.ToString() << " would never be released";
  });
  EXPECT_EQ(state.leases().size(), lease_count);
  int64_t owner_count = 0;
  state.owners().ForEach([&](const Owner& owner, const auto& usage) {
    ++owner_count;
    EXPECT_EQ(usage->consumer_count, counts[owner]) << owner.project;  // P-162
    for (const ClassAmount& used : usage->used) {
      EXPECT_EQ(used.amount, (owned[{owner, used.resource_class}])) << owner.project;
      EXPECT_GT(used.amount, 0);  // P-163
      owned.erase({owner, used.resource_class});
    }
  });
  EXPECT_EQ(owner_count, static_cast<int64_t>(counts.size()));
  EXPECT_TRUE(owned.empty()) << "an owner's use is missing";
}

// Each index of the fleet finds exactly the records.
void CheckFleet(const State& state) {
  state.services().ForEach([&](const auto&, const ServicePtr& service) {
    EXPECT_EQ(state.FindServiceById(service->id), service) << service->host;
  });
  std::map<std::string, std::vector<NodeRecordPtr>> by_host;
  state.nodes().ForEach(
      [&](const ProviderId&, const NodeRecordPtr& node) { by_host[node->host].push_back(node); });
  for (const auto& [host, nodes] : by_host) EXPECT_EQ(state.NodesOf(host), nodes) << host;
}

}  // namespace

void CheckSafety(const State& state) {
  Gathered all = Gather(state);
  CheckConsumers(state, all);
  CheckFleet(state);
  for (const auto& [name, id] : state.catalog().classes.by_name()) {
    EXPECT_EQ(state.inventories_of(id), all.class_uses[id]) << name;
  }
  for (const auto& [name, id] : state.catalog().traits.by_name()) {
    EXPECT_EQ(state.providers_with(id), all.trait_uses[id]) << name;
  }
}

namespace {

void CheckGeneration(const std::string& what, Generation before, Generation after) {
  EXPECT_TRUE(after == before || after == before.Next())
      << what << ": from " << before.value << " to " << after.value;  // P-5
}

void CheckProviderStep(const State& before, const ProviderPlace& place, Generation fresh) {
  const ProviderConfig& config = place.config();
  const auto old = before.FindProvider(config.id);
  if (old) {
    CheckGeneration(config.name, old->config().generation, config.generation);
    CheckGeneration(config.name, old->allocation_generation(), place.allocation_generation());
  } else {
    EXPECT_EQ(config.generation, fresh) << config.name;  // P-5
  }
  for (size_t i = 0; i < config.inventories.size(); ++i) {
    const InventoryRow& row = config.inventories[i];
    const int at = old ? old->config().FindInventory(row.resource_class) : -1;
    const Amount used_before = at < 0 ? 0 : old->used(at);
    const Amount used = place.used(static_cast<int>(i));
    EXPECT_TRUE(used <= used_before || used <= row.capacity)
        << config.name << ": from " << used_before << " to " << used << " of "
        << row.capacity;  // P-4
  }
}

}  // namespace

void CheckStep(const State& before, const State& after, Generation fresh) {
  for (const auto& chunk : after.roots().chunks()) {
    for (int t = 0; t < chunk->trees.size(); ++t) {
      const TreePtr& tree = chunk->trees[t];
      for (int p = 0; p < tree->size(); ++p) {
        CheckProviderStep(before, ProviderPlace{tree, p}, fresh);
      }
    }
  }
  after.consumers().ForEach([&](const ConsumerId& id, const ConsumerPtr& consumer) {
    const ConsumerPtr old = before.FindConsumer(id);
    if (old) {
      CheckGeneration(id.ToString(), old->generation, consumer->generation);
    } else {
      EXPECT_EQ(consumer->generation, fresh);  // P-5
    }
  });
}

}  // namespace berth::placement
