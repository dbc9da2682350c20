#include "tests/worlds/random_commands.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "placement/values/capacity.h"

namespace berth::placement {
namespace {

std::shared_ptr<const ProviderConfig> Made(ProviderConfig config) {
  return std::make_shared<const ProviderConfig>(std::move(config));
}

}  // namespace

RandomCommands::RandomCommands(uint64_t seed, int providers_max, int consumers_max)
    : random_(seed), providers_max_(providers_max), consumers_max_(consumers_max) {}

Changes RandomCommands::Next() {
  using Draw = Changes (RandomCommands::*)();
  struct Choice {
    int weight;
    Draw draw;
  };
  static constexpr Choice kChoices[] = {
      {3, &RandomCommands::AddClass},        {1, &RandomCommands::RemoveClass},
      {3, &RandomCommands::AddTrait},        {1, &RandomCommands::RemoveTrait},
      {15, &RandomCommands::AddProvider},    {15, &RandomCommands::ChangeProvider},
      {10, &RandomCommands::MoveProvider},   {5, &RandomCommands::SwapNames},
      {5, &RandomCommands::RemoveTree},      {30, &RandomCommands::Claim},
      {12, &RandomCommands::Release},        {5, &RandomCommands::ChangeFleet},
      {3, &RandomCommands::ChangeAggregate}, {1, &RandomCommands::RemoveAggregate},
      {3, &RandomCommands::ChangeGroup},     {2, &RandomCommands::RemoveGroup},
      {5, &RandomCommands::ChangeInstance},  {1, &RandomCommands::RemoveInstance},
      {5, &RandomCommands::ChangeMigration},
  };
  Changes changes;
  while (changes.empty()) {
    int draw = Below(125);
    for (const Choice& choice : kChoices) {
      draw -= choice.weight;
      if (draw < 0) {
        changes = (this->*choice.draw)();
        break;
      }
    }
  }
  model_.Apply(changes);
  return changes;
}

Changes RandomCommands::AddClass() {
  if (model_.classes.size() >= 6) return {};
  const ClassId id{next_id_++};
  return {ClassPut{id, absl::StrCat("CUSTOM_CLASS_", next_id_)}};
}

Changes RandomCommands::RemoveClass() {
  for (const auto& [id, name] : model_.classes) {
    const bool used =
        std::any_of(model_.providers.begin(), model_.providers.end(),
                    [id = id](const auto& entry) { return entry.second.FindInventory(id) >= 0; });
    if (!used) return {ClassRemoved{id}};
  }
  return {};
}

Changes RandomCommands::AddTrait() {
  if (model_.traits.size() >= 5) return {};
  const TraitId id{next_id_++};
  return {TraitPut{id, absl::StrCat("CUSTOM_TRAIT_", next_id_)}};
}

Changes RandomCommands::RemoveTrait() {
  for (const auto& [id, name] : model_.traits) {
    const bool used =
        std::any_of(model_.providers.begin(), model_.providers.end(),
                    [id = id](const auto& entry) { return entry.second.HasTrait(id); });
    if (!used) return {TraitRemoved{id}};
  }
  return {};
}

// Keeps the classes that are in use; draws the others anew.
std::vector<InventoryRow> RandomCommands::DrawInventories(const ProviderConfig& config) {
  std::vector<InventoryRow> rows;
  for (const auto& [id, name] : model_.classes) {
    const Amount used = config.id == ProviderId{} ? 0 : model_.UsedOf(config.id, id);
    if (used == 0 && Below(2) == 0) continue;
    InventoryRow row{.resource_class = id, .inventory = {.total = 1 + Below(50)}};
    row.inventory.reserved = Below(static_cast<int>(row.inventory.total) + 1);
    row.inventory.max_unit = 1 + Below(40);
    row.inventory.allocation_ratio = Below(2) == 0 ? 1.0 : 16.0;
    row.capacity = CapacityOf(row.inventory);
    rows.push_back(row);
  }
  return rows;
}

std::vector<TraitId> RandomCommands::DrawTraits() {
  std::vector<TraitId> traits;
  for (const auto& [id, name] : model_.traits) {
    if (Below(3) == 0) traits.push_back(id);
  }
  return traits;
}

// One new provider, or a small tree of them.
Changes RandomCommands::AddProvider() {
  if (static_cast<int>(model_.providers.size()) >= providers_max_) return {};
  const Generation generation = Fresh();
  std::optional<ProviderId> parent;
  if (!model_.providers.empty() && Below(3) != 0) parent = Pick(model_.providers);
  Changes changes;
  for (int count = 1 + Below(3); count > 0; --count) {
    ProviderConfig config;
    config.id = ProviderId{Uuid{random_(), random_()}};
    config.name = absl::StrCat("provider ", ++next_id_);
    config.parent = parent;
    config.generation = generation;
    config.inventories = DrawInventories({});
    config.traits = DrawTraits();
    if (Below(2) == 0) parent = config.id;
    if (!parent) count = 1;
    changes.push_back(ProviderPut{Made(config)});
  }
  return changes;
}

Changes RandomCommands::ChangeProvider() {
  if (model_.providers.empty()) return {};
  ProviderConfig config = model_.providers.at(Pick(model_.providers));
  config.generation = config.generation.Next();
  config.inventories = DrawInventories(config);
  config.traits = DrawTraits();
  config.aggregates.clear();
  if (Below(2) == 0) config.aggregates.push_back(AggregateId{Uuid{1, random_() % 3}});
  return {ProviderPut{Made(config)}};
}

std::vector<ProviderId> RandomCommands::SubtreeOf(ProviderId root) const {
  std::vector<ProviderId> subtree;
  for (const auto& [id, config] : model_.providers) {
    ProviderId at = id;
    while (at != root && model_.providers.at(at).parent) at = *model_.providers.at(at).parent;
    if (at == root) subtree.push_back(id);
  }
  return subtree;
}

Changes RandomCommands::MoveProvider() {
  if (model_.providers.empty()) return {};
  ProviderConfig config = model_.providers.at(Pick(model_.providers));
  config.generation = config.generation.Next();
  config.parent = std::nullopt;
  if (Below(4) != 0) {
    const ProviderId target = Pick(model_.providers);
    const std::vector<ProviderId> subtree = SubtreeOf(config.id);
    if (std::count(subtree.begin(), subtree.end(), target) != 0) return {};
    config.parent = target;
  }
  return {ProviderPut{Made(config)}};
}

// Two providers swap their names, or a new one takes the name of one that goes.
Changes RandomCommands::SwapNames() {
  if (model_.providers.size() < 2) return {};
  ProviderConfig first = model_.providers.at(Pick(model_.providers));
  ProviderConfig second = model_.providers.at(Pick(model_.providers));
  if (first.id == second.id) return {};
  std::swap(first.name, second.name);
  const std::vector<ProviderId> subtree = SubtreeOf(second.id);
  const bool in_use =
      std::any_of(model_.consumers.begin(), model_.consumers.end(), [&](const auto& entry) {
        return std::any_of(entry.second.allocations.begin(), entry.second.allocations.end(),
                           [&](const Allocation& row) { return row.provider == second.id; });
      });
  if (subtree.size() == 1 && !in_use) return {ProviderPut{Made(first)}, ProviderRemoved{second.id}};
  // Both stand where they stood, so whichever is the parent comes first.
  const std::vector<ProviderId> below = SubtreeOf(first.id);
  const bool first_above = std::count(below.begin(), below.end(), second.id) != 0;
  if (!first_above) std::swap(first, second);
  return {ProviderPut{Made(first)}, ProviderPut{Made(second)}};
}

// A whole subtree goes, with what was allocated on it.
Changes RandomCommands::RemoveTree() {
  if (model_.providers.empty()) return {};
  const std::vector<ProviderId> subtree = SubtreeOf(Pick(model_.providers));
  const std::set<ProviderId> gone(subtree.begin(), subtree.end());
  Changes removed;
  Changes changed;
  for (const auto& [id, consumer] : model_.consumers) {
    Consumer rest = consumer;
    std::erase_if(rest.allocations,
                  [&](const Allocation& row) { return gone.contains(row.provider); });
    if (rest.allocations.size() == consumer.allocations.size()) continue;
    rest.generation = rest.generation.Next();
    if (rest.allocations.empty()) {
      removed.push_back(ConsumerRemoved{id});
    } else {
      changed.push_back(ConsumerPut{std::make_shared<const Consumer>(rest)});
    }
  }
  Changes changes = removed;
  changes.insert(changes.end(), changed.begin(), changed.end());
  AppendUsed(changes);
  std::vector<std::pair<int, ProviderId>> by_depth;
  for (const ProviderId id : subtree) {
    int depth = 0;
    for (ProviderId at = id; model_.providers.at(at).parent; ++depth) {
      at = *model_.providers.at(at).parent;
    }
    by_depth.emplace_back(-depth, id);
  }
  std::sort(by_depth.begin(), by_depth.end());
  for (const auto& [depth, id] : by_depth) changes.push_back(ProviderRemoved{id});
  return changes;
}

std::vector<Allocation> RandomCommands::DrawAllocations() {
  std::set<std::pair<ProviderId, ClassId>> drawn;
  for (int count = 1 + Below(3); count > 0; --count) {
    const ProviderConfig& config = model_.providers.at(Pick(model_.providers));
    for (const InventoryRow& row : config.inventories) {
      if (Below(2) == 0) drawn.emplace(config.id, row.resource_class);
    }
  }
  std::vector<Allocation> allocations;
  for (const auto& [provider, resource_class] : drawn) {
    allocations.push_back({provider, resource_class, 1 + Below(8)});
  }
  return allocations;
}

Changes RandomCommands::Claim() {
  if (model_.providers.empty()) return {};
  Changes changes;
  for (int count = 1 + Below(2); count > 0; --count) {
    const bool renew =
        !model_.consumers.empty() &&
        (Below(3) == 0 || static_cast<int>(model_.consumers.size()) >= consumers_max_);
    Consumer consumer;
    if (renew) {
      consumer = model_.consumers.at(Pick(model_.consumers));
      consumer.generation = consumer.generation.Next();
    } else {
      consumer.id = ConsumerId{Uuid{random_(), random_()}};
      consumer.generation = Fresh();
      consumer.created_at = absl::FromUnixMicros(1'700'000'000'000'000 + commands_);
    }
    if (!renew || Below(2) == 0) {
      consumer.owner = std::make_shared<const Owner>(Owner{absl::StrCat("project ", Below(3)),
                                                           absl::StrCat("user ", Below(2)),
                                                           Below(2) ? "A" : ""});
    }
    consumer.updated_at = absl::FromUnixMicros(1'700'000'000'000'000 + commands_);
    consumer.lease_expires_at.reset();
    if (Below(3) == 0) {
      consumer.lease_expires_at = consumer.updated_at + absl::Seconds(1 + Below(3));
    }
    consumer.allocations = DrawAllocations();
    if (consumer.allocations.empty()) return {};
    // A second draw of the same consumer would be a second change of it in one command.
    if (!changes.empty() && std::get<ConsumerPut>(changes[0]).consumer->id == consumer.id) break;
    changes.push_back(ConsumerPut{std::make_shared<const Consumer>(consumer)});
  }
  AppendUsed(changes);
  return changes;
}

Changes RandomCommands::Release() {
  if (model_.consumers.empty()) return {};
  Changes changes = {ConsumerRemoved{Pick(model_.consumers)}};
  AppendUsed(changes);
  return changes;
}

void RandomCommands::AppendUsed(Changes& changes) {
  std::set<ProviderId> touched;
  const auto touch = [&touched](const std::vector<Allocation>& rows) {
    for (const Allocation& row : rows) touched.insert(row.provider);
  };
  ModelState after = model_;
  after.Apply(changes);
  for (const Change& change : changes) {
    const ConsumerPut* put = std::get_if<ConsumerPut>(&change);
    const ConsumerId id = put != nullptr ? put->consumer->id : std::get<ConsumerRemoved>(change).id;
    if (put != nullptr) touch(put->consumer->allocations);
    const auto before = model_.consumers.find(id);
    if (before != model_.consumers.end()) touch(before->second.allocations);
  }
  for (const ProviderId id : touched) {
    ProviderUsed used{id, model_.allocation_generations.at(id).Next(), {}};
    for (const InventoryRow& row : model_.providers.at(id).inventories) {
      used.used.push_back({row.resource_class, after.UsedOf(id, row.resource_class)});
    }
    changes.push_back(std::move(used));
  }
}

Changes RandomCommands::ChangeFleet() {
  ServiceRecord service;
  service.host = absl::StrCat("host ", Below(4));
  service.binary = Below(8) == 0 ? "another" : "berth-tracker";
  service.up = Below(4) > 0;
  service.forced_down = Below(4) == 0;
  service.version = absl::StrCat(++next_id_);
  NodeRecord node;
  node.id = ProviderId{Uuid{7, static_cast<uint64_t>(Below(4))}};
  node.host = absl::StrCat("host ", Below(4));
  node.retired = Below(4) == 0;
  node.digest = absl::StrCat(next_id_);
  // Encoded messages berth.placement.v1.Node: one with a host_ip among its facts, one with the result
  // of an audit.
  const char length = static_cast<char>(node.digest.size());
  const std::string ip = std::string{'\x22', length} + node.digest;
  if (Below(2) == 0) {
    node.facts =
        std::make_shared<const std::string>(std::string{'\x5a', static_cast<char>(ip.size())} + ip);
  }
  node.account = {'\x52', 2, 8, static_cast<char>(next_id_ % 100)};
  node.sums.total = {static_cast<int64_t>(next_id_), 1, 2, 3};
  node.sums.used = {4, -static_cast<int64_t>(next_id_), 6, 7};
  if (Below(2) == 0) node.sums.disk_available_least_gib = -static_cast<int64_t>(next_id_);
  node.sums.instance_count = 8;
  node.sums.task_count = next_id_;
  node.sums.storage_id = node.digest;
  if (Below(4) == 0) node.digest.clear();
  switch (Below(4)) {
    case 0:
      return {ServicePut{std::make_shared<const ServiceRecord>(service)},
              NodePut{std::make_shared<const NodeRecord>(node)}};
    case 1:
      return {NodePut{std::make_shared<const NodeRecord>(node)}};
    case 2:
      if (!model_.services.contains({service.host, service.binary})) return {};
      return {ServiceRemoved{service.host, service.binary}};
    default:
      if (!model_.nodes.contains(node.id)) return {};
      return {NodeRemoved{node.id}};
  }
}

}  // namespace berth::placement
