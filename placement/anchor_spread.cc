// AnchorSearch: classes of the unsuffixed group that several providers share.
#include <algorithm>
#include <limits>

#include "placement/anchor_search.h"
#include "placement/capacity.h"
#include "placement/constraint.h"

namespace berth::placement {

bool AnchorSearch::CanServeShare(const Server& server, const SlotDemand& demand) const {
  const int row = server.config().FindInventory(plan_.classes[demand.class_index]);
  if (row < 0) return false;
  const Amount room = RoomFor(**server.tree, server.position, row);
  return LargestWithin(server.config().inventories[row].inventory, std::min(room, demand.amount)) >
         0;
}

// The most that `server` can give towards `demand`, after what other groups take there.
Amount AnchorSearch::MostOf(const SlotDemand& demand, int server) const {
  const ProviderConfig& provider = servers_[server].config();
  const InventoryRow& row =
      provider.inventories[provider.FindInventory(plan_.classes[demand.class_index])];
  return LargestWithin(row.inventory, std::min(room(server, demand.class_index), demand.amount));
}

// Providers of a spread rise from slot to slot; once one is nobody, so are those behind it.
bool AnchorSearch::AdvanceShare(int slot) {
  const Spread& spread = plan_.spreads[plan_.slots[slot].spread];
  const std::vector<int>& domain = domains_[slot];
  const bool is_first = slot == spread.first;
  const int before = is_first ? kOpen : chosen_[slot - 1];
  int& next = next_[slot];
  const int end = static_cast<int>(domain.size()) + (is_first ? 0 : 1);
  while (next < end) {
    if (budget_.spent()) return false;
    --budget_.left;
    const int at = next++;
    const int server = is_first ? domain[at] : at == 0 ? kNobody : domain[at - 1];
    if (server != kNobody && (before == kNobody || server <= before)) continue;
    Choose(slot, server);
    if (CanEndWell(slot + 1)) return true;
    Undo(slot);
  }
  return false;
}

bool AnchorSearch::SpreadsCanBeMet(int from) {
  return std::all_of(plan_.spreads.begin(), plan_.spreads.end(),
                     [&](const Spread& spread) { return SpreadCanBeMet(spread, from); });
}

bool AnchorSearch::SpreadCanBeMet(const Spread& spread, int from) {
  Amount sum = 0;
  Amount least = std::numeric_limits<Amount>::max();
  int last = kOpen;
  for (int slot = spread.first; slot < std::min(from, spread.end()); ++slot) {
    if (chosen_[slot] == kNobody) return sum >= spread.demand.amount && Divide(spread);
    last = chosen_[slot];
    const Amount most = MostOf(spread.demand, last);
    sum += most;
    least = std::min(least, most);
    if (most == 0 || sum - least >= spread.demand.amount) return false;  // one is not needed
  }
  if (from >= spread.end()) return sum >= spread.demand.amount && Divide(spread);
  if (sum >= spread.demand.amount) return true;
  const int count = spread.end() - std::max(from, spread.first);
  return sum + MostBehind(spread, last, count) >= spread.demand.amount;
}

// The most that `count` servers behind `last` could give together.
Amount AnchorSearch::MostBehind(const Spread& spread, int last, int count) const {
  std::vector<Amount> most;
  for (int server : domains_[spread.first]) {
    if (server > last) most.push_back(MostOf(spread.demand, server));
  }
  std::sort(most.rbegin(), most.rend());
  if (static_cast<int>(most.size()) > count) most.resize(count);
  Amount sum = 0;
  for (Amount each : most) sum += each;
  return sum;
}

// Divides the amount among those that were chosen; false: their units do not allow it.
bool AnchorSearch::Divide(const Spread& spread) {
  const SlotDemand& demand = spread.demand;
  const auto inventory_of = [&](int slot) -> const Inventory& {
    const ProviderConfig& provider = servers_[chosen_[slot]].config();
    const int row = provider.FindInventory(plan_.classes[demand.class_index]);
    return provider.inventories[row].inventory;
  };
  int end = spread.first;
  while (end < spread.end() && chosen_[end] >= 0) ++end;
  Amount behind = 0;  // the least that those behind the slot give
  for (int slot = spread.first; slot < end; ++slot) behind += SmallestOf(inventory_of(slot));
  Amount rest = demand.amount;
  for (int slot = spread.first; slot < end; ++slot) {
    behind -= SmallestOf(inventory_of(slot));
    const Amount room_here = room(chosen_[slot], demand.class_index);
    shares_[slot] = LargestWithin(inventory_of(slot), std::min(room_here, rest - behind));
    if (shares_[slot] == 0) return false;
    rest -= shares_[slot];
  }
  return rest == 0;
}

}  // namespace berth::placement
