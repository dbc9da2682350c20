// The methods of State that change consumers, and with them the use of providers and the sums of
// what each owner's consumers hold.
#include <algorithm>

#include "placement/ground/check.h"
#include "placement/state/state.h"

namespace berth::placement {
namespace {

// Removes the rows of `provider` from the front of `rows` and returns them. REQUIRES: `rows` are
// sorted by provider.
absl::Span<const Allocation> CutRowsOf(ProviderId provider, absl::Span<const Allocation>& rows) {
  size_t count = 0;
  while (count < rows.size() && rows[count].provider == provider) ++count;
  const absl::Span<const Allocation> cut = rows.first(count);
  rows.remove_prefix(count);
  return cut;
}

void CheckRows(absl::Span<const Allocation> rows) {
  // A consumer that would hold nothing is removed by the rules. Forms let only amounts of 1 to
  // kAmountMax pass, and a sum of several amounts is at most max_unit. ClaimPlan sorts the rows.
  BERTH_CHECK(!rows.empty());  // P-3
  for (size_t i = 0; i < rows.size(); ++i) {
    BERTH_CHECK(rows[i].amount > 0);  // P-25
    if (i == 0) continue;
    const Allocation& before = rows[i - 1];
    BERTH_CHECK(
        before.provider < rows[i].provider ||
        (before.provider == rows[i].provider && before.resource_class < rows[i].resource_class));
  }
}

void AddTo(std::vector<ClassAmount>& sums, ClassId resource_class, Amount amount) {
  auto sum = std::lower_bound(
      sums.begin(), sums.end(), resource_class,
      [](const ClassAmount& entry, ClassId wanted) { return entry.resource_class < wanted; });
  if (sum == sums.end() || sum->resource_class != resource_class) {
    sum = sums.insert(sum, {resource_class, 0});
  }
  sum->amount += amount;
  BERTH_CHECK(sum->amount >= 0);
  if (sum->amount == 0) sums.erase(sum);  // P-163
}

}  // namespace

void State::PutConsumer(const Consumer& consumer, DroppedUse& dropped) {
  CheckRows(consumer.allocations);
  // This copy keeps the old rows alive until MoveRows has read them.
  std::optional<PackedConsumer> old;
  if (const PackedConsumer* found = consumers_.FindPacked(consumer.id)) old = *found;
  const absl::Span<const Allocation> before =
      old ? old->allocations() : absl::Span<const Allocation>();
  if (old) BERTH_CHECK(consumer.generation > old->generation());  // P-5
  MoveRows(consumer.id, before, consumer.allocations, dropped);
  if (old) ChargeOwner(old->owner(), -1, before);
  const std::shared_ptr<const Owner> owner =
      old && *old->owner() == *consumer.owner ? old->owner() : consumer.owner;
  ChargeOwner(owner, +1, consumer.allocations);
  MoveLease(consumer.id, old ? old->lease_expires_at() : std::nullopt, consumer.lease_expires_at);
  consumers_.Put(consumer, (*owners_.Find(*owner))->owner);
}

void State::RemoveConsumer(ConsumerId id, DroppedUse& dropped) {
  const PackedConsumer* found = consumers_.FindPacked(id);
  BERTH_CHECK(found != nullptr);
  const PackedConsumer old = *found;
  MoveRows(id, old.allocations(), {}, dropped);
  ChargeOwner(old.owner(), -1, old.allocations());
  MoveLease(id, old.lease_expires_at(), std::nullopt);
  consumers_.Erase(id);
}

void State::MoveLease(ConsumerId id, std::optional<absl::Time> before,
                      std::optional<absl::Time> after) {
  if (before == after) return;
  if (before) BERTH_CHECK(leases_.Erase(std::make_pair(*before, id)));
  if (after) {
    // LeaseEnd and the import round to microseconds.
    BERTH_CHECK(*after == absl::FromUnixMicros(absl::ToUnixMicros(*after)));
    leases_.Put({*after, id}, {});
  }
}

void State::MoveRows(ConsumerId id, absl::Span<const Allocation> before,
                     absl::Span<const Allocation> after, DroppedUse& dropped) {
  while (!before.empty() || !after.empty()) {
    const bool before_first =
        after.empty() || (!before.empty() && before.front().provider < after.front().provider);
    const ProviderId provider = before_first ? before.front().provider : after.front().provider;
    const absl::Span<const Allocation> old_rows = CutRowsOf(provider, before);
    const absl::Span<const Allocation> new_rows = CutRowsOf(provider, after);
    roots_.Edit(RootOf(provider), [&](Tree& tree) {
      const int position = tree.Find(provider);
      BERTH_CHECK(position >= 0);  // P-2
      const ProviderConfig& config = tree.config(position);
      Amount* const used = tree.used.data() + tree.shape->first_row[position];
      for (const Allocation& old : old_rows) {
        const int row = config.FindInventory(old.resource_class);
        Amount& sum = row < 0 ? dropped[{provider, old.resource_class}] : used[row];
        sum -= old.amount;
        BERTH_CHECK(sum >= 0);
      }
      for (const Allocation& allocation : new_rows) {
        const int row = config.FindInventory(allocation.resource_class);
        BERTH_CHECK(row >= 0);  // P-2
        used[row] += allocation.amount;
      }
      ConsumerSet& consumers = tree.consumers[position];
      if (old_rows.empty()) consumers.Put(id, {});
      if (new_rows.empty()) BERTH_CHECK(consumers.Erase(id));
    });
  }
}

void State::ChargeOwner(const std::shared_ptr<const Owner>& owner, int64_t sign,
                        absl::Span<const Allocation> rows) {
  Counted<OwnerUsage>* shared = owners_.Edit(*owner);
  if (shared == nullptr) {
    owners_.Put(OwnerKey{owner}, Counted<OwnerUsage>::Make(owner, 0, std::vector<ClassAmount>()));
    shared = owners_.Edit(*owner);
  }
  OwnerUsage& usage = shared->Own();
  usage.consumer_count += sign;
  for (const Allocation& row : rows) AddTo(usage.used, row.resource_class, sign * row.amount);
  if (usage.consumer_count == 0) {
    BERTH_CHECK(usage.used.empty());
    owners_.Erase(*owner);
  }
}

}  // namespace berth::placement
