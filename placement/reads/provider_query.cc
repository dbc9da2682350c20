#include "placement/reads/provider_query.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "placement/ground/check.h"
#include "placement/state/lookup.h"
#include "placement/values/capacity.h"
#include "placement/values/faults.h"

namespace berth::placement {
namespace {

// The conditions of a filter that one provider must meet, with ids instead of names.
struct Wanted {
  std::optional<ProviderId> root;  // of the tree
  std::vector<absl::flat_hash_set<AggregateId>> member_of;
  absl::flat_hash_set<AggregateId> forbidden_aggregates;
  std::vector<std::vector<TraitId>> required;
  std::vector<TraitId> forbidden;
  std::vector<ClassAmount> resources;
};

// INVALID_ARGUMENT if the filter has too many names, uuids or amounts. Each provider is compared
// with all of them.
absl::Status CheckSize(const ProviderFilter& filter) {
  Faults faults;
  AtMostField(faults, "member_of", filter.member_of.size(), kTermsMax);
  AtMostField(faults, "required_traits", filter.required.size(), kTermsMax);
  AtMostField(faults, "resources", filter.resources.size(), kInventoriesMax);
  size_t names = filter.forbidden.size() + filter.forbidden_aggregates.size();
  for (const auto& term : filter.member_of) names += term.size();
  for (const auto& term : filter.required) names += term.size();
  AtMostField(faults, "the filter", names, kQueryNamesMax);
  return faults.status();
}

absl::Status CheckForm(const ProviderFilter& filter) {
  BERTH_RETURN_IF_ERROR(CheckSize(filter));
  Faults faults;
  if (filter.name && filter.name->empty()) {
    faults.Add(kInvalidField, "name", "must not be empty");
  }
  for (size_t i = 0; i < filter.member_of.size(); ++i) {
    if (filter.member_of[i].empty()) {
      faults.Add(kInvalidField, absl::StrCat("member_of[", i, "]"),
                 "must name at least one aggregate");
    }
  }
  for (size_t i = 0; i < filter.required.size(); ++i) {
    const std::vector<std::string>& term = filter.required[i];
    if (term.empty() || std::count(term.begin(), term.end(), "") > 0) {
      faults.Add(kInvalidField, absl::StrCat("required_traits[", i, "]"),
                 "must name at least one trait");
    }
  }
  for (size_t i = 0; i < filter.forbidden.size(); ++i) {
    if (filter.forbidden[i].empty()) {
      faults.Add(kInvalidField, absl::StrCat("forbidden_traits[", i, "]"), "must not be empty");
    }
  }
  for (const NamedAmount& resource : filter.resources) {
    faults.UpperName("resources", resource.resource_class);
    if (resource.amount < 1 || resource.amount > kAmountMax) {
      faults.Add(kInvalidField, "resources",
                 absl::StrCat("must be 1 to ", kAmountMax, ", but is ", resource.amount),
                 {{"resource_class", resource.resource_class}});
    }
  }
  return faults.status();
}

absl::Status ResolveTraits(const State& state, const ProviderFilter& filter, Wanted& wanted) {
  std::vector<std::string> names;
  for (const auto& term : filter.required) names.insert(names.end(), term.begin(), term.end());
  names.insert(names.end(), filter.forbidden.begin(), filter.forbidden.end());
  BERTH_RETURN_IF_ERROR(RequireTraits(state, names).status());
  for (const std::vector<std::string>& term : filter.required) {
    wanted.required.push_back(*RequireTraits(state, term));
  }
  wanted.forbidden = *RequireTraits(state, filter.forbidden);
  return absl::OkStatus();
}

absl::Status ResolveClasses(const State& state, const ProviderFilter& filter, Wanted& wanted) {
  std::vector<std::string> unknown;
  for (const NamedAmount& resource : filter.resources) {
    if (const auto id = state.catalog().classes.Find(resource.resource_class)) {
      wanted.resources.push_back({*id, resource.amount});
    } else {
      unknown.push_back(resource.resource_class);
    }
  }
  if (unknown.empty()) return absl::OkStatus();
  std::vector<FaultItem> items;
  items.reserve(unknown.size());
  for (const std::string& name : unknown) items.push_back({{"resource_class", name}});
  return Refuse(absl::StatusCode::kNotFound, "RESOURCE_CLASS_NOT_FOUND",
                absl::StrCat("there is no resource class ", ListOf(unknown)), items);
}

// Whether the provider meets those conditions of `wanted` that concern only the provider itself
// (P-70..P-77).
bool Passes(const Wanted& wanted, const ProviderPlace& place) {
  const ProviderConfig& config = place.config();
  const auto has_trait = [&config](TraitId trait) { return config.HasTrait(trait); };
  for (const std::vector<TraitId>& term : wanted.required) {
    if (std::none_of(term.begin(), term.end(), has_trait)) return false;
  }
  if (std::any_of(wanted.forbidden.begin(), wanted.forbidden.end(), has_trait)) return false;
  const std::vector<AggregateId>& aggregates = config.aggregates;
  const auto is_in = [&aggregates](const absl::flat_hash_set<AggregateId>& set) {
    return std::any_of(aggregates.begin(), aggregates.end(),
                       [&set](AggregateId aggregate) { return set.contains(aggregate); });
  };
  if (!std::all_of(wanted.member_of.begin(), wanted.member_of.end(), is_in)) return false;
  if (is_in(wanted.forbidden_aggregates)) return false;
  return std::all_of(wanted.resources.begin(), wanted.resources.end(), [&](const auto& resource) {
    const int row = config.FindInventory(resource.resource_class);
    if (row < 0) return false;
    const InventoryRow& inventory = config.inventories[row];
    return Fits(inventory.inventory, inventory.capacity, place.used(row), resource.amount);
  });
}

// Collects one page of providers. The caller offers providers in order of id, until one more than
// the limit has passed the filter. Then `more` is known.
class PageMaker {
 public:
  PageMaker(const Wanted& wanted, int limit) : wanted_(wanted), limit_(limit) {}

  // Adds the provider to the page if it passes the filter. Returns false when no more providers are
  // needed.
  bool Take(ProviderPlace place) {
    if (!Passes(wanted_, place)) return true;
    if (static_cast<int>(page_.providers.size()) == limit_) {
      page_.more = true;
      return false;
    }
    page_.providers.push_back(std::move(place));
    return true;
  }
  ProviderPage Finish() { return std::move(page_); }

 private:
  const Wanted& wanted_;
  const int limit_;
  ProviderPage page_;
};

// Gives `page` the providers with ids greater than `after`, in order of id, until it is full. The
// roots come from their chunks and the other providers from root_of; the two lists are merged.
void VisitAll(const State& state, std::optional<ProviderId> after, bool roots_only,
              PageMaker& page) {
  std::vector<std::pair<ProviderId, ProviderId>> others;  // the next few, with their roots
  size_t next = 0;
  const auto read_on = [&](std::optional<ProviderId> from) {
    constexpr size_t kOthersMax = 256;
    others.clear();
    next = 0;
    const auto add = [&others](ProviderId id, ProviderId root) {
      others.emplace_back(id, root);
      return others.size() < kOthersMax;
    };
    if (roots_only) return;
    from ? state.root_of().ForEachFrom(*from, add) : state.root_of().ForEach(add);
  };
  // Gives `page` the providers that are not roots and have ids less than `bound`. Returns false
  // when the page is full.
  const auto take_others = [&](std::optional<ProviderId> bound) {
    while (next < others.size() && (!bound || others[next].first < *bound)) {
      const auto [id, root] = others[next++];
      TreePtr tree = state.FindTree(root);
      const int position = tree->Find(id);
      if (!page.Take({std::move(tree), position})) return false;
      if (next == others.size()) read_on(id);
    }
    return true;
  };
  read_on(after);
  for (const Counted<RootChunk>& chunk : state.roots().chunks()) {
    if (after && chunk->ids.back() <= *after) continue;
    for (int at = 0; at < chunk->trees.size(); ++at) {
      if (after && chunk->ids[at] <= *after) continue;
      if (!take_others(chunk->ids[at]) || !page.Take({chunk->trees[at], 0})) return;
    }
  }
  take_others(std::nullopt);
}

// The providers that pass the conditions on name, id and in_tree, in order of id; nullopt if none
// of these conditions is given.
std::optional<std::vector<ProviderPlace>> Chosen(const State& state, const ProviderFilter& filter) {
  if (!filter.name && !filter.id && !filter.in_tree) return std::nullopt;
  std::vector<ProviderPlace> chosen;
  std::optional<ProviderId> one = filter.id;
  if (filter.name) {
    const std::optional<ProviderId> named = state.FindProviderByName(*filter.name);
    if (!named || (one && *one != *named)) return chosen;
    one = named;
  }
  std::optional<ProviderPlace> member;
  if (filter.in_tree) {
    member = state.FindProvider(*filter.in_tree);
    if (!member) return chosen;
  }
  if (one) {
    const std::optional<ProviderPlace> place = state.FindProvider(*one);
    if (!place || (member && member->tree->root_id() != place->tree->root_id())) return chosen;
    chosen.push_back(*place);
    return chosen;
  }
  for (const auto& [id, position] : member->tree->shape->by_id) {
    chosen.push_back({member->tree, position});
  }
  return chosen;
}

}  // namespace

absl::StatusOr<ProviderPage> ListProviders(const State& state, const ProviderFilter& filter,
                                           std::optional<ProviderId> after, int limit) {
  // Page::limit is 1 to 1000.
  BERTH_CHECK(limit > 0);
  BERTH_RETURN_IF_ERROR(CheckForm(filter));
  Wanted wanted;
  BERTH_RETURN_IF_ERROR(ResolveTraits(state, filter, wanted));
  BERTH_RETURN_IF_ERROR(ResolveClasses(state, filter, wanted));
  for (const auto& term : filter.member_of) wanted.member_of.emplace_back(term.begin(), term.end());
  wanted.forbidden_aggregates = {filter.forbidden_aggregates.begin(),
                                 filter.forbidden_aggregates.end()};

  PageMaker page(wanted, limit);
  const std::optional<std::vector<ProviderPlace>> chosen = Chosen(state, filter);
  if (!chosen) {
    VisitAll(state, after, filter.roots_only, page);
    return page.Finish();
  }
  for (const ProviderPlace& place : *chosen) {
    if (after && place.config().id <= *after) continue;
    if (filter.roots_only && place.position != 0) continue;
    if (!page.Take(place)) break;
  }
  return page.Finish();
}

absl::StatusOr<std::map<std::string, UsageGroup>> GetUsages(
    const State& state, const std::string& project, const std::optional<std::string>& user,
    const std::optional<std::string>& consumer_type) {
  Faults faults;
  faults.Length("project_id", project, 1, kOwnerMax);
  if (user) faults.Length("user_id", *user, 1, kOwnerMax);
  const bool all = consumer_type == "all";
  const bool untyped = consumer_type == "unknown";
  if (consumer_type && !all && !untyped && !IsUpperName(*consumer_type)) {
    faults.Add(
        kInvalidField, "consumer_type",
        "must be `all`, `unknown`, or a name of 1 to 255 capital letters, digits and underscores");
  }
  BERTH_RETURN_IF_ERROR(faults.status());

  std::map<std::string, UsageGroup> groups;
  // `before` is less than the keys of all owners of the project, because no user is empty.
  const Owner before{.project = project, .user = "", .type = ""};
  state.owners().ForEachFrom(before, [&](const Owner& owner, const Counted<OwnerUsage>& usage) {
    if (owner.project != project) return false;
    if (user && owner.user != *user) return true;
    if (consumer_type && !all && owner.type != (untyped ? "" : *consumer_type)) return true;
    UsageGroup& group = groups[all ? "all" : owner.type.empty() ? "unknown" : owner.type];
    group.consumer_count += usage->consumer_count;
    for (const ClassAmount& sum : usage->used) {
      group.used[state.catalog().classes.NameOf(sum.resource_class)] += sum.amount;
    }
    return true;
  });
  return groups;
}

}  // namespace berth::placement
