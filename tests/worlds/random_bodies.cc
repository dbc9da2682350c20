#include "tests/worlds/random_bodies.h"

#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth::placement {
namespace {

const std::vector<std::string>& Classes() {
  static const auto* const names =
      new std::vector<std::string>{"VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_A", "CUSTOM_B"};
  return *names;
}
const std::vector<std::string>& CatalogNames() {
  static const auto* const names = new std::vector<std::string>{
      "CUSTOM_A", "CUSTOM_B", "CUSTOM_C", "OWNER_NOVA", "VCPU", "NO_SUCH", "lower", "CUSTOM_", ""};
  return *names;
}
const std::vector<std::string>& Traits() {
  static const auto* const names =
      new std::vector<std::string>{"OWNER_NOVA", "OWNER_NOVA", "CUSTOM_A", "CUSTOM_B", "CUSTOM_C"};
  return *names;
}

}  // namespace

ProviderId RandomBodies::Provider() {
  return ProviderId{Uuid{1, static_cast<uint64_t>(Below(12))}};
}

std::optional<Generation> RandomBodies::Expected(const ModelLedger& model, ProviderId id) {
  if (OneIn(20)) return std::nullopt;
  if (OneIn(10) || !model.providers.contains(id)) return Generation{Below(1000)};
  return model.providers.at(id).generation;
}

std::optional<Generation> RandomBodies::Expected(const ModelLedger& model, ConsumerId id) {
  if (OneIn(15)) return Generation{Below(1000)};
  if (OneIn(15) || !model.consumers.contains(id)) return std::nullopt;
  return model.consumers.at(id).generation;
}

Amount RandomBodies::SomeAmount() {
  if (OneIn(60)) return Below(2) * int64_t{2147483648};
  return 1 + Below(OneIn(4) ? 12 : 4);
}

NamedInventory RandomBodies::SomeInventory() {
  NamedInventory named{Pick(Classes()), {}};
  Inventory& row = named.inventory;
  row.total = OneIn(40) ? 0 : 1 + Below(24);
  row.reserved = OneIn(4) ? Below(8) : 0;
  row.min_unit = OneIn(6) ? Below(4) : 1;
  row.max_unit = OneIn(4) ? 1 + Below(6) : row.total + 1;
  row.step_size = OneIn(6) ? 1 + Below(3) : 1;
  constexpr double kRatios[] = {0.5, 1.5, 2, 0.29, 0, std::numeric_limits<double>::quiet_NaN()};
  row.allocation_ratio = OneIn(3) ? kRatios[Below(OneIn(5) ? 6 : 4)] : 1.0;
  return named;
}

std::vector<NamedInventory> RandomBodies::SomeInventories() {
  std::vector<NamedInventory> rows;
  for (int count = Below(4); count > 0; --count) rows.push_back(SomeInventory());
  return rows;
}

CommandBody RandomBodies::ProviderCommand(const ModelLedger& model) {
  const ProviderId id = Provider();
  const std::string name =
      absl::StrCat(OneIn(40) ? "" : "p", OneIn(40) ? "" : absl::StrCat(Below(14)));
  const std::optional<ProviderId> parent =
      OneIn(4) ? std::nullopt : std::optional<ProviderId>(Provider());
  switch (Below(6)) {
    case 0:
      return DeleteProvider{id};
    case 1:
    case 2: {
      UpdateProvider update{id, std::nullopt, std::nullopt, std::nullopt};
      if (OneIn(3)) update.name = name;
      if (!OneIn(4)) update.parent.emplace(parent);
      if (OneIn(2)) update.expected_generation = Expected(model, id);
      return update;
    }
    default:
      return CreateProvider{id, name, parent};
  }
}

CommandBody RandomBodies::InventoryCommand(const ModelLedger& model) {
  const ProviderId id = Provider();
  switch (Below(6)) {
    case 0:
      return CreateInventory{id, Expected(model, id), SomeInventory()};
    case 1:
      return UpdateInventory{id, Expected(model, id), SomeInventory()};
    case 2: {
      DeleteInventory drop{id, Expected(model, id), Pick(Classes())};
      if (OneIn(6)) drop.resource_class.reset();
      return drop;
    }
    default:
      return SetInventories{id, Expected(model, id), SomeInventories()};
  }
}

CommandBody RandomBodies::AssociationCommand(const ModelLedger& model) {
  const ProviderId id = Provider();
  if (OneIn(3)) {
    SetProviderAggregates set{id, Expected(model, id), {}};
    for (int count = Below(3); count > 0; --count) {
      set.aggregates.push_back(AggregateId{Uuid{3, static_cast<uint64_t>(Below(4))}});
    }
    return set;
  }
  if (OneIn(6)) return ClearProviderTraits{id, Expected(model, id)};
  SetProviderTraits set{id, Expected(model, id), {}};
  for (int count = Below(3); count > 0; --count) set.traits.push_back(Pick(Traits()));
  return set;
}

CommandBody RandomBodies::CatalogCommand() {
  const std::string& name = Pick(CatalogNames());
  switch (Below(5)) {
    case 0:
      return DeleteClass{name};
    case 1:
      return DeleteTrait{name};
    case 2:
      return EnsureTrait{name};
    case 3:
      return EnsureStandardNames{{"VCPU", "MEMORY_MB", "DISK_GB"}, {"OWNER_NOVA"}};
    default:
      return CreateClass{name, OneIn(2)};
  }
}

ConsumerAllocations RandomBodies::SomeClaim(const ModelLedger& model) {
  const ConsumerId id = Consumer();
  ConsumerAllocations claim{id,
                            Expected(model, id),
                            absl::StrCat("project", Below(3)),
                            "user",
                            OneIn(3) ? "MIGRATION" : "INSTANCE",
                            {}};
  if (OneIn(60)) claim.user = "";
  if (OneIn(5)) claim.lease = SomeLease();
  if (OneIn(6)) return claim;
  for (int count = 1 + Below(OneIn(4) ? 3 : 1); count > 0; --count) {
    ProviderAmounts group{Provider(), {}};
    // Mostly what the provider has, so that claims get as far as units and room.
    const auto found = model.providers.find(group.provider);
    if (found != model.providers.end()) {
      for (const auto& [name, row] : found->second.inventories) {
        if (OneIn(2)) group.amounts.push_back({name, SomeAmount()});
      }
    }
    if (group.amounts.empty() || OneIn(30))
      group.amounts.push_back({Pick(Classes()), SomeAmount()});
    claim.allocations.push_back(std::move(group));
  }
  return claim;
}

CommandBody RandomBodies::AllocationCommand(const ModelLedger& model) {
  if (OneIn(8)) {
    const ConsumerId id = Consumer();
    return DeleteAllocations{id, OneIn(2) ? std::nullopt : Expected(model, id)};
  }
  SetAllocations set;
  for (int count = 1 + Below(OneIn(3) ? 3 : 1); count > 0; --count) {
    set.consumers.push_back(SomeClaim(model));
  }
  return set;
}

std::optional<absl::Duration> RandomBodies::SomeLease() {
  if (OneIn(4)) return std::nullopt;
  return OneIn(20) ? absl::Milliseconds(999) : absl::Milliseconds(1000 + Below(20000));
}

CommandBody RandomBodies::LeaseCommand(const ModelLedger& model) {
  if (OneIn(3)) return ExpireLeases();
  const ConsumerId id = Consumer();
  return SetLease{id, OneIn(2) ? std::nullopt : Expected(model, id), SomeLease()};
}

ProviderTopology RandomBodies::SomeTopology(const ModelLedger& model, ProviderId id) {
  ProviderTopology wanted;
  wanted.provider = id;
  const auto found = model.providers.find(id);
  if (found != model.providers.end() && !OneIn(30)) {
    wanted.expected_generation = OneIn(20) ? Generation{Below(1000)} : found->second.generation;
    if (!OneIn(10)) {
      wanted.expected_allocation_generation = found->second.allocation_generation;
    }
  }
  if (!wanted.expected_generation || OneIn(3)) {
    wanted.name = OneIn(40) ? "" : absl::StrCat("p", Below(20));
  }
  if (OneIn(2)) wanted.parent.emplace(OneIn(4) ? std::nullopt : std::optional(Provider()));
  if (OneIn(2)) wanted.inventories = SomeInventories();
  if (OneIn(3)) wanted.traits = std::vector<std::string>(1, Pick(Traits()));
  if (OneIn(3)) wanted.aggregates.emplace(1, AggregateId{Uuid{3, 1}});
  return wanted;
}

CommandBody RandomBodies::TopologyCommand(const ModelLedger& model) {
  ApplyTopology topology;
  topology.validate_only = OneIn(6);
  std::set<ProviderId> ids;
  for (int count = Below(4); count > 0; --count) {
    const ProviderId id = Provider();
    if (ids.insert(id).second || OneIn(10)) topology.providers.push_back(SomeTopology(model, id));
  }
  for (int count = OneIn(2) ? Below(3) : 0; count > 0; --count) {
    const ProviderId id = Provider();
    if (!model.providers.contains(id) && !OneIn(10)) continue;
    if (!ids.insert(id).second && !OneIn(10)) continue;
    topology.removed.push_back({id, OneIn(2) ? std::nullopt : Expected(model, id)});
  }
  for (int count = Below(3); count > 0; --count) topology.consumers.push_back(SomeClaim(model));
  if (OneIn(2)) {
    const ProviderId last = ids.empty() ? Provider() : *ids.rbegin();
    AddHolders(model, topology.providers.empty() ? last : topology.providers.front().provider,
               topology.consumers);
  }
  return topology;
}

CommandBody RandomBodies::AdjustCommand(const ModelLedger& model) {
  const ConsumerId id = Consumer();
  AdjustAllocations adjust{id, OneIn(2) ? std::nullopt : Expected(model, id), {}};
  const auto found = model.consumers.find(id);
  const auto change = [&] { return OneIn(2) ? SomeAmount() : -SomeAmount(); };
  for (int count = 1 + Below(2); count > 0; --count) {
    ProviderAmounts group{Provider(), {}};
    // Mostly of what it holds, and often all of it.
    if (found != model.consumers.end() && !OneIn(4)) {
      const auto& rows = found->second.rows;
      const auto& [key, held] = *std::next(rows.begin(), Below(static_cast<int>(rows.size())));
      group.provider = key.first;
      group.amounts.push_back({key.second, OneIn(3) ? -held : change()});
    }
    if (group.amounts.empty() || OneIn(6)) group.amounts.push_back({Pick(Classes()), change()});
    adjust.adjustments.push_back(std::move(group));
  }
  return adjust;
}

CommandBody RandomBodies::ReleaseCommand(const ModelLedger& model) {
  ReleaseConsumers release;
  for (int count = 1 + Below(3); count > 0; --count) {
    const ConsumerId id = Consumer();
    release.consumers.push_back({id, OneIn(2) ? std::nullopt : Expected(model, id)});
  }
  return release;
}

ReshapedProvider RandomBodies::SomeReshaped(const ModelLedger& model, ProviderId id) {
  ReshapedProvider reshaped{id, OneIn(3) ? Expected(model, id) : Generation{1}, Generation{1},
                            SomeInventories()};
  const auto found = model.providers.find(id);
  if (found == model.providers.end()) return reshaped;
  if (!OneIn(10)) reshaped.expected_generation = found->second.generation;
  if (!OneIn(20)) reshaped.expected_allocation_generation = found->second.allocation_generation;
  // Mostly what it has already, so that much of it stays.
  if (!OneIn(3)) reshaped.inventories.clear();
  for (const auto& [name, row] : found->second.inventories) {
    if (!OneIn(4)) reshaped.inventories.push_back({name, row});
  }
  return reshaped;
}

void RandomBodies::AddHolders(const ModelLedger& model, ProviderId provider,
                              std::vector<ConsumerAllocations>& consumers) {
  for (const auto& [id, consumer] : model.consumers) {
    if (!OneIn(2)) continue;
    ConsumerAllocations claim{id, consumer.generation, "project0", "user", "INSTANCE", {}};
    for (const auto& [key, amount] : consumer.rows) {
      if (claim.allocations.empty() || claim.allocations.back().provider != key.first) {
        claim.allocations.push_back({key.first, {}});
      }
      claim.allocations.back().amounts.push_back({key.second, amount});
    }
    if (!OneIn(4)) claim.allocations.front().provider = provider;
    consumers.push_back(std::move(claim));
  }
}

CommandBody RandomBodies::ReshapeCommand(const ModelLedger& model) {
  Reshape reshape;
  reshape.validate_only = OneIn(6);
  std::set<ProviderId> ids;
  for (int count = 1 + Below(3); count > 0; --count) {
    ProviderId id = Provider();
    if (!model.providers.contains(id) && !OneIn(10)) id = Provider();
    if (!ids.insert(id).second && !OneIn(10)) continue;
    reshape.providers.push_back(SomeReshaped(model, id));
  }
  for (int count = Below(4); count > 0; --count) reshape.consumers.push_back(SomeClaim(model));
  if (!reshape.providers.empty()) {
    AddHolders(model, reshape.providers.front().provider, reshape.consumers);
  }
  return reshape;
}

CommandBody RandomBodies::PlaceCommand(const ModelLedger& model) {
  PlaceClaims place;
  place.affinity = static_cast<MemberAffinity>(Below(3));
  for (int count = 1 + Below(OneIn(2) ? 3 : 1); count > 0; --count) {
    ClaimMember& member = place.members.emplace_back();
    member.consumer = Consumer();
    member.expected_generation = Expected(model, member.consumer);
    member.project = absl::StrCat("project", Below(3));
    member.user = OneIn(60) ? "" : "user";
    member.type = "INSTANCE";
    if (OneIn(5)) member.lease = SomeLease();
    RequestGroup& group = member.query.groups.emplace_back();
    group.resources.push_back({Pick(Classes()), SomeAmount()});
    if (OneIn(6)) {
      group.required.push_back({Pick(Traits())});
    } else if (OneIn(6)) {
      group.forbidden.push_back(Pick(Traits()));
    }
  }
  place.one = place.members.size() == 1 && OneIn(2);
  return place;
}

CommandBody RandomBodies::Next(const ModelLedger& model) {
  const int kind = Below(22);
  if (kind < 4) return ProviderCommand(model);
  if (kind < 8) return InventoryCommand(model);
  if (kind < 10) return AssociationCommand(model);
  if (kind < 11) return CatalogCommand();
  if (kind < 12) return AdjustCommand(model);
  if (kind < 13) return ReshapeCommand(model);
  if (kind < 15) return TopologyCommand(model);
  if (kind < 17) return PlaceCommand(model);
  if (OneIn(8)) return LeaseCommand(model);
  if (OneIn(10)) return ReleaseCommand(model);
  return AllocationCommand(model);
}

}  // namespace berth::placement
