#include "tests/worlds/imported.h"

#include <utility>

namespace berth::placement {
namespace {

template <typename IdType>
void AddNames(const NameTable<IdType>& table, int64_t* record,
              std::vector<ImportedName<IdType>>* to) {
  for (const auto& [name, id] : table.by_name()) {
    if (!IsStandardName(name)) to->push_back({++*record, name});
  }
}

ImportedProvider ProviderOf(const Catalog& catalog, const ProviderConfig& config, int64_t record) {
  ImportedProvider provider;
  provider.record = record;
  provider.id = config.id;
  provider.name = config.name;
  provider.parent = config.parent;
  for (const InventoryRow& row : config.inventories) {
    provider.inventories.push_back({catalog.classes.NameOf(row.resource_class), row.inventory});
  }
  for (const TraitId trait : config.traits) provider.traits.push_back(catalog.traits.NameOf(trait));
  provider.aggregates = config.aggregates;
  provider.times = {config.created_at, config.updated_at};
  return provider;
}

ImportedConsumer ConsumerOf(const Catalog& catalog, const Consumer& from, int64_t record) {
  ImportedConsumer consumer;
  consumer.record = record;
  consumer.id = from.id;
  consumer.project = from.owner->project;
  consumer.user = from.owner->user;
  consumer.type = from.owner->type;
  for (const Allocation& row : from.allocations) {
    if (consumer.allocations.empty() || consumer.allocations.back().provider != row.provider) {
      consumer.allocations.push_back({row.provider, {}});
    }
    consumer.allocations.back().amounts.push_back(
        {catalog.classes.NameOf(row.resource_class), row.amount});
  }
  consumer.lease_expires_at = from.lease_expires_at;
  consumer.times = {from.created_at, from.updated_at};
  return consumer;
}

}  // namespace

ImportLedger ImportOf(const State& state) {
  ImportLedger import;
  int64_t record = 0;
  AddNames(state.catalog().classes, &record, &import.classes);
  AddNames(state.catalog().traits, &record, &import.traits);
  for (const auto& chunk : state.roots().chunks()) {
    for (int t = 0; t < chunk->trees.size(); ++t) {
      for (const auto& config : chunk->trees[t]->shape->configs) {
        import.providers.push_back(ProviderOf(state.catalog(), *config, ++record));
      }
    }
  }
  state.consumers().ForEach([&](ConsumerId, const ConsumerPtr& consumer) {
    import.consumers.push_back(ConsumerOf(state.catalog(), *consumer, ++record));
    return true;
  });
  state.services().ForEach([&](const auto&, const auto& service) {
    import.services.push_back({++record, *service, { service->created_at, service->updated_at }});
    return true;
  });
  state.nodes().ForEach([&](ProviderId, const auto& node) {
    import.nodes.push_back({++record, *node, { node->created_at, node->updated_at }});
    return true;
  });
  state.aggregates().by_id().ForEach([&](AggregateId, const AggregatePtr& aggregate) {
    const ImportedTimes times{aggregate->created_at, aggregate->updated_at};
    import.aggregates.push_back({++record, *aggregate, times});
  });
  state.records().groups().ForEach([&](ServerGroupId, const ServerGroupPtr& group) {
    const ImportedTimes times{group->created_at, group->updated_at};
    import.groups.push_back({++record, *group, times});
  });
  state.records().instances().ForEach([&](InstanceId, const InstancePtr& instance) {
    const ImportedTimes times{instance->created_at, instance->updated_at};
    import.instances.push_back({++record, *instance, times});
  });
  state.records().migrations().ForEach([&](MigrationId, const MigrationPtr& migration) {
    const ImportedTimes times{migration->created_at, migration->updated_at};
    import.migrations.push_back({++record, *migration, times});
  });
  return import;
}

State EmptyLike(const State& state) {
  Changes names;
  uint32_t id = 0;
  for (const auto& [name, _] : state.catalog().classes.by_name()) {
    if (IsStandardName(name)) names.push_back(ClassPut{ClassId{++id}, name});
  }
  for (const auto& [name, _] : state.catalog().traits.by_name()) {
    if (IsStandardName(name)) names.push_back(TraitPut{TraitId{++id}, name});
  }
  State empty;
  empty.Apply(names);
  return empty;
}

}  // namespace berth::placement
