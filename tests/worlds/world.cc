#include "tests/worlds/world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "placement/ground/check.h"
#include "tests/worlds/safety.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

// A kind of name stands in the high half of its ids, so that no two kinds share one.
template <typename IdType>
IdType IdOf(std::map<std::string, IdType>& ids, absl::string_view name, uint64_t kind) {
  const auto next = IdType{Uuid{kind << 32, ids.size() + 1}};
  return ids.emplace(std::string(name), next).first->second;
}

std::string TextOf(const Catalog& catalog, const ProviderPlace& place) {
  const ProviderConfig& config = place.config();
  std::vector<std::string> rows, traits, aggregates;
  for (size_t i = 0; i < config.inventories.size(); ++i) {
    const Inventory& row = config.inventories[i].inventory;
    rows.push_back(absl::StrCat(catalog.classes.NameOf(config.inventories[i].resource_class), ":",
                                row.total, " reserved ", row.reserved, " min ", row.min_unit,
                                " max ", row.max_unit, " step ", row.step_size, " ratio ",
                                row.allocation_ratio, " used ", place.used(static_cast<int>(i))));
  }
  for (const TraitId trait : config.traits) traits.push_back(catalog.traits.NameOf(trait));
  for (const AggregateId aggregate : config.aggregates) {
    aggregates.push_back(aggregate.ToString());
  }
  std::sort(rows.begin(), rows.end());
  std::sort(traits.begin(), traits.end());
  return absl::StrCat(config.id.ToString(), " ", config.name, " below ",
                      config.parent ? config.parent->ToString() : "nothing", " in ",
                      place.tree->root_id().ToString(), " [", absl::StrJoin(traits, ","), "]{",
                      absl::StrJoin(rows, ", "), "}(", absl::StrJoin(aggregates, ","), ")");
}

}  // namespace

World::World() {
  EnsureStandardNames names;
  for (const absl::string_view name : absl::StrSplit(
           "VCPU MEMORY_MB DISK_GB PCI_DEVICE SRIOV_NET_VF NUMA_SOCKET NUMA_CORE NUMA_THREAD "
           "NUMA_MEMORY_MB IPV4_ADDRESS VGPU VGPU_DISPLAY_HEAD NET_BW_EGR_KILOBIT_PER_SEC "
           "NET_BW_IGR_KILOBIT_PER_SEC PCPU MEM_ENCRYPTION_CONTEXT FPGA PGPU "
           "NET_PACKET_RATE_KILOPACKET_PER_SEC NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC "
           "NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC",
           ' ')) {
    names.classes.emplace_back(name);
  }
  names.traits = {"COMPUTE_STATUS_DISABLED", "MISC_SHARES_VIA_AGGREGATE", "OWNER_NOVA"};
  Must(names);
}

World::World(absl::string_view notation) : World() { Add(notation); }

void World::Add(absl::string_view notation) {
  std::vector<std::pair<int, ProviderId>> above;  // indentation and id, from the root down
  int margin = -1;                                // indentation of the first line: a root's
  for (const absl::string_view text : absl::StrSplit(notation, '\n')) {
    if (absl::StripAsciiWhitespace(text).empty()) continue;
    const ProviderNotation line = ParseProvider(text);
    if (margin < 0) margin = line.indent;
    while (!above.empty() && above.back().first >= line.indent) above.pop_back();
    BERTH_CHECK(!above.empty() || line.indent == margin);
    AddProvider(line, above.empty() ? std::nullopt : std::optional(above.back().second));
    above.emplace_back(line.indent, provider(line.name));
  }
}

void World::Ensure(const ProviderNotation& line) {
  EnsureStandardNames standard;
  for (const NamedInventory& named : line.inventories) {
    if (state_.catalog().classes.Find(named.resource_class)) continue;
    if (IsCustomName(named.resource_class)) {
      Must(CreateClass{named.resource_class, true});
    } else {
      standard.classes.push_back(named.resource_class);
    }
  }
  for (const std::string& trait : line.traits) {
    if (state_.catalog().traits.Find(trait)) continue;
    if (IsCustomName(trait)) {
      Must(EnsureTrait{trait});
    } else {
      standard.traits.push_back(trait);
    }
  }
  if (!standard.classes.empty() || !standard.traits.empty()) Must(standard);
}

void World::AddProvider(const ProviderNotation& line, std::optional<ProviderId> parent) {
  Ensure(line);
  const ProviderId id = provider(line.name);
  Must(CreateProvider{id, line.name, parent});
  if (!line.inventories.empty()) {
    Must(SetInventories{id, generation(line.name), line.inventories});
  }
  if (!line.traits.empty()) Must(SetProviderTraits{id, generation(line.name), line.traits});
  if (!line.aggregates.empty()) {
    SetProviderAggregates set{id, generation(line.name), {}};
    for (const std::string& name : line.aggregates) set.aggregates.push_back(aggregate(name));
    Must(set);
  }
  if (!line.used.empty()) {
    const ConsumerId holder = consumer(absl::StrCat("held-by-", line.name));
    Must(SetAllocations{{{holder, std::nullopt, "project", "user", "INSTANCE", {{id, line.used}}}},
                        false});
  }
}

absl::StatusOr<Outcome> World::Do(CommandBody body) {
  ++commands_;
  const RuleContext context{absl::UnixEpoch() + absl::Seconds(commands_), Generation{commands_}};
  absl::StatusOr<Outcome> outcome =
      Decide(state_, Command{"", "", "", {}, std::move(body)}, context);
  if (!outcome.ok() || outcome->changes.empty()) return outcome;
  const State before = state_;
  state_.Apply(outcome->changes);
  // The check looks at the whole world. The sanitizers look for other faults.
  if (!kSanitized || commands_ % 16 == 0) CheckStep(before, state_, context.fresh);
  return outcome;
}

Outcome World::Must(CommandBody body) {
  absl::StatusOr<Outcome> outcome = Do(std::move(body));
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : Outcome{};
}

ProviderId World::provider(absl::string_view name) { return IdOf(providers_, name, 1); }
ConsumerId World::consumer(absl::string_view name) { return IdOf(consumers_, name, 2); }
AggregateId World::aggregate(absl::string_view name) { return IdOf(aggregates_, name, 3); }

ProviderPlace World::place(absl::string_view name) {
  std::optional<ProviderPlace> found = state_.FindProvider(provider(name));
  BERTH_CHECK(found.has_value());
  return *std::move(found);
}

Generation World::generation(absl::string_view provider_name) {
  return place(provider_name).config().generation;
}

Generation World::allocation_generation(absl::string_view provider_name) {
  return place(provider_name).allocation_generation();
}

Amount World::used(absl::string_view provider_name, absl::string_view resource_class) {
  const ProviderPlace found = place(provider_name);
  const std::optional<ClassId> id = state_.catalog().classes.Find(resource_class);
  BERTH_CHECK(id && found.config().FindInventory(*id) >= 0);
  return found.used(found.config().FindInventory(*id));
}

std::optional<Generation> World::consumer_generation(absl::string_view name) {
  const ConsumerPtr found = state_.FindConsumer(consumer(name));
  if (!found) return std::nullopt;
  return found->generation;
}

ConsumerAllocations World::Claim(absl::string_view name, absl::string_view notation) {
  ConsumerAllocations claim{
      consumer(name), consumer_generation(name), "project", "user", "INSTANCE", {}};
  for (const absl::string_view part : absl::StrSplit(notation, '}')) {
    const size_t brace = part.find('{');
    if (brace == absl::string_view::npos) continue;
    const absl::string_view host = absl::StripAsciiWhitespace(part.substr(0, brace));
    claim.allocations.push_back({provider(host), ParseAmounts(part.substr(brace + 1))});
  }
  return claim;
}

namespace {

std::string LeaseText(const Consumer& consumer) {
  if (!consumer.lease_expires_at) return "";
  return absl::StrCat(" until ", absl::ToUnixMicros(*consumer.lease_expires_at));
}

void AddProviders(const State& state, std::vector<std::string>& lines) {
  for (const auto& chunk : state.roots().chunks()) {
    for (int t = 0; t < chunk->trees.size(); ++t) {
      const TreePtr& tree = chunk->trees[t];
      for (int p = 0; p < tree->size(); ++p) {
        lines.push_back("provider " + TextOf(state.catalog(), ProviderPlace{tree, p}));
      }
    }
  }
}

void AddConsumers(const State& state, std::vector<std::string>& lines) {
  state.consumers().ForEach([&](const ConsumerId& id, const ConsumerPtr& consumer) {
    std::vector<std::string> rows;
    for (const Allocation& row : consumer->allocations) {
      rows.push_back(absl::StrCat(row.provider.ToString(), " ",
                                  state.catalog().classes.NameOf(row.resource_class), ":",
                                  row.amount));
    }
    std::sort(rows.begin(), rows.end());
    lines.push_back(absl::StrCat("consumer ", id.ToString(), " of ", consumer->owner->project, "/",
                                 consumer->owner->user, "/", consumer->owner->type, " ",
                                 absl::StrJoin(rows, ", "), LeaseText(*consumer)));
  });
}

void AddServices(const State& state, std::vector<std::string>& lines) {
  state.services().ForEach([&](const auto& key, const auto& service) {
    lines.push_back(absl::StrCat("service ", key.first, " ", key.second, " ",
                                 service->incarnation.ToString(), service->up ? " up" : " down",
                                 service->disabled ? " disabled " : "", service->disabled_reason,
                                 service->forced_down ? " forced down" : ""));
  });
}

void AddNodes(const State& state, std::vector<std::string>& lines) {
  state.nodes().ForEach([&](const ProviderId& id, const auto& node) {
    lines.push_back(absl::StrCat("node ", id.ToString(), " ", node->name, " of ", node->host,
                                 node->retired ? " retired" : "", " at ", node->report_sequence));
  });
}

void AddAggregates(const State& state, std::vector<std::string>& lines) {
  state.aggregates().by_id().ForEach([&](const AggregateId& id, const AggregatePtr& aggregate) {
    std::string line = absl::StrCat("aggregate ", id.ToString(), " ", aggregate->name);
    for (const auto& [key, value] : aggregate->metadata) {
      absl::StrAppend(&line, " ", key, "=", value);
    }
    lines.push_back(std::move(line));
  });
}

void AddGroups(const State& state, std::vector<std::string>& lines) {
  state.records().groups().ForEach([&](const ServerGroupId& id, const ServerGroupPtr& group) {
    lines.push_back(absl::StrCat("group ", id.ToString(), " ", group->name, " of ", group->project,
                                 "/", group->user, " ", static_cast<int>(group->policy), " ",
                                 group->max_server_per_host.value_or(0)));
  });
}

void AddInstances(const State& state, std::vector<std::string>& lines) {
  state.records().instances().ForEach([&](const InstanceId& id, const InstancePtr& instance) {
    lines.push_back(absl::StrCat("instance ", id.ToString(), " ", instance->name, " of ",
                                 instance->project, "/", instance->user, " on ", instance->host,
                                 " ", instance->node ? instance->node->ToString() : "no node", " ",
                                 instance->vm_state, " ", instance->task_state) +
                    absl::StrCat(" ", instance->flavor.vcpus, " ", instance->flavor.memory_mib,
                                 instance->deleted_at ? " deleted" : "",
                                 instance->group ? " in " + instance->group->ToString() : "", " [",
                                 instance->body, "]"));
  });
}

void AddMigrations(const State& state, std::vector<std::string>& lines) {
  state.records().migrations().ForEach([&](const MigrationId& id, const MigrationPtr& migration) {
    lines.push_back(absl::StrCat("migration ", id.ToString(), " of ",
                                 migration->instance.ToString(), " ", migration->status, " from ",
                                 migration->source_host, " to ", migration->destination_host));
  });
}

void AddLines(const State& state, EntityKind kind, std::vector<std::string>& lines) {
  const Catalog& catalog = state.catalog();
  switch (kind) {
    case EntityKind::kResourceClass:
      for (const auto& [name, id] : catalog.classes.by_name()) lines.push_back("class " + name);
      return;
    case EntityKind::kTrait:
      for (const auto& [name, id] : catalog.traits.by_name()) lines.push_back("trait " + name);
      return;
    case EntityKind::kProvider:
      return AddProviders(state, lines);
    case EntityKind::kProviderUsage:
      return;  // in the line of the provider
    case EntityKind::kConsumer:
      return AddConsumers(state, lines);
    case EntityKind::kService:
      return AddServices(state, lines);
    case EntityKind::kNode:
      return AddNodes(state, lines);
    case EntityKind::kAggregate:
      return AddAggregates(state, lines);
    case EntityKind::kServerGroup:
      return AddGroups(state, lines);
    case EntityKind::kInstance:
      return AddInstances(state, lines);
    case EntityKind::kMigration:
      return AddMigrations(state, lines);
  }
}

}  // namespace

std::string World::Text() const { return TextOf(state_); }

std::string TextOf(const State& state) {
  std::vector<std::string> lines;
  ForEachEntityKind([&](EntityKind kind) { AddLines(state, kind, lines); });
  std::sort(lines.begin(), lines.end());
  return absl::StrJoin(lines, "\n");
}

}  // namespace berth::placement
