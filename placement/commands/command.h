// Command: a write, as a value. The gRPC services make commands, the ledger puts them in order, and
// rules decide them.
//
// Commands name classes and traits as the caller wrote them; a rule looks the names up in the state
// that it decides on. All strings are valid UTF-8 without U+0000. The rule also checks the syntax
// and the limits of the command, so that all callers get the same refusals.
#ifndef BERTH_PLACEMENT_COMMANDS_COMMAND_H_
#define BERTH_PLACEMENT_COMMANDS_COMMAND_H_

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/commands/aggregate.h"
#include "placement/commands/daily_left.h"
#include "placement/commands/import.h"
#include "placement/commands/record.h"
#include "placement/commands/record_write.h"
#include "placement/commands/server_group.h"
#include "placement/state/tree.h"
#include "placement/values/allocation_fault.h"
#include "placement/values/candidate.h"
#include "placement/values/change.h"
#include "placement/values/fleet.h"
#include "placement/values/instance.h"
#include "placement/values/project_set.h"
#include "placement/values/tracker_limits.h"
#include "placement/values/types.h"

namespace berth::placement {

// --- providers (P-47..P-64) ---
struct CreateProvider {
  std::optional<ProviderId> id;  // none: a random one (P-12); drawn before the command is queued
  std::string name;
  std::optional<ProviderId> parent;
};
struct UpdateProvider {
  ProviderId id;
  std::optional<std::string> name;  // none: keeps its name (P-51)
  std::optional<std::optional<ProviderId>>
      parent;  // none: keeps its parent; a parent without value: becomes a root
  std::optional<Generation> expected_generation;
};
struct DeleteProvider {
  ProviderId id;
};

// --- inventories (P-82..P-96) ---
struct SetInventories {
  ProviderId provider;
  std::optional<Generation> expected_generation;  // required (P-96), or GENERATION_REQUIRED
  std::vector<NamedInventory> inventories;        // empty: deletes all
};
struct CreateInventory {
  ProviderId provider;
  std::optional<Generation> expected_generation;
  NamedInventory inventory;
};
struct UpdateInventory {
  ProviderId provider;
  std::optional<Generation> expected_generation;  // required
  NamedInventory inventory;
};
struct DeleteInventory {
  ProviderId provider;
  std::optional<Generation> expected_generation;
  std::optional<std::string> resource_class;  // none: all of them (P-88)
};

// --- traits and aggregates of a provider (P-97..P-105) ---
struct SetProviderTraits {
  ProviderId provider;
  std::optional<Generation> expected_generation;  // required
  std::vector<std::string> traits;
};
struct ClearProviderTraits {
  ProviderId provider;
  std::optional<Generation> expected_generation;
};
struct SetProviderAggregates {
  ProviderId provider;
  std::optional<Generation> expected_generation;  // required
  std::vector<AggregateId> aggregates;
};

// --- catalog (P-34..P-44) ---
struct CreateClass {
  std::string name;
  bool if_absent = false;  // for EnsureClass: a class that exists is no error (P-35)
};
struct DeleteClass {
  std::string name;
};
struct EnsureTrait {
  std::string name;
};
struct DeleteTrait {
  std::string name;
};
// Adds the standard names that the catalog does not have, in this order. Each process sends this
// command when it starts (P-31, P-32).
struct EnsureStandardNames {
  std::vector<std::string> classes;
  std::vector<std::string> traits;
};

// --- allocations (P-113..P-146) ---
// Everything that a consumer shall hold after the command (P-113).
struct ConsumerAllocations {
  ConsumerId consumer;
  std::optional<Generation> expected_generation;  // none: it must hold nothing yet
  std::string project;
  std::string user;
  std::string type;
  std::vector<ProviderAmounts> allocations;  // the complete new set (P-117); empty: releases all
  std::optional<absl::Duration> lease = std::nullopt;  // none: holds until released
};
struct SetAllocations {
  std::vector<ConsumerAllocations> consumers;
  bool keep_unchanged_rows = false;  // unit rules do not apply to rows that stay as is (P-134)
};
struct DeleteAllocations {
  ConsumerId consumer;
  std::optional<Generation> expected_generation;
};
// Changes what a consumer holds: adds the amounts above 0, and takes the negative amounts away. The
// consumer's other allocations stay.
struct AdjustAllocations {
  ConsumerId consumer;
  std::optional<Generation> expected_generation;
  std::vector<ProviderAmounts> adjustments;
};
// Releases all listed consumers. A consumer that holds nothing is ignored.
struct ReleaseConsumers {
  std::vector<DeleteAllocations> consumers;
};
struct SetLease {
  ConsumerId consumer;
  std::optional<Generation> expected_generation;
  std::optional<absl::Duration> lease;  // from now; none: holds until released
};
// Releases consumers whose lease has ended by the ledger time of the batch, the oldest lease first,
// up to a limit of allocations. The ledger itself issues this command, as the actor kLeaseActor.
struct ExpireLeases {};
inline constexpr char kLeaseActor[] = "berth-placement/leases";

// --- reshape (P-221..P-234) ---
struct ReshapedProvider {
  ProviderId provider;
  // Both generations are required, since the caller computed the request from the provider's
  // inventories and from their use (P-232).
  std::optional<Generation> expected_generation;
  std::optional<Generation> expected_allocation_generation;
  std::vector<NamedInventory> inventories;  // the complete new set; empty: deletes all
};
struct Reshape {
  std::vector<ReshapedProvider> providers;
  std::vector<ConsumerAllocations> consumers;
  bool keep_unchanged_rows = false;
  bool validate_only = false;  // answers as if it were done, but changes nothing
};
// The values that one provider shall have. A provider that exists keeps the value of an absent
// field. A new provider must have a name, and gets an empty value for any other absent field.
struct ProviderTopology {
  ProviderId provider;
  std::optional<Generation> expected_generation;  // none: the provider must not exist yet
  // Required if `inventories` are given for a provider that exists (P-232).
  std::optional<Generation> expected_allocation_generation;
  std::optional<std::string> name;
  std::optional<std::optional<ProviderId>> parent;  // without value: it shall be a root
  std::optional<std::vector<NamedInventory>> inventories;
  std::optional<std::vector<std::string>> traits;
  std::optional<std::vector<AggregateId>> aggregates;
};
struct ProviderRemoval {
  ProviderId provider;
  std::optional<Generation> expected_generation;
};
struct ApplyTopology {
  std::vector<ProviderTopology> providers;
  std::vector<ProviderRemoval> removed;
  std::vector<ConsumerAllocations> consumers;
  bool keep_unchanged_rows = false;
  bool validate_only = false;
};

// --- claims for which a search finds the providers ---
// A candidate that a search found before the ledger decides the command, and the trees of the
// candidate's root and providers. While the shapes of these trees are the same, the candidate fails
// only for lack of free capacity, because a node is now retired or stale, or because the claim may
// not use this root any more (claims/choice.h).
struct Choice {
  Candidate candidate;
  std::vector<TreePtr> trees;
};
struct ClaimMember {
  ConsumerId consumer;
  std::optional<Generation> expected_generation;  // none: it must hold nothing yet
  std::string project;
  std::string user;
  std::string type;
  std::optional<absl::Duration> lease = std::nullopt;  // none: holds until released
  CandidateRequest query;  // its limit and order are ignored: the command has an order
  // The record to create together with the claim. Its generation and times are ignored. Null: none.
  InstancePtr instance = nullptr;
};
enum class MemberAffinity { kNone, kSameRoot, kDifferentRoots };
struct PlaceClaims {
  std::vector<ClaimMember> members;
  bool one = false;  // true for Claim, whose faults need not say which member is meant
  MemberAffinity affinity = MemberAffinity::kNone;
  CandidateOrder order;
  // For each member, the choices that a worker found before the command was queued, best first. If
  // the worker's search failed, the list of choices is missing for the last members.
  std::vector<std::vector<Choice>> choices;
  bool search_gave_up = false;  // the worker's search ran out of its budget
};

// --- fleet ---
// A tracker sent Hello: makes or renews the record of the tracker's service (T-1, T-14).
struct RegisterService {
  std::string host;
  std::string binary;
  Uuid incarnation;
  std::string machine_id;
  std::string version;
  Uuid id;  // the new record's id, if there is no record yet; drawn beforehand
  std::string zone = {};
  bool starts_disabled = false;  // a new record of a tracker is disabled (T-296)
  // The record that the process registered with before, and a revision at which this record
  // existed. None: the process has not registered before.
  std::optional<Uuid> registered_id = std::nullopt;
  Revision registered_at = {};
  bool may_be_new = true;  // false: refused with DAILY_LIMIT_REACHED if there is no record yet
};
// The placement process that has the service's stream judges that the service is up or down now.
struct MarkService {
  std::string host;
  std::string binary;
  Uuid incarnation;  // that was judged; no effect if the service has another one now
  bool up = false;
};
struct UpdateService {
  std::string host;
  std::string binary;
  std::optional<bool> disabled;
  std::string disabled_reason;
  std::optional<bool> forced_down;
  // True: the service's own tracker asks, not an operator. The command then has no effect if
  // `disabled` would not change, or if an operator has disabled the service (T-297).
  bool automatic = false;
  // True: only ends a maintenance. The command then has no effect unless the service is disabled
  // for maintenance (T-306).
  bool ends_maintenance = false;
};
// Removes the service. If it is a tracker, also removes the nodes of its host with their provider
// trees (T-299).
struct DeleteService {
  std::string host;
  std::string binary;
  bool cascade = false;  // also releases what consumers hold of the nodes' subtrees (T-225)
};
// Releases what instances that were evacuated from the host still hold on its nodes. The evacuations
// stay `done`, so that the host's tracker still removes the guests when it is back (T-344).
struct ReleaseEvacuated {
  std::string host;
};
// Gives the consumer the allocations that it should hold by the audit (allocation_audit.h).
struct RepairAllocations {
  ConsumerId consumer;
  std::optional<AllocationFault> only;  // does nothing if the audit finds another fault
};

// One provider as a tracker wants it. Traits are merged: a trait that is neither in the list of
// present traits nor in the list of absent traits stays as it is (T-211).
struct ReportedProvider {
  ProviderId id;
  std::string name;
  std::optional<ProviderId> parent;           // none: the node's root
  std::optional<Generation> base_generation;  // none: the provider must not exist yet
  std::vector<NamedInventory> inventories;    // the complete new set (T-201)
  std::vector<std::string> traits_present;
  std::vector<std::string> traits_absent;
  std::optional<std::vector<AggregateId>> aggregates = std::nullopt;  // none: stay as they are
};
// Everything that a consumer shall hold on the providers of a node. Its other allocations stay, as
// do its owner and its lease (T-209).
struct ReportedHolding {
  ConsumerId consumer;
  Generation expected_generation;
  std::vector<ProviderAmounts> allocations;
};
// One node's report (T-226): a snapshot, or a delta to the report before it. A delta is refused
// with REPORT_GAP if its number does not follow the number of the last applied report (T-229).
struct ApplyReport {
  std::string host;
  Uuid incarnation;
  ProviderId node;
  std::string node_name;
  int64_t sequence = 0;
  std::string digest;
  std::shared_ptr<const std::string> facts;  // null: the node keeps the facts that it has
  std::string account;  // the whole account after the report, even if only parts changed
  NodeSums sums;        // the numbers of the node after the report
  // True for a snapshot: a provider that a tracker made is removed unless the snapshot names it.
  bool complete = true;
  std::vector<ReportedProvider> providers;  // parents before children
  std::vector<ProviderId> removed;          // by a delta; children before parents
  std::vector<ReportedHolding> holdings;
  bool identified = false;  // as in TrackerProcess
  // What the report may not change (report_limits.h). Null: it may change all that is its node's.
  TrackerLimitsPtr limits = nullptr;
  DailyLeft left = {};  // refused with DAILY_LIMIT_REACHED if it needs more
};
// Makes the record of a node before its tracker reports it. If no provider has the node's uuid,
// also makes the root provider. If a root has it, the root becomes the node's.
struct CreateNode {
  ProviderId node;
  std::string name;
  std::string host;  // of the tracker that may report the node
};
struct RetireNode {
  ProviderId node;
  bool retired = true;
};
// Gives the node, and the records that are about it, to another host (T-22, T-369).
struct MoveNode {
  ProviderId node;
  std::string from;  // the host that the caller believes the node to be on
  std::string to;
  std::optional<bool> retired;  // none: stays as it is
};
struct DeleteNode {
  ProviderId node;
  bool cascade = false;  // also releases what consumers hold of the node's subtree (T-225)
};

// Asks for the decision about the write of `actor` with `request_id`. The ledger decides this
// command under its lock, like a write: without the lock the write might be committed just then,
// and "not found" would be a guess. The answer is the write's decision, marked as replayed; or
// kNotFound if the write was not done or is no longer kept; or REQUEST_CANCELLED if the id was
// cancelled before; or OK and not replayed, if this command cancelled the id.
struct FindRequest {
  std::string actor;
  std::string request_id;
  // Whether to cancel the id if no write with it took effect. As long as ids are kept, a later
  // write with a cancelled id is refused.
  bool cancel_if_absent = false;
};

// Raises the format of the log. An operator does so when all processes can read the new format.
struct SetFormat {
  int format = 0;
};

using CommandBody =
    std::variant<CreateProvider, UpdateProvider, DeleteProvider, SetInventories, CreateInventory,
                 UpdateInventory, DeleteInventory, SetProviderTraits, ClearProviderTraits,
                 SetProviderAggregates, CreateClass, DeleteClass, EnsureTrait, DeleteTrait,
                 EnsureStandardNames, SetAllocations, DeleteAllocations, AdjustAllocations,
                 ReleaseConsumers, SetLease, ExpireLeases, Reshape, ApplyTopology, PlaceClaims,
                 RegisterService, MarkService, UpdateService, DeleteService, ReleaseEvacuated,
                 RepairAllocations, ApplyReport, CreateNode, RetireNode, MoveNode, DeleteNode,
                 SetInstance, DeleteInstance, CreateMigration, UpdateMigration, EndMove,
                 WriteRecords, SetServerGroup, UpdateServerGroupMembers, DeleteServerGroup,
                 SetAggregate, DeleteAggregate, SetFormat, ImportLedger, FindRequest>;

// The call that a command came from. It is kept with the answer under a request id, so that a
// repeated request gets the same reply.
struct Asked {
  std::string method;   // the name of the call
  std::string subject;  // what the call was about, if the changes may not say so
};

struct Command {
  std::string actor;       // the identity of the caller, for the log and the table of requests
  std::string request_id;  // empty: none given
  std::string body_hash;   // of the request as sent, if a request_id was given; 32 bytes
  Asked asked;             // if a request_id was given
  CommandBody body;
  // The call by which the command came, as "/package.Service/Method". Null: it came by no call.
  std::shared_ptr<const std::string> method = nullptr;
  // The projects for which the caller may write. Null: for all.
  ProjectSetPtr projects = nullptr;
  // Whose turn the command waits for if it came by a tracker's session (CommandQueue). Empty: it did
  // not, and waits for the actor's turn.
  std::string session_owner = {};
};

// The actor of what a placement process does by itself.
inline constexpr absl::string_view kProcessActor = "placement";

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_COMMAND_H_
