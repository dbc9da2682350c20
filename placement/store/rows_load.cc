#include "placement/store/rows_load.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "placement/store/node_rows.h"
#include "placement/store/record_rows.h"
#include "placement/store/row_values.h"
#include "placement/store/rows.h"
#include "placement/store/sql_call.h"
#include "placement/values/change.h"

namespace berth::placement {
namespace {

constexpr int kRowsAtOnce = 20'000;
constexpr int kLargeRowsAtOnce = 256;  // for nodes and instances: one row may take 128 KiB

absl::Status Contradiction(absl::string_view what, absl::string_view which) {
  return absl::DataLossError(absl::StrCat(
      "the tables of the database contradict each other, so a backup must be restored: ", what, " ",
      which));
}

// Reads all tables into a list of changes that turns an empty state into the state in the tables.
class Loader {
 public:
  explicit Loader(Database& database) : database_(database) {}

  absl::StatusOr<State> Load() {
    State state;
    BERTH_ASSIGN_OR_RETURN(std::optional<LogRow> head, ReadHead(database_));
    if (head && head->position.format > kLogFormat) {
      return absl::FailedPreconditionError(
          "a newer release has changed the format of the ledger: run that release");
    }
    absl::Status status;
    ForEachEntityKind([&](EntityKind kind) {
      if (status.ok()) status = Entities(kind);
    });
    if (status.ok()) status = Epochs();
    if (!status.ok()) return status;
    state.Apply(changes_);
    state.set_epochs(std::move(epochs_));
    if (head) state.set_position(head->position);
    return state;
  }

 private:
  absl::Status Entities(EntityKind kind) {
    switch (kind) {
      case EntityKind::kResourceClass:
        return Names();
      case EntityKind::kTrait:
        return absl::OkStatus();  // loaded together with the classes
      case EntityKind::kProvider:
        return Providers();
      case EntityKind::kProviderUsage:
        return absl::OkStatus();  // loaded after the consumers, and checked against their amounts
      case EntityKind::kConsumer: {
        BERTH_RETURN_IF_ERROR(Consumers());
        return Uses();
      }
      case EntityKind::kService:
        return Services();
      case EntityKind::kNode:
        return Nodes();
      case EntityKind::kAggregate:
        return Aggregates();
      case EntityKind::kServerGroup:
        return ServerGroups();
      case EntityKind::kInstance:
        return Instances();
      case EntityKind::kMigration:
        return Migrations();
    }
    return absl::OkStatus();
  }

  struct Loaded {
    std::shared_ptr<const ProviderConfig> config;
    ProviderUsed used;
    std::vector<Amount> held;  // the amounts that consumers hold, parallel to used.used
    bool placed = false;       // whether the changes contain the provider already
  };

  absl::Status Names() {
    QueryRows rows;
    BERTH_RETURN_IF_ERROR(database_.Run("SELECT id, name FROM resource_class ORDER BY id", &rows));
    for (int row = 0; row < rows.size(); ++row) {
      changes_.push_back(
          ClassPut{static_cast<ClassId>(rows.Int(row, 0)), std::string(rows.Text(row, 1))});
    }
    BERTH_RETURN_IF_ERROR(database_.Run("SELECT id, name FROM trait ORDER BY id", &rows));
    for (int row = 0; row < rows.size(); ++row) {
      changes_.push_back(
          TraitPut{static_cast<TraitId>(rows.Int(row, 0)), std::string(rows.Text(row, 1))});
    }
    return absl::OkStatus();
  }

  // Calls read(rows, row) for each row of `select`, in the order of ids. `select` is a statement
  // whose first column is the id, and which a condition of the id may follow. Reads `at_once` rows
  // at a time, because the rows
  // take more memory than the state that is made from them.
  template <typename Read>
  absl::Status ForEachById(absl::string_view select, Read read, int at_once = kRowsAtOnce) {
    std::string after = "00000000-0000-0000-0000-000000000000";
    absl::string_view comparison = ">=";
    while (true) {
      QueryRows rows;
      BERTH_RETURN_IF_ERROR(database_.Run(
          absl::StrCat(select, " id ", comparison, " '", after, "' ORDER BY id LIMIT ", at_once),
          &rows));
      for (int row = 0; row < rows.size(); ++row) {
        BERTH_RETURN_IF_ERROR(read(rows, row));
      }
      if (rows.size() < at_once) return absl::OkStatus();
      after = std::string(rows.Text(rows.size() - 1, 0));
      comparison = ">";
    }
  }

  absl::Status Providers() {
    BERTH_RETURN_IF_ERROR(ForEachById(
        "SELECT id, name, parent, generation, allocation_generation, class, total, reserved, "
        "min_unit, max_unit, step_size, ratio, capacity, used, trait, aggregate, "
        "micros_of(created_at), micros_of(updated_at) FROM provider WHERE",
        [this](const QueryRows& rows, int row) { return ReadProvider(rows, row); }));
    for (auto& [id, loaded] : providers_) {
      BERTH_RETURN_IF_ERROR(Place(loaded));
    }
    return absl::OkStatus();
  }

  absl::Status ReadProvider(const QueryRows& rows, int row) {
    auto config = std::make_shared<ProviderConfig>();
    config->id = ProviderId{UuidAt(rows, row, 0)};
    config->name = std::string(rows.Text(row, 1));
    if (!rows.IsNull(row, 2)) config->parent = ProviderId{UuidAt(rows, row, 2)};
    config->generation = Generation{rows.Int(row, 3)};
    Loaded loaded;
    loaded.used.id = config->id;
    loaded.used.allocation_generation = Generation{rows.Int(row, 4)};
    if (!ReadInventories(rows, row, config.get(), &loaded.used)) {
      return Contradiction("inventories of provider", config->id.ToString());
    }
    const std::vector<int64_t> traits = IntArray(rows.Text(row, 14));
    config->traits.reserve(traits.size());
    for (const int64_t trait : traits) {
      config->traits.push_back(static_cast<TraitId>(trait));
    }
    const std::vector<Uuid> aggregates = UuidArray(rows.Text(row, 15));
    config->aggregates.reserve(aggregates.size());
    for (const Uuid& aggregate : aggregates) {
      config->aggregates.push_back(AggregateId{aggregate});
    }
    config->created_at = TimeAt(rows, row, 16);
    config->updated_at = TimeAt(rows, row, 17);
    loaded.held.resize(config->inventories.size());
    loaded.config = std::move(config);
    const ProviderId id = loaded.config->id;
    providers_.emplace(id, std::move(loaded));
    return absl::OkStatus();
  }

  // Reads the inventories and their use. Returns false if the arrays of the row differ in length.
  static bool ReadInventories(const QueryRows& rows, int row, ProviderConfig* config,
                              ProviderUsed* used) {
    std::vector<std::vector<int64_t>> columns;
    for (const int column : {5, 6, 7, 8, 9, 10, 12, 13}) {
      columns.push_back(IntArray(rows.Text(row, column)));
    }
    const std::vector<double> ratios = DoubleArray(rows.Text(row, 11));
    for (const std::vector<int64_t>& column : columns) {
      if (column.size() != ratios.size()) return false;
    }
    config->inventories.reserve(ratios.size());
    for (size_t i = 0; i < ratios.size(); ++i) {
      const auto resource_class = static_cast<ClassId>(columns[0][i]);
      config->inventories.push_back(
          {resource_class,
           {columns[1][i], columns[2][i], columns[3][i], columns[4][i], columns[5][i], ratios[i]},
           columns[6][i]});
      used->used.push_back({resource_class, columns[7][i]});
    }
    return true;
  }

  // Adds the change of a provider, after the changes of its ancestors that were not added yet.
  absl::Status Place(Loaded& loaded) {
    std::vector<Loaded*> path;
    for (Loaded* at = &loaded; !at->placed;) {
      path.push_back(at);
      if (path.size() > providers_.size()) {
        return Contradiction("a loop of parents at provider", loaded.config->id.ToString());
      }
      if (!at->config->parent) break;
      const auto parent = providers_.find(*at->config->parent);
      if (parent == providers_.end()) {
        return Contradiction("no parent for provider", at->config->id.ToString());
      }
      at = &parent->second;
    }
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      (*at)->placed = true;
      changes_.push_back(ProviderPut{(*at)->config});
    }
    return absl::OkStatus();
  }

  absl::Status Consumers() {
    return ForEachById(
        "SELECT id, generation, project, \"user\", type, provider, class, amount, "
        "micros_of(created_at), micros_of(updated_at), micros_of(lease_expires_at) FROM consumer "
        "WHERE",
        [this](const QueryRows& rows, int row) { return ReadConsumer(rows, row); });
  }

  absl::Status ReadConsumer(const QueryRows& rows, int row) {
    auto consumer = std::make_shared<Consumer>();
    consumer->id = ConsumerId{UuidAt(rows, row, 0)};
    consumer->generation = Generation{rows.Int(row, 1)};
    consumer->owner = SharedOwner({std::string(rows.Text(row, 2)), std::string(rows.Text(row, 3)),
                                   std::string(rows.Text(row, 4))});
    const std::vector<Uuid> held = UuidArray(rows.Text(row, 5));
    const std::vector<int64_t> classes = IntArray(rows.Text(row, 6));
    const std::vector<int64_t> amounts = IntArray(rows.Text(row, 7));
    if (held.empty() || held.size() != classes.size() || held.size() != amounts.size()) {
      return Contradiction("allocations of consumer", consumer->id.ToString());
    }
    for (size_t i = 0; i < held.size(); ++i) {
      const auto provider = providers_.find(ProviderId{held[i]});
      const auto resource_class = static_cast<ClassId>(classes[i]);
      const int inventory = provider == providers_.end()
                                ? -1
                                : provider->second.config->FindInventory(resource_class);
      if (inventory < 0) {
        return Contradiction("nothing to hold for consumer", consumer->id.ToString());
      }
      provider->second.held[inventory] += amounts[i];
      consumer->allocations.push_back(
          {ProviderId{held[i]}, resource_class, static_cast<int32_t>(amounts[i])});
    }
    consumer->created_at = TimeAt(rows, row, 8);
    consumer->updated_at = TimeAt(rows, row, 9);
    if (!rows.IsNull(row, 10)) consumer->lease_expires_at = TimeAt(rows, row, 10);
    changes_.push_back(ConsumerPut{std::move(consumer)});
    return absl::OkStatus();
  }

  std::shared_ptr<const Owner> SharedOwner(Owner owner) {
    std::shared_ptr<const Owner>& shared =
        owners_[absl::StrCat(owner.project, "\n", owner.user, "\n", owner.type)];
    if (!shared || *shared != owner) shared = std::make_shared<const Owner>(std::move(owner));
    return shared;
  }

  absl::Status Uses() {
    for (auto& [id, loaded] : providers_) {
      for (size_t i = 0; i < loaded.held.size(); ++i) {
        if (loaded.held[i] == loaded.used.used[i].amount) continue;
        return Contradiction("the use of provider", id.ToString());
      }
      changes_.push_back(std::move(loaded.used));
    }
    return absl::OkStatus();
  }

  absl::Status Services() {
    QueryRows rows;
    BERTH_RETURN_IF_ERROR(database_.Run(
        "SELECT host, binary_name, id, incarnation, machine_id, version, up, disabled, "
        "disabled_reason, forced_down, micros_of(created_at), micros_of(updated_at), zone "
        "FROM service ORDER BY host, binary_name",
        &rows));
    for (int row = 0; row < rows.size(); ++row) {
      auto service = std::make_shared<ServiceRecord>();
      service->host = std::string(rows.Text(row, 0));
      service->binary = std::string(rows.Text(row, 1));
      service->id = UuidAt(rows, row, 2);
      service->incarnation = UuidAt(rows, row, 3);
      service->machine_id = std::string(rows.Text(row, 4));
      service->version = std::string(rows.Text(row, 5));
      service->up = rows.Bool(row, 6);
      service->disabled = rows.Bool(row, 7);
      service->disabled_reason = std::string(rows.Text(row, 8));
      service->forced_down = rows.Bool(row, 9);
      service->created_at = TimeAt(rows, row, 10);
      service->updated_at = TimeAt(rows, row, 11);
      service->zone = std::string(rows.Text(row, 12));
      changes_.push_back(ServicePut{std::move(service)});
    }
    return absl::OkStatus();
  }

  absl::Status Nodes() {
    const auto read = [this](const QueryRows& rows, int row) {
      std::shared_ptr<NodeRecord> node = ReadNode(rows, row);
      if (node == nullptr) return Contradiction("the report of node", rows.Text(row, 0));
      changes_.push_back(NodePut{std::move(node)});
      return absl::OkStatus();
    };
    return ForEachById(kSelectNodes, read, kLargeRowsAtOnce);
  }

  absl::Status Aggregates() {
    const auto read = [this](const QueryRows& rows, int row) {
      AggregatePtr aggregate = ReadAggregate(rows, row);
      const std::string& name = aggregate->name;
      if (!name.empty() && !aggregate_names_.insert(name).second) {
        return Contradiction("a second aggregate with the name", name);
      }
      changes_.push_back(AggregatePut{std::move(aggregate)});
      return absl::OkStatus();
    };
    return ForEachById(kSelectAggregates, read, kLargeRowsAtOnce);
  }

  absl::Status ServerGroups() {
    return ForEachById(kSelectServerGroups, [this](const QueryRows& rows, int row) {
      ServerGroupPtr group = ReadServerGroup(rows, row);
      groups_.insert(group->id);
      changes_.push_back(ServerGroupPut{std::move(group)});
      return absl::OkStatus();
    });
  }

  absl::Status Instances() {
    const auto read = [this](const QueryRows& rows, int row) {
      InstancePtr instance = ReadInstance(rows, row);
      if (const auto group = MemberGroup(*instance); group && !groups_.contains(*group)) {
        return Contradiction("no server group for instance", instance->id.ToString());
      }
      instances_.insert(instance->id);
      changes_.push_back(InstancePut{std::move(instance)});
      return absl::OkStatus();
    };
    return ForEachById(kSelectInstances, read, kLargeRowsAtOnce);
  }

  absl::Status Migrations() {
    return ForEachById(kSelectMigrations, [this](const QueryRows& rows, int row) {
      MigrationPtr migration = ReadMigration(rows, row);
      if (!instances_.contains(migration->instance)) {
        return Contradiction("no instance for migration", migration->id.ToString());
      }
      changes_.push_back(MigrationPut{std::move(migration)});
      return absl::OkStatus();
    });
  }

  absl::Status Epochs() {
    QueryRows rows;
    BERTH_RETURN_IF_ERROR(
        database_.Run("SELECT number, began_at FROM epoch ORDER BY number", &rows));
    for (int row = 0; row < rows.size(); ++row) {
      epochs_.push_back({rows.Int(row, 0), rows.Int(row, 1)});
    }
    return absl::OkStatus();
  }

  Database& database_;
  std::vector<Revision> epochs_;
  Changes changes_;
  absl::flat_hash_map<ProviderId, Loaded> providers_;
  absl::flat_hash_set<std::string> aggregate_names_;
  absl::flat_hash_set<ServerGroupId> groups_;
  absl::flat_hash_set<InstanceId> instances_;
  absl::flat_hash_map<std::string, std::shared_ptr<const Owner>> owners_;
};

}  // namespace

absl::StatusOr<State> LoadTables(Database& database) { return Loader(database).Load(); }

absl::StatusOr<State> LoadState(Database& database) {
  BERTH_RETURN_IF_ERROR(
      database.Run("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", nullptr));
  absl::StatusOr<State> state = LoadTables(database);
  if (!database.broken()) (void)database.Run("ROLLBACK", nullptr);
  return state;
}

}  // namespace berth::placement
