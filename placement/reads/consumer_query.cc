#include "placement/reads/consumer_query.h"

#include <algorithm>
#include <utility>

#include "placement/ground/check.h"
#include "placement/values/faults.h"

namespace berth::placement {
namespace {

constexpr char kUntyped[] = "unknown";

bool OwnerPasses(const ConsumerFilter& filter, const Owner& owner) {
  if (filter.project && owner.project != *filter.project) return false;
  if (filter.user && owner.user != *filter.user) return false;
  return !filter.type || owner.type == (*filter.type == kUntyped ? "" : *filter.type);
}

// The consumers with ids greater than `after` that hold something in the tree of `member`, sorted.
std::vector<ConsumerId> HoldersIn(const State& state, ProviderId member,
                                  std::optional<ConsumerId> after) {
  std::vector<ConsumerId> holders;
  const auto place = state.FindProvider(member);
  if (!place) return holders;
  const auto add = [&holders](ConsumerId id, const auto&) {
    holders.push_back(id);
    return true;
  };
  for (const ConsumerSet& held_by : place->tree->consumers) {
    after ? held_by.ForEachFrom(*after, add) : held_by.ForEach(add);
  }
  std::sort(holders.begin(), holders.end());
  holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
  return holders;
}

}  // namespace

absl::StatusOr<ConsumerPage> ListConsumers(const State& state, const ConsumerFilter& filter,
                                           std::optional<ConsumerId> after, int limit) {
  // Page::limit is 1 to 1000.
  BERTH_CHECK(limit > 0);
  Faults faults;
  const auto not_empty = [&faults](const char* field, const std::optional<std::string>& text) {
    if (text && text->empty()) faults.Add(kInvalidField, field, "must not be empty");
  };
  not_empty("project_id", filter.project);
  not_empty("user_id", filter.user);
  not_empty("consumer_type", filter.type);
  BERTH_RETURN_IF_ERROR(faults.status());

  ConsumerPage page;
  // Adds the consumer to the page if it passes the filter. Returns false when the page is full.
  const auto take = [&](ConsumerId, const ConsumerPtr& consumer) {
    if (!OwnerPasses(filter, *consumer->owner)) return true;
    if (filter.updated_before && consumer->updated_at >= *filter.updated_before) return true;
    if (filter.leased && *filter.leased != consumer->lease_expires_at.has_value()) return true;
    page.more = static_cast<int>(page.consumers.size()) == limit;
    if (!page.more) page.consumers.push_back(consumer);
    return !page.more;
  };
  if (filter.in_tree) {
    for (const ConsumerId id : HoldersIn(state, *filter.in_tree, after)) {
      if (!take(id, state.FindConsumer(id))) break;
    }
  } else if (after) {
    state.consumers().ForEachFrom(*after, take);
  } else {
    state.consumers().ForEach(take);
  }
  return page;
}

std::map<std::string, int64_t> CountConsumerTypes(const State& state) {
  std::map<std::string, int64_t> counts;
  state.owners().ForEach([&counts](const Owner& owner, const Counted<OwnerUsage>& usage) {
    if (usage->consumer_count > 0) {
      counts[owner.type.empty() ? kUntyped : owner.type] += usage->consumer_count;
    }
    return true;
  });
  return counts;
}

}  // namespace berth::placement
