// The methods of RecordLife with which trackers claim and write.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/counted/record_life.h"

namespace berth::counted {
namespace {

bool IsOn(const Place& place, const pb::Instance& instance) {
  return instance.host() == place.host && instance.node_uuid() == place.node;
}

// Whether the instance has the thing by its record.
bool HasOwn(const pb::Instance& instance, int thing) {
  pb::Instance alone;
  SetOwn({thing}, &alone);
  for (const pb::GuestCell& cell : instance.numa_cells()) {
    for (const auto& [vcpu, cpu] : cell.pinning()) {
      if (thing < kCpus && cpu == thing) return true;
    }
  }
  const auto has = [](const auto& list, const auto& wanted, const auto& name_of) {
    return !wanted.empty() && std::any_of(list.begin(), list.end(), [&](const auto& one) {
      return name_of(one) == name_of(wanted[0]);
    });
  };
  return has(instance.pci_devices(), alone.pci_devices(),
             [](const pb::PciDevice& device) { return device.address(); }) ||
         has(instance.named_units(), alone.named_units(),
             [](const pb::NamedUnit& unit) { return unit.name(); });
}

}  // namespace

std::set<int> RecordLife::FreeThings(const Place& place) {
  const Counted counted = accounts_[AccountOf(place)]->Now();
  std::set<int> free;
  for (const auto& [first, end] : {std::pair(0, kCpus), std::pair(kCpus, kCpus + kDevices),
                                   std::pair(kCpus + kDevices, kThings)}) {
    int thing = first;
    while (thing < end && !counted.IsFree(NameOf(thing))) ++thing;
    if (thing < end && !OneIn(3)) free.insert(thing);
  }
  return free;
}

// A tracker claims an instance that is on no node, with what its account calls free.
std::string RecordLife::Claim() {
  const Place& place = AnyPlace();
  const pb::Instance known = ledger_.Instance(AnyInstance());
  const bool is_offloaded = known.vm_state() == "shelved_offloaded";
  if (known.uuid().empty() || !(known.host().empty() || is_offloaded)) return "nothing";
  pb::RecordWrite write;
  pb::Instance& record = *write.mutable_instance();
  record.set_uuid(known.uuid());
  record.set_generation(known.generation());
  record.set_claimed_generation(known.generation());
  record.set_vm_state(is_offloaded ? "shelved_offloaded" : "building");
  record.set_task_state("spawning");
  PutOn(place, &record);
  const std::set<int> chosen = FreeThings(place);
  SetOwn(chosen, &record);
  return ToldTracker("claim an instance", ledger_.Write(place, write), chosen);
}

// The tracker of the destination claims what the instance needs there.
std::string RecordLife::ClaimMove() {
  const Place& place = AnyPlace();
  const auto known = AnyMigration(AnyInstance(), true);
  if (!known) return "nothing";
  pb::RecordWrite write;
  pb::Instance& instance = *write.mutable_instance();
  instance = ledger_.Instance(known->instance_uuid());
  const bool is_on_source =
      instance.host() == known->source_host() && instance.node_uuid() == known->source_node_uuid();
  const bool comes = known->destination_host().empty() || known->destination_host() == place.host;
  if (!is_on_source || !comes) return "nothing";
  pb::MigrationContext& context = *instance.mutable_migration_context();
  context.set_migration_uuid(known->uuid());
  context.mutable_old_flavor()->set_id("small");
  context.mutable_new_flavor()->set_id("large");
  *context.mutable_old_numa_cells() = instance.numa_cells();
  *context.mutable_old_pci_devices() = instance.pci_devices();
  *context.mutable_old_named_units() = instance.named_units();
  std::set<int> chosen = FreeThings(place);
  SetAfter(chosen, &context);
  std::erase_if(chosen, [&](int thing) { return HasOwn(instance, thing); });
  instance.clear_vm_state();  // the state stays
  *write.mutable_migration() = *known;
  write.mutable_migration()->set_status("pre-migrating");
  write.mutable_migration()->set_destination_host(place.host);
  write.mutable_migration()->set_destination_node_uuid(place.node);
  return ToldTracker("claim a move", ledger_.Write(place, write), chosen);
}

// A tracker gives a claim of a move up, or confirms a move.
std::string RecordLife::TrackerEnds() {
  const Place& place = AnyPlace();
  const auto known = AnyMigration(AnyInstance(), true);
  if (!known) return "nothing";
  pb::RecordWrite write;
  pb::Instance& instance = *write.mutable_instance();
  instance = ledger_.Instance(known->instance_uuid());
  const bool goes = OneIn(2);
  SetEnded(goes, *known, &instance);
  *write.mutable_migration() = *known;
  write.set_end(!goes                                            ? pb::MOVE_END_FAILED
                : known->type() == pb::MIGRATION_TYPE_LIVE       ? pb::MOVE_END_COMPLETED
                : known->type() == pb::MIGRATION_TYPE_EVACUATION ? pb::MOVE_END_DONE
                                                                 : pb::MOVE_END_CONFIRMED);
  return ToldTracker("a tracker ends a move", ledger_.Write(place, write));
}

// A tracker writes the state of an instance, or gives away what it has.
std::string RecordLife::TrackerSets() {
  const Place& place = AnyPlace();
  pb::SetInstanceRequest request;
  pb::Instance& record = *request.mutable_instance();
  record = ledger_.Instance(AnyInstance());
  if (record.uuid().empty()) return "nothing";
  request.set_expected_generation(record.generation());
  *request.mutable_tracker() = ledger_.TrackerOf(place.host);
  if (!OneIn(3)) ChangeState(&record);
  if (IsOn(place, record) && OneIn(2)) SetOwn(FreeThings(place), &record);
  return ToldTracker("a tracker sets an instance", ledger_.Do(request));
}

std::string RecordLife::ToldTracker(const std::string& what, const std::string& answer,
                                    const std::set<int>& chosen) {
  // What the record has named before may have another owner by now. What is chosen has none.
  for (const int thing : chosen) {
    const std::string refusal = absl::StrCat("cannot get ", WordsOf(thing), ",");
    EXPECT_FALSE(absl::StrContains(answer, refusal)) << what << ": " << answer;  // T-395
  }
  has_written_ = answer.empty();
  return Told(what, answer);
}

}  // namespace berth::counted
