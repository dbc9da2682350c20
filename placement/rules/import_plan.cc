#include "placement/rules/import_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "placement/commands/fleet_node.h"
#include "placement/commands/inventory_write.h"
#include "placement/commands/record_fault.h"
#include "placement/ground/check.h"
#include "placement/rules/import_form.h"
#include "placement/state/lookup.h"
#include "placement/values/capacity.h"

namespace berth::placement {
namespace {

using Code = absl::StatusCode;

constexpr size_t kOverCapacityMax = 1000;  // the most that the answer lists

template <typename Entity>
void SetTimes(const ImportedTimes& times, absl::Time now, Entity& entity) {
  entity.created_at = times.created_at.value_or(now);
  entity.updated_at = times.updated_at.value_or(now);
}

FaultItem ItemOf(const ImportedConsumer& record, const NamedAmount& amount,
                 const ProviderConfig& provider) {
  return {{"consumer", record.id.ToString()},
          {"provider", provider.id.ToString()},
          {"resource_class", amount.resource_class},
          {"requested", absl::StrCat(amount.amount)}};
}

std::string NameOf(const NamedAmount& amount, const ProviderConfig& provider) {
  return absl::StrCat(amount.resource_class, " of ", Describe(provider));
}

}  // namespace

ImportPlan::ImportPlan(const State& state, const ImportLedger& command, const RuleContext& context)
    : state_(state),
      command_(command),
      context_(context),
      classes_(state.catalog().classes),
      traits_(state.catalog().traits) {}

absl::Status ImportPlan::CheckEmpty() const {
  if (!command_.require_empty || EntityCount(state_) == 0) return absl::OkStatus();
  return Refuse(
      Code::kFailedPrecondition, "WRONG_LEDGER_STATE",
      absl::StrCat("the ledger must be empty, but it has ", state_.provider_count(), " providers, ",
                   state_.consumers().size(), " consumers, ", state_.services().size(),
                   " services, ", state_.records().instances().size(),
                   " instances, or custom classes or traits"),
      {{{"state", "NOT_EMPTY"}}});
}

void ImportPlan::Note(Stage stage, RecordNumber record, absl::FunctionRef<absl::Status()> refusal) {
  if (stage >= stage_) return;
  stage_ = stage;
  fault_ = AtRecord(record, refusal());
}

absl::Status ImportPlan::Settle() {
  // Most imported providers have a ProviderUsed, too.
  changes_.reserve(static_cast<size_t>(command_.size()) + command_.providers.size());
  command_.ForEachKind([this](const auto& records) { Add(records); });
  return fault_;
}

template <typename Put, typename IdType>
void ImportPlan::AddNames(const std::vector<ImportedName<IdType>>& records,
                          NameTable<IdType>& table) {
  for (const ImportedName<IdType>& record : records) {
    if (table.Find(record.name)) continue;
    const IdType id = table.NextId();
    table.Insert(id, record.name);
    changes_.push_back(Put{id, record.name});
  }
}

void ImportPlan::Add(const std::vector<ImportedName<ClassId>>& records) {
  AddNames<ClassPut>(records, classes_);
}

void ImportPlan::Add(const std::vector<ImportedName<TraitId>>& records) {
  AddNames<TraitPut>(records, traits_);
}

void ImportPlan::Add(const std::vector<ImportedProvider>& records) {
  new_providers_.reserve(records.size());
  configs_.reserve(records.size());
  for (const ImportedProvider& record : records) AddProvider(record);
}

void ImportPlan::Add(const std::vector<ImportedConsumer>& records) {
  for (const ImportedConsumer& record : records) AddConsumer(record);
  AddUsed();
}

// Notes the refusals that apply: SELF_PARENT or PARENT_NOT_FOUND; DUPLICATE_PROVIDER.
void ImportPlan::CheckProvider(const ImportedProvider& record) {
  if (record.parent == record.id) {
    Note(Stage::kSelfParent, record.record, [&] {
      return Refuse(Code::kInvalidArgument, "SELF_PARENT",
                    absl::StrCat("provider ", record.name, " cannot be its own parent"),
                    {{{"provider", record.id.ToString()}}});
    });
  } else if (record.parent && !new_providers_.contains(*record.parent) &&
             !state_.FindProvider(*record.parent)) {
    Note(Stage::kParent, record.record, [&] {
      return Refuse(
          Code::kNotFound, "PARENT_NOT_FOUND",
          absl::StrCat("the parent provider ", record.parent->ToString(), " does not exist"),
          {{{"provider", record.parent->ToString()}, {"field", "provider.parent_uuid"}}});
    });
  }
  const bool there = state_.FindProvider(record.id).has_value();
  const std::optional<ProviderId> holder = NameHolder(state_, record.name, record.id);
  if (!there && !holder) return;
  Note(Stage::kProvider, record.record, [&] {
    return Refuse(Code::kAlreadyExists, "DUPLICATE_PROVIDER",
                  there
                      ? absl::StrCat("there is already a provider with uuid ", record.id.ToString())
                      : absl::StrCat("the name ", record.name, " belongs already to provider ",
                                     holder->ToString()),
                  {{{"provider", there ? record.id.ToString() : holder->ToString()},
                    {"field", there ? "provider.uuid" : "provider.name"}}});
  });
}

std::optional<ClassId> ImportPlan::ClassOf(RecordNumber record, const std::string& name) {
  const std::optional<ClassId> id = classes_.Find(name);
  if (!id) {
    Note(Stage::kClass, record, [&] {
      return Refuse(Code::kNotFound, "RESOURCE_CLASS_NOT_FOUND",
                    absl::StrCat("there is no resource class ", name),
                    {{{"resource_class", name}}});
    });
  }
  return id;
}

void ImportPlan::AddProvider(const ImportedProvider& record) {
  CheckProvider(record);
  ProviderConfig config;
  config.id = record.id;
  config.name = record.name;
  config.parent = record.parent;
  config.generation = context_.fresh;
  for (const NamedInventory& named : record.inventories) {
    const std::optional<ClassId> id = ClassOf(record.record, named.resource_class);
    if (id) config.inventories.push_back(MakeRow(*id, named.inventory));
  }
  std::sort(config.inventories.begin(), config.inventories.end(), ByClass);
  for (const std::string& name : record.traits) {
    if (const std::optional<TraitId> id = traits_.Find(name)) {
      config.traits.push_back(*id);
      continue;
    }
    Note(Stage::kTrait, record.record, [&] {
      return Refuse(Code::kNotFound, "TRAIT_NOT_FOUND", absl::StrCat("there is no trait ", name),
                    {{{"trait", name}}});
    });
  }
  std::sort(config.traits.begin(), config.traits.end());
  config.traits.erase(std::unique(config.traits.begin(), config.traits.end()), config.traits.end());
  config.aggregates = record.aggregates;
  std::sort(config.aggregates.begin(), config.aggregates.end());
  SetTimes(record.times, context_.now, config);
  configs_.push_back(std::make_shared<const ProviderConfig>(std::move(config)));
  new_providers_.emplace(record.id, configs_.back());
  changes_.push_back(ProviderPut{configs_.back()});
}

// The entry of the provider in taken_, made if absent; null if the provider does not exist.
ImportPlan::Taken* ImportPlan::Take(ProviderId id) {
  const auto found = taken_.find(id);
  if (found != taken_.end()) return &found->second;
  Taken taken;
  const auto brought = new_providers_.find(id);
  if (brought != new_providers_.end()) {
    taken.config = brought->second.get();
  } else {
    taken.place = state_.FindProvider(id);
    if (!taken.place) return nullptr;
    taken.config = &taken.place->config();
  }
  const size_t rows = taken.config->inventories.size();
  taken.before.resize(rows);
  taken.asked.resize(rows);
  for (size_t row = 0; taken.place && row < rows; ++row) {
    taken.before[row] = taken.place->used(static_cast<int>(row));
  }
  return &taken_.emplace(id, std::move(taken)).first->second;
}

void ImportPlan::AddRow(const ImportedConsumer& record, Taken& taken, const NamedAmount& amount,
                        Consumer& consumer) {
  const std::optional<ClassId> id = ClassOf(record.record, amount.resource_class);
  if (!id) return;
  const int row = taken.config->FindInventory(*id);
  if (row < 0) {
    return Note(Stage::kInventory, record.record, [&] {
      return Refuse(Code::kFailedPrecondition, "NO_INVENTORY",
                    absl::StrCat(NameOf(amount, *taken.config),
                                 ": the provider has no inventory of the class"),
                    {ItemOf(record, amount, *taken.config)});
    });
  }
  taken.asked[row] += amount.amount;
  consumer.allocations.push_back({taken.config->id, *id, static_cast<int32_t>(amount.amount)});
  if (taken.place) CheckRow(record, taken, amount, row);
}

// Checks `amount` against the units and the capacity of a provider that existed before the import.
void ImportPlan::CheckRow(const ImportedConsumer& record, const Taken& taken,
                          const NamedAmount& amount, int row) {
  const InventoryRow& inventory = taken.config->inventories[static_cast<size_t>(row)];
  if (!UnitsAllow(inventory.inventory, amount.amount)) {
    Note(Stage::kUnits, record.record, [&] {
      return Refuse(
          Code::kFailedPrecondition, "UNIT_CONSTRAINT_VIOLATED",
          absl::StrCat(
              NameOf(amount, *taken.config), ": ", amount.amount,
              " is not an amount that min_unit, max_unit and step_size of the inventory allow"),
          {ItemOf(record, amount, *taken.config)});
    });
  }
  const Amount before = taken.before[row];
  if (RoomAllows(inventory.capacity, before, before + taken.asked[row])) return;
  Note(Stage::kRoom, record.record, [&] {
    FaultItem full = ItemOf(record, amount, *taken.config);
    full["used"] = absl::StrCat(before);
    full["capacity"] = absl::StrCat(inventory.capacity);
    return Refuse(
        Code::kResourceExhausted, "CAPACITY_EXCEEDED",
        absl::StrCat(NameOf(amount, *taken.config), ": ", taken.asked[row],
                     " are more than is free: ", before, " of ", inventory.capacity, " are in use"),
        {full});
  });
}

void ImportPlan::AddConsumer(const ImportedConsumer& record) {
  if (const ConsumerPtr there = state_.FindConsumer(record.id)) {
    Note(Stage::kConsumer, record.record, [&] {
      return Refuse(Code::kAborted, "CONSUMER_GENERATION_CONFLICT",
                    absl::StrCat("consumer ", record.id.ToString(), " holds something already"),
                    {{{"consumer", record.id.ToString()},
                      {"expected_generation", "new"},
                      {"actual_generation", absl::StrCat(there->generation.value)}}});
    });
  }
  auto consumer = std::make_shared<Consumer>();
  consumer->id = record.id;
  consumer->generation = context_.fresh;
  consumer->lease_expires_at = record.lease_expires_at;
  SetTimes(record.times, context_.now, *consumer);
  std::shared_ptr<const Owner>& owner = owners_[{record.project, record.user, record.type}];
  if (owner == nullptr) owner = state_.ShareOwner({record.project, record.user, record.type});
  consumer->owner = owner;
  for (const ProviderAmounts& group : record.allocations) {
    Taken* const taken = Take(group.provider);
    if (taken == nullptr) {
      Note(Stage::kHeldProvider, record.record, [&] {
        return Refuse(
            Code::kNotFound, "PROVIDER_NOT_FOUND",
            absl::StrCat("there is no provider ", group.provider.ToString()),
            {{{"provider", group.provider.ToString()}, {"consumer", record.id.ToString()}}});
      });
      continue;
    }
    for (const NamedAmount& amount : group.amounts) AddRow(record, *taken, amount, *consumer);
  }
  std::sort(consumer->allocations.begin(), consumer->allocations.end());
  changes_.push_back(ConsumerPut{std::move(consumer)});
}

void ImportPlan::Add(const std::vector<ImportedService>& records) {
  for (const ImportedService& record : records) {
    ServiceRecord service = record.service;
    if (state_.FindServiceById(service.id) || FindService(state_, service.host, service.binary)) {
      Note(Stage::kService, record.record, [&] {
        return Refuse(
            Code::kAlreadyExists, "DUPLICATE_SERVICE",
            absl::StrCat("there is already a service ", service.binary, " on host ", service.host,
                         ", or a service with uuid ", service.id.ToString()),
            {{{"service", service.id.ToString()}, {"field", "service.uuid"}}});
      });
    }
    SetTimes(record.times, context_.now, service);
    changes_.push_back(ServicePut{std::make_shared<const ServiceRecord>(std::move(service))});
  }
}

void ImportPlan::Add(const std::vector<ImportedNode>& records) {
  for (const ImportedNode& record : records) {
    NodeRecord node = record.node;
    const std::string id = node.id.ToString();
    if (!new_providers_.contains(node.id) && !state_.FindProvider(node.id)) {
      Note(Stage::kNodeProvider, record.record, [&] {
        return Refuse(Code::kNotFound, "PROVIDER_NOT_FOUND",
                      absl::StrCat("there is no provider ", id, ", which is the root of the node"),
                      {{{"provider", id}, {"field", "node.uuid"}}});
      });
    }
    const bool there = FindNode(state_, node.id) != nullptr;
    const std::vector<NodeRecordPtr> of_host = state_.NodesOf(node.host);
    const bool named = std::any_of(of_host.begin(), of_host.end(), [&](const NodeRecordPtr& other) {
      return other->name == node.name;
    });
    if (there || named) {
      Note(Stage::kNode, record.record, [&] {
        return Refuse(Code::kAlreadyExists, "DUPLICATE_NODE",
                      there
                          ? absl::StrCat("there is already a node with uuid ", id)
                          : absl::StrCat("host ", node.host, " has a node ", node.name, " already"),
                      {{{"provider", id}, {"field", there ? "node.uuid" : "node.name"}}});
      });
    }
    SetTimes(record.times, context_.now, node);
    changes_.push_back(NodePut{std::make_shared<const NodeRecord>(std::move(node))});
  }
}

void ImportPlan::AddUsed() {
  std::vector<ProviderId> ids;
  ids.reserve(taken_.size());
  for (const auto& [id, _] : taken_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const ProviderId id : ids) {
    const Taken& taken = taken_.at(id);
    ProviderUsed used;
    used.id = id;
    used.allocation_generation =
        taken.place ? taken.place->allocation_generation().Next() : context_.fresh;
    const std::vector<InventoryRow>& rows = taken.config->inventories;
    used.used.reserve(rows.size());
    for (size_t row = 0; row < rows.size(); ++row) {
      used.used.push_back({rows[row].resource_class, taken.before[row] + taken.asked[row]});
    }
    changes_.push_back(std::move(used));
  }
}

void ImportPlan::TellOverCapacity(Result& result) const {
  for (const ConfigPtr& config : configs_) {
    const auto taken = taken_.find(config->id);
    if (taken == taken_.end()) continue;
    for (size_t row = 0; row < config->inventories.size(); ++row) {
      const InventoryRow& inventory = config->inventories[row];
      const Amount used = taken->second.asked[row];
      if (used <= inventory.capacity) continue;
      if (result.over_capacity.size() == kOverCapacityMax) return;
      result.over_capacity.push_back(
          {config->id, classes_.NameOf(inventory.resource_class), used, inventory.capacity});
    }
  }
}

Outcome ImportPlan::MakeOutcome() {
  BERTH_CHECK(fault_.ok());
  Outcome outcome;
  outcome.result.imported = command_.size();
  TellOverCapacity(outcome.result);
  outcome.changes = std::move(changes_);
  return outcome;
}

}  // namespace berth::placement
