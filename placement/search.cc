#include "placement/search.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "placement/anchor_scan.h"
#include "placement/anchor_search.h"
#include "placement/constraint.h"
#include "placement/refusal.h"
#include "placement/search_plan.h"
#include "placement/sharing.h"

namespace berth::placement {
namespace {

// One search on its way: visits the anchors in rounds, one candidate of each in every round
// (P-209), until it has enough.
class Search {
 public:
  Search(const State& state, const SearchPlan& plan, const SearchBudget& budget)
      : state_(state),
        plan_(plan),
        steps_{budget.steps_max},
        sharing_(state),
        scan_(state, plan, sharing_) {}

  // Collects candidates until there are `count`.
  void Run(int64_t count) {
    VisitNew(count);
    while (!waiting_.empty() && !steps_.spent() && size() < count) VisitAgain();
  }
  // Whether there is one candidate more than those found; a spent budget says yes. Nothing can be
  // collected afterwards.
  bool HasAnother();

  bool spent() const { return steps_.spent(); }
  int64_t size() const { return static_cast<int64_t>(found_.candidates.size()); }
  SearchResult Take();

 private:
  // The first round: anchors as they come.
  void VisitNew(int64_t count);
  // A further round, one anchor of it.
  void VisitAgain();
  // Whether records of the fleet let the tree of `root` serve anyone.
  bool IsInService(ProviderId root) const;
  // Takes the next candidate of `anchor` that was not found yet; whether there was one.
  bool TakeNext(AnchorSearch& anchor);
  bool IsNew(const AnchorSearch& anchor, const Candidate& candidate);
  bool IsSharedOnly(const AnchorSearch& anchor) const;
  Candidate CandidateOf(const AnchorSearch& anchor) const;
  void NoteTrees(const AnchorSearch& anchor);

  const State& state_;
  const SearchPlan& plan_;
  StepBudget steps_;
  Sharing sharing_;
  AnchorScan scan_;
  std::deque<std::unique_ptr<AnchorSearch>> waiting_;  // by rising root within each round
  SearchResult found_;
  absl::flat_hash_set<std::string> keys_found_;  // of candidates that could be found again
};

bool Search::IsInService(ProviderId root) const {
  return NodeIsInService(state_, root) &&
         (!plan_.exclude_stale_roots || !NodeIsStale(state_, root));
}

void Search::VisitNew(int64_t count) {
  const bool has_nodes = !state_.nodes().empty();
  auto anchor = std::make_unique<AnchorSearch>(plan_, steps_);
  while (size() < count && !steps_.spent()) {
    const TreePtr* tree = scan_.Next();
    if (tree == nullptr) return;
    --steps_.left;
    if (!RootMatches(**tree, plan_.root)) continue;  // P-178
    std::vector<const SharingProvider*> foreign;
    if (!sharing_.empty()) foreign = sharing_.Reaching(**tree);
    if (!anchor->Begin(*tree, foreign)) continue;
    // Asked last, for a look-up costs more than all before: few roots come so far.
    if (has_nodes && !IsInService((*tree)->root_id())) continue;
    if (!TakeNext(*anchor) || anchor->is_single()) continue;
    waiting_.push_back(std::move(anchor));
    anchor = std::make_unique<AnchorSearch>(plan_, steps_);
  }
}

void Search::VisitAgain() {
  std::unique_ptr<AnchorSearch> anchor = std::move(waiting_.front());
  waiting_.pop_front();
  if (TakeNext(*anchor)) waiting_.push_back(std::move(anchor));
}

bool Search::HasAnother() {
  const int64_t found = size();
  const size_t trees = found_.trees.size();
  Run(found + 1);
  if (size() == found) return steps_.spent();
  found_.candidates.pop_back();
  found_.trees.resize(trees);
  return true;
}

bool Search::TakeNext(AnchorSearch& anchor) {
  while (anchor.Next()) {
    Candidate candidate = CandidateOf(anchor);
    if (!IsNew(anchor, candidate)) continue;
    NoteTrees(anchor);
    found_.candidates.push_back(std::move(candidate));
    return true;
  }
  return false;
}

// The anchor is no part of a candidate (P-200): one that only sharing providers serve may come up
// under several. No other can, since a provider that does not share has one root.
bool Search::IsNew(const AnchorSearch& anchor, const Candidate& candidate) {
  if (!plan_.collapse_equivalent && !IsSharedOnly(anchor)) return true;
  std::string key;
  const auto append = [&key](const auto& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  for (const Allocation& allocation : candidate.allocations) {
    append(allocation.provider.uuid);
    append(allocation.resource_class);
    append(allocation.amount);
  }
  if (plan_.collapse_equivalent) return keys_found_.insert(std::move(key)).second;  // P-201
  for (const auto& [suffix, providers] : candidate.mappings) {
    append(providers.size());
    for (ProviderId provider : providers) append(provider.uuid);
  }
  return keys_found_.insert(std::move(key)).second;
}

bool Search::IsSharedOnly(const AnchorSearch& anchor) const {
  if (sharing_.empty()) return false;
  for (int slot = 0; slot < static_cast<int>(plan_.slots.size()); ++slot) {
    const Server* server = anchor.chosen(slot);
    if (server != nullptr && !sharing_.IsSharing(server->config())) return false;
  }
  return true;
}

Candidate Search::CandidateOf(const AnchorSearch& anchor) const {
  Candidate candidate;
  candidate.anchor = anchor.anchor()->root_id();
  candidate.mappings.reserve(plan_.groups.size());
  for (const PlannedGroup& group : plan_.groups) candidate.mappings.push_back({group.suffix, {}});
  std::vector<Allocation>& allocations = candidate.allocations;
  allocations.reserve(plan_.slots.size());
  for (int s = 0; s < static_cast<int>(plan_.slots.size()); ++s) {
    const Slot& slot = plan_.slots[s];
    if (anchor.chosen(s) == nullptr) continue;
    const ProviderId provider = anchor.chosen(s)->id;
    candidate.mappings[slot.group].second.push_back(provider);
    if (slot.spread >= 0) {
      const ClassId shared = plan_.classes[plan_.spreads[slot.spread].demand.class_index];
      allocations.push_back({provider, shared, static_cast<int32_t>(anchor.share(s))});
    }
    for (const SlotDemand& demand : slot.demands) {
      const auto amount = static_cast<int32_t>(demand.amount);
      allocations.push_back({provider, plan_.classes[demand.class_index], amount});
    }
  }
  std::sort(allocations.begin(), allocations.end());
  size_t end = 0;  // P-195: one row for each provider and class, amounts added up
  for (const Allocation& next : allocations) {
    Allocation* last = end > 0 ? &allocations[end - 1] : nullptr;
    if (last != nullptr && last->provider == next.provider &&
        last->resource_class == next.resource_class) {
      last->amount += next.amount;
    } else {
      allocations[end++] = next;
    }
  }
  allocations.resize(end);
  for (auto& [suffix, providers] : candidate.mappings) {
    std::sort(providers.begin(), providers.end());
    providers.erase(std::unique(providers.begin(), providers.end()), providers.end());
  }
  return candidate;
}

void Search::NoteTrees(const AnchorSearch& anchor) {
  for (int slot = 0; slot < static_cast<int>(plan_.slots.size()); ++slot) {
    if (anchor.chosen(slot) == nullptr) continue;
    const TreePtr& tree = *anchor.chosen(slot)->tree;
    if (found_.trees.empty() || !(found_.trees.back() == tree)) found_.trees.push_back(tree);
  }
}

SearchResult Search::Take() {
  const auto by_root = [](const TreePtr& a, const TreePtr& b) {
    return a->root_id() < b->root_id();
  };
  std::vector<TreePtr>& trees = found_.trees;
  if (!std::is_sorted(trees.begin(), trees.end(), by_root)) {
    std::sort(trees.begin(), trees.end(), by_root);
  }
  trees.erase(std::unique(trees.begin(), trees.end()), trees.end());
  return std::move(found_);
}

}  // namespace

absl::StatusOr<SearchResult> FindCandidates(const State& state, const CandidateRequest& request,
                                            const SearchBudget& budget) {
  absl::StatusOr<SearchPlan> plan = PlanSearch(state, request);
  if (!plan.ok()) return plan.status();
  const int64_t cap = std::max<int64_t>(budget.candidates_max, 1);
  const int64_t limit = request.limit.value_or(std::numeric_limits<int64_t>::max());
  Search search(state, *plan, budget);
  search.Run(std::min(limit, cap));
  const bool cut = search.size() == cap && cap < limit && search.HasAnother();  // P-213
  const bool spent = search.spent() && search.size() < std::min(limit, cap);    // P-215
  if (spent && search.size() == 0) {
    return Refuse(absl::StatusCode::kDeadlineExceeded, "SEARCH_BUDGET_EXCEEDED",
                  absl::StrCat("nothing was found in ", budget.steps_max,
                               " steps; ask for less at once, or name a tree"));
  }
  SearchResult result = search.Take();
  result.truncated = cut || spent;
  return result;
}

}  // namespace berth::placement
