#include "placement/commands/allocation_audit.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/commands/fleet_node.h"
#include "placement/values/instance.h"
#include "placement/values/migration_status.h"

namespace berth::placement {
namespace {

constexpr absl::string_view kSharedCpus = "VCPU";
constexpr absl::string_view kDedicatedCpus = "PCPU";
constexpr absl::string_view kMemory = "MEMORY_MB";
constexpr absl::string_view kDisk = "DISK_GB";
constexpr int64_t kMibPerGib = 1024;

int64_t DiskOf(const FlavorAmounts& flavor) {
  return flavor.local_disk_gib() + (flavor.swap_mib + kMibPerGib - 1) / kMibPerGib;
}

// The node on which a consumer holds what it holds of the provider; none if it is on no node.
std::optional<ProviderId> NodeOf(const State& state, ProviderId provider) {
  const NodeRecordPtr node = FindNodeOfHoldings(state, provider);
  return node == nullptr ? std::nullopt : std::make_optional(node->id);
}

// The provider of the node that has an inventory of the class, the closest one to the root; none if
// no provider has one. Providers of other nodes below this one do not count.
std::optional<ProviderId> ProviderWith(const State& state, ProviderId node, ClassId id) {
  const std::optional<ProviderPlace> root = state.FindProvider(node);
  if (!root) return std::nullopt;
  const Tree& tree = *root->tree;
  for (int p = root->position; p < tree.shape->end_of[root->position]; ++p) {
    const std::vector<InventoryRow>& rows = tree.config(p).inventories;
    const bool has = std::any_of(rows.begin(), rows.end(), [id](const InventoryRow& row) {
      return row.resource_class == id;
    });
    if (has && OwningNode(state, tree, p) == root->position) return tree.config(p).id;
  }
  return std::nullopt;
}

// One part of what a flavor asks for, with the classes that serve it.
struct FlavorPart {
  absl::string_view name;
  std::vector<ClassId> classes;
  int64_t amount = 0;
  bool anywhere = false;  // providers without a node serve it, too
};

std::vector<FlavorPart> PartsOf(const State& state, const FlavorAmounts& flavor) {
  const auto known = [&state](std::initializer_list<absl::string_view> names) {
    std::vector<ClassId> ids;
    for (const absl::string_view name : names) {
      if (const auto id = state.catalog().classes.Find(name)) ids.push_back(*id);
    }
    return ids;
  };
  return {{"CPUs", known({kSharedCpus, kDedicatedCpus}), flavor.vcpus},
          {"MiB of memory", known({kMemory}), flavor.memory_mib},
          {"GiB of disk", known({kDisk}), DiskOf(flavor), /*anywhere=*/true}};
}

// Judges an instance that is on a node and does not move.
class InstanceAudit {
 public:
  // REQUIRES: the instance has a node.
  InstanceAudit(const State& state, const InstanceRecord& instance, const ConsumerPtr& held)
      : state_(state),
        instance_(instance),
        node_(*instance.node),
        dedicated_(state.catalog().classes.Find(kDedicatedCpus)) {
    finding_.consumer = ConsumerId{instance.id.uuid};
    finding_.held = held;
    if (held == nullptr) return;
    for (const Allocation& row : held->allocations) Sort(row);
  }

  std::optional<AllocationFinding> Judge() {
    const std::vector<FlavorPart> parts = PartsOf(state_, instance_.flavor);
    if (own_.empty()) {
      Place(parts);
      if (finding_.wanted.size() == other_.size()) return std::nullopt;  // the flavor asks nothing
      return elsewhere_
                 ? Found(AllocationFault::kWrongProvider,
                         "holds nothing on the node that it is on, but on another one")
                 : Found(AllocationFault::kMissing, "holds nothing on the node that it is on");
    }
    finding_.repairable = true;
    if (elsewhere_) {
      finding_.wanted = other_;
      finding_.wanted.insert(finding_.wanted.end(), own_.begin(), own_.end());
      return Found(AllocationFault::kSuperfluous,
                   "holds something on a node that it neither is on nor moves from or to");
    }
    return JudgeAmounts(parts);
  }

 private:
  // The rows of `all` that serve the part.
  static std::vector<Allocation*> RowsFor(const FlavorPart& part, std::vector<Allocation>& all) {
    std::vector<Allocation*> rows;
    for (Allocation& row : all) {
      const auto& classes = part.classes;
      if (std::find(classes.begin(), classes.end(), row.resource_class) != classes.end()) {
        rows.push_back(&row);
      }
    }
    return rows;
  }

  void Sort(const Allocation& row) {
    const std::optional<ProviderId> node = NodeOf(state_, row.provider);
    const bool is_unowned = !node || IsSharedDisk(state_, row);
    if (node == node_) {
      own_.push_back(row);
    } else if (is_unowned || MayKeep(*node)) {
      other_.push_back(row);
      if (is_unowned) unowned_.push_back(row);
    } else {
      elsewhere_ = true;
    }
  }

  // Whether the instance was evacuated from the node, and the node's host is not back yet.
  bool MayKeep(ProviderId node) const {
    const std::string host = FindNode(state_, node)->host;
    for (const MigrationPtr& move : state_.records().MigrationsOf(instance_.id)) {
      if (move->status != kDoneStatus) continue;
      if (move->source_node ? *move->source_node == node : move->source_host == host) return true;
    }
    return false;
  }

  // Sets `wanted` to what the instance holds without a node or by an evacuation, and the flavor on
  // the node.
  void Place(const std::vector<FlavorPart>& parts) {
    finding_.wanted = other_;
    finding_.repairable = true;
    for (const FlavorPart& part : parts) {
      if (part.amount == 0 || (part.anywhere && !RowsFor(part, unowned_).empty())) continue;
      Add(part);
    }
  }

  // Adds an allocation of the part on the node to `wanted`. No provider for disk is no fault: the
  // disk may be on storage that no provider counts.
  void Add(const FlavorPart& part) {
    std::vector<Allocation> found;
    for (const ClassId id : part.classes) {
      const std::optional<ProviderId> provider = ProviderWith(state_, node_, id);
      if (provider) found.push_back({*provider, id, static_cast<int32_t>(part.amount)});
    }
    // With shared and dedicated CPUs on the node, nobody knows which of them the flavor asks for.
    const bool clear = found.size() == 1 && part.amount <= kAmountMax;
    if (clear) finding_.wanted.push_back(found.front());
    if (!clear && !(found.empty() && part.anywhere)) finding_.repairable = false;
  }

  // An instance with dedicated CPUs may hold one more, for its emulator threads (T-142).
  int64_t MostOf(const FlavorPart& part, const std::vector<Allocation*>& rows) const {
    const bool is_dedicated = std::any_of(rows.begin(), rows.end(), [this](const Allocation* row) {
      return row->resource_class == dedicated_;
    });
    return part.amount + (is_dedicated ? 1 : 0);
  }

  std::optional<AllocationFinding> JudgeAmounts(const std::vector<FlavorPart>& parts) {
    std::string why;
    finding_.wanted = other_;
    finding_.wanted.insert(finding_.wanted.end(), own_.begin(), own_.end());
    std::vector<Allocation> anywhere = own_;
    anywhere.insert(anywhere.end(), unowned_.begin(), unowned_.end());
    std::vector<FlavorPart> absent;
    for (const FlavorPart& part : parts) {
      std::vector<Allocation*> rows = RowsFor(part, part.anywhere ? anywhere : own_);
      int64_t held = 0;
      for (const Allocation* row : rows) held += row->amount;
      if (held >= part.amount && held <= MostOf(part, rows)) continue;
      const bool is_counted =
          std::any_of(part.classes.begin(), part.classes.end(),
                      [&](ClassId id) { return ProviderWith(state_, node_, id).has_value(); });
      if (held == 0 && !is_counted) continue;
      if (why.empty()) {
        why = absl::StrCat("holds ", held, " ", part.name, ", but its flavor has ", part.amount);
      }
      if (rows.empty()) {
        absent.push_back(part);
      } else if (rows.size() > 1 || part.amount > kAmountMax) {
        finding_.repairable = false;
      } else {
        Correct(*rows.front(), static_cast<int32_t>(part.amount));
      }
    }
    if (why.empty()) return std::nullopt;
    for (const FlavorPart& part : absent) Add(part);
    std::erase_if(finding_.wanted, [](const Allocation& row) { return row.amount == 0; });
    return Found(AllocationFault::kWrongAmount, why);
  }

  // Gives the row of `wanted` that is equal to `row` another amount.
  void Correct(const Allocation& row, int32_t amount) {
    const Allocation before = row;
    *std::find(finding_.wanted.begin(), finding_.wanted.end(), before) = {
        before.provider, before.resource_class, amount};
  }

  AllocationFinding Found(AllocationFault fault, absl::string_view why) {
    finding_.fault = fault;
    finding_.why =
        absl::StrCat("instance ", instance_.id.ToString(), " of host ", instance_.host, " ", why);
    std::sort(finding_.wanted.begin(), finding_.wanted.end());
    return std::move(finding_);
  }

  const State& state_;
  const InstanceRecord& instance_;
  const ProviderId node_;
  const std::optional<ClassId> dedicated_;
  AllocationFinding finding_;
  std::vector<Allocation> own_;      // on the instance's node
  std::vector<Allocation> unowned_;  // on providers without a node
  std::vector<Allocation> other_;    // unowned_, and what an evacuation has left over
  bool elsewhere_ = false;           // something is held on yet another node
};

// What a consumer holds although nothing needs it any more.
AllocationFinding Superfluous(const ConsumerPtr& held, std::string why, bool repairable) {
  return {held->id, AllocationFault::kSuperfluous, std::move(why), held, {}, repairable};
}

std::optional<AllocationFinding> AuditInstance(const State& state, const InstanceRecord& instance,
                                               const ConsumerPtr& held) {
  // During a move the allocations change hands.
  if (!state.records().MovesOf(instance.id).empty()) return std::nullopt;
  if (IsRemovable(instance)) {
    if (held == nullptr) return std::nullopt;
    return Superfluous(held,
                       absl::StrCat("instance ", instance.id.ToString(), " is ", instance.vm_state,
                                    " and still holds something"),
                       true);
  }
  if (!instance.node) return std::nullopt;  // it is being built, and nobody knows where
  return InstanceAudit(state, instance, held).Judge();
}

std::optional<AllocationFinding> AuditMigration(const MigrationRecord& migration,
                                                const ConsumerPtr& held) {
  if (HoldsResources(migration.status)) return std::nullopt;
  return Superfluous(held,
                     absl::StrCat("migration ", migration.id.ToString(), " is ", migration.status,
                                  " and still holds something"),
                     true);
}

// A consumer without a record. Where nobody keeps records, no consumer should have one.
std::optional<AllocationFinding> AuditUnknown(const State& state, const ConsumerPtr& held) {
  const std::string& type = held->owner->type;
  if (type == kDeletedInstanceType) {
    return Superfluous(held,
                       absl::StrCat("the record of instance ", held->id.ToString(),
                                    " was deleted, and its consumer still holds something"),
                       true);
  }
  if (type != kInstanceType && type != kMigrationType) return std::nullopt;
  if (state.records().instances().size() == 0 || held->lease_expires_at) return std::nullopt;
  const absl::Duration age = state.position().ledger_time - held->updated_at;
  if (age < kUnknownConsumerAge) return std::nullopt;
  return Superfluous(
      held,
      absl::StrCat("consumer ", held->id.ToString(), " has the type ", type,
                   ", but there is no such record since ", absl::ToInt64Minutes(age), " minutes"),
      false);
}

}  // namespace

std::optional<AllocationFinding> AuditConsumer(const State& state, ConsumerId consumer) {
  const ConsumerPtr held = state.FindConsumer(consumer);
  const InstancePtr instance = state.records().FindInstance(InstanceId{consumer.uuid});
  if (instance != nullptr) return AuditInstance(state, *instance, held);
  if (held == nullptr) return std::nullopt;
  const MigrationPtr migration = state.records().FindMigration(MigrationId{consumer.uuid});
  return migration != nullptr ? AuditMigration(*migration, held) : AuditUnknown(state, held);
}

std::optional<AllocationFinding> AuditOrphan(const State& state, const ReportedOrphan& orphan) {
  const NodeRecordPtr node = FindNode(state, orphan.node);
  if (node == nullptr) return std::nullopt;
  if (!state.records().MovesOf(InstanceId{orphan.guest.uuid}).empty()) return std::nullopt;
  const ConsumerPtr held = state.FindConsumer(orphan.guest);
  if (held != nullptr) {
    for (const Allocation& row : held->allocations) {
      const NodeRecordPtr there = FindNodeOfRow(state, row);
      if (there != nullptr && there->id == orphan.node) return std::nullopt;
    }
  }
  return AllocationFinding{
      orphan.guest,
      held == nullptr ? AllocationFault::kMissing : AllocationFault::kWrongProvider,
      absl::StrCat(
          "guest ", orphan.name, " runs on node ", node->name, " of host ", node->host,
          held == nullptr ? ", but holds nothing" : ", but holds something only elsewhere"),
      held,
      {},
      /*repairable=*/false};
}

bool IsLeakCandidate(const State& state, const Consumer& consumer) {
  const InstancePtr instance = state.records().FindInstance(InstanceId{consumer.id.uuid});
  if (instance == nullptr) return AuditConsumer(state, consumer.id).has_value();
  return IsRemovable(*instance) && state.records().MovesOf(instance->id).empty();
}

}  // namespace berth::placement
