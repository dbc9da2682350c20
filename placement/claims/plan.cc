#include "placement/claims/plan.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/claims/allocation_form.h"
#include "placement/commands/fleet_node.h"
#include "placement/ground/check.h"
#include "placement/state/lookup.h"
#include "placement/values/capacity.h"

namespace berth::placement {
namespace {

bool KeepsSome(const Holder& holder) {
  return holder.wanted != nullptr && !holder.wanted->allocations.empty();
}

bool StandsBefore(const TouchedProvider& touched, ProviderId id) { return touched.id < id; }

Amount UsedAfterOf(const TouchedProvider& touched, size_t row) {
  return touched.before[row] - touched.released[row] + touched.asked[row];
}

}  // namespace

void CompareConsumer(ConsumerId id, const ConsumerPtr& before, std::optional<Generation> expected,
                     absl::FunctionRef<std::string()> field, std::vector<FaultItem>& items,
                     std::string& message) {
  std::optional<Generation> actual;
  if (before) actual = before->generation;
  if (expected == actual) return;
  if (items.empty()) {
    message =
        absl::StrCat("consumer ", id.ToString(),
                     actual ? absl::StrCat(" is at generation ", actual->value) : " holds nothing",
                     ", but the request expected ",
                     expected ? absl::StrCat("generation ", expected->value) : "a new consumer",
                     ": read the consumer again and decide again");
  }
  items.push_back({{"consumer", id.ToString()},
                   {"field", field()},
                   {"expected_generation", expected ? absl::StrCat(expected->value) : "new"},
                   {"actual_generation", actual ? absl::StrCat(actual->value) : "none"}});
}

std::vector<ProviderAmounts> AmountsOf(const Catalog& catalog,
                                       const std::vector<Allocation>& allocations) {
  std::vector<ProviderAmounts> groups;
  for (const Allocation& allocation : allocations) {
    if (groups.empty() || groups.back().provider != allocation.provider) {
      groups.push_back({allocation.provider, {}});
    }
    groups.back().amounts.push_back(
        {catalog.classes.NameOf(allocation.resource_class), allocation.amount});
  }
  return groups;
}

ClaimPlan::ClaimPlan(const State& state, std::vector<Holder> holders, const FinalConfigs* finals)
    : state_(state), finals_(finals), holders_(std::move(holders)) {
  for (size_t h = 0; h < holders_.size(); ++h) {
    holders_[h].rows_begin = holders_[h].rows_end = static_cast<int>(rows_.size());
    if (holders_[h].wanted == nullptr) continue;
    const std::vector<ProviderAmounts>& groups = holders_[h].wanted->allocations;
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const NamedAmount& asked : groups[g].amounts) {
        WantedRow row;
        row.holder = static_cast<int>(h);
        row.group = static_cast<int>(g);
        row.asked = &asked;
        rows_.push_back(row);
      }
    }
    holders_[h].rows_end = static_cast<int>(rows_.size());
  }
}

absl::Status ClaimPlan::CheckConsumers() const {
  std::vector<FaultItem> items;
  std::string message;
  for (size_t h = 0; h < holders_.size(); ++h) {
    const Holder& holder = holders_[h];
    CompareConsumer(
        holder.id, holder.before, holder.wanted->expected_generation,
        [h] { return absl::StrCat("consumers[", h, "].generation"); }, items, message);
  }
  return RefuseAll(absl::StatusCode::kAborted, "CONSUMER_GENERATION_CONFLICT", std::move(message),
                   items);
}

// Fills `touched_` with the providers of the new rows and of the removed rows, sorted by id, each
// with its present tree and its final configuration.
void ClaimPlan::CollectTouched() {
  absl::InlinedVector<ProviderId, 8> ids;
  for (const Holder& holder : holders_) {
    if (holder.before) {
      for (const Allocation& allocation : holder.before->allocations) {
        if (ids.empty() || ids.back() != allocation.provider) ids.push_back(allocation.provider);
      }
    }
    if (holder.wanted != nullptr) {
      for (const ProviderAmounts& group : holder.wanted->allocations) ids.push_back(group.provider);
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (const ProviderId id : ids) {
    TouchedProvider& touched = touched_.emplace_back();
    touched.id = id;
    Settle(touched);
  }
}

// Fills in the present tree and use, and the final configuration, of the provider `touched`.
void ClaimPlan::Settle(TouchedProvider& touched) const {
  std::optional<ProviderPlace> place = state_.FindProvider(touched.id);
  if (place) {
    touched.config = &place->config();
    touched.allocation_generation = place->allocation_generation();
  }
  if (finals_ != nullptr) {
    const auto final = finals_->find(touched.id);
    if (final != finals_->end()) touched.config = final->second.get();
  }
  if (touched.config != nullptr) {
    const size_t rows = touched.config->inventories.size();
    touched.before.resize(rows);
    touched.released.resize(rows);
    touched.asked.resize(rows);
    for (size_t i = 0; place && i < rows; ++i) {
      const bool stays = touched.config == &place->config();
      const int row =
          stays ? static_cast<int>(i)
                : place->config().FindInventory(touched.config->inventories[i].resource_class);
      if (row >= 0) touched.before[i] = place->used(row);
    }
  }
  if (place) touched.tree = std::move(place->tree);
}

void ClaimPlan::CollectReleased() {
  for (const Holder& holder : holders_) {
    if (!holder.before) continue;
    for (const Allocation& allocation : holder.before->allocations) {
      const auto touched =
          std::lower_bound(touched_.begin(), touched_.end(), allocation.provider, StandsBefore);
      // A provider of which a consumer holds something exists (P-2).
      BERTH_CHECK(touched->tree != nullptr);
      if (touched->config == nullptr) continue;  // the command removes it
      const int inventory = touched->config->FindInventory(allocation.resource_class);
      // The consumer uses this inventory, so it exists (P-2), unless the command itself removes it.
      BERTH_CHECK(inventory >= 0 || (finals_ != nullptr && finals_->contains(touched->id)));
      if (inventory >= 0) touched->released[inventory] += allocation.amount;
    }
  }
}

absl::Status ClaimPlan::FindProviders() {
  CollectTouched();
  CollectReleased();
  std::vector<FaultItem> items;
  std::string message;
  std::set<ProviderId> named;
  for (WantedRow& row : rows_) {
    const ProviderId id = holders_[row.holder].wanted->allocations[row.group].provider;
    const auto touched = std::lower_bound(touched_.begin(), touched_.end(), id, StandsBefore);
    row.touched = static_cast<int>(touched - touched_.begin());
    if (touched->config != nullptr || !named.insert(id).second) continue;
    if (items.empty()) message = absl::StrCat("there is no provider ", id.ToString());
    items.push_back({{"provider", id.ToString()}, {"field", FieldOf(row)}});
  }
  return RefuseAll(absl::StatusCode::kNotFound, "PROVIDER_NOT_FOUND", std::move(message), items);
}

absl::Status ClaimPlan::FindClasses(std::vector<FaultItem> unknown) {
  std::vector<FaultItem> items = std::move(unknown);
  std::string message;
  if (!items.empty()) {
    message = absl::StrCat("there is no resource class ", items.front().at("resource_class"));
  }
  std::set<absl::string_view> named;
  for (WantedRow& row : rows_) {
    const std::string& name = row.asked->resource_class;
    if (const std::optional<ClassId> id = state_.catalog().classes.Find(name)) {
      row.resource_class = *id;
    } else if (named.insert(name).second) {
      if (items.empty()) message = absl::StrCat("there is no resource class ", name);
      items.push_back({{"resource_class", name}, {"field", FieldOf(row)}});
    }
  }
  return RefuseAll(absl::StatusCode::kNotFound, "RESOURCE_CLASS_NOT_FOUND", std::move(message),
                   items);
}

absl::Status ClaimPlan::FindInventories() {
  std::vector<FaultItem> items;
  std::string message;
  for (WantedRow& row : rows_) {
    TouchedProvider& touched = touched_[row.touched];
    row.inventory = touched.config->FindInventory(row.resource_class);
    if (row.inventory >= 0) {
      touched.asked[row.inventory] += row.asked->amount;
      continue;
    }
    if (items.empty()) {
      message = absl::StrCat(NameOf(row), ": the provider has no inventory of the class");
    }
    items.push_back(ItemOf(row));
  }
  return RefuseAll(absl::StatusCode::kFailedPrecondition, "NO_INVENTORY", std::move(message),
                   items);
}

// For each new row: whether one of the removed rows has the same provider, class and amount. Each
// removed row is paired with one new row at most.
std::vector<char> ClaimPlan::UnchangedRows() const {
  std::multiset<Allocation> going;
  for (const Holder& holder : holders_) {
    if (holder.before) {
      going.insert(holder.before->allocations.begin(), holder.before->allocations.end());
    }
  }
  std::vector<char> unchanged;
  for (const WantedRow& row : rows_) {
    const auto found = going.find(
        {touched_[row.touched].id, row.resource_class, static_cast<int32_t>(row.asked->amount)});
    unchanged.push_back(found != going.end());
    if (found != going.end()) going.erase(found);
  }
  return unchanged;
}

absl::Status ClaimPlan::CheckUnits(bool keep_unchanged) const {
  std::vector<FaultItem> items;
  std::string message;
  std::vector<char> exempt;
  if (keep_unchanged) exempt = UnchangedRows();
  for (size_t r = 0; r < rows_.size(); ++r) {
    const WantedRow& row = rows_[r];
    const Inventory& inventory = touched_[row.touched].config->inventories[row.inventory].inventory;
    if (UnitsAllow(inventory, row.asked->amount) || (keep_unchanged && exempt[r])) continue;
    if (items.empty()) {
      message = absl::StrCat(NameOf(row), ": ", row.asked->amount,
                             " is not allowed: one allocation must be ", inventory.min_unit, " to ",
                             inventory.max_unit, " in steps of ", inventory.step_size);
    }
    FaultItem& item = items.emplace_back(ItemOf(row));
    item["requested"] = absl::StrCat(row.asked->amount);
    item["min_unit"] = absl::StrCat(inventory.min_unit);
    item["max_unit"] = absl::StrCat(inventory.max_unit);
    item["step_size"] = absl::StrCat(inventory.step_size);
  }
  return RefuseAll(absl::StatusCode::kFailedPrecondition, "UNIT_CONSTRAINT_VIOLATED",
                   std::move(message), items);
}

absl::Status ClaimPlan::CheckRoom() const {
  std::vector<FaultItem> items;
  std::string message;
  std::set<std::pair<int, int>> named;
  for (const WantedRow& row : rows_) {
    const TouchedProvider& touched = touched_[row.touched];
    const InventoryRow& inventory = touched.config->inventories[row.inventory];
    const Amount before = touched.before[row.inventory];
    const Amount kept = before - touched.released[row.inventory];
    const Amount asked = touched.asked[row.inventory];
    if (RoomAllows(inventory.capacity, before, kept + asked)) continue;
    if (!named.emplace(row.touched, row.inventory).second) continue;
    if (items.empty()) {
      message = absl::StrCat(NameOf(row), ": ", asked, " are more than is free: ", kept, " of ",
                             inventory.capacity, " are in use");
    }
    FaultItem& item = items.emplace_back(ItemOf(row));
    item["requested"] = absl::StrCat(asked);
    item["used"] = absl::StrCat(kept);
    item["capacity"] = absl::StrCat(inventory.capacity);
  }
  return RefuseAll(absl::StatusCode::kResourceExhausted, "CAPACITY_EXCEEDED", std::move(message),
                   items);
}

ConsumerPtr ClaimPlan::MakeConsumer(const Holder& holder, const RuleContext& context) const {
  const ConsumerAllocations& wanted = *holder.wanted;
  Consumer consumer;
  consumer.id = holder.id;
  consumer.generation = holder.before ? holder.before->generation.Next() : context.fresh;
  consumer.created_at = holder.before ? holder.before->created_at : context.now;
  consumer.updated_at = context.now;
  // Whoever writes what is left of a deleted instance uses its uuid again (T-346). A reshape only
  // moves it.
  const bool is_reused = finals_ == nullptr && wanted.type == kDeletedInstanceType;
  const absl::string_view type = is_reused ? kInstanceType : absl::string_view(wanted.type);
  const Owner* owner = holder.before ? holder.before->owner.get() : nullptr;
  if (owner != nullptr && owner->project == wanted.project && owner->user == wanted.user &&
      owner->type == type) {
    consumer.owner = holder.before->owner;
  } else {
    consumer.owner = state_.ShareOwner(Owner{wanted.project, wanted.user, std::string(type)});
  }
  if (holder.keeps_lease) {
    consumer.lease_expires_at = holder.before->lease_expires_at;
  } else if (wanted.lease) {
    consumer.lease_expires_at = LeaseEnd(context.now, *wanted.lease);
  }
  for (int r = holder.rows_begin; r < holder.rows_end; ++r) {
    const WantedRow& row = rows_[r];
    consumer.allocations.push_back(
        {touched_[row.touched].id, row.resource_class, static_cast<int32_t>(row.asked->amount)});
  }
  std::sort(consumer.allocations.begin(), consumer.allocations.end());
  return std::make_shared<const Consumer>(std::move(consumer));
}

Outcome ClaimPlan::MakeOutcome(const RuleContext& context, bool only_changed) const {
  Outcome outcome;
  AppendTo(outcome, context, only_changed);
  std::vector<ProviderId> released;
  for (const TouchedProvider& touched : touched_) {
    const bool gives = std::any_of(touched.released.begin(), touched.released.end(),
                                   [](Amount amount) { return amount > 0; });
    if (gives) released.push_back(touched.id);
  }
  if (!released.empty()) EndRetiredNodes(state_, released, outcome.changes);
  return outcome;
}

void ClaimPlan::AppendTo(Outcome& outcome, const RuleContext& context, bool only_changed) const {
  Changes& changes = outcome.changes;
  changes.reserve(changes.size() + holders_.size() + touched_.size());
  for (const Holder& holder : holders_) {
    if (holder.before && !KeepsSome(holder))
      changes.push_back(ConsumerRemoved{holder.id});  // P-125
  }
  for (const Holder& holder : holders_) {
    if (!KeepsSome(holder)) continue;
    ConsumerPtr consumer = MakeConsumer(holder, context);
    outcome.result.consumers.emplace_back(consumer->id, consumer->generation);
    changes.push_back(ConsumerPut{std::move(consumer)});
  }
  for (const TouchedProvider& touched : touched_) {
    if (touched.config == nullptr) continue;  // the command removes it
    if (only_changed && touched.released == touched.asked) continue;
    const std::vector<InventoryRow>& rows = touched.config->inventories;
    ProviderUsed used;
    used.id = touched.id;
    // The allocation generation of a new provider starts with the command's number (P-5).
    used.allocation_generation =
        touched.allocation_generation ? touched.allocation_generation->Next() : context.fresh;
    used.used.reserve(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      used.used.push_back({rows[i].resource_class, UsedAfterOf(touched, i)});
    }
    changes.push_back(std::move(used));
  }
}

std::optional<Amount> ClaimPlan::UsedAfter(ProviderId id, int row) const {
  const auto touched = std::lower_bound(touched_.begin(), touched_.end(), id, StandsBefore);
  if (touched == touched_.end() || touched->id != id) return std::nullopt;
  return UsedAfterOf(*touched, row);
}

std::string ClaimPlan::FieldOf(const WantedRow& row) const {
  return absl::StrCat("consumers[", row.holder, "].allocations[", row.group, "].resources");
}

FaultItem ClaimPlan::ItemOf(const WantedRow& row) const {
  return {{"provider", touched_[row.touched].id.ToString()},
          {"consumer", holders_[row.holder].id.ToString()},
          {"resource_class", row.asked->resource_class},
          {"field", FieldOf(row)}};
}

std::string ClaimPlan::NameOf(const WantedRow& row) const {
  return absl::StrCat(row.asked->resource_class, " of ", Describe(*touched_[row.touched].config));
}

absl::StatusOr<Outcome> DecidePlan(const State& state, std::vector<Holder> holders,
                                   const RuleContext& context) {
  ClaimPlan plan(state, std::move(holders));
  BERTH_RETURN_IF_ERROR(plan.FindProviders());
  BERTH_RETURN_IF_ERROR(plan.FindClasses());
  BERTH_RETURN_IF_ERROR(plan.FindInventories());
  BERTH_RETURN_IF_ERROR(plan.CheckUnits(true));
  BERTH_RETURN_IF_ERROR(plan.CheckRoom());
  return plan.MakeOutcome(context, true);
}

}  // namespace berth::placement
