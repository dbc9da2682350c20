// Command: every write there is, as a value. The edge makes them, rules decide them, the ledger
// orders them.
//
// Commands name classes and traits as the caller wrote them; rules resolve names against the state
// that they decide on. All strings are valid UTF-8 without U+0000. The form of a command (limits,
// syntax) is checked by its rule, so that every way in meets the same refusals.
#ifndef BERTH_PLACEMENT_COMMANDS_COMMAND_H_
#define BERTH_PLACEMENT_COMMANDS_COMMAND_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "placement/state/tree.h"
#include "placement/values/candidate.h"
#include "placement/values/change.h"
#include "placement/values/fleet.h"
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
      parent;  // none: keeps its parent; an empty one: becomes a root
  std::optional<Generation> expected_generation;
};
struct DeleteProvider {
  ProviderId id;
};

// --- inventories (P-82..P-96) ---
struct SetInventories {
  ProviderId provider;
  std::optional<Generation>
      expected_generation;  // required (P-96): absent is refused with GENERATION_REQUIRED
  std::vector<NamedInventory> inventories;  // empty: deletes all
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
  bool if_absent = false;  // EnsureClass: present is success (P-35)
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
// Adds the standard names that are missing, in this order; issued by a process at its start (P-31,
// P-32).
struct EnsureStandardNames {
  std::vector<std::string> classes;
  std::vector<std::string> traits;
};

// --- allocations (P-113..P-146) ---
struct ProviderAmounts {
  ProviderId provider;
  std::vector<NamedAmount> amounts;
};
// What the author believes of a consumer (P-113): a generation, or none for "holds nothing yet".
struct ConsumerAllocations {
  ConsumerId consumer;
  std::optional<Generation> expected_generation;  // none: new
  std::string project;
  std::string user;
  std::string type;
  std::vector<ProviderAmounts> allocations;  // the complete new set (P-117); empty: releases it
  std::optional<absl::Duration> lease = std::nullopt;  // none: holds until released
};
struct SetAllocations {
  std::vector<ConsumerAllocations> consumers;
  bool keep_unchanged_rows = false;  // exempts rows taken over unchanged from unit rules (P-134)
};
struct DeleteAllocations {
  ConsumerId consumer;
  std::optional<Generation> expected_generation;
};
// Adds to what a consumer holds (amounts above 0) and takes from it (below 0), leaving the rest.
struct AdjustAllocations {
  ConsumerId consumer;
  std::optional<Generation> expected_generation;
  std::vector<ProviderAmounts> adjustments;
};
// Releases all of these that hold anything.
struct ReleaseConsumers {
  std::vector<DeleteAllocations> consumers;
};
struct SetLease {
  ConsumerId consumer;
  std::optional<Generation> expected_generation;
  std::optional<absl::Duration> lease;  // from now; none: holds until released
};
// Releases consumers whose lease is over at the batch's ledger time, the oldest first, a bounded
// number at a time. The ledger issues it by itself, under kLeaseActor.
struct ExpireLeases {};
inline constexpr char kLeaseActor[] = "berth-placement/leases";

// --- reshape (P-221..P-234) ---
struct ReshapedProvider {
  ProviderId provider;
  // Both required: the request was computed from what the provider offers and from what is used of
  // it (P-232).
  std::optional<Generation> expected_generation;
  std::optional<Generation> expected_allocation_generation;
  std::vector<NamedInventory> inventories;  // the complete new set; empty: deletes all
};
struct Reshape {
  std::vector<ReshapedProvider> providers;
  std::vector<ConsumerAllocations> consumers;
  bool keep_unchanged_rows = false;
  bool validate_only = false;  // decides and answers, and changes nothing
};
// How one provider shall be. What is absent stays as it is, or is empty for a new provider.
struct ProviderTopology {
  ProviderId provider;
  std::optional<Generation> expected_generation;  // none: the author believes it absent
  // Required with the inventories of a provider that exists (P-232).
  std::optional<Generation> expected_allocation_generation;
  std::optional<std::string> name;
  std::optional<std::optional<ProviderId>> parent;  // an empty one: it shall be a root
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

// --- claims that find their own place ---
// A place that was found before the command's turn came, and the trees it was found in: the root's
// and those of every provider that serves. As long as their configurations stand, only room can be
// lacking.
struct Choice {
  Candidate candidate;
  std::vector<TreePtr> trees;
};
struct ClaimMember {
  ConsumerId consumer;
  std::optional<Generation> expected_generation;  // none: new
  std::string project;
  std::string user;
  std::string type;
  std::optional<absl::Duration> lease = std::nullopt;  // none: holds until released
  CandidateRequest query;                              // its limit and order are the command's
};
enum class MemberAffinity { kNone, kSameRoot, kDifferentRoots };
struct PlaceClaims {
  std::vector<ClaimMember> members;
  bool one = false;  // a claim of one: faults do not say which member
  MemberAffinity affinity = MemberAffinity::kNone;
  CandidateOrder order;
  // By member, best first; fewer where the search before the lock found no place for all.
  std::vector<std::vector<Choice>> choices;
  bool search_gave_up = false;  // it ran out of its budget
};

// --- fleet ---
// A tracker said Hello: its service record is made or renewed (T-1, T-14).
struct RegisterService {
  std::string host;
  std::string binary;
  Uuid incarnation;
  std::string machine_id;
  std::string version;
  Uuid id;  // drawn for the record, should this make one
};
// The process that holds the stream judged it: up or down.
struct MarkService {
  std::string host;
  std::string binary;
  Uuid incarnation;  // of the stream that was judged; another one is ignored
  bool up = false;
};
struct UpdateService {
  std::string host;
  std::string binary;
  std::optional<bool> disabled;
  std::string disabled_reason;
  std::optional<bool> forced_down;
  // Said by the tracker: without effect where `disabled` stands so already or by an operator's word
  // (T-297).
  bool automatic = false;
};

// One provider as a tracker wants it. Traits merge instead of replacing: what stands and is in
// neither list stays (T-211).
struct ReportedProvider {
  ProviderId id;
  std::string name;
  std::optional<ProviderId> parent;           // none: the node's root
  std::optional<Generation> base_generation;  // none: the tracker believes it absent
  std::vector<NamedInventory> inventories;    // complete: the tracker owns them all (T-201)
  std::vector<std::string> traits_present;
  std::vector<std::string> traits_absent;
};
// One node's report (T-226): a snapshot, or a delta on the report before it; what does not differ
// changes nothing. A delta that does not follow the last applied sequence number is refused with
// REPORT_GAP (T-229).
struct ApplyReport {
  std::string host;
  Uuid incarnation;
  ProviderId node;
  std::string node_name;
  int64_t sequence = 0;
  std::string digest;
  std::shared_ptr<const std::string> facts;  // the whole of them, merged by the edge
  bool complete = true;  // a snapshot: providers that the tracker made and does not name go
  std::vector<ReportedProvider> providers;  // parents before children; each told whole
  std::vector<ProviderId> removed;          // of a delta, children before parents
};
struct RetireNode {
  ProviderId node;
  bool retired = true;
};
struct DeleteNode {
  ProviderId node;
  bool cascade =
      false;  // releases its consumers' allocations on this tree and removes the tree (T-225)
};

// --- a ledger brought from elsewhere ---
// What each of these was among the records of the import, from 1: refusals name it.
using RecordNumber = int64_t;
// When an entity came into being and was last changed; none: now.
struct ImportedTimes {
  std::optional<absl::Time> created_at, updated_at;
};
struct ImportedName {
  RecordNumber record = 0;
  std::string name;
};
struct ImportedProvider {
  RecordNumber record = 0;
  ProviderId id;
  std::string name;
  std::optional<ProviderId> parent;  // stands before it, or in the ledger already
  std::vector<NamedInventory> inventories;
  std::vector<std::string> traits;
  std::vector<AggregateId> aggregates;
  ImportedTimes times;
};
struct ImportedConsumer {
  RecordNumber record = 0;
  ConsumerId id;
  std::string project;
  std::string user;
  std::string type;  // empty: none (P-24)
  std::vector<ProviderAmounts> allocations;
  std::optional<absl::Time> lease_expires_at;  // one that is over ends at once
  ImportedTimes times;
};
struct ImportedService {
  RecordNumber record = 0;
  ServiceRecord service;  // its times stand beside it
  ImportedTimes times;
};
struct ImportedNode {
  RecordNumber record = 0;
  NodeRecord node;
  ImportedTimes times;
};
// Brings all of these or nothing, into an empty ledger or one that has none of them.
struct ImportLedger {
  std::vector<ImportedName> classes, traits;  // custom ones; those that are there stay
  std::vector<ImportedProvider> providers;
  std::vector<ImportedConsumer> consumers;
  std::vector<ImportedService> services;
  std::vector<ImportedNode> nodes;
  bool require_empty = false;  // but for standard names
  bool validate_only = false;

  int64_t count(EntityKind kind) const {  // of records
    switch (kind) {
      case EntityKind::kResourceClass:
        return static_cast<int64_t>(classes.size());
      case EntityKind::kTrait:
        return static_cast<int64_t>(traits.size());
      case EntityKind::kProvider:
        return static_cast<int64_t>(providers.size());
      case EntityKind::kProviderUsage:
        return 0;  // follows from the consumers
      case EntityKind::kConsumer:
        return static_cast<int64_t>(consumers.size());
      case EntityKind::kService:
        return static_cast<int64_t>(services.size());
      case EntityKind::kNode:
        return static_cast<int64_t>(nodes.size());
    }
    return 0;
  }
  int64_t size() const {
    int64_t sum = 0;
    ForEachEntityKind([&](EntityKind kind) { sum += count(kind); });
    return sum;
  }
};

// Asks what became of the command that carried `request_id` from `actor`. Settled like a write,
// under the lock: only there is "not found" true (an unlocked look-up lies while a commit is in
// flight). Decided by the ledger itself: the decision is that of the command, replayed; kNotFound
// where there was none; REQUEST_CANCELLED where it was cancelled before; or, not replayed, the
// cancellation's own.
struct FindRequest {
  std::string actor;
  std::string request_id;
  // Where nothing took effect, nothing will while ids are kept: a command that comes later with the
  // id is refused. This is a write.
  bool cancel_if_absent = false;
};

// Raises the format of the log, once all processes run a release that reads it.
struct SetFormat {
  int format = 0;
};

using CommandBody =
    std::variant<CreateProvider, UpdateProvider, DeleteProvider, SetInventories, CreateInventory,
                 UpdateInventory, DeleteInventory, SetProviderTraits, ClearProviderTraits,
                 SetProviderAggregates, CreateClass, DeleteClass, EnsureTrait, DeleteTrait,
                 EnsureStandardNames, SetAllocations, DeleteAllocations, AdjustAllocations,
                 ReleaseConsumers, SetLease, ExpireLeases, Reshape, ApplyTopology, PlaceClaims,
                 RegisterService, MarkService, UpdateService, ApplyReport, RetireNode, DeleteNode,
                 SetFormat, ImportLedger, FindRequest>;

// What was asked, in the words of the edge, kept with the answer under a request id: enough to make
// the same reply from it again.
struct Asked {
  std::string method;   // of the call
  std::string subject;  // what it was about, where its changes may not tell
};

struct Command {
  std::string actor;       // the identity that asks, for the log and the request table
  std::string request_id;  // empty: none given
  std::string body_hash;   // of the request as sent, where a request_id was given; 32 bytes
  Asked asked;             // where a request_id was given
  CommandBody body;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_COMMAND_H_
