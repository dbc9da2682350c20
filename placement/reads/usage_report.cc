#include "placement/reads/usage_report.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "placement/ground/check.h"
#include "placement/values/capacity.h"

namespace berth::placement {
namespace {

constexpr char kUnnamedGroup[] = "unknown";

// A row of the report while its sums are computed.
struct Group {
  UsageReportRow row;
  absl::flat_hash_set<ProviderId> providers;
  absl::flat_hash_set<ConsumerId> consumers;
};

class Reporter {
 public:
  Reporter(const State& state, const UsageReportFilter& filter) : state_(state), filter_(filter) {
    for (const std::string& name : filter.classes) {
      if (const auto id = state.catalog().classes.Find(name)) classes_.insert(*id);
    }
    for (const std::string& name : filter.traits) {
      if (const auto id = state.catalog().traits.Find(name)) traits_.push_back(*id);
    }
    aggregates_ = filter.aggregates;
    std::sort(traits_.begin(), traits_.end());
    std::sort(aggregates_.begin(), aggregates_.end());
  }

  // Adds the tree's providers that pass the filter to their groups: the inventories, and the
  // consumers that hold something on them.
  void AddTree(const Tree& tree) {
    for (int i = 0; i < tree.size(); ++i) {
      if (!Passes(tree.config(i))) continue;
      for (const std::string& key : KeysOf(tree, i)) AddMember(tree, i, &groups_[key]);
    }
  }

  // Adds what a consumer holds to the group of its project or type.
  void AddConsumer(const Consumer& consumer) {
    const Owner& owner = *consumer.owner;
    if (filter_.project && owner.project != *filter_.project) return;
    const bool by_project = filter_.grouping == UsageGrouping::kProject;
    const std::string& key = by_project ? owner.project : owner.type;
    Group* group = nullptr;
    for (const Allocation& row : consumer.allocations) {
      if (!WantsClass(row.resource_class) || !ProviderPasses(row.provider)) continue;
      if (group == nullptr) group = &groups_[key.empty() ? kUnnamedGroup : key];
      group->providers.insert(row.provider);
      group->consumers.insert(consumer.id);
      group->row.classes[NameOf(row.resource_class)].used += row.amount;
    }
  }

  // Returns the rows that were computed so far, and forgets them.
  std::map<std::string, UsageReportRow> Take() {
    std::map<std::string, UsageReportRow> rows;
    for (auto& [key, group] : groups_) {
      group.row.provider_count = static_cast<int64_t>(group.providers.size());
      group.row.consumer_count = static_cast<int64_t>(group.consumers.size());
      rows.emplace(key, std::move(group.row));
    }
    groups_.clear();
    return rows;
  }

 private:
  const std::string& NameOf(ClassId id) const { return state_.catalog().classes.NameOf(id); }
  bool WantsClass(ClassId id) const { return filter_.classes.empty() || classes_.contains(id); }

  bool Passes(const ProviderConfig& config) const {
    const auto is_member = [this](AggregateId id) {
      return std::binary_search(aggregates_.begin(), aggregates_.end(), id);
    };
    const auto is_wanted = [this](TraitId id) {
      return std::binary_search(traits_.begin(), traits_.end(), id);
    };
    return (aggregates_.empty() ||
            std::any_of(config.aggregates.begin(), config.aggregates.end(), is_member)) &&
           (filter_.traits.empty() ||
            std::any_of(config.traits.begin(), config.traits.end(), is_wanted));
  }

  bool ProviderPasses(ProviderId id) const {
    if (aggregates_.empty() && filter_.traits.empty()) return true;
    const auto place = state_.FindProvider(id);
    return place && Passes(place->config());
  }

  std::vector<std::string> KeysOf(const Tree& tree, int position) const {
    std::vector<std::string> keys;
    const ProviderConfig& config = tree.config(position);
    switch (filter_.grouping) {
      case UsageGrouping::kRoot:
        return {tree.root_id().ToString()};
      case UsageGrouping::kAggregate:
        for (const AggregateId id : config.aggregates) keys.push_back(id.ToString());
        return keys;
      case UsageGrouping::kTrait:
        for (const TraitId id : config.traits) keys.push_back(state_.catalog().traits.NameOf(id));
        return keys;
      default:
        return {""};
    }
  }

  void AddMember(const Tree& tree, int position, Group* group) {
    const ProviderConfig& config = tree.config(position);
    if (filter_.grouping == UsageGrouping::kRoot) group->row.name = tree.config(0).name;
    group->providers.insert(config.id);
    for (size_t r = 0; r < config.inventories.size(); ++r) {
      const InventoryRow& row = config.inventories[r];
      if (!WantsClass(row.resource_class)) continue;
      const Amount used = tree.used_of(position, static_cast<int>(r));
      ClassSum& sum = group->row.classes[NameOf(row.resource_class)];
      sum.total += row.inventory.total;
      sum.reserved += row.inventory.reserved;
      sum.capacity = AddCapped(sum.capacity, row.capacity);
      sum.free = AddCapped(sum.free, std::max<Amount>(0, row.capacity - used));
      if (!filter_.project) sum.used += used;
    }
    AddHolders(tree, position, group);
  }

  void AddHolders(const Tree& tree, int position, Group* group) {
    const ProviderId provider = tree.config(position).id;
    tree.consumers[position].ForEach([&](ConsumerId id, const auto&) {
      if (!filter_.project && filter_.classes.empty()) {
        group->consumers.insert(id);
        return true;
      }
      const PackedConsumer& consumer = *state_.consumers().FindPacked(id);
      if (filter_.project && consumer.owner()->project != *filter_.project) return true;
      for (const Allocation& row : consumer.allocations()) {
        if (row.provider != provider || !WantsClass(row.resource_class)) continue;
        group->consumers.insert(id);
        if (filter_.project) group->row.classes[NameOf(row.resource_class)].used += row.amount;
      }
      return true;
    });
  }

  const State& state_;
  const UsageReportFilter& filter_;
  absl::flat_hash_set<ClassId> classes_;
  std::vector<TraitId> traits_;          // sorted
  std::vector<AggregateId> aggregates_;  // sorted
  absl::flat_hash_map<std::string, Group> groups_;
};

// Calls visit(tree) for each tree whose root is greater than `after`, in order of root, until a
// call returns false.
template <typename Visit>
void ForEachTree(const State& state, std::optional<ProviderId> after, Visit visit) {
  for (const Counted<RootChunk>& chunk : state.roots().chunks()) {
    if (after && chunk->ids.back() <= *after) continue;
    for (int t = 0; t < chunk->trees.size(); ++t) {
      if (after && chunk->ids[t] <= *after) continue;
      if (!visit(*chunk->trees[t])) return;
    }
  }
}

// A report with a row for each root. Rows and trees have the same order, so only the trees of the
// page are read.
UsageReportPage ReportRoots(const State& state, Reporter reporter,
                            const std::optional<std::string>& after, int limit) {
  UsageReportPage page;
  std::optional<ProviderId> from;
  if (after) from = ProviderId::Parse(*after);
  ForEachTree(state, from, [&](const Tree& tree) {
    reporter.AddTree(tree);
    std::map<std::string, UsageReportRow> rows = reporter.Take();
    page.more = !rows.empty() && static_cast<int>(page.rows.size()) == limit;
    if (!page.more) page.rows.merge(rows);
    return !page.more;
  });
  return page;
}

}  // namespace

UsageReportPage ReportUsages(const State& state, const UsageReportFilter& filter,
                             const std::optional<std::string>& after, int limit) {
  // Page::limit is 1 to 1000.
  BERTH_CHECK(limit > 0);
  Reporter reporter(state, filter);
  if (filter.grouping == UsageGrouping::kRoot) {
    return ReportRoots(state, std::move(reporter), after, limit);
  }
  if (filter.grouping == UsageGrouping::kProject ||
      filter.grouping == UsageGrouping::kConsumerType) {
    state.consumers().ForEach([&](ConsumerId, const ConsumerPtr& consumer) {
      reporter.AddConsumer(*consumer);
      return true;
    });
  } else {
    ForEachTree(state, std::nullopt, [&](const Tree& tree) {
      reporter.AddTree(tree);
      return true;
    });
  }
  std::map<std::string, UsageReportRow> rows = reporter.Take();
  if (filter.grouping == UsageGrouping::kEverything) rows.try_emplace("");
  UsageReportPage page;
  for (auto row = after ? rows.upper_bound(*after) : rows.begin(); row != rows.end(); ++row) {
    page.more = static_cast<int>(page.rows.size()) == limit;
    if (page.more) break;
    page.rows.insert(std::move(*row));
  }
  return page;
}

}  // namespace berth::placement
