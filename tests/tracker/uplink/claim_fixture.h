// A node that takes claims, and placement's records of instances, which a test writes as placement
// does.
#ifndef BERTH_TESTS_TRACKER_UPLINK_CLAIM_FIXTURE_H_
#define BERTH_TESTS_TRACKER_UPLINK_CLAIM_FIXTURE_H_

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/uplink/fixture.h"
#include "tracker/claims/refusal.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/uplink/push.h"
#include "tracker/uplink/record_messages.h"

namespace berth::tracker {

inline constexpr char kGuest[] = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
// The uuid of the node of host h2.
inline constexpr char kElsewhere[] = "22222222-2222-4222-8222-222222222222";
inline constexpr char kOther[] = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb";

// The records of instances, written under the rule of generations.
class RecordLedger {
 public:
  explicit RecordLedger(std::string node) : node_(std::move(node)) {}

  placement::v1::Instance Create(const std::string& uuid) {
    MutexLock lock(&mutex_);
    placement::v1::Instance& instance = records_[uuid];
    instance.set_uuid(uuid);
    instance.set_generation(++generation_);
    instance.set_vm_state("building");
    instance.set_task_state("spawning");
    instance.mutable_flavor()->set_vcpus(2);
    instance.mutable_flavor()->set_memory_mib(512);
    return instance;
  }
  placement::v1::Instance Find(const std::string& uuid) {
    MutexLock lock(&mutex_);
    return records_[uuid];
  }
  void SetState(const std::string& uuid, const std::string& state) {
    MutexLock lock(&mutex_);
    records_[uuid].set_vm_state(state);
    records_[uuid].set_generation(++generation_);
    records_[uuid].mutable_updated_at()->set_seconds(generation_);
  }
  void Change(const std::string& uuid,
              const std::function<void(placement::v1::Instance*)>& change) {
    MutexLock lock(&mutex_);
    change(&records_[uuid]);
    records_[uuid].set_generation(++generation_);
  }
  void ChangeMove(const std::string& uuid,
                  const std::function<void(placement::v1::Migration*)>& change) {
    MutexLock lock(&mutex_);
    change(&migrations_[uuid]);
    migrations_[uuid].set_generation(++generation_);
  }
  // As if the node had claimed it.
  void SetClaimed(const std::string& uuid, int64_t claimed_generation) {
    MutexLock lock(&mutex_);
    records_[uuid].set_host("h");
    records_[uuid].set_node_uuid(node_);
    records_[uuid].set_claimed_generation(claimed_generation);
    records_[uuid].set_generation(++generation_);
  }
  // A record of a migration of the instance away from `host`, which `instance` is then on.
  placement::v1::Migration CreateMove(const std::string& uuid, placement::v1::Instance* instance,
                                      const std::string& host = "h2") {
    MutexLock lock(&mutex_);
    placement::v1::Instance& moving = records_[instance->uuid()];
    moving.set_generation(++generation_);
    moving.set_host(host);
    moving.set_node_uuid(host == "h" ? node_ : kElsewhere);
    moving.set_vm_state("active");
    moving.set_task_state("resize_prep");
    *instance = moving;
    placement::v1::Migration& migration = migrations_[uuid];
    migration.set_uuid(uuid);
    migration.set_generation(++generation_);
    migration.set_instance_uuid(moving.uuid());
    migration.set_type(placement::v1::MIGRATION_TYPE_COLD);
    migration.set_status("accepted");
    migration.set_source_host(moving.host());
    migration.set_source_node_uuid(moving.node_uuid());
    return migration;
  }
  // As if the destination `host` had claimed the move.
  void ClaimMove(const std::string& uuid, const std::string& host) {
    MutexLock lock(&mutex_);
    placement::v1::Migration& migration = migrations_[uuid];
    migration.set_destination_host(host);
    migration.set_destination_node_uuid(host == "h" ? node_ : kElsewhere);
    migration.set_generation(++generation_);
    placement::v1::Instance& instance = records_[migration.instance_uuid()];
    instance.mutable_migration_context()->set_migration_uuid(uuid);
    *instance.mutable_migration_context()->mutable_old_flavor() = instance.flavor();
    *instance.mutable_migration_context()->mutable_new_flavor() = instance.flavor();
    instance.set_generation(++generation_);
  }
  void Place(const std::string& uuid, const std::string& host) {
    MutexLock lock(&mutex_);
    records_[uuid].set_host(host);
    records_[uuid].set_node_uuid(host == "h" ? node_ : kElsewhere);
    records_[uuid].set_vm_state("resized");
    records_[uuid].set_generation(++generation_);
  }
  placement::v1::Migration FindMove(const std::string& uuid) {
    MutexLock lock(&mutex_);
    return migrations_[uuid];
  }
  // What placement's rule does.
  grpc::StatusCode Apply(const placement::v1::RecordWrite& write) {
    MutexLock lock(&mutex_);
    const auto found = records_.find(write.instance().uuid());
    if (found == records_.end()) return grpc::StatusCode::NOT_FOUND;
    if (found->second.generation() != write.instance().generation()) {
      return grpc::StatusCode::ABORTED;
    }
    if (write.has_migration()) {
      placement::v1::Migration& migration = migrations_[write.migration().uuid()];
      if (migration.generation() != write.migration().generation()) {
        return grpc::StatusCode::ABORTED;
      }
      migration.set_generation(++generation_);
      if (!write.withdraw()) {
        migration.set_status(write.migration().status());
        ends_.push_back(write.end());
        migration.set_destination_host(write.migration().destination_host());
        migration.set_destination_node_uuid(write.migration().destination_node_uuid());
      }
    }
    found->second.set_generation(++generation_);
    if (write.withdraw()) return grpc::StatusCode::OK;
    found->second.clear_migration_context();
    if (write.instance().has_migration_context()) {
      *found->second.mutable_migration_context() = write.instance().migration_context();
    }
    found->second.set_host(write.instance().host());
    found->second.set_node_uuid(write.instance().node_uuid());
    found->second.set_claimed_generation(write.instance().claimed_generation());
    if (write.instance().vm_state().empty()) return grpc::StatusCode::OK;
    found->second.set_vm_state(write.instance().vm_state());
    found->second.set_task_state(write.instance().task_state());
    return grpc::StatusCode::OK;
  }
  // The ends of moves that were written.
  std::vector<placement::v1::MoveEnd> ends() {
    MutexLock lock(&mutex_);
    return ends_;
  }
  void SetMoveState(const std::string& uuid, const std::string& status, const std::string& task) {
    MutexLock lock(&mutex_);
    placement::v1::Migration& migration = migrations_[uuid];
    migration.set_status(status);
    migration.set_generation(++generation_);
    records_[migration.instance_uuid()].set_task_state(task);
    records_[migration.instance_uuid()].set_generation(++generation_);
  }
  // The push of the record as it is now.
  placement::v1::Push PushOf(const std::string& uuid) {
    MutexLock lock(&mutex_);
    placement::v1::Push push;
    push.set_node_uuid(node_);
    bool concerns = false;
    for (const auto& [id, migration] : migrations_) {
      if (migration.instance_uuid() != uuid) continue;
      if (migration.destination_node_uuid() != node_ && migration.source_node_uuid() != node_) {
        continue;
      }
      *push.add_migrations() = migration;
      concerns = true;
    }
    const auto found = records_.find(uuid);
    if (found != records_.end() && found->second.node_uuid().empty()) {
      concerns = concerns || found->second.host() == "h";
    }
    if (found != records_.end() && (concerns || found->second.node_uuid() == node_)) {
      *push.add_instances() = found->second;
    } else {
      push.add_removed_instance_uuids(uuid);
    }
    return push;
  }
  FakePlacement::Response Answer(const placement::v1::RecordWrite& write, grpc::StatusCode code) {
    FakePlacement::Response response;
    placement::v1::RecordAnswer* const answer = response.mutable_record_answer();
    answer->set_write_id(write.write_id());
    answer->mutable_status()->set_code(code);
    answer->mutable_status()->set_message("as the test says");
    answer->set_node_uuid(node_);
    const placement::v1::Push push = PushOf(write.instance().uuid());
    *answer->mutable_instances() = push.instances();
    *answer->mutable_removed_instance_uuids() = push.removed_instance_uuids();
    *answer->mutable_migrations() = push.migrations();
    return response;
  }

 private:
  const std::string node_;
  Mutex mutex_;
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 100;
  std::map<std::string, placement::v1::Instance> records_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, placement::v1::Migration> migrations_ ABSL_GUARDED_BY(mutex_);
  std::vector<placement::v1::MoveEnd> ends_ ABSL_GUARDED_BY(mutex_);
};

// One call of a claim or of its end, and its answer.
struct ClaimCall {
  std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::atomic<int>> answers = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<absl::StatusOr<ClaimResult>> result =
      std::make_shared<absl::StatusOr<ClaimResult>>(absl::UnknownError("no answer"));

  ClaimCaller AsCaller() const {
    return {[*this](const absl::StatusOr<ClaimResult>& answer) {
              *result = answer;
              ++*answers;
            },
            [gone = gone] { return gone->load(); }};
  }
  std::optional<ClaimRefusalKind> refusal() const {
    const auto refused = RefusalOf(result->status());
    return refused ? std::make_optional(refused->kind) : std::nullopt;
  }
};

class ClaimTest : public UplinkTest {
 protected:
  ClaimTest() : ledger_(uuid_) { Restart(); }

  // A new placement over the same records, at the same port.
  void Restart() {
    placement_.reset();
    placement_ = std::make_unique<FakePlacement>(port_, [this](FakePlacement* placement) {
      placement->write = [this](const placement::v1::RecordWrite& write) {
        using Answer = std::optional<FakePlacement::Response>;
        return silent_ ? Answer() : ledger_.Answer(write, ledger_.Apply(write));
      };
    });
    port_ = placement_->port();
  }
  void Start() {
    uplink_ = Connect(*placement_);
    ASSERT_TRUE(AwaitSession());
  }
  bool AwaitSession() {
    return Eventually([this] { return node_->view().standing != Standing::kNone; }) && Settles();
  }
  bool AwaitNoSession() {
    return Eventually([this] { return node_->view().standing == Standing::kNone; });
  }
  // Calls the node's claims, and lets the uplink send what they write.
  template <typename Work>
  void Ask(const Work& work) {
    node_->Claims(work);
    if (uplink_ != nullptr) uplink_->Notify();
  }
  ClaimCall Claim(const placement::v1::Instance& instance, const std::string& request_id = "",
                  const std::string& body = "") {
    ClaimCall call;
    InstanceClaim claim;
    claim.id = request_id;
    claim.body = body;
    claim.node_uuid = ShortUuid(uuid_);
    claim.instance = ReadInstance(instance);
    Ask([&](NodeClaims* claims, auto* replies) { claims->Claim(claim, call.AsCaller(), replies); });
    return call;
  }
  ClaimCall ClaimMoveOf(const placement::v1::Instance& instance,
                        const placement::v1::Migration& migration) {
    ClaimCall call;
    MoveClaim claim;
    claim.node_uuid = ShortUuid(uuid_);
    claim.instance = ReadInstance(instance);
    claim.migration = ReadMigration(migration);
    claim.new_flavor = claim.instance.flavor;
    Ask([&](NodeClaims* claims, auto* replies) { claims->Claim(claim, call.AsCaller(), replies); });
    return call;
  }
  ClaimCall Update(const placement::v1::Instance& known) {
    ClaimCall call;
    Ask([&](NodeClaims* claims, auto* replies) {
      claims->UpdateUsage(ReadInstance(known), call.AsCaller(), replies);
    });
    return call;
  }
  ClaimCall Drop(const std::string& instance, const std::string& migration, ClaimEnd side) {
    ClaimCall call;
    const MoveDrop drop = {ShortUuid(instance), ShortUuid(migration), side};
    Ask([&](NodeClaims* claims, auto* replies) {
      claims->DropMove(drop, call.AsCaller(), replies);
    });
    return call;
  }
  ClaimCall Abort(const std::string& claim_id) {
    ClaimCall call;
    Ask([&](NodeClaims* claims, auto* replies) {
      claims->Abort(claim_id, call.AsCaller(), replies);
    });
    return call;
  }
  bool Answered(const ClaimCall& call, int times = 1) {
    return Eventually([&] { return *call.answers == times; });
  }
  std::vector<placement::v1::RecordWrite> Writes() {
    std::vector<placement::v1::RecordWrite> writes;
    for (const auto& request : placement_->requests()) {
      if (request.has_record_write()) writes.push_back(request.record_write());
    }
    return writes;
  }
  // Pushes the records of the instance as they are now, and waits until the node has them.
  bool Tell(const std::string& uuid) {
    FakePlacement::Response response;
    *response.mutable_push() = ledger_.PushOf(uuid);
    placement_->Say(response);
    return Eventually([&] {
      bool has_all = true;
      node_->ChangeRecords(
          [&](Records*, NodeAccount* account) {
            for (const auto& instance : response.push().instances()) {
              has_all = has_all &&
                        account->HasInstance(ShortUuid(instance.uuid()), instance.generation());
            }
            for (const auto& migration : response.push().migrations()) {
              has_all = has_all &&
                        account->HasMigration(ShortUuid(migration.uuid()), migration.generation());
            }
            return false;
          },
          BootClock::now());
      return has_all;
    });
  }
  PromisedUsage Promised() { return node_->accounting()->promised; }

  RecordLedger ledger_;
  std::atomic<bool> silent_ = false;  // placement neither applies nor answers writes
  int port_ = 0;
  std::unique_ptr<FakePlacement> placement_;
  std::unique_ptr<Uplink> uplink_;
};

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_UPLINK_CLAIM_FIXTURE_H_
