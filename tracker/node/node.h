// Node: one tracked hypervisor. A Node has the connection, the identity, the facts and records, the
// last audit, and the outbox with the reports for placement.
//
// Owns all of these. Thread-safe: one thread runs the passes, the uplink brings records
// and takes reports, and every thread may read. A thread that holds the node's lock never waits for
// libvirt or for the network.
//
// Invariants:
//   1. The accounting takes only totals from the observation. It computes the used amounts from
//      records, claims and orphans (T-51).
//   2. A pass that fails does not change the facts, the configuration and the audit of the last
//      good pass (T-37).
#ifndef BERTH_TRACKER_NODE_NODE_H_
#define BERTH_TRACKER_NODE_NODE_H_

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tracker/account/account.h"
#include "tracker/audit/pass.h"
#include "tracker/audit/records.h"
#include "tracker/claims/answers.h"
#include "tracker/claims/claim.h"
#include "tracker/ground/fair_mutex.h"
#include "tracker/ground/mutex.h"
#include "tracker/ground/uuid.h"
#include "tracker/hypervisor/deadline_pool.h"
#include "tracker/hypervisor/hypervisor.h"
#include "tracker/hypervisor/observe.h"
#include "tracker/node/outbox.h"
#include "tracker/node/record_writes.h"
#include "tracker/settings/added_traits.h"
#include "tracker/settings/configuration.h"
#include "tracker/settings/identity.h"

namespace berth::tracker {

// Names the side of a move that is to be given up.
struct MoveDrop {
  Uuid instance_uuid;
  Uuid migration_uuid;
  ClaimEnd side = ClaimEnd::kConfirm;  // or kRevert
};

class Node {
 public:
  // An audit takes milliseconds under the lock if the node has many guests, and claims wait for the
  // lock. So changes that follow each other quickly are audited together, once in this time.
  static constexpr std::chrono::milliseconds kAuditPause{100};
  // How long a change of the accounting alone waits for others before it is reported. Placement
  // writes such a report beside the claims themselves, so one for each claim would be too many.
  static constexpr std::chrono::seconds kAccountPause{5};

  struct Options {
    NodeConfiguration configuration;
    Observer::Surroundings surroundings;
    std::vector<std::string> configuration_directories;
    std::string host;
    bool several_nodes = false;
    absl::Duration orphan_confirmation = absl::Seconds(5);
    std::optional<std::chrono::milliseconds> pass_interval;  // absent: no periodic passes (T-44)
    absl::Time booted_at = absl::InfinitePast();             // when this machine was started (T-33)
  };
  // The values of a node at one moment.
  struct View {
    Uuid uuid;  // nil: not known yet
    std::string name;
    std::string uri;
    bool connected = false;
    PassOutcome last;                    // how the last pass ended
    std::shared_ptr<const Audit> audit;  // of the last good facts and the newest records
    bool has_records = false;            // placement has sent its records
    Standing standing = Standing::kNone;
    int64_t sequence = 0;
    int64_t acknowledged_sequence = 0;
    bool settled = true;
    std::optional<MonotonicTime> unsettled_since;
    int64_t reports_sent = 0;
    int64_t reports_coalesced = 0;
    int64_t reports_rejected = 0;
  };

  // `pool` runs the calls of libvirt and outlives the node.
  Node(Options options, DeadlinePool* pool, HypervisorListener listener);

  // Runs one pass: finds the node's identity if it is not known yet, observes, audits, and offers
  // the report to the outbox, and lets placement correct records. If one of these steps fails, the
  // outcome has the error.
  //
  // REQUIRES: no other Pass runs.
  PassOutcome Pass(MonotonicTime now);
  // Makes the next pass use `configuration`. Until such a pass succeeds, audits use the
  // configuration of the last good pass.
  void Configure(const NodeConfiguration& configuration);
  // Whether the last good pass began more than three intervals ago (T-293). If no pass was good
  // yet, whether the first pass began more than three intervals ago.
  bool AuditOverdue(MonotonicTime now) const;
  // Returns when a pass should run to confirm an orphan of the last audit. Nothing: no orphan is to
  // be confirmed.
  std::optional<MonotonicTime> confirm_at() const;

  // Returns the warnings of all audits since the last call, for the log: those of passes and those
  // that changed records have caused.
  std::vector<std::string> TakeWarnings();

  View view() const;
  // The records that placement has sent; absent until it sends them.
  std::optional<Records> records() const;
  // The accounting of the last good facts and of all records and claims of this moment. Absent: no
  // pass was good yet.
  std::optional<Accounting> accounting() const;
  std::map<std::string, int64_t> libvirt_calls() const { return hypervisor_.call_counts(); }
  LockTimes lock_times() const { return mutex_.times(); }
  int hung_storage_reads() const { return observer_.hung_storage_reads(); }
  const Options& options() const { return options_; }
  // Absent until a pass has found the identity. Does not change afterwards. Does not wait for the
  // node's lock.
  std::optional<NodeIdentity> identity() const;
  std::string name() const;

  // Claims what an instance needs on the node (T-155): tests and marks under the lock, then lets
  // placement write the record. The caller gets the claim when placement has written it. A repeat
  // with the id and the body of an earlier request gets the same claim again.
  //
  // Refused, in this order, with a ClaimRefusal: kRequestIdReused; kTooLate; kNodeUnavailable;
  // kPlacementAway or kOverloaded; as tracker::ClaimInstance refuses; kNodeUnavailable if a record
  // cannot be read and the claim takes cells, devices or units; kWrongState. Then, by
  // placement's answer, kRecordConflict, kInstanceNotFound, kNodeUnavailable or kPlacementAway.
  // After all of these nothing is claimed. kOutcomeUnknown if the session ended before the answer:
  // the claim counts until the next session tells.
  void ClaimInstance(const InstanceClaim& request, ClaimCaller caller);
  // Claims what a migration needs on the node (T-168). Like ClaimInstance; placement writes the
  // migration in the same step. Refused with kNodeUnavailable also if the record of the instance has
  // more than this release can read, which the write would lose.
  void ClaimMove(const MoveClaim& request, ClaimCaller caller);
  // Gives the claim with this id of ClaimIdOf back (T-165, T-170). A claim that was not written yet
  // ends at once, else placement first writes the records without the claim; a migration then has
  // the status `failed`. A claim whose guest needs it by now stays, and the caller gets ended =
  // false: the instance has left the state in which it was claimed, or it has arrived. Needs no
  // hypervisor.
  //
  // Refused with kUnsettled while it is not known whether the claim was written: to be repeated.
  // Then, in this order, with kTooLate; kNodeUnavailable; kPlacementAway or kOverloaded;
  // kNoSuchClaim; kUnsettled if another write of the instance is under way; kNodeUnavailable if a
  // record has more than this release can read, which the write would lose; by placement's answer
  // like ClaimInstance, or with kWrongState.
  void AbortClaim(const std::string& claim_id, ClaimCaller caller);
  // Ends a move on one of its sides, and with it the move: placement writes both records, and
  // settles what their consumers hold (T-173, T-174). If the node holds nothing on this side, the
  // caller gets ended = false.
  //
  // Refused like AbortClaim, but never with kNoSuchClaim. Before the last kNodeUnavailable, refused
  // with kWrongState if the move cannot end so: see ConfirmMove and RevertMove.
  void DropMoveClaim(const MoveDrop& request, ClaimCaller caller);

  // Waits until the account has the record of the instance as the caller knows it, or a newer one
  // (T-116). Changes nothing: placement pushes the record. The caller gets tracked = false if the
  // instance does not count on the node, before or afterwards.
  //
  // Refused, in this order, with kTooLate; kNodeUnavailable; kPlacementAway; kOverloaded if too
  // many callers wait. kPlacementAway, too, if the session ends first, and kTooLate if the caller's
  // deadline passes.
  void UpdateUsage(const Instance& known, ClaimCaller caller);

  // The methods from here on are for the uplink.

  // Compares the identity with placement's records: see CheckIdentity. If they agree, records the
  // name of an only node: see WriteIdentityOwner. If that fails, the answer has a warning.
  //
  // REQUIRES: the identity is known.
  absl::StatusOr<IdentityCheck> CheckRecords(const std::vector<NodeRecord>& records);
  // Call the methods of the node's Outbox with the same names. Welcome also begins a session in which
  // placement has refused nothing yet.
  void Welcome(Standing standing, int64_t last_sequence);
  void OrderSnapshot();
  void Disconnect();
  // Returns the write of records to send now, if there is one: see RecordWrites::Next. A write for
  // which nobody waits any more is dropped (T-385).
  std::optional<RecordWrites::Outgoing> NextWrite(MonotonicTime now);
  // To be called when placement has answered the write `id`, after the records of the answer were
  // applied with ChangeRecords. Returns false, and changes nothing, if no write with this id waits
  // for an answer.
  //
  // InvalidArgument says that the write is malformed, and PermissionDenied that the records do not
  // concern the host. Both mean that the write was not applied and never will be, so they end a
  // withdrawal, too.
  bool AnswerWrite(int64_t id, const absl::Status& answer, MonotonicTime now);
  // Calls `change`, which edits the records and the account. If `change` returns true, audits the
  // last facts with the new records, without asking the hypervisor. If only the accounting has
  // changed, the new report waits for the next report or for kAccountPause, then for AuditChanges.
  // If changes were audited less than kAuditPause ago, the audit waits for AuditChanges.
  //
  // REQUIRES: the identity is known.
  void ChangeRecords(const std::function<bool(Records*, NodeAccount*)>& change, MonotonicTime now);
  // Audits all changes that wait for an audit, if it is time, and lets NextReport return a changed
  // account, if it is time for that. Returns whether there was an audit.
  bool AuditChanges(MonotonicTime now);
  // Returns when AuditChanges will have something to do. Nothing: nothing waits for it.
  std::optional<MonotonicTime> changes_due() const;
  // Returns the report to send now, if there is one. Sets `records` to the records that this report
  // is based on: changes that wait for an audit are audited before.
  std::optional<Outbox::Outgoing> NextReport(MonotonicTime now, std::optional<Records>* records);
  // To be called when placement has applied the report `sequence`. The providers of the report go
  // into the records, with `generations`, by provider uuid. `unknown_traits`: the traits that
  // placement does not know.
  void Acknowledge(int64_t sequence, const std::map<Uuid, int64_t>& generations,
                   const std::vector<std::string>& unknown_traits, MonotonicTime now);
  // To be called when placement has refused the report `sequence`: see Outbox::Reject. `tree`: the
  // providers as placement has them, if placement sent them. Returns false if placement refused for
  // good to move resources (T-197). If it refused the allocations of one consumer for devices, they
  // are left out until the consumer's generation changes or the session ends. If it refused those of
  // several, each following report has those of one.
  bool Reject(int64_t sequence, bool again, std::optional<std::vector<KnownProvider>> tree,
              MonotonicTime now);
  std::string acknowledged_digest() const;
  // Returns the revision up to which the records are complete. Nothing: this is not known, and
  // placement must send all records again.
  std::optional<LedgerRevision> told_up_to() const;
  // Makes the next Hello ask placement for all records (T-63).
  void WantAllRecords();

 private:
  // Answers callers when it is destroyed. Declared before the lock, so that nobody is called under
  // the lock.
  class Replies {
   public:
    ~Replies();
    void Add(RecordWrites::Write write, const absl::StatusOr<ClaimResult>& result);
    void Add(ClaimCaller caller, absl::StatusOr<ClaimResult> result);

   private:
    std::vector<std::pair<ClaimCaller, absl::StatusOr<ClaimResult>>> replies_;
  };

  // Whether the node can let placement write records now.
  absl::Status CheckWritesLocked(const ClaimCaller& caller) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the node takes claims now.
  absl::Status CheckClaimsLocked(const ClaimCaller& caller) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckReadableLocked(const OpenClaim& claim) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckStateLocked(const OpenClaim& claim) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Answers a claim of an instance that has a write already, or lets it wait for the write.
  void JoinLocked(const std::string& request_id, const std::string& body, ClaimCaller caller,
                  RecordWrites::Write* write, Replies* replies) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Lets one more caller wait for the write.
  void AwaitLocked(ClaimCaller caller, RecordWrites::Write* write, Replies* replies) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `take`: tracker::ClaimInstance or tracker::ClaimMove.
  template <typename Request, typename Take>
  void Claim(const Request& request, Take take, ClaimCaller caller);
  std::optional<OpenClaim> FindRecordedLocked(const Uuid& instance_uuid,
                                              const std::string& claim_id, ClaimEnd end) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::optional<RecordWrites::Write>> EndOfLocked(const OpenClaim& claim,
                                                                 ClaimEnd end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Lets placement write the records without the claim, unless that is under way.
  void EndLocked(const Uuid& instance_uuid, const std::string& claim_id, ClaimEnd end,
                 ClaimCaller caller, Replies* replies) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AnswerClaimLocked(RecordWrites::Write* write, const absl::Status& answer, MonotonicTime now,
                         Replies* replies) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AnswerEndLocked(RecordWrites::Write* write, const absl::Status& answer, Replies* replies)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The claim is in placement's records, or is in none and ends.
  void GrantLocked(RecordWrites::Write write, Replies* replies)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Lets placement write what FindRepairs and FindInterrupted find, unless the instance is being
  // claimed or written. Returns texts for the log: what is written, which repairs of earlier passes
  // failed (T-131), and once for each instance what people have to do with it.
  std::vector<std::string> RepairLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Answers those callers of UpdateUsage who have gone, and those for whom `status` or the account
  // decides.
  void AnswerWaitersLocked(const absl::Status& status, Replies* replies)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UndoLocked(RecordWrites::Write write, const absl::Status& status, Replies* replies)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status FindIdentity();
  // Finds the identity and observes. Remembers the traits that a report with `configuration` may
  // add, before it is sent; if they cannot be remembered, the facts have a warning.
  absl::StatusOr<Facts> Observe(const NodeConfiguration& configuration, MonotonicTime now,
                                absl::Time wall_now);
  // Audits what was observed with `configuration`, and ends the pass.
  void TakeFacts(absl::StatusOr<Facts> observed,
                 std::shared_ptr<const NodeConfiguration> configuration, MonotonicTime now,
                 PassOutcome* outcome);
  // Why the facts are audited.
  enum class Cause {
    kPass,     // a pass has new facts
    kRecords,  // the first records came, or placement refused a report and sent its providers
    kPush,     // the records have changed
  };
  // Audits `facts_` against `records_`, keeps the audit, and offers it to the outbox. The audit can
  // fail only if the facts are new: facts that have passed an audit pass it again.
  absl::StatusOr<std::shared_ptr<const Audit>> AuditLocked(MonotonicTime now, Cause cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives the account what the node has, by the facts.
  absl::Status TakeResourcesLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Leaves out of the report what placement has refused: see Reject.
  void LeaveOutRefusedLocked(Report* report) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Audits the last facts with all changes of records until now.
  void AuditChangesLocked(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Offers the newest audit to the outbox. `pass` and `repair`: see Outbox::Offer.
  void OfferLocked(bool pass, bool repair, MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool DriftedLocked(const Audit& audit) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteSettledLocked(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  Hypervisor hypervisor_;
  Observer observer_;  // used by Pass, and for its thread-safe counter
  AddedTraitsFile added_traits_;

  // Taken after mutex_ if both are taken. Without it, whoever looks for a node would wait for the
  // locks of other nodes.
  mutable Mutex identity_mutex_;
  std::optional<NodeIdentity> identity_ ABSL_GUARDED_BY(identity_mutex_);

  mutable FairMutex mutex_;
  std::string name_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const NodeConfiguration> wanted_configuration_ ABSL_GUARDED_BY(mutex_);
  // The configuration with which facts_ were observed.
  std::shared_ptr<const NodeConfiguration> configuration_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Facts> facts_ ABSL_GUARDED_BY(mutex_);  // null: no pass was good yet
  std::optional<Records> records_ ABSL_GUARDED_BY(mutex_);
  std::optional<NodeAccount> account_ ABSL_GUARDED_BY(mutex_);  // once the identity is known
  ClaimSettings claim_settings_ ABSL_GUARDED_BY(mutex_);        // of configuration_
  // The traits of acknowledged reports that placement does not know.
  std::set<std::string> unknown_traits_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> failed_repairs_ ABSL_GUARDED_BY(mutex_);  // since the last pass
  // The generations of the instances in the first records. Only records that have not changed since
  // can be interrupted (T-33).
  std::map<Uuid, int64_t> first_generations_ ABSL_GUARDED_BY(mutex_);
  // The consumers, with their generations, whose allocations for devices placement has refused in
  // the present session.
  std::set<std::pair<Uuid, int64_t>> refused_holdings_ ABSL_GUARDED_BY(mutex_);
  // Placement has refused the allocations of several consumers together. The rest of the session
  // reports one at a time, so that one that cannot be made does not hinder the others.
  bool heals_singly_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const Audit> audit_ ABSL_GUARDED_BY(mutex_);
  bool changes_wait_ ABSL_GUARDED_BY(mutex_) = false;  // records have changed since the last audit
  MonotonicTime audit_changes_at_ ABSL_GUARDED_BY(mutex_) = {};  // not before this time
  // When the accounting of audit_ is to be reported. Absent: the outbox has audit_, or one with the
  // same content.
  std::optional<MonotonicTime> account_due_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);  // that nobody has taken yet
  PassOutcome last_ ABSL_GUARDED_BY(mutex_);
  // When the last good pass began. If no pass was good yet: when the first pass began.
  std::optional<MonotonicTime> audited_at_ ABSL_GUARDED_BY(mutex_);
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
  RecordWrites writes_ ABSL_GUARDED_BY(mutex_);
  ClaimAnswers answers_ ABSL_GUARDED_BY(mutex_);
  // The callers of UpdateUsage, each with the record that it waits for.
  std::list<std::pair<Instance, ClaimCaller>> waiters_ ABSL_GUARDED_BY(mutex_);
  std::optional<MonotonicTime> unsettled_since_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_NODE_H_
