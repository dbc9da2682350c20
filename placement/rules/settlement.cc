#include "placement/rules/settlement.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/commands/fleet_node.h"
#include "placement/ground/check.h"
#include "placement/ground/status_macros.h"
#include "placement/values/migration_status.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// A node, or the provider that a migration names as a node. The host is empty if it has no record.
struct NodeAt {
  ProviderId id;
  std::string host;
};

// Whether `host` and `named` name the node. Without `named` they name all nodes of the host.
bool IsOnNode(const std::string& host, const std::optional<ProviderId>& named, const NodeAt& node) {
  return named ? *named == node.id : !host.empty() && host == node.host;
}

bool IsOn(const InstanceRecord& instance, const std::string& host,
          const std::optional<ProviderId>& node) {
  return !host.empty() && instance.host == host &&
         (!node || !instance.node || *node == *instance.node);
}

// To what a provider belongs, as seen from a move. `kMaybe`: to a node that nobody names, while the
// node of this side alone is not known.
enum class Part {
  kSource,
  kMaybeSource,
  kDestination,
  kMaybeDestination,
  kBothSides,
  kOtherNode,
  kNoNode
};

bool IsOnSource(Part part) { return part == Part::kSource || part == Part::kMaybeSource; }
bool IsOnDestination(Part part) {
  return part == Part::kDestination || part == Part::kMaybeDestination;
}

struct Row {
  Allocation allocation;
  Part part{};
};

class Parts {
 public:
  Parts(const State& state, const MigrationRecord& migration, const InstanceRecord& instance)
      : state_(state), migration_(migration), instance_(instance) {}

  // The rows of the consumer; none if it is null.
  std::vector<Row> RowsOf(const ConsumerPtr& consumer) const {
    std::vector<Row> rows;
    if (consumer == nullptr) return rows;
    for (const Allocation& allocation : consumer->allocations) {
      rows.push_back({allocation, PartOf(*consumer, allocation)});
    }
    return rows;
  }

 private:
  // REQUIRES: `row` is a row of `holder`.
  Part PartOf(const Consumer& holder, const Allocation& row) const {
    const std::optional<ProviderPlace> place = state_.FindProvider(row.provider);
    BERTH_CHECK(place.has_value());  // something of it is allocated
    if (IsSharedPool(state_, place->config()) || IsDiskAlone(holder, row)) return Part::kNoNode;
    const Tree& tree = *place->tree;
    for (int p = place->position; p >= 0; p = tree.shape->parent_of[p]) {
      const ProviderId id = tree.config(p).id;
      const NodeRecordPtr node = FindNode(state_, id);
      if (node != nullptr) return PartOfNode({id, node->host});
      if (id == migration_.source_node || id == migration_.destination_node) {
        return PartOfNode({id, ""});
      }
    }
    return Part::kNoNode;
  }

  // Whether the row is disk of a sharing root, and the holder has nothing else on the root's node:
  // then the holder may be a guest of another node.
  bool IsDiskAlone(const Consumer& holder, const Allocation& row) const {
    if (!IsSharedDisk(state_, row)) return false;
    const auto is_on_same = [&](const Allocation& other) {
      const NodeRecordPtr node = FindNodeOfRow(state_, other);
      return node != nullptr && node->id == row.provider;
    };
    return std::none_of(holder.allocations.begin(), holder.allocations.end(), is_on_same);
  }

  Part PartOfNode(const NodeAt& node) const {
    const bool on_source = IsOnNode(migration_.source_host, migration_.source_node, node);
    const bool on_destination =
        IsOnNode(migration_.destination_host, migration_.destination_node, node);
    if (on_source && on_destination) return Part::kBothSides;
    if (on_source) return Part::kSource;
    if (on_destination) return Part::kDestination;
    if (IsOfAnother(node)) return Part::kOtherNode;
    const bool knows_source = migration_.source_node.has_value();
    if (migration_.destination_node) return knows_source ? Part::kOtherNode : Part::kMaybeSource;
    const bool is_open = knows_source || migration_.destination_host.empty();
    return is_open ? Part::kMaybeDestination : Part::kOtherNode;
  }

  // Whether the instance is on the node, or another move of it may still hold something there.
  bool IsOfAnother(const NodeAt& node) const {
    if (IsOnNode(instance_.host, instance_.node, node)) return true;
    const std::vector<MigrationPtr> moves = state_.records().MigrationsOf(migration_.instance);
    return std::any_of(moves.begin(), moves.end(), [&](const MigrationPtr& move) {
      return move->id != migration_.id &&
             (HoldsResources(move->status) || move->status == kDoneStatus) &&
             (IsOnNode(move->source_host, move->source_node, node) ||
              IsOnNode(move->destination_host, move->destination_node, node));
    });
  }

  const State& state_;
  const MigrationRecord& migration_;
  const InstanceRecord& instance_;
};

// What the end does with the rows.
enum class Effect { kArrives, kReturns, kGoesOn, kKeepsBoth };

Effect EffectOf(const MigrationRecord& migration, const MoveEnding& ending,
                const InstanceRecord& instance) {
  if (ending.end == MoveEnd::kDone) return Effect::kKeepsBoth;
  if (ending.side == MoveSide::kDestination) return Effect::kArrives;
  return IsOn(instance, migration.source_host, migration.source_node) ? Effect::kReturns
                                                                      : Effect::kGoesOn;
}

// Whether the instance's consumer keeps its row. `moved`: the rows of the migration's consumer.
bool Keeps(Effect effect, const Row& row, const std::vector<Row>& moved) {
  const auto any = [&moved](auto matches) {
    return std::any_of(moved.begin(), moved.end(), matches);
  };
  if (effect == Effect::kKeepsBoth) return true;
  if (effect == Effect::kArrives) return !IsOnSource(row.part);
  if (effect == Effect::kGoesOn) return row.part == Part::kOtherNode || row.part == Part::kNoNode;
  switch (row.part) {
    case Part::kDestination:
    case Part::kMaybeDestination:
      return false;
    case Part::kBothSides:
      return !any([](const Row& other) { return other.part == Part::kBothSides; });
    case Part::kNoNode:
      return !any([&row](const Row& other) {
        return other.allocation.provider == row.allocation.provider &&
               (other.part == Part::kNoNode ||
                other.allocation.resource_class == row.allocation.resource_class);
      });
    default:
      return true;
  }
}

// Whether the instance's consumer gets the row of the migration's consumer.
bool Gets(Effect effect, const Row& row) {
  if (effect == Effect::kArrives) return IsOnDestination(row.part);
  if (effect == Effect::kReturns) return !IsOnDestination(row.part);
  return effect == Effect::kKeepsBoth;
}

// The rows that the instance's consumer holds afterwards. Each of them is a row of `own` or of
// `moved`, and no class of a provider comes twice: the instance's own row counts.
std::vector<Row> Held(Effect effect, const std::vector<Row>& own, const std::vector<Row>& moved) {
  std::vector<Row> held;
  for (const Row& row : own) {
    if (Keeps(effect, row, moved)) held.push_back(row);
  }
  const size_t kept = held.size();
  for (const Row& row : moved) {
    const auto is_same = [&row](const Row& other) {
      return other.allocation.provider == row.allocation.provider &&
             other.allocation.resource_class == row.allocation.resource_class;
    };
    if (Gets(effect, row) && std::none_of(held.begin(), held.begin() + kept, is_same)) {
      held.push_back(row);
    }
  }
  std::sort(held.begin(), held.end(),
            [](const Row& a, const Row& b) { return a.allocation < b.allocation; });
  return held;
}

absl::Status CheckEnd(const MigrationRecord& migration, const MoveEnding& ending,
                      const std::string& field) {
  const absl::string_view why = WhyNotEnd(migration, ending);
  if (why.empty()) return absl::OkStatus();
  return Refuse(absl::StatusCode::kFailedPrecondition, "WRONG_MOVE_END",
                absl::StrCat("migration ", migration.id.ToString(), " has the type ",
                             WordOf(migration.type), " and the status ", migration.status,
                             ", and cannot end as ", ending.status, ": ", why),
                {{{"migration", migration.id.ToString()},
                  {"actual", migration.status},
                  {"requested", std::string(ending.status)},
                  {"field", field}}});
}

// INSTANCE_ELSEWHERE if the host in the record does not fit the end. An instance that arrives must
// not be on the source; it may have moved on from the destination. An instance that goes back must
// be on the source, because it holds something there afterwards. But if the move failed, the
// instance may also have moved on to a third host.
absl::Status CheckPlace(const MigrationRecord& migration, const MoveEnding& ending,
                        const InstanceRecord& instance, const std::string& field) {
  const bool on_source = IsOn(instance, migration.source_host, migration.source_node);
  const bool on_destination =
      IsOn(instance, migration.destination_host, migration.destination_node);
  const bool arrives = ending.side == MoveSide::kDestination;
  const bool has_failed = ending.end == MoveEnd::kFailed;
  if (arrives ? on_destination || !on_source : on_source || (has_failed && !on_destination)) {
    return absl::OkStatus();
  }
  return Refuse(absl::StatusCode::kFailedPrecondition, "INSTANCE_ELSEWHERE",
                absl::StrCat("instance ", instance.id.ToString(), " is ",
                             instance.host.empty() ? "on no host" : "on host " + instance.host,
                             ", but a move that ends as ", ending.status, " leaves it ",
                             arrives ? "away from" : "on", " the source ", migration.source_host),
                {{{"instance", instance.id.ToString()},
                  {"host", instance.host},
                  {"source", migration.source_host},
                  {"destination", migration.destination_host},
                  {"field", field}}});
}

// Whether the uuid of the migration names a consumer that is not the migration's own.
absl::Status CheckOwner(const State& state, const MigrationRecord& migration,
                        const InstanceRecord& instance, const ConsumerPtr& consumer,
                        const std::string& field) {
  const bool is_instance = state.records().FindInstance(InstanceId{migration.id.uuid}) != nullptr;
  if (!is_instance && (consumer == nullptr || consumer->owner->project == instance.project)) {
    return absl::OkStatus();
  }
  return Refuse(absl::StatusCode::kFailedPrecondition, "FOREIGN_CONSUMER",
                absl::StrCat("the consumer with the uuid of migration ", migration.id.ToString(),
                             is_instance ? " is that of an instance"
                                         : " belongs to another project than the instance",
                             ": the end of the move must not change what it holds"),
                {{{"migration", migration.id.ToString()}, {"field", field}}});
}

// NOTHING_HELD if `before` has rows on nodes, and `held` has none on the side of the instance.
absl::Status CheckHeld(const MigrationRecord& migration, const MoveEnding& ending,
                       const InstanceRecord& instance, const std::vector<Row>& before,
                       const std::vector<Row>& held, const std::string& field) {
  const bool arrives = ending.side == MoveSide::kDestination;
  const std::string& host = arrives ? migration.destination_host : migration.source_host;
  if (!IsOn(instance, host, arrives ? migration.destination_node : migration.source_node)) {
    return absl::OkStatus();
  }
  const Part side = arrives ? Part::kDestination : Part::kSource;
  const auto is_there = [side](const Row& row) {
    return row.part == side || row.part == Part::kBothSides;
  };
  const auto is_on_node = [](const Row& row) { return row.part != Part::kNoNode; };
  if (std::none_of(before.begin(), before.end(), is_on_node) ||
      std::any_of(held.begin(), held.end(), is_there)) {
    return absl::OkStatus();
  }
  return Refuse(absl::StatusCode::kFailedPrecondition, "NOTHING_HELD",
                absl::StrCat("instance ", instance.id.ToString(), " would be on host ", host,
                             " and hold nothing there: allocate what it uses there, then end "
                             "the move"),
                {{{"instance", instance.id.ToString()}, {"host", host}, {"field", field}}});
}

// WRONG_MOVE_END if the move is over: its consumers have been settled, and a status that lets both
// sides count again would count what nobody has allocated (T-126).
absl::Status CheckNotOver(const MigrationRecord& before, const MigrationRecord& after) {
  if (HoldsResources(before.status)) return absl::OkStatus();
  return Refuse(absl::StatusCode::kFailedPrecondition, "WRONG_MOVE_END",
                absl::StrCat("migration ", before.id.ToString(), " has the status ", before.status,
                             ", and cannot get the status ", after.status, ": it is over already"),
                {{{"migration", before.id.ToString()},
                  {"actual", before.status},
                  {"requested", after.status},
                  {"field", "status"}}});
}

}  // namespace

bool Settlement::changes() const {
  if (migration != nullptr) return true;
  return instance != nullptr && (instance->lease_expires_at || held != instance->allocations);
}

absl::StatusOr<Settlement> Settle(const State& state, const MigrationRecord& migration,
                                  const MoveEnding& ending, const InstanceRecord& instance,
                                  const std::string& field) {
  BERTH_RETURN_IF_ERROR(CheckEnd(migration, ending, field));
  BERTH_RETURN_IF_ERROR(CheckPlace(migration, ending, instance, field));
  Settlement settlement;
  settlement.instance = state.FindConsumer(ConsumerId{migration.instance.uuid});
  settlement.migration = state.FindConsumer(ConsumerId{migration.id.uuid});
  BERTH_RETURN_IF_ERROR(CheckOwner(state, migration, instance, settlement.migration, field));
  const Parts parts(state, migration, instance);
  std::vector<Row> before = parts.RowsOf(settlement.instance);
  const std::vector<Row> moved = parts.RowsOf(settlement.migration);
  const std::vector<Row> held = Held(EffectOf(migration, ending, instance), before, moved);
  before.insert(before.end(), moved.begin(), moved.end());
  BERTH_RETURN_IF_ERROR(CheckHeld(migration, ending, instance, before, held, field));
  for (const Row& row : held) settlement.held.push_back(row.allocation);
  return settlement;
}

absl::Status CheckStatusChange(const State& state, const MigrationRecord& before,
                               const MigrationRecord& after) {
  const MoveEnding* ending = FindMoveEnding(after.status);
  if (before.status == after.status) return absl::OkStatus();
  if (ending == nullptr) return CheckNotOver(before, after);
  MigrationRecord ends = after;
  ends.status = before.status;
  const InstancePtr instance = state.records().FindInstance(after.instance);
  BERTH_ASSIGN_OR_RETURN(const Settlement settlement,
                         Settle(state, ends, *ending, *instance, "status"));
  if (!settlement.changes()) return absl::OkStatus();
  return Refuse(
      absl::StatusCode::kFailedPrecondition, "MOVE_HOLDS_ALLOCATIONS",
      absl::StrCat("migration ", before.id.ToString(), " cannot get the status ", after.status,
                   " alone: the end of the move also changes allocations, which EndMove does"),
      {{{"migration", before.id.ToString()}, {"field", "status"}}});
}

}  // namespace berth::placement
