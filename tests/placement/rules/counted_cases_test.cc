// What counts on a node, by the cases that the tracker's account is tested with, too.
#include "tests/counted/counted_cases.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "placement/commands/node_share.h"
#include "placement/rules/owners.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// Host h1 has node 1, and so on.
struct CountedPlace {
  int number = 0;  // 0: nowhere

  std::string host() const { return number == 0 ? "" : absl::StrCat("h", number); }
  ProviderId node() const { return ProviderId{Uuid{1, static_cast<uint64_t>(number)}}; }
  std::optional<ProviderId> node_if_any() const {
    return number == 0 ? std::nullopt : std::make_optional(node());
  }
};
constexpr CountedPlace kNowhere{0}, kFirst{1}, kSecond{2}, kThird{3}, kFourth{4};
const MigrationId kFirstMove = {Uuid{12, 1}};

// `text`: the id of the flavor, the word of the case for its context, and the names that the
// instance has by its record.
void GiveParts(const std::string& text, InstanceRecord* record) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  record->flavor_id = words[0];
  auto held = std::make_shared<HeldParts>();
  held->own = PartNames(PartNameSet(words.begin() + 2, words.end()));
  record->held = held;
  const std::string& context = words[1];
  if (context == "-") return;
  auto parts = std::make_shared<HeldParts::Context>();
  if (context != "unnamed") parts->migration = kFirstMove;
  if (context == "other") parts->migration = MigrationId{Uuid{12, 9}};
  parts->has_old_flavor = context != "no-old";
  parts->has_new_flavor = context != "no-new";
  parts->before = PartNames({"old"});
  parts->after = PartNames({"new"});
  held->context = std::move(parts);
}

std::shared_ptr<InstanceRecord> CountedInstance(uint64_t number, CountedPlace at,
                                                const std::string& parts) {
  auto record = std::make_shared<InstanceRecord>();
  record->id = InstanceId{Uuid{11, number}};
  record->generation = Generation{1};
  record->project = record->user = "p";
  record->host = at.host();
  record->node = at.node_if_any();
  record->vm_state = "active";
  GiveParts(parts, record.get());
  return record;
}

// The records of a case, in a state.
class CountedRecords {
 public:
  explicit CountedRecords(const CountedCase& one) : case_(one) {
    if (one.node == "both") destination_ = kFirst;
    self_ = one.node == "neither"                        ? kThird
            : absl::StrContains(one.node, "destination") ? destination_
                                                         : kFirst;
    SetUpInstance();
    if (one.has_move()) SetUpMigrations();
    std::vector<Change> changes = {InstancePut{instance_}};
    for (const MigrationPtr& migration : migrations_) changes.push_back(MigrationPut{migration});
    state_.Apply(changes);
  }

  NodeShare share() const { return ShareOn(self_.host(), self_.node(), *instance_, migrations_); }
  // As the columns of the case say it.
  std::string Counts() const {
    const NodeShare counted = share();
    EXPECT_EQ(counted.side.has_value(), counted.migration.has_value());
    std::vector<std::string> words;
    if (counted.instance) words.emplace_back("instance");
    if (counted.side) words.emplace_back(counted.side == MoveSide::kSource ? "old" : "new");
    return absl::StrJoin(words, "+");
  }
  std::string Owners() const {
    const PartNameSet names = HeldNames(share(), *instance_);
    std::vector<std::string> words;
    for (const char* part : {"own", "old", "new"}) {
      if (names.contains(part)) words.emplace_back(part);
    }
    return absl::StrJoin(words, "+");
  }
  // The same, as those find out to whom the node's tracker gives each of the names.
  std::string OwnersByRefusals() const {
    std::vector<std::string> words;
    for (const char* part : {"own", "old", "new"}) {
      const InstancePtr before = CountedInstance(2, kNowhere, "old -");
      const InstancePtr after = CountedInstance(2, self_, absl::StrCat("old - ", part));
      const absl::Status status = CheckOwners(
          state_, {TrackerProcess{self_.host(), Uuid{4, 1}}, self_.node(), before, *after});
      if (status.ok()) continue;
      const auto refusal = RefusalOf(status);
      EXPECT_TRUE(refusal && refusal->reason == "RECORD_CONFLICT") << status;
      words.emplace_back(part);
    }
    return absl::StrJoin(words, "+");
  }

 private:
  void SetUpInstance() {
    const std::string& at = case_.instance;
    const CountedPlace place = at == "source"                 ? kFirst
                               : at == "destination"          ? destination_
                               : at == "node" || at == "host" ? self_
                               : at == "nowhere"              ? kNowhere
                               : case_.has_move()             ? kThird
                                                              : kSecond;
    instance_ =
        CountedInstance(1, place,
                        absl::StrCat(case_.flavor, " ", case_.has_context() ? case_.context : "-",
                                     case_.context == "applied" ? " new"
                                     : case_.context == "grown" ? " new own"
                                                                : " own"));
    if (at == "host") instance_->node.reset();
    instance_->vm_state = case_.vm_state;
    instance_->task_state = case_.task_state;
    if (case_.vm_state == "deleted") instance_->deleted_at = absl::UnixEpoch();
  }

  void SetUpMigrations() {
    MigrationRecord first;
    first.id = kFirstMove;
    first.generation = Generation{1};
    first.instance = instance_->id;
    first.type = case_.move == "resize"       ? MigrationType::kResize
                 : case_.move == "live"       ? MigrationType::kLive
                 : case_.move == "evacuation" ? MigrationType::kEvacuation
                                              : MigrationType::kCold;
    first.status = case_.status;
    first.source_host = kFirst.host();
    if (case_.node != "source-host") first.source_node = kFirst.node();
    first.destination_host = destination_.host();
    if (case_.node != "destination-host") first.destination_node = destination_.node();
    first.old_flavor_id = "old";
    first.new_flavor_id = case_.move == "resize" ? "new" : "old";
    first.created_at = absl::UnixEpoch();
    first.updated_at = absl::UnixEpoch() + absl::Seconds(CountedCase::kChangedAt);
    migrations_.push_back(std::make_shared<const MigrationRecord>(first));
    if (case_.beside.empty()) return;
    MigrationRecord beside = first;
    beside.id = MigrationId{Uuid{12, 2}};
    beside.created_at += absl::Seconds(case_.beside_created_at());
    beside.updated_at = absl::UnixEpoch() + absl::Seconds(case_.beside_changed_at());
    if (case_.beside == "newer-over") beside.status = "failed";
    if (case_.beside == "newer-elsewhere") {
      beside.source_host = kThird.host();
      beside.source_node = kThird.node();
      beside.destination_host = kFourth.host();
      beside.destination_node = kFourth.node();
    }
    migrations_.push_back(std::make_shared<const MigrationRecord>(beside));
  }

  const CountedCase& case_;
  CountedPlace self_, destination_ = kSecond;
  std::shared_ptr<InstanceRecord> instance_;
  std::vector<MigrationPtr> migrations_;
  State state_;
};

TEST(CountedCases, TheLedgerCountsEachCaseAsItSays) {
  for (const CountedCase& one : ReadCountedCases()) {
    SCOPED_TRACE(one.name);
    const CountedRecords records(one);
    EXPECT_EQ(records.Counts(), one.counts) << one.name;  // T-111, T-112, T-123, T-129, T-133
    EXPECT_EQ(records.Owners(), one.owners) << one.name;  // T-134, T-149
    EXPECT_EQ(records.OwnersByRefusals(), one.owners) << one.name << " by refusals";  // T-395
  }
}

// Whoever is no tracker may write two records that name one CPU.
TEST(CountedCases, ACpuOfTwoRecordsGetsNoThirdOwner) {
  State state;
  const auto put = [&](uint64_t number, const std::string& vm_state) {
    const InstancePtr before = state.records().FindInstance(InstanceId{Uuid{11, number}});
    auto record = CountedInstance(number, kFirst, "old - 3");
    record->vm_state = vm_state;
    if (before != nullptr) record->generation = before->generation.Next();
    state.Apply({InstancePut{record}});
  };
  const auto claim = [&] {
    return CheckOwners(state, {TrackerProcess{"h1", Uuid{4, 1}}, kFirst.node(),
                               CountedInstance(3, kNowhere, "old -"),
                               *CountedInstance(3, kFirst, "old - 3")})
        .ok();
  };
  put(1, "active");
  put(2, "active");
  EXPECT_FALSE(claim());  // T-395
  // Neither of the two is kept from other changes: here one gets a free CPU more.
  const InstancePtr second = state.records().FindInstance(InstanceId{Uuid{11, 2}});
  InstanceRecord wider = *second;
  GiveParts("old - 3 4", &wider);
  EXPECT_TRUE(
      CheckOwners(state, {TrackerProcess{"h1", Uuid{4, 1}}, kFirst.node(), second, wider}).ok());
  put(1, "deleted");
  EXPECT_FALSE(claim());  // T-395
  put(2, "shelved_offloaded");
  EXPECT_TRUE(claim());  // T-112
}

// What begins to count again must be free, whichever tracker writes the state.
TEST(CountedCases, WhatCountsAgainMustBeFree) {
  State state;
  auto moving = CountedInstance(1, kFirst, "old own own");
  moving->vm_state = "error";
  MigrationRecord move;
  move.id = kFirstMove;
  move.generation = Generation{1};
  move.instance = moving->id;
  move.status = "migrating";
  move.source_host = kFirst.host();
  move.source_node = kFirst.node();
  move.destination_host = kSecond.host();
  move.destination_node = kSecond.node();
  state.Apply({InstancePut{moving}, MigrationPut{std::make_shared<MigrationRecord>(move)}});
  const auto resume = [&](const char* host, bool identified = false) {
    InstanceRecord resumed = *moving;
    resumed.vm_state = "active";
    resumed.task_state = "migrating";
    const TrackerProcess tracker{host, Uuid{4, 1}, identified};
    return CheckOwners(state, {tracker, std::nullopt, moving, resumed});
  };
  EXPECT_TRUE(resume("h1").ok());  // its record named this before: it is no gift
  EXPECT_TRUE(resume("h2").ok());
  state.Apply({InstancePut{CountedInstance(2, kSecond, "old - new")}});
  for (const char* host : {"h1", "h2"}) {
    const auto refusal = RefusalOf(resume(host));
    EXPECT_TRUE(refusal && refusal->reason == "RECORD_CONFLICT") << host;  // T-395
  }
  // A tracker with a certificate is not told which instances are on another host.
  const std::string owner = InstanceId{Uuid{11, 2}}.ToString();
  EXPECT_TRUE(absl::StrContains(resume("h1").message(), owner));
  EXPECT_TRUE(absl::StrContains(resume("h2", true).message(), owner));
  EXPECT_FALSE(absl::StrContains(resume("h1", true).message(), owner));
}

}  // namespace
}  // namespace berth::placement
