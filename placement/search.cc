#include "placement/search.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "placement/anchor_scan.h"
#include "placement/anchor_search.h"
#include "placement/constraint.h"
#include "placement/open_roots.h"
#include "placement/refusal.h"
#include "placement/root_ranking.h"
#include "placement/search_plan.h"
#include "placement/sharing.h"

namespace berth::placement {
namespace {

// How many candidates of one anchor are compared for the traits that their providers have.
constexpr int kCompared = 64;

// One search on its way: visits the anchors in rounds, one candidate of each in every round
// (P-209), until it has enough. In each round anchors stand by the order asked for, or by rising
// root.
class Search {
 public:
  Search(const State& state, const SearchPlan& plan, const SearchBudget& budget)
      : state_(state),
        plan_(plan),
        steps_max_(budget.steps_max),
        steps_{budget.steps_max},
        sharing_(state),
        scan_(state, plan, sharing_) {}
  // `scan_` refers to a part of this.
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // Collects candidates until there are `count`.
  void Run(int64_t count) {
    VisitNew(count);
    while (!waiting_.empty() && size() < count) VisitAgain();
  }
  // Whether there is one candidate more than those found; a spent budget says yes. Nothing can be
  // collected afterwards.
  bool HasAnother();

  bool spent() const { return steps_.spent(); }
  int64_t steps_taken() const { return steps_max_ - steps_.left; }
  int64_t size() const { return static_cast<int64_t>(found_.candidates.size()); }
  SearchResult Take();

 private:
  // The first round: anchors as they come.
  void VisitNew(int64_t count);
  // The first round where an order is given: an anchor's turn comes when no other can be better.
  void VisitByRank(int64_t count);
  void OpenNext(const RankedRoot& root, int64_t wanted);
  void Compare(Visit& visit);
  int64_t WorthByTraits(const AnchorSearch& anchor) const;
  // A further round, one anchor of it.
  void VisitAgain();
  bool MayBeAnchor(const Tree& tree) const;
  // Whether records of the fleet let the tree of `root` serve anyone.
  bool IsInService(ProviderId root) const;
  // Whether `tree` may serve as the anchor of `anchor`; it is then ready to be searched.
  bool Begin(const TreePtr& tree, AnchorSearch& anchor);
  // Takes the next candidate of `visit` that was not found yet; whether there was one.
  bool TakeNext(Visit& visit);
  // Whether there can be another one, and it is wanted.
  bool HasMore(const Visit& visit) const {
    return !plan_.each_root_once && !visit.anchor->is_single();
  }
  bool IsNew(const AnchorSearch& anchor, const Candidate& candidate);
  bool IsSharedOnly(const AnchorSearch& anchor) const;
  Candidate CandidateOf(const AnchorSearch& anchor) const;
  void NoteTrees(const AnchorSearch& anchor, std::vector<TreePtr>& trees) const;

  const State& state_;
  const SearchPlan& plan_;
  const int64_t steps_max_;
  StepBudget steps_;
  Sharing sharing_;
  AnchorScan scan_;
  std::unique_ptr<RootRanking> ranking_;  // where an order is given
  OpenRoots open_;                        // likewise
  std::unique_ptr<AnchorSearch> spare_;   // to be used again
  std::deque<Visit> waiting_;             // in their order within each round
  SearchResult found_;
  absl::flat_hash_set<std::string> keys_found_;  // of candidates that could be found again
};

bool Search::MayBeAnchor(const Tree& tree) const {
  return !plan_.scope.without.contains(tree.root_id()) && RootMatches(tree, plan_.root);  // P-178
}

bool Search::IsInService(ProviderId root) const {
  return NodeIsInService(state_, root) &&
         (!plan_.exclude_stale_roots || !NodeIsStale(state_, root));
}

bool Search::Begin(const TreePtr& tree, AnchorSearch& anchor) {
  --steps_.left;
  if (!MayBeAnchor(*tree)) return false;
  std::vector<const SharingProvider*> foreign;
  if (!sharing_.empty()) foreign = sharing_.Reaching(*tree);
  if (!anchor.Begin(tree, foreign)) return false;
  // Asked last, for a look-up costs more than all before: few roots come so far.
  return state_.nodes().empty() || IsInService(tree->root_id());
}

void Search::VisitNew(int64_t count) {
  if (plan_.order.given()) return VisitByRank(count);
  Visit visit;
  visit.anchor = std::make_unique<AnchorSearch>(plan_, steps_);
  while (size() < count && !steps_.spent()) {
    const TreePtr* tree = scan_.Next();
    if (tree == nullptr) return;
    if (!Begin(*tree, *visit.anchor)) continue;
    visit.ended = false;
    if (!TakeNext(visit) || !HasMore(visit)) continue;
    waiting_.push_back(std::move(visit));
    visit.anchor = std::make_unique<AnchorSearch>(plan_, steps_);
  }
}

void Search::VisitByRank(int64_t count) {
  if (!ranking_) ranking_ = std::make_unique<RootRanking>(state_, plan_, sharing_, steps_, count);
  while (size() < count) {
    // Once the budget is spent no other root is looked at: those that were come as they stand.
    const RankedRoot* next = steps_.spent() ? nullptr : ranking_->Peek();
    if (!open_.empty() && (next == nullptr || IsBefore(open_.best(), *next))) {
      Visit visit = open_.PopBest();
      if (TakeNext(visit) && HasMore(visit)) {
        waiting_.push_back(std::move(visit));
      } else {
        spare_ = std::move(visit.anchor);
      }
      continue;
    }
    if (next == nullptr) return;
    OpenNext(*next, count + 1 - size());  // one more tells whether there are more
    ranking_->Pop();
  }
}

void Search::OpenNext(const RankedRoot& root, int64_t wanted) {
  Visit visit;
  visit.anchor = spare_ ? std::move(spare_) : std::make_unique<AnchorSearch>(plan_, steps_);
  if (!Begin(*root.tree, *visit.anchor)) {
    spare_ = std::move(visit.anchor);
    return;
  }
  RankedRoot rank = root;
  if (!plan_.order.traits.empty()) {
    Compare(visit);
    if (visit.ahead.empty()) {
      spare_ = std::move(visit.anchor);
      return;
    }
    rank.score = root.by_root + visit.ahead.back().by_traits;
  }
  open_.Push(rank, std::move(visit), wanted);
}

// Finds the anchor's first candidates and puts those first whose providers have the better traits.
void Search::Compare(Visit& visit) {
  AnchorSearch& anchor = *visit.anchor;
  while (static_cast<int>(visit.ahead.size()) < kCompared) {
    visit.ended = !anchor.Next();
    if (visit.ended) break;
    Ahead ahead{CandidateOf(anchor), {}, WorthByTraits(anchor)};
    if (!IsNew(anchor, ahead.candidate)) continue;
    NoteTrees(anchor, ahead.trees);
    visit.ahead.push_back(std::move(ahead));
  }
  std::reverse(visit.ahead.begin(), visit.ahead.end());
  std::stable_sort(visit.ahead.begin(), visit.ahead.end(),
                   [](const Ahead& a, const Ahead& b) { return a.by_traits < b.by_traits; });
}

int64_t Search::WorthByTraits(const AnchorSearch& anchor) const {
  int64_t worth = 0;
  for (const TraitWeight& weighted : plan_.order.traits) {
    for (int slot = 0; slot < static_cast<int>(plan_.slots.size()); ++slot) {
      const Server* server = anchor.chosen(slot);
      if (server == nullptr || !server->config().HasTrait(weighted.trait)) continue;
      worth += weighted.weight * kShareWhole;
      break;
    }
  }
  return worth;
}

void Search::VisitAgain() {
  Visit visit = std::move(waiting_.front());
  waiting_.pop_front();
  if (TakeNext(visit)) waiting_.push_back(std::move(visit));
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

bool Search::TakeNext(Visit& visit) {
  if (!visit.ahead.empty()) {
    Ahead& ahead = visit.ahead.back();
    found_.trees.insert(found_.trees.end(), ahead.trees.begin(), ahead.trees.end());
    found_.candidates.push_back(std::move(ahead.candidate));
    visit.ahead.pop_back();
    return true;
  }
  AnchorSearch& anchor = *visit.anchor;
  while (!visit.ended && !steps_.spent()) {
    visit.ended = !anchor.Next();
    if (visit.ended) break;
    Candidate candidate = CandidateOf(anchor);
    if (!IsNew(anchor, candidate)) continue;
    NoteTrees(anchor, found_.trees);
    found_.candidates.push_back(std::move(candidate));
    return true;
  }
  return false;
}

// The anchor is no part of a candidate (P-200): one that only sharing providers serve may come up
// under several. No other can, since a provider that does not share has one root.
bool Search::IsNew(const AnchorSearch& anchor, const Candidate& candidate) {
  if (plan_.each_root_once) return true;
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

void Search::NoteTrees(const AnchorSearch& anchor, std::vector<TreePtr>& trees) const {
  for (int slot = 0; slot < static_cast<int>(plan_.slots.size()); ++slot) {
    if (anchor.chosen(slot) == nullptr) continue;
    const TreePtr& tree = *anchor.chosen(slot)->tree;
    if (trees.empty() || !(trees.back() == tree)) trees.push_back(tree);
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

absl::StatusOr<SearchResult> RunPlan(const State& state, const SearchPlan& plan,
                                     std::optional<int64_t> limit_asked,
                                     const SearchBudget& budget) {
  const int64_t cap = std::max<int64_t>(budget.candidates_max, 1);
  const int64_t limit = limit_asked.value_or(std::numeric_limits<int64_t>::max());
  Search search(state, plan, budget);
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
  result.steps = search.steps_taken();
  return result;
}

}  // namespace

absl::StatusOr<SearchResult> FindCandidates(const State& state, const CandidateRequest& request,
                                            const SearchBudget& budget, const SearchScope& scope) {
  absl::StatusOr<SearchPlan> plan = PlanSearch(state, request);
  if (!plan.ok()) return plan.status();
  plan->scope = scope;
  return RunPlan(state, *plan, request.limit, budget);
}

absl::StatusOr<SearchResult> FindRoots(const State& state, const CandidateRequest& request,
                                       const SearchBudget& budget) {
  absl::StatusOr<SearchPlan> plan = PlanSearch(state, request);
  if (!plan.ok()) return plan.status();
  plan->each_root_once = true;
  return RunPlan(state, *plan, request.limit, budget);
}

}  // namespace berth::placement
