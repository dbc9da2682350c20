#include "tests/counted/record_life.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"

namespace berth::counted {
namespace {

struct StateAndTask {
  const char* vm_state;
  const char* task_state;
};
constexpr StateAndTask kStates[] = {{"active", ""},
                                    {"active", "migrating"},
                                    {"paused", "migrating"},
                                    {"active", "resize_prep"},
                                    {"active", "resize_finish"},
                                    {"stopped", "resize_migrating"},
                                    {"resized", ""},
                                    {"active", "rebuilding"},
                                    {"stopped", "rebuild_spawning"},
                                    {"error", ""},
                                    {"error", "rebuilding"},
                                    {"stopped", "migrating"},
                                    {"building", "spawning"},
                                    {"shelved", ""},
                                    {"shelved_offloaded", ""},
                                    {"shelved_offloaded", "spawning"},
                                    {"deleted", ""},
                                    {"soft-delete", ""}};
constexpr const char* kStatuses[] = {"accepted",  "queued",     "running",   "pre-migrating",
                                     "migrating", "finished",   "reverting", "post-migrating",
                                     "error",     "confirming", "flying"};
constexpr const char* kOver[] = {"confirmed", "reverted",  "failed",
                                 "completed", "cancelled", "done"};

bool IsOver(const pb::Migration& migration) {
  return std::find(std::begin(kOver), std::end(kOver), migration.status()) != std::end(kOver);
}

}  // namespace

RecordLife::RecordLife(uint64_t seed) : random_(seed) {
  for (const Place& place : ledger_.nodes()) {
    accounts_.push_back(std::make_unique<AccountSide>(place));
    accounts_.back()->Restart(ledger_.CompletePush(place));
  }
}

std::set<int> RecordLife::AnyThings() {
  std::set<int> things;
  for (int i = Below(4); i > 0; --i) things.insert(Below(kThings));
  return things;
}

std::optional<pb::Migration> RecordLife::AnyMigration(const std::string& instance, bool moves) {
  std::vector<pb::Migration> migrations = ledger_.MigrationsOf(instance);
  if (moves) std::erase_if(migrations, IsOver);
  if (migrations.empty()) return std::nullopt;
  return migrations[Below(static_cast<int>(migrations.size()))];
}

int RecordLife::AccountOf(const Place& place) const {
  const auto& nodes = ledger_.nodes();
  return static_cast<int>(std::find(nodes.begin(), nodes.end(), place) - nodes.begin());
}

void RecordLife::PlaceAnywhere(pb::Instance* instance) {
  PutOn(AnyPlace(), instance);
  if (OneIn(6)) instance->clear_node_uuid();
  if (!OneIn(6)) return;
  instance->clear_host();
  instance->clear_node_uuid();
}

void RecordLife::ChangeState(pb::Instance* instance) {
  const StateAndTask& state = kStates[Below(std::size(kStates))];
  instance->set_vm_state(state.vm_state);
  instance->set_task_state(state.task_state);
}

void RecordLife::ChangeContext(pb::Instance* instance) {
  instance->clear_migration_context();
  if (OneIn(4)) return;
  pb::MigrationContext& context = *instance->mutable_migration_context();
  if (!OneIn(8)) context.mutable_old_flavor()->set_id("small");
  if (!OneIn(8)) context.mutable_new_flavor()->set_id("large");
  SetBefore(AnyThings(), &context);
  SetAfter(AnyThings(), &context);
  const auto migration = AnyMigration(instance->uuid(), /*moves=*/false);
  if (OneIn(8)) return;  // it names no migration
  context.set_migration_uuid(migration && !OneIn(8) ? migration->uuid()
                                                    : "99999999-9999-4999-8999-999999999999");
}

// A caller who is no tracker makes the record of an instance, or changes something about it.
std::string RecordLife::Put() {
  const std::string uuid = AnyInstance();
  pb::SetInstanceRequest request;
  pb::Instance& record = *request.mutable_instance();
  record = ledger_.Instance(uuid);
  if (record.uuid().empty()) {
    record.set_uuid(uuid);
    record.set_project_id("p");
    record.set_user_id("u");
    record.set_vm_state("active");
    record.mutable_flavor()->set_id("small");
    if (!OneIn(3)) PlaceAnywhere(&record);
  } else {
    request.set_expected_generation(record.generation());
  }
  if (OneIn(2)) ChangeState(&record);
  if (OneIn(6)) PlaceAnywhere(&record);
  if (OneIn(5)) ChangeContext(&record);
  if (OneIn(5)) record.mutable_flavor()->set_id(OneIn(2) ? "small" : "large");
  if (OneIn(12)) SetOwn(AnyThings(), &record);
  return Told("put an instance", ledger_.Do(request));
}

// An instance goes on with the move or build that its records are made for.
std::string RecordLife::Resume() {
  pb::SetInstanceRequest request;
  pb::Instance& record = *request.mutable_instance();
  record = ledger_.Instance(AnyInstance());
  if (record.uuid().empty()) return "nothing";
  request.set_expected_generation(record.generation());
  record.set_vm_state("active");
  record.set_task_state("migrating");
  return Told("resume", ledger_.Do(request));
}

std::string RecordLife::Delete() {
  pb::DeleteInstanceRequest request;
  request.set_instance_uuid(AnyInstance());
  if (ledger_.Instance(request.instance_uuid()).uuid().empty()) return "nothing";
  return Told("delete an instance", ledger_.Do(request));
}

std::string RecordLife::BeginMove() {
  const std::string uuid = AnyInstance();
  const pb::Instance instance = ledger_.Instance(uuid);
  if (instance.uuid().empty() || ledger_.MigrationsOf(uuid).size() > 4) return "nothing";
  pb::CreateMigrationRequest request;
  pb::Migration& migration = *request.mutable_migration();
  migration.set_uuid(absl::StrFormat("88888888-8888-4888-8888-%012x", ++migrations_));
  migration.set_instance_uuid(uuid);
  migration.set_type(static_cast<pb::MigrationType>(1 + Below(4)));
  const Place& source = AnyPlace();
  const bool is_placed = !instance.host().empty() && !OneIn(4);
  migration.set_source_host(is_placed ? instance.host() : source.host);
  migration.set_source_node_uuid(is_placed ? instance.node_uuid() : source.node);
  if (OneIn(2)) {
    const Place& destination = AnyPlace();
    migration.set_destination_host(destination.host);
    if (!OneIn(6)) migration.set_destination_node_uuid(destination.node);
  }
  migration.set_old_flavor_id("small");
  migration.set_new_flavor_id(migration.type() == pb::MIGRATION_TYPE_RESIZE ? "large" : "small");
  return Told("begin a move", ledger_.Do(request));
}

std::string RecordLife::ChangeMove() {
  const auto migration = AnyMigration(AnyInstance(), !OneIn(8));
  if (!migration) return "nothing";
  pb::UpdateMigrationRequest request;
  request.set_migration_uuid(migration->uuid());
  request.set_expected_status(migration->status());
  request.set_status(kStatuses[Below(std::size(kStatuses))]);
  if (OneIn(3)) {
    const Place& destination = AnyPlace();
    request.set_destination_host(destination.host);
    request.set_destination_node_uuid(destination.node);
  }
  if (!OneIn(3)) return Told("change a move", ledger_.Do(request));
  *request.mutable_tracker() = ledger_.TrackerOf(AnyPlace().host);
  return ToldTracker("a tracker changes a move", ledger_.Do(request));
}

std::string RecordLife::EndMove() {
  const auto migration = AnyMigration(AnyInstance(), true);
  if (!migration) return "nothing";
  pb::EndMoveRequest request;
  pb::Instance& instance = *request.mutable_instance();
  instance = ledger_.Instance(migration->instance_uuid());
  request.set_migration_uuid(migration->uuid());
  request.set_expected_generation(migration->generation());
  request.set_expected_instance_generation(instance.generation());
  const bool goes = OneIn(2);
  request.set_end(goes ? (OneIn(2) ? pb::MOVE_END_CONFIRMED : pb::MOVE_END_COMPLETED)
                       : (OneIn(2) ? pb::MOVE_END_REVERTED : pb::MOVE_END_FAILED));
  if (goes && migration->type() == pb::MIGRATION_TYPE_EVACUATION) {
    request.set_end(pb::MOVE_END_DONE);
  }
  SetEnded(goes, *migration, &instance);
  return Told("end a move", ledger_.Do(request));
}

// A caller gives the instance what it has after its move. The move goes on: it may wait for its
// user.
std::string RecordLife::Arrive() {
  const auto migration = AnyMigration(AnyInstance(), true);
  if (!migration || migration->destination_host().empty()) return "nothing";
  pb::SetInstanceRequest request;
  pb::Instance& record = *request.mutable_instance();
  record = ledger_.Instance(migration->instance_uuid());
  if (!record.has_migration_context()) return "nothing";
  request.set_expected_generation(record.generation());
  PutOn({migration->destination_host(), migration->destination_node_uuid()}, &record);
  ApplyContext(/*after=*/true, &record);
  if (!OneIn(4)) record.mutable_flavor()->set_id(migration->new_flavor_id());
  record.set_vm_state("resized");
  record.clear_task_state();
  return Told("arrive", ledger_.Do(request));
}

std::string RecordLife::Restart() {
  const Place& place = AnyPlace();
  accounts_[AccountOf(place)]->Restart(ledger_.CompletePush(place));
  return "restart";
}

std::string RecordLife::Told(const std::string& what, const std::string& answer) {
  return answer.empty() ? what : what + " (refused)";
}

bool RecordLife::IsAnythingShared() const {
  const std::vector<Place>& nodes = ledger_.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [this](const Place& place) { return ledger_.IsShared(place); });
}

std::string RecordLife::Step() {
  using Doing = std::string (RecordLife::*)();
  constexpr Doing kDoings[] = {
      &RecordLife::Put,         &RecordLife::Put,         &RecordLife::Put,
      &RecordLife::Resume,      &RecordLife::Delete,      &RecordLife::BeginMove,
      &RecordLife::BeginMove,   &RecordLife::ChangeMove,  &RecordLife::ChangeMove,
      &RecordLife::Arrive,      &RecordLife::Arrive,      &RecordLife::EndMove,
      &RecordLife::Claim,       &RecordLife::Claim,       &RecordLife::ClaimMove,
      &RecordLife::ClaimMove,   &RecordLife::TrackerEnds, &RecordLife::TrackerSets,
      &RecordLife::TrackerSets, &RecordLife::Restart};
  const bool was_shared = IsAnythingShared();
  has_written_ = false;
  const std::string what = (this->*kDoings[Below(std::size(kDoings))])();
  for (const Place& place : ledger_.nodes()) {
    accounts_[AccountOf(place)]->Hear(ledger_.NextPush(place));
  }
  if (has_written_ && !was_shared) {
    EXPECT_FALSE(IsAnythingShared()) << what;  // T-395
    ++lone_writes_;
  }
  return what;
}

void RecordLife::Compare() {
  for (const Place& place : ledger_.nodes()) {
    EXPECT_EQ(ledger_.On(place), accounts_[AccountOf(place)]->Now()) << place.node;  // T-395
  }
  const Place& place = AnyPlace();
  const int thing = Below(kThings);
  const bool is_free = accounts_[AccountOf(place)]->Now().IsFree(NameOf(thing));
  EXPECT_EQ(ledger_.MayGive(place, thing), is_free) << NameOf(thing) << " of " << place.node;
}

}  // namespace berth::counted
