#include "placement/state/lookup.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

template <typename IdType>
int64_t CustomNames(const NameTable<IdType>& table) {
  return std::count_if(table.by_name().begin(), table.by_name().end(),
                       [](const auto& entry) { return !IsStandardName(entry.first); });
}

int64_t CountOfKind(const State& state, EntityKind kind) {
  switch (kind) {
    case EntityKind::kResourceClass:
      return CustomNames(state.catalog().classes);
    case EntityKind::kTrait:
      return CustomNames(state.catalog().traits);
    case EntityKind::kProvider:
      return state.provider_count();
    case EntityKind::kProviderUsage:
      return 0;
    case EntityKind::kConsumer:
      return state.consumers().size();
    case EntityKind::kService:
      return state.services().size();
    case EntityKind::kNode:
      return state.nodes().size();
    case EntityKind::kAggregate:
      return state.aggregates().by_id().size();
    case EntityKind::kServerGroup:
      return state.records().groups().size();
    case EntityKind::kInstance:
      return state.records().instances().size();
    case EntityKind::kMigration:
      return state.records().migrations().size();
  }
  return 0;
}

}  // namespace

absl::Status RefuseAll(absl::StatusCode code, absl::string_view reason, std::string message,
                       const std::vector<FaultItem>& items) {
  if (items.empty()) return absl::OkStatus();
  if (items.size() > 1) {
    absl::StrAppend(&message, "; ", items.size() - 1, " more faults of this kind");
  }
  return Refuse(code, reason, message, items);
}

std::string Describe(const ProviderConfig& config) {
  return absl::StrCat("provider ", config.name, " (", config.id.ToString(), ")");
}

absl::StatusOr<ProviderPlace> RequireProvider(const State& state, ProviderId id,
                                              std::optional<Generation> expected) {
  std::optional<ProviderPlace> place = state.FindProvider(id);
  if (!place) {
    return Refuse(absl::StatusCode::kNotFound, "PROVIDER_NOT_FOUND",
                  absl::StrCat("there is no provider ", id.ToString()),
                  {{{"provider", id.ToString()}}});
  }
  const ProviderConfig& config = place->config();
  if (!expected || *expected == config.generation) return *std::move(place);
  return Refuse(absl::StatusCode::kAborted, "PROVIDER_GENERATION_CONFLICT",
                absl::StrCat(Describe(config), " is at generation ", config.generation.value,
                             ", but the request expected generation ", expected->value,
                             ": read it again and decide again"),
                {{{"provider", config.id.ToString()},
                  {"expected_generation", absl::StrCat(expected->value)},
                  {"actual_generation", absl::StrCat(config.generation.value)}}});
}

absl::StatusOr<ConsumerPtr> RequireConsumer(const State& state, ConsumerId id,
                                            std::optional<Generation> expected) {
  ConsumerPtr consumer = state.FindConsumer(id);
  if (!consumer) {
    return Refuse(absl::StatusCode::kNotFound, "CONSUMER_NOT_FOUND",
                  absl::StrCat("consumer ", id.ToString(), " holds nothing"),
                  {{{"consumer", id.ToString()}}});
  }
  if (!expected || *expected == consumer->generation) return consumer;
  return Refuse(absl::StatusCode::kAborted, "CONSUMER_GENERATION_CONFLICT",
                absl::StrCat("consumer ", id.ToString(), " is at generation ",
                             consumer->generation.value, ", but the request expected generation ",
                             expected->value, ": read it again and decide again"),
                {{{"consumer", id.ToString()},
                  {"expected_generation", absl::StrCat(expected->value)},
                  {"actual_generation", absl::StrCat(consumer->generation.value)}}});
}

absl::StatusOr<ClassId> RequireClass(const State& state, absl::string_view name) {
  const std::optional<ClassId> id = state.catalog().classes.Find(name);
  if (id) return *id;
  return Refuse(absl::StatusCode::kNotFound, "RESOURCE_CLASS_NOT_FOUND",
                absl::StrCat("there is no resource class ", name),
                {{{"resource_class", std::string(name)}}});
}

absl::StatusOr<std::vector<TraitId>> RequireTraits(const State& state,
                                                   const std::vector<std::string>& names) {
  std::vector<TraitId> ids;
  std::vector<std::string> unknown;
  absl::flat_hash_set<absl::string_view> named;  // the names in `unknown`, to find repeats
  for (const std::string& name : names) {
    if (const std::optional<TraitId> id = state.catalog().traits.Find(name)) {
      ids.push_back(*id);
    } else if (named.insert(name).second) {
      unknown.push_back(name);
    }
  }
  if (!unknown.empty()) {
    std::vector<FaultItem> items;
    items.reserve(unknown.size());
    for (const std::string& name : unknown) items.push_back({{"trait", name}});
    return Refuse(absl::StatusCode::kNotFound, "TRAIT_NOT_FOUND",
                  absl::StrCat("there is no trait ", ListOf(unknown)), items);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::optional<ProviderId> NameHolder(const State& state, absl::string_view name, ProviderId id) {
  const std::optional<ProviderId> holder = state.FindProviderByName(name);
  if (!holder || *holder == id) return std::nullopt;
  return holder;
}

std::optional<absl::Time> FirstLeaseEnd(const State& state) {
  std::optional<absl::Time> first;
  state.leases().ForEach([&first](const std::pair<absl::Time, ConsumerId>& lease, std::monostate) {
    first = lease.first;
    return false;
  });
  return first;
}

int64_t EntityCount(const State& state) {
  int64_t count = 0;
  ForEachEntityKind([&](EntityKind kind) { count += CountOfKind(state, kind); });
  return count;
}

absl::Status CheckRevision(const State& newest, Revision wanted) {
  const int64_t epoch = newest.position().revision.epoch;
  const auto refuse = [epoch](absl::StatusCode code, absl::string_view reason,
                              const std::string& text) {
    return Refuse(code, reason, text, {{{"epoch", absl::StrCat(epoch)}}});
  };
  if (wanted.epoch == epoch) return absl::OkStatus();
  if (wanted.epoch > epoch) {
    return refuse(
        absl::StatusCode::kOutOfRange, "EPOCH_UNKNOWN",
        absl::StrCat("epoch ", wanted.epoch, " has not begun: the ledger is in epoch ", epoch));
  }
  const std::vector<Revision>& epochs = newest.epochs();
  const auto after = std::find_if(epochs.begin(), epochs.end(), [wanted](const Revision& first) {
    return first.number > wanted.number;
  });
  if (after == epochs.begin() || std::prev(after)->epoch == wanted.epoch) return absl::OkStatus();
  return refuse(absl::StatusCode::kFailedPrecondition, "REVISION_LOST",
                absl::StrCat("revision ", wanted.number, " of epoch ", wanted.epoch,
                             " was lost in a restore of the database: the revision with this "
                             "number now belongs to epoch ",
                             std::prev(after)->epoch));
}

}  // namespace berth::placement
