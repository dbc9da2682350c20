// AnchorSearch: which servers an anchor has, and what each can serve by itself.
#include <algorithm>

#include "placement/anchor_search.h"
#include "placement/constraint.h"

namespace berth::placement {

void AnchorSearch::ListServers(const std::vector<const SharingProvider*>& foreign) {
  servers_.clear();
  for (const auto& [id, position] : (*anchor_)->shape->by_id) {
    servers_.push_back({anchor_, position, id, false});
  }
  if (foreign.empty()) return;
  const auto own_end = static_cast<std::ptrdiff_t>(servers_.size());
  for (const SharingProvider* sharing : foreign) {
    servers_.push_back({&sharing->tree, sharing->position, sharing->id, true});
  }
  std::inplace_merge(servers_.begin(), servers_.begin() + own_end, servers_.end(),
                     [](const Server& a, const Server& b) { return a.id < b.id; });
}

bool AnchorSearch::FillDomains() {
  for (int slot = 0; slot < slot_count(); ++slot) {
    const Slot& wanted = plan_.slots[slot];
    const PlannedGroup& group = plan_.groups[wanted.group];
    std::vector<int>& domain = domains_[slot];
    domain.clear();
    for (int s = 0; s < static_cast<int>(servers_.size()); ++s) {
      --budget_.left;
      const Server& server = servers_[s];
      bool serves = true;
      if (wanted.spread >= 0) serves = CanServeShare(server, plan_.spreads[wanted.spread].demand);
      for (const SlotDemand& demand : wanted.demands) {
        const ClassAmount amount = {plan_.classes[demand.class_index], demand.amount};
        serves = serves && CanTake(**server.tree, server.position, amount);
      }
      if (serves && (group.suffixed() ? ServesAlone(server, group) : ServesTogether(server, group)))
        domain.push_back(s);
    }
    if (domain.empty()) return false;  // P-194
  }
  return true;
}

// A suffixed group: one provider meets all of it, by itself (P-180..P-183).
bool AnchorSearch::ServesAlone(const Server& server, const PlannedGroup& group) const {
  const ProviderConfig& provider = server.config();
  if (group.tree && (*server.tree)->root_id() != *group.tree) return false;
  return HasOneOfEach(provider, group.required) && HasNoneOf(provider, group.forbidden) &&
         IsInOneOfEach(provider, group.member_of) &&
         IsInNoneOf(provider, group.forbidden_aggregates);
}

// The unsuffixed group: what each of its providers must be; required traits they meet together.
bool AnchorSearch::ServesTogether(const Server& server, const PlannedGroup& group) const {
  const ProviderConfig& provider = server.config();
  const ProviderConfig& root = (*anchor_)->config(0);
  if (group.tree && (server.foreign || root.id != *group.tree)) return false;  // P-192
  if (!HasNoneOf(provider, group.forbidden)) return false;                     // P-188
  const bool is_member = IsInOneOfEach(provider, group.member_of) ||
                         (!server.foreign && IsInOneOfEach(root, group.member_of));
  return is_member && IsInNoneOf(provider, group.forbidden_aggregates) &&  // P-189
         IsInNoneOf(root, group.forbidden_aggregates);                     // P-191
}

void AnchorSearch::MeasureRoom() {
  room_.assign(servers_.size() * plan_.classes.size(), 0);
  for (int s = 0; s < static_cast<int>(servers_.size()); ++s) {
    const Server& server = servers_[s];
    for (int c = 0; c < static_cast<int>(plan_.classes.size()); ++c) {
      const int row = server.config().FindInventory(plan_.classes[c]);
      if (row >= 0) room(s, c) = RoomFor(**server.tree, server.position, row);
    }
  }
}

void AnchorSearch::NoteRequired() {
  if (plan_.unsuffixed < 0) return;
  const TraitSets& required = plan_.groups[plan_.unsuffixed].required;
  covered_.assign(required.size(), 0);
  if (required.empty()) return;
  has_required_.assign(servers_.size() * required.size(), false);
  for (size_t s = 0; s < servers_.size(); ++s) {
    for (size_t set = 0; set < required.size(); ++set) {
      has_required_[s * required.size() + set] = HasOneOf(servers_[s].config(), required[set]);
    }
  }
}

}  // namespace berth::placement
