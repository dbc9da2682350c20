#include "placement/store/rows.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/ground/check.h"
#include "placement/store/node_rows.h"
#include "placement/store/record_rows.h"
#include "placement/store/sql_call.h"
#include "placement/store/statement.h"

namespace berth::placement {
namespace {

template <typename Range, typename Add>
void AddNested(SqlArray& array, const Range& range, Add add) {
  array.Begin();
  for (const auto& element : range) add(element);
  array.End();
}

bool SameUse(const ProviderPlace& a, const ProviderPlace& b) {
  return a.allocation_generation() == b.allocation_generation();
}

void AddUse(SqlArray& array, const ProviderPlace& place) {
  array.Begin();
  const int rows = static_cast<int>(place.config().inventories.size());
  for (int row = 0; row < rows; ++row) array.AddInt(place.used(row));
  array.End();
}

void AddInventories(SqlCall& call, const ProviderConfig& config) {
  const auto each = [&](int column, auto add) {
    SqlArray& array = call.Column(column);
    AddNested(array, config.inventories, [&](const InventoryRow& row) { add(array, row); });
  };
  each(7, [](SqlArray& a, const InventoryRow& r) { a.AddInt(static_cast<int>(r.resource_class)); });
  each(8, [](SqlArray& a, const InventoryRow& r) { a.AddInt(r.inventory.total); });
  each(9, [](SqlArray& a, const InventoryRow& r) { a.AddInt(r.inventory.reserved); });
  each(10, [](SqlArray& a, const InventoryRow& r) { a.AddInt(r.inventory.min_unit); });
  each(11, [](SqlArray& a, const InventoryRow& r) { a.AddInt(r.inventory.max_unit); });
  each(12, [](SqlArray& a, const InventoryRow& r) { a.AddInt(r.inventory.step_size); });
  each(13, [](SqlArray& a, const InventoryRow& r) { a.AddDouble(r.inventory.allocation_ratio); });
  each(14, [](SqlArray& a, const InventoryRow& r) { a.AddInt(r.capacity); });
}

void AddProvider(SqlCall& call, const std::optional<ProviderPlace>& before,
                 const ProviderPlace& after) {
  const ProviderConfig& config = after.config();
  call.Column(0).AddUuid(config.id.uuid);
  if (before) {
    call.Column(1).AddInt(before->config().generation.value);
    call.Column(2).AddInt(before->allocation_generation().value);
  } else {
    call.Column(1).AddNull();
    call.Column(2).AddNull();
  }
  call.Column(3).AddText(config.name);
  if (config.parent) {
    call.Column(4).AddUuid(config.parent->uuid);
  } else {
    call.Column(4).AddNull();
  }
  call.Column(5).AddInt(config.generation.value);
  call.Column(6).AddInt(after.allocation_generation().value);
  AddInventories(call, config);
  AddUse(call.Column(15), after);
  bool overcommitted = false;
  for (size_t row = 0; row < config.inventories.size(); ++row) {
    overcommitted |= after.used(static_cast<int>(row)) > config.inventories[row].capacity;
  }
  call.Column(16).AddBool(overcommitted);
  AddNested(call.Column(17), config.traits,
            [&](TraitId trait) { call.Column(17).AddInt(static_cast<int>(trait)); });
  AddNested(call.Column(18), config.aggregates,
            [&](const AggregateId& aggregate) { call.Column(18).AddUuid(aggregate.uuid); });
  call.Column(19).AddInt(absl::ToUnixMicros(config.created_at));
  call.Column(20).AddInt(absl::ToUnixMicros(config.updated_at));
}

// Collects the calls of SQL functions that write one batch. A call without rows is left out.
class Calls {
 public:
  explicit Calls(const BatchRows& rows) : rows_(rows) {}

  Statement Sql() {
    ForEachEntityKind([this](EntityKind kind) { Entities(kind); });
    Statement sql;
    sql.Append("SELECT ");
    for (const SqlCall& call : calls_) {
      if (call.empty()) continue;
      call.AppendTo(&sql);
      sql.Append(",");
    }
    Names(&sql);
    Requests(&sql);
    Log(&sql);
    return sql;
  }

 private:
  void Entities(EntityKind kind) {
    switch (kind) {
      case EntityKind::kResourceClass:
      case EntityKind::kTrait:
        return;  // Names writes them
      case EntityKind::kProvider:
        return Providers();
      case EntityKind::kProviderUsage:
        return;  // written together with the providers
      case EntityKind::kConsumer:
        return Consumers();
      case EntityKind::kService:
        return Services();
      case EntityKind::kNode:
        return Nodes();
      case EntityKind::kAggregate:
        return Records(rows_.touched->aggregates, rows_.base->aggregates().by_id(),
                       rows_.next->aggregates().by_id());
      case EntityKind::kServerGroup:
        return Records(rows_.touched->groups, rows_.base->records().groups(),
                       rows_.next->records().groups());
      case EntityKind::kInstance:
        return Records(rows_.touched->instances, rows_.base->records().instances(),
                       rows_.next->records().instances());
      case EntityKind::kMigration:
        return Records(rows_.touched->migrations, rows_.base->records().migrations(),
                       rows_.next->records().migrations());
    }
  }

  void Providers() {
    for (const ProviderId id : rows_.touched->providers) {
      const std::optional<ProviderPlace> before = rows_.base->FindProvider(id);
      const std::optional<ProviderPlace> after = rows_.next->FindProvider(id);
      if (!before && !after) continue;  // made and removed within the batch
      if (!after) {
        remove_providers_.Column(0).AddUuid(id.uuid);
        remove_providers_.Column(1).AddInt(before->config().generation.value);
        remove_providers_.Column(2).AddInt(before->allocation_generation().value);
      } else if (!before || &before->config() != &after->config()) {
        AddProvider(providers_, before, *after);
      } else if (!SameUse(*before, *after)) {
        used_.Column(0).AddUuid(id.uuid);
        used_.Column(1).AddInt(before->config().generation.value);
        used_.Column(2).AddInt(before->allocation_generation().value);
        used_.Column(3).AddInt(after->allocation_generation().value);
        AddUse(used_.Column(4), *after);
      }
    }
  }

  void Consumers() {
    for (const ConsumerId id : rows_.touched->consumers) {
      const ConsumerPtr before = rows_.base->FindConsumer(id);
      const ConsumerPtr after = rows_.next->FindConsumer(id);
      if (!before && !after) continue;
      if (!after) {
        remove_consumers_.Column(0).AddUuid(id.uuid);
        remove_consumers_.Column(1).AddInt(before->generation.value);
      } else if (!before) {
        AddConsumer(insert_consumers_, 0, *after);
      } else if (before->generation != after->generation) {
        update_consumers_.Column(1).AddInt(before->generation.value);
        AddConsumer(update_consumers_, 1, *after);
      }
    }
  }

  // Adds a row for `consumer`. `shift`: how many columns of `call` are between the id and the
  // consumer's other columns.
  static void AddConsumer(SqlCall& call, int shift, const Consumer& consumer) {
    call.Column(0).AddUuid(consumer.id.uuid);
    call.Column(shift + 1).AddInt(consumer.generation.value);
    call.Column(shift + 2).AddText(consumer.owner->project);
    call.Column(shift + 3).AddText(consumer.owner->user);
    call.Column(shift + 4).AddText(consumer.owner->type);
    SqlArray& providers = call.Column(shift + 5);
    SqlArray& classes = call.Column(shift + 6);
    SqlArray& amounts = call.Column(shift + 7);
    const auto& held = consumer.allocations;
    AddNested(providers, held, [&](const Allocation& a) { providers.AddUuid(a.provider.uuid); });
    AddNested(classes, held,
              [&](const Allocation& a) { classes.AddInt(static_cast<int>(a.resource_class)); });
    AddNested(amounts, held, [&](const Allocation& a) { amounts.AddInt(a.amount); });
    call.Column(shift + 8).AddInt(absl::ToUnixMicros(consumer.created_at));
    call.Column(shift + 9).AddInt(absl::ToUnixMicros(consumer.updated_at));
    if (consumer.lease_expires_at) {
      call.Column(shift + 10).AddInt(absl::ToUnixMicros(*consumer.lease_expires_at));
    } else {
      call.Column(shift + 10).AddNull();
    }
  }

  template <typename IdType>
  void AddNames(absl::string_view table, const absl::flat_hash_set<IdType>& ids,
                const NameTable<IdType>& before, const NameTable<IdType>& after,
                Statement* sql) const {
    if (ids.empty()) return;
    SqlArray removed;
    SqlCall added("", 2);
    for (const IdType id : ids) {
      if (before.Contains(id) && !after.Contains(id)) removed.AddInt(static_cast<int>(id));
      if (before.Contains(id) || !after.Contains(id)) continue;
      added.Column(0).AddInt(static_cast<int>(id));
      added.Column(1).AddText(after.NameOf(id));
    }
    sql->Append("write_names('", table, "',");
    removed.AppendTo(sql);
    sql->Append(",");
    added.Column(0).AppendTo(sql);
    sql->Append(",");
    added.Column(1).AppendTo(sql);
    sql->Append("),");
  }

  void Names(Statement* sql) const {
    const Catalog& before = rows_.base->catalog();
    const Catalog& after = rows_.next->catalog();
    AddNames("resource_class", rows_.touched->classes, before.classes, after.classes, sql);
    AddNames("trait", rows_.touched->traits, before.traits, after.traits, sql);
  }

  void Services() {
    for (const auto& key : rows_.touched->services) {
      const auto* after = rows_.next->services().Find(key);
      if (after != nullptr) {
        AddService(**after);
      } else if (rows_.base->services().Find(key) != nullptr) {
        remove_services_.Column(0).AddText(key.first);
        remove_services_.Column(1).AddText(key.second);
      }
    }
  }

  void AddService(const ServiceRecord& service) {
    services_.Column(0).AddText(service.host);
    services_.Column(1).AddText(service.binary);
    services_.Column(2).AddUuid(service.id);
    services_.Column(3).AddUuid(service.incarnation);
    services_.Column(4).AddText(service.machine_id);
    services_.Column(5).AddText(service.version);
    services_.Column(6).AddBool(service.up);
    services_.Column(7).AddBool(service.disabled);
    services_.Column(8).AddText(service.disabled_reason);
    services_.Column(9).AddBool(service.forced_down);
    services_.Column(10).AddInt(absl::ToUnixMicros(service.created_at));
    services_.Column(11).AddInt(absl::ToUnixMicros(service.updated_at));
    services_.Column(12).AddText(service.zone);
  }

  void Nodes() {
    for (const ProviderId id : rows_.touched->nodes) {
      const auto* before = rows_.base->nodes().Find(id);
      const auto* after = rows_.next->nodes().Find(id);
      if (after != nullptr) {
        AddNode(nodes_, **after, before != nullptr && (*before)->facts == (*after)->facts);
      } else if (before != nullptr) {
        remove_nodes_.Column(0).AddUuid(id.uuid);
      }
    }
  }

  // Adds those of the records `ids` that differ in `before` and `after`.
  template <typename Ids, typename Map>
  void Records(const Ids& ids, const Map& before, const Map& after) {
    for (const auto id : ids) {
      const auto* old = before.Find(id);
      const auto* now = after.Find(id);
      if (now != nullptr && (old == nullptr || *old != *now)) {
        AddRecord(records_, old == nullptr ? std::nullopt : std::optional((*old)->generation),
                  **now);
      } else if (now == nullptr && old != nullptr) {
        RemoveRecord(remove_records_, **old);
      }
    }
  }

  void Requests(Statement* sql) const {
    if (rows_.requests.empty()) return;
    SqlCall columns("", 4);
    for (const KeptRequest& request : rows_.requests) {
      columns.Column(0).AddText(request.key.actor);
      columns.Column(1).AddText(request.key.request_id);
      columns.Column(2).AddBytes(request.body_hash);
      columns.Column(3).AddBytes(request.answer);
    }
    sql->Append("write_requests(");
    for (int i = 0; i < 4; ++i) {
      columns.Column(i).AppendTo(sql);
      sql->Append(",");
    }
    sql->AppendValue(absl::StrCat(absl::ToUnixMicros(rows_.next->position().ledger_time)));
    sql->Append("),");
  }

  void Log(Statement* sql) const {
    const Position& position = rows_.next->position();
    BERTH_CHECK(position.revision.number == rows_.base->position().revision.number + 1);
    std::string values[] = {absl::StrCat(position.revision.number),
                            absl::StrCat(position.revision.epoch),
                            position.batch.ToString(),
                            rows_.base->position().batch.ToString(),
                            absl::StrCat(absl::ToUnixMicros(position.ledger_time)),
                            absl::StrCat(position.format),
                            absl::StrCat(position.command_count),
                            absl::StrCat(position.next_class_id),
                            absl::StrCat(position.next_trait_id),
                            absl::StrCat(position.epoch_began_at),
                            BytesText(rows_.payload),
                            absl::StrCat(rows_.log_rows_kept)};
    sql->Append("append_log");
    absl::string_view separator = "(";
    for (std::string& value : values) {
      sql->Append(separator);
      separator = ",";
      sql->AppendValue(std::move(value));
    }
    sql->Append(")");
  }

  const BatchRows& rows_;
  std::deque<SqlCall> calls_;  // in the order in which they run
  SqlCall& remove_consumers_ = calls_.emplace_back("remove_consumers", 2);
  SqlCall& update_consumers_ = calls_.emplace_back("update_consumers", 12);
  SqlCall& insert_consumers_ = calls_.emplace_back("insert_consumers", 11);
  SqlCall& used_ = calls_.emplace_back("write_used", 5);
  SqlCall& remove_providers_ = calls_.emplace_back("remove_providers", 3);
  SqlCall& providers_ = calls_.emplace_back("write_providers", 21);
  SqlCall& remove_services_ = calls_.emplace_back("remove_services", 2);
  SqlCall& services_ = calls_.emplace_back("write_services", 13);
  SqlCall& remove_nodes_ = calls_.emplace_back("remove_nodes", 1);
  SqlCall& nodes_ = calls_.emplace_back("write_nodes", kNodeColumns);
  SqlCall& remove_records_ = calls_.emplace_back("remove_records", kRemovedColumns);
  SqlCall& records_ = calls_.emplace_back("write_records", kRecordColumns);
};

}  // namespace

void Touched::Add(const Changes& changes) {
  const auto add = [this](auto& ids, const auto&... id) { size += ids.emplace(id...).second; };
  const EachKind touch{
      [&](const ProviderPut& put) { add(providers, put.config->id); },
      [&](const ProviderRemoved& removed) { add(providers, removed.id); },
      [&](const ProviderUsed& used) { add(providers, used.id); },
      [&](const ConsumerPut& put) { add(consumers, put.consumer->id); },
      [&](const ConsumerRemoved& removed) { add(consumers, removed.id); },
      [&](const ClassPut& put) { add(classes, put.id); },
      [&](const ClassRemoved& removed) { add(classes, removed.id); },
      [&](const TraitPut& put) { add(traits, put.id); },
      [&](const TraitRemoved& removed) { add(traits, removed.id); },
      [&](const ServicePut& put) { add(services, put.service->host, put.service->binary); },
      [&](const ServiceRemoved& removed) { add(services, removed.host, removed.binary); },
      [&](const NodePut& put) { add(nodes, put.node->id); },
      [&](const NodeRemoved& removed) { add(nodes, removed.id); },
      [&](const AggregatePut& put) { add(aggregates, put.aggregate->id); },
      [&](const AggregateRemoved& removed) { add(aggregates, removed.id); },
      [&](const ServerGroupPut& put) { add(groups, put.group->id); },
      [&](const ServerGroupRemoved& removed) { add(groups, removed.id); },
      [&](const InstancePut& put) { add(instances, put.instance->id); },
      [&](const InstanceRemoved& removed) { add(instances, removed.id); },
      [&](const MigrationPut& put) { add(migrations, put.migration->id); },
      [&](const MigrationRemoved& removed) { add(migrations, removed.id); },
      Ignore<FormatRaised>(),  // only the log row holds the format
  };
  for (const Change& change : changes) std::visit(touch, change);
}

Statement WriteBatchSql(const BatchRows& rows) { return Calls(rows).Sql(); }

}  // namespace berth::placement
