#include "placement/search/search.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "placement/search/constraint.h"
#include "placement/search/flat_plan.h"
#include "placement/search/open_roots.h"
#include "placement/search/plan.h"
#include "placement/search/root_ranking.h"
#include "placement/search/root_scan.h"
#include "placement/search/root_search.h"
#include "placement/search/sharing.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// If traits have weights, the search compares the candidates of each root, but at most this many:
// those that are found first.
constexpr int kCompared = 64;
// The list of trees is made with memory for at most this many candidates.
constexpr int64_t kReserved = 1024;

using Taker = absl::FunctionRef<void(const Candidate&)>;

// A search in progress. It visits the roots in rounds, and takes one candidate of each root in
// every round (P-209), until it has enough candidates. Each round visits the roots in the order
// that the request asks for, or in order of id.
class Search {
 public:
  Search(const State& state, const SearchPlan& plan, const SearchBudget& budget, Taker take)
      : state_(state),
        plan_(plan),
        take_(take),
        steps_max_(budget.steps_max),
        steps_{budget.steps_max},
        sharing_(state),
        scan_(state, plan, sharing_) {
    if (!sharing_.empty() || scan_.names_one_tree() || !FlatPlan::IsFor(plan)) return;
    flat_.emplace(plan);
    scan_.TellCertain();
  }
  // Not copyable, because the searches under roots refer to steps_.
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // Takes candidates until `count` candidates are taken in all, or no candidate is left.
  void Run(int64_t count) {
    trees_.reserve(std::min(count, kReserved));
    VisitNew(count);
    while (!waiting_.empty() && size() < count) VisitAgain();
  }
  // Whether there is a candidate besides those that were taken. If the budget is spent before this
  // is known, returns true. After this call no further candidate can be taken.
  bool HasAnother();

  bool spent() const { return steps_.spent(); }
  int64_t steps_taken() const { return steps_max_ - steps_.left; }
  int64_t size() const { return size_; }
  // The trees of the taken candidates, in order of root. To be called once.
  std::vector<const Tree*> Trees();

 private:
  // Takes the first candidate of each root: by VisitByRank if an order is given, else by id.
  void VisitNew(int64_t count);
  // Takes one candidate of each root, the best one first by the request's order. A candidate is
  // taken when no remaining root can have a better one. To know this, OpenNext examines roots in
  // advance. If the order weighs traits, Compare finds and sorts the first candidates of a root.
  void VisitByRank(int64_t count);
  void OpenNext(const RankedRoot& root, int64_t wanted);
  void Compare(Visit& visit);
  int64_t WorthByTraits(const RootSearch& search) const;
  // Takes the next candidate of the root whose turn it is, in the second or a later round.
  void VisitAgain();
  bool RootIsAllowed(const Tree& tree) const;
  // Starts `search` under the root of `tree`. Returns false if the root has no candidate.
  bool Begin(const TreePtr& tree, RootSearch& search);
  // Takes the only candidate of a tree of one provider, if it has one. REQUIRES: flat_ is set.
  void TakeFlat(const Tree& tree);
  // Takes the next candidate of `visit` that was not taken under another root. Returns false if
  // none is left, or if the budget is spent.
  bool TakeNext(Visit& visit);
  // Whether `visit` may have a further candidate, and further ones are wanted.
  bool HasMore(const Visit& visit) const {
    return !plan_.each_root_once && !visit.search->is_single();
  }
  bool IsNew(const RootSearch& search, const Candidate& candidate);
  bool IsSharedOnly(const RootSearch& search) const;
  std::vector<const Tree*> TreesOf(const RootSearch& search) const;
  void Found(const Candidate& candidate, absl::Span<const Tree* const> trees);

  const State& state_;
  const SearchPlan& plan_;
  const Taker take_;
  const int64_t steps_max_;
  StepBudget steps_;
  Sharing sharing_;
  RootScan scan_;
  std::optional<FlatPlan> flat_;          // set if trees of one provider need no RootSearch
  std::unique_ptr<RootRanking> ranking_;  // set in VisitByRank
  OpenRoots open_;                        // roots that VisitByRank has examined
  std::unique_ptr<RootSearch> spare_;     // a search whose root is done, for reuse
  std::deque<Visit> waiting_;             // visits of the next round, in order
  int64_t size_ = 0;
  std::vector<const Tree*> trees_;
  bool only_counts_ = false;
  absl::flat_hash_set<std::string> keys_found_;  // keys of candidates that could be found twice
};

bool Search::RootIsAllowed(const Tree& tree) const {
  return !plan_.scope.without.contains(tree.root_id()) && RootMatches(tree, plan_.root);  // P-178
}

bool Search::Begin(const TreePtr& tree, RootSearch& search) {
  --steps_.left;
  if (!RootIsAllowed(*tree)) return false;
  std::vector<const SharingProvider*> foreign;
  if (!sharing_.empty()) foreign = sharing_.Reaching(*tree);
  if (!search.Begin(tree, foreign)) return false;
  return NodeMayServe(state_, tree->root_id(), plan_.exclude_stale_roots);
}

void Search::TakeFlat(const Tree& tree) {
  --steps_.left;
  const ProviderId root = tree.root_id();
  if (plan_.scope.without.contains(root) || IsForbiddenRoot(plan_.root, root)) return;  // P-178
  if (!flat_->Fits(tree, scan_.certainly_fits(), steps_)) return;
  if (!NodeMayServe(state_, root, plan_.exclude_stale_roots)) return;
  const Tree* const trees[] = {&tree};
  Found(flat_->On(root), trees);
}

void Search::Found(const Candidate& candidate, absl::Span<const Tree* const> trees) {
  ++size_;
  if (only_counts_) return;
  trees_.insert(trees_.end(), trees.begin(), trees.end());
  take_(candidate);
}

void Search::VisitNew(int64_t count) {
  if (plan_.order.given()) return VisitByRank(count);
  Visit visit;
  visit.search = std::make_unique<RootSearch>(plan_, steps_);
  while (size() < count && !steps_.spent()) {
    const TreePtr* tree = scan_.Next();
    if (tree == nullptr) return;
    if (flat_ && (*tree)->size() == 1) {
      TakeFlat(**tree);
      continue;
    }
    if (!Begin(*tree, *visit.search)) continue;
    visit.ended = false;
    if (!TakeNext(visit) || !HasMore(visit)) continue;
    waiting_.push_back(std::move(visit));
    visit = Visit();
    visit.search = std::make_unique<RootSearch>(plan_, steps_);
  }
}

void Search::VisitByRank(int64_t count) {
  if (!ranking_) ranking_ = std::make_unique<RootRanking>(state_, plan_, sharing_, steps_, count);
  while (size() < count) {
    // If the budget is spent, no further root is examined, but the candidates of examined roots are
    // still taken.
    const RankedRoot* next = steps_.spent() ? nullptr : ranking_->Peek();
    if (!open_.empty() && (next == nullptr || IsBefore(open_.best(), *next))) {
      Visit visit = open_.PopBest();
      if (TakeNext(visit) && HasMore(visit)) {
        waiting_.push_back(std::move(visit));
      } else {
        spare_ = std::move(visit.search);
      }
      continue;
    }
    if (next == nullptr) return;
    OpenNext(*next, count + 1 - size());  // one more, for HasAnother
    ranking_->Pop();
  }
}

void Search::OpenNext(const RankedRoot& root, int64_t wanted) {
  Visit visit;
  visit.search = spare_ ? std::move(spare_) : std::make_unique<RootSearch>(plan_, steps_);
  if (!Begin(*root.tree, *visit.search)) {
    spare_ = std::move(visit.search);
    return;
  }
  RankedRoot rank = root;
  if (!plan_.order.traits.empty()) {
    Compare(visit);
    if (visit.ahead.empty()) {
      spare_ = std::move(visit.search);
      return;
    }
    rank.score = root.by_root + visit.ahead.back().by_traits;
  }
  open_.Push(rank, std::move(visit), wanted);
}

// Finds the first candidates of the root, and sorts them by the weighted traits of their providers.
// The worst comes first, because the next candidate is taken from the end.
void Search::Compare(Visit& visit) {
  RootSearch& search = *visit.search;
  while (static_cast<int>(visit.ahead.size()) < kCompared) {
    visit.ended = !search.Next();
    if (visit.ended) break;
    Ahead ahead{search.Solution(), {}, WorthByTraits(search)};
    if (!IsNew(search, ahead.candidate)) continue;
    ahead.trees = TreesOf(search);
    visit.ahead.push_back(std::move(ahead));
  }
  std::reverse(visit.ahead.begin(), visit.ahead.end());
  std::stable_sort(visit.ahead.begin(), visit.ahead.end(),
                   [](const Ahead& a, const Ahead& b) { return a.by_traits < b.by_traits; });
}

int64_t Search::WorthByTraits(const RootSearch& search) const {
  int64_t worth = 0;
  for (const TraitWeight& weighted : plan_.order.traits) {
    for (int slot = 0; slot < static_cast<int>(plan_.slots.size()); ++slot) {
      const Option* option = search.chosen(slot);
      if (option == nullptr || !option->config().HasTrait(weighted.trait)) continue;
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
  only_counts_ = true;
  Run(found + 1);
  return size() > found || steps_.spent();
}

bool Search::TakeNext(Visit& visit) {
  if (!visit.ahead.empty()) {
    const Ahead& ahead = visit.ahead.back();
    Found(ahead.candidate, ahead.trees);
    visit.ahead.pop_back();
    return true;
  }
  RootSearch& search = *visit.search;
  while (!visit.ended && !steps_.spent()) {
    visit.ended = !search.Next();
    if (visit.ended) break;
    const Candidate candidate = search.Solution();
    if (!IsNew(search, candidate)) continue;
    Found(candidate, TreesOf(search));
    return true;
  }
  return false;
}

// Returns false if an equal candidate was found before. Candidates are compared without their root
// (P-200). If a candidate has only sharing providers, it can be found under several roots. If it
// has any other provider it cannot, because that provider has one root.
bool Search::IsNew(const RootSearch& search, const Candidate& candidate) {
  if (plan_.each_root_once) return true;
  if (!plan_.collapse_equivalent && !IsSharedOnly(search)) return true;
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

bool Search::IsSharedOnly(const RootSearch& search) const {
  if (sharing_.empty()) return false;
  for (int slot = 0; slot < static_cast<int>(plan_.slots.size()); ++slot) {
    const Option* option = search.chosen(slot);
    if (option != nullptr && !sharing_.IsSharing(option->config())) return false;
  }
  return true;
}

std::vector<const Tree*> Search::TreesOf(const RootSearch& search) const {
  std::vector<const Tree*> trees;
  for (int slot = 0; slot < static_cast<int>(plan_.slots.size()); ++slot) {
    if (search.chosen(slot) == nullptr) continue;
    const Tree* const tree = search.chosen(slot)->tree->get();
    if (trees.empty() || trees.back() != tree) trees.push_back(tree);
  }
  return trees;
}

std::vector<const Tree*> Search::Trees() {
  const auto by_root = [](const Tree* a, const Tree* b) { return a->root_id() < b->root_id(); };
  if (!std::is_sorted(trees_.begin(), trees_.end(), by_root)) {
    std::sort(trees_.begin(), trees_.end(), by_root);
  }
  trees_.erase(std::unique(trees_.begin(), trees_.end()), trees_.end());
  return std::move(trees_);
}

absl::StatusOr<SearchEnd> RunPlan(const State& state, const SearchPlan& plan,
                                  std::optional<int64_t> limit_asked, const SearchBudget& budget,
                                  Taker take) {
  const int64_t cap = std::max<int64_t>(budget.candidates_max, 1);
  const int64_t limit = limit_asked.value_or(std::numeric_limits<int64_t>::max());
  Search search(state, plan, budget, take);
  search.Run(std::min(limit, cap));
  const bool cut = search.size() == cap && cap < limit && search.HasAnother();  // P-213
  const bool spent = search.spent() && search.size() < std::min(limit, cap);    // P-215
  if (spent && search.size() == 0) {
    return Refuse(
        absl::StatusCode::kDeadlineExceeded, "SEARCH_BUDGET_EXCEEDED",
        absl::StrCat("the search used up its work budget of ", budget.steps_max,
                     " steps without a result: narrow the query, for example with in_tree"));
  }
  SearchEnd end;
  end.trees = search.Trees();
  end.truncated = cut || spent;
  end.steps = search.steps_taken();
  return end;
}

// Like RunPlan, but collects the candidates in a list.
absl::StatusOr<SearchResult> CollectPlan(const State& state, const SearchPlan& plan,
                                         std::optional<int64_t> limit, const SearchBudget& budget) {
  SearchResult result;
  BERTH_ASSIGN_OR_RETURN(SearchEnd end,
                         RunPlan(state, plan, limit, budget, [&](const Candidate& candidate) {
                           result.candidates.push_back(candidate);
                         }));
  static_cast<SearchEnd&>(result) = std::move(end);
  return result;
}

}  // namespace

absl::StatusOr<SearchResult> FindCandidates(const State& state, const CandidateRequest& request,
                                            const SearchBudget& budget, const SearchScope& scope) {
  BERTH_ASSIGN_OR_RETURN(SearchPlan plan, PlanSearch(state, request));
  plan.scope = scope;
  return CollectPlan(state, plan, request.limit, budget);
}

absl::StatusOr<SearchEnd> ForEachCandidate(const State& state, const CandidateRequest& request,
                                           const SearchBudget& budget, Taker take) {
  BERTH_ASSIGN_OR_RETURN(SearchPlan plan, PlanSearch(state, request));
  return RunPlan(state, plan, request.limit, budget, take);
}

absl::StatusOr<SearchResult> FindRoots(const State& state, const CandidateRequest& request,
                                       const SearchBudget& budget, const SearchScope& scope) {
  BERTH_ASSIGN_OR_RETURN(SearchPlan plan, PlanSearch(state, request));
  plan.scope = scope;
  plan.each_root_once = true;
  return CollectPlan(state, plan, request.limit, budget);
}

}  // namespace berth::placement
