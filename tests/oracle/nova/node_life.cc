#include "tests/oracle/nova/node_life.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/oracle/nova/nova_tracker.h"
#include "tests/oracle/nova/record_form.h"
#include "tests/processes/short_uuid.h"
#include "tracker/account/gates.h"

namespace berth::oracle::nova {
namespace {

using tracker::Instance;
using tracker::Migration;
using tracker::OpenClaim;

constexpr const char* kUnits = "named_units_assigned";

const Json& Field(const Json& from, const char* key) {
  static const Json null;
  const auto found = from.find(key);
  return found == from.end() ? null : *found;
}

// Sets the reasons of the answer. Those about memory must be `memory`, if the claim was tested at all.
void SetReasons(const absl::Status& status, const std::vector<std::string>& memory,
                StepOutcome* outcome) {
  ClaimAnswer answer = ReadAnswer(status);
  if (answer.tested && answer.memory_reasons != memory) {
    outcome->wrong =
        absl::StrCat("T-159: ", Json(answer.memory_reasons).dump(), ", not ", Json(memory).dump());
  }
  outcome->reasons = std::move(answer.reasons);
  outcome->memory_reasons = std::move(answer.memory_reasons);
}

}  // namespace

NodeLife::NodeLife(const Json& setup)
    : world_(ReadWorld(setup)), account_(world_.self, world_.resources) {
  settings_.device_aliases = world_.aliases;
}

StepOutcome NodeLife::Do(const Json& step) {
  const std::string op = step.at("op");
  ++steps_;
  StepOutcome outcome;
  if (op == "create_instance") {
    PutInstance(ReadInstance(world_, step.at("record")));
  } else if (op == "create_migration") {
    Migration migration = ReadMigration(world_, step.at("record"));
    migration.created_at = now();
    PutMigration(std::move(migration));
  } else if (op == "set_instance") {
    SetInstance(step);
  } else if (op == "set_migration") {
    SetMigration(step);
  } else if (op == "build_failed") {
    account_.CountFailedBuild();
  } else if (op == "build_succeeded") {
    account_.ForgetFailedBuilds();
  } else if (op == "instance_claim") {
    outcome = ClaimInstance(step);
  } else if (absl::EndsWith(op, "_claim")) {
    outcome = ClaimMove(step);
  } else if (op == "abort") {
    outcome = Abort(step);
  } else if (absl::StartsWith(op, "drop_move_claim_at_")) {
    outcome = Drop(step, op == "drop_move_claim_at_source");
  } else if (op == "update_usage") {
    outcome.instance = ReadUuid(step.at("instance"));
  } else if (op == "audit") {
    ForgetUnits();
  } else {
    outcome.wrong = absl::StrCat("no replay of ", op);
  }
  // Nova stores the number with the statistics, and moves do not touch them.
  const bool refused = !outcome.reasons.empty() || !outcome.memory_reasons.empty();
  const bool granted = !refused || !outcome.refused_by.empty();
  if (op == "audit" || op == "update_usage" || op == "abort" ||
      (op == "instance_claim" && granted)) {
    stored_failed_builds_ = account_.failed_builds();
  }
  if (step.contains("expect")) recorded_ = step.at("expect");
  return outcome;
}

StepOutcome NodeLife::ClaimInstance(const Json& step) {
  StepOutcome outcome;
  const Instance& instance = instances_.at(ReadUuid(step.at("instance")));
  outcome.instance = instance.uuid;
  tracker::InstanceClaim request = {absl::StrCat("claim-", steps_), ReadUuid(step.at("node")),
                                    instance, ReadLimits(Field(step, "limits")),
                                    ReadUnits(Field(step, "allocations"))};
  const auto memory = MemoryReasons(instance.flavor, request.limits, CountAll());
  const tracker::NodeAccount before = account_;
  const auto ask = [&](tracker::NodeAccount* account) {
    return tracker::ClaimInstance(settings_, request, account);
  };
  const auto claim = ask(&account_);
  SetReasons(claim.status(), memory, &outcome);
  if (const auto lagging = AnswerOfNova(step, ask, before, claim); lagging.has_value()) {
    account_ = before;
    Take(step, *lagging, &outcome);
    if (lagging->ok()) RememberUnits(step, &outcome);
    return outcome;
  }
  if (claim.ok()) {
    Record(step, *claim, &outcome);
  } else {
    if (!(account_ == before)) outcome.wrong = "T-156: a refused claim changed the account";
    const std::string rule = RuleAgainst(step);
    if (rule == "T-159, T-162") request.limits.memory_mib.reset();
    if (rule == "T-163") {  // nothing asks for cells then
      request.instance.assigned.topology.reset();
      request.instance.flavor.extra_specs.clear();
    }
    tracker::NodeAccount relaxed = rule == "T-277" ? WithFreePages(account_) : account_;
    if (!rule.empty()) {
      auto granted = tracker::ClaimInstance(settings_, request, &relaxed);
      if (granted.ok()) granted->instance.flavor = instance.flavor;
      RecordAnyway(step, rule, granted, &outcome);
    }
  }
  if (claim.ok() || !outcome.refused_by.empty()) RememberUnits(step, &outcome);
  return outcome;
}

StepOutcome NodeLife::ClaimMove(const Json& step) {
  StepOutcome outcome;
  const Instance& instance = instances_.at(ReadUuid(step.at("instance")));
  tracker::MoveClaim request;
  request.id = absl::StrCat("claim-", steps_);
  request.node_uuid = ReadUuid(step.at("node"));
  request.instance = instance;
  request.new_flavor = instance.flavor;
  if (step.contains("new_flavor")) request.new_flavor = world_.flavors.at(step.at("new_flavor"));
  request.migration = step.contains("migration")
                          ? migrations_.at(ReadUuid(step.at("migration")))
                          : MigrationOfNova(ReadUuid(step.at("expect").at("migration").at("uuid")),
                                            instance, request.new_flavor, world_.self, now());
  request.limits = ReadLimits(Field(step, "limits"));
  request.units = ReadUnits(Field(step, "allocations"));
  const auto memory = MemoryReasons(request.new_flavor, request.limits, CountAll());
  const tracker::NodeAccount before = account_;
  const auto ask = [&](tracker::NodeAccount* account) {
    return tracker::ClaimMove(settings_, request, account);
  };
  const auto claim = ask(&account_);
  SetReasons(claim.status(), memory, &outcome);
  outcome.instance = instance.uuid;
  outcome.migration = request.migration.uuid;
  if (const auto lagging = AnswerOfNova(step, ask, before, claim); lagging.has_value()) {
    account_ = before;
    Take(step, *lagging, &outcome);
    if (lagging->ok()) return outcome;
  } else if (claim.ok()) {
    Record(step, *claim, &outcome);
    return outcome;
  }
  if (!(account_ == before)) outcome.wrong = "T-156: a refused claim changed the account";
  if (const std::string rule = RuleAgainst(step); rule == "T-277" || rule == "T-159, T-162") {
    if (rule != "T-277") request.limits.memory_mib.reset();
    tracker::NodeAccount relaxed = rule == "T-277" ? WithFreePages(account_) : account_;
    RecordAnyway(step, rule, tracker::ClaimMove(settings_, request, &relaxed), &outcome);
    if (!outcome.refused_by.empty()) return outcome;
  }
  outcome.half = true;
  Migration left = request.migration;
  left.destination = world_.self;
  refused_.insert_or_assign(left.uuid, std::move(left));
  return outcome;
}

StepOutcome NodeLife::Abort(const Json& step) {
  StepOutcome outcome;
  const OpenClaim& claim = handles_.at(step.at("claim"));
  outcome.instance = claim.instance.uuid;
  const Migration* migration = nullptr;
  if (claim.migration.has_value()) {
    outcome.migration = claim.migration->uuid;
    migration = &migrations_.at(outcome.migration);
  }
  const tracker::Ending ending = tracker::AbortClaim(claim, &instances_.at(outcome.instance),
                                                     migration, kAbortedStatus, &account_);
  const bool again = !aborted_.insert(step.at("claim")).second;
  if (again && (ending.instance.has_value() || ending.migration.has_value())) {
    outcome.wrong = "T-151: a second abort changes records";
  }
  Write(ending);
  outcome.half = migration != nullptr;
  const Instance& left = instances_.at(outcome.instance);
  const bool holds = !left.assigned.devices.empty() || !left.assigned.units.empty();
  if (!again && migration == nullptr && holds) {
    outcome.wrong = "T-165: the instance has devices or units still";
  }
  return outcome;
}

StepOutcome NodeLife::Drop(const Json& step, bool at_source) {
  StepOutcome outcome;
  outcome.half = true;
  outcome.instance = ReadUuid(step.at("instance"));
  outcome.migration = ReadUuid(step.at("migration"));
  const Instance& instance = instances_.at(outcome.instance);
  const Migration& migration = migrations_.at(outcome.migration);
  if (at_source) {
    Write(*tracker::ConfirmMove(instance, migration));
    return outcome;
  }
  const auto ending = tracker::RevertMove(instance, migration);
  if (ending.ok()) {
    Write(*ending);
  } else {
    outcome.reasons = {std::string(ending.status().message())};
  }
  return outcome;
}

void NodeLife::SetInstance(const Json& step) {
  Instance instance = instances_.at(ReadUuid(step.at("instance")));
  SetValues(world_, step.at("values"), &instance);
  PutInstance(std::move(instance));
}

void NodeLife::SetMigration(const Json& step) {
  const tracker::Uuid uuid = ReadUuid(step.at("migration"));
  if (const auto refused = refused_.find(uuid); refused != refused_.end()) {
    migrations_[uuid] = refused->second;
    refused_.erase(refused);
  }
  Migration migration = migrations_.at(uuid);
  migration.status = step.at("values").at("status");
  migration.updated_at = now();
  PutMigration(std::move(migration));
}

void NodeLife::Write(const tracker::Ending& ending) {
  if (ending.migration.has_value()) {
    Migration migration = *ending.migration;
    migration.updated_at = now();
    PutMigration(std::move(migration));
  }
  if (ending.instance.has_value()) PutInstance(*ending.instance);
}

void NodeLife::Put(const Json& step, const OpenClaim& claim) {
  handles_.insert_or_assign(step.at("claim"), claim);
  if (claim.migration.has_value()) {
    Migration migration = *claim.migration;
    migration.updated_at = now();
    PutMigration(std::move(migration));
  }
  PutInstance(claim.instance);
}

// The account must be the same while the claim is open and after its records have come back.
void NodeLife::Record(const Json& step, const OpenClaim& claim, StepOutcome* outcome) {
  const tracker::NodeAccount open = account_;
  Put(step, claim);
  if (!(account_ == open)) outcome->wrong = "T-182: the records differ from the open claim";
  if (account_.OpenClaimOf(claim.instance.uuid) != nullptr) {
    outcome->wrong = "T-182: the claim is still open";
  }
}

void NodeLife::RecordAnyway(const Json& step, const std::string& rule,
                            const absl::StatusOr<OpenClaim>& claim, StepOutcome* outcome) {
  if (!claim.ok()) return;
  outcome->refused_by = rule;
  Put(step, *claim);
}

// Nova stores the named units of a new instance only when the build saves the instance next, which
// the recorder never did. So an audit forgets them.
void NodeLife::ForgetUnits() {
  for (const auto& [uuid, units] : unstored_units_) {
    Instance instance = instances_.at(uuid);
    instance.assigned.units.clear();
    PutInstance(std::move(instance));
  }
  unstored_units_.clear();
}

// Nova's tracker has the units of the new instance in memory: so many more than before.
void NodeLife::RememberUnits(const Json& step, StepOutcome* outcome) {
  const Instance& claimed = instances_.at(outcome->instance);
  std::multiset<std::string> classes = UnitClasses(world_, Field(recorded_, kUnits));
  for (const tracker::NamedUnit& unit : claimed.assigned.units) {
    classes.insert(unit.resource_class);
  }
  const Json& expect = step.at("expect");
  if (expect.contains("ok") && classes != UnitClasses(world_, Field(expect, kUnits))) {
    outcome->wrong = "T-158: the instance has other units than in Nova";
  }
  if (!claimed.assigned.units.empty()) {
    unstored_units_.insert_or_assign(claimed.uuid, claimed.assigned.units);
  }
}

std::vector<std::string> NodeLife::UnstoredUnits() const {
  std::vector<std::string> names;
  const tracker::NaiveAccount counted = CountAll();
  for (const auto& [unit, owner] : counted.unit_owners) {
    const auto found = unstored_units_.find(owner);
    if (found == unstored_units_.end()) continue;
    const std::vector<tracker::NamedUnit>& units = found->second;
    if (std::find(units.begin(), units.end(), unit) != units.end()) names.push_back(unit.name);
  }
  return names;
}

std::optional<absl::StatusOr<OpenClaim>> NodeLife::AnswerOfNova(
    const Json& step, const Ask& claim, const tracker::NodeAccount& before,
    const absl::StatusOr<OpenClaim>& answer) const {
  if (ResizesInPlace()) return std::nullopt;
  const std::string rule = step.value("decided_by_rule", Json::object()).value("*", "");
  if ((!rule.empty() && rule != "T-156") || recorded_.is_null()) return std::nullopt;
  if (!ReadAnswer(answer.status()).tested || IsAsRecorded(world_, step, answer) ||
      !CountsOtherwise(world_, recorded_, before)) {
    return std::nullopt;
  }
  tracker::NodeAccount of_nova = AccountOfNova(world_, recorded_);
  absl::StatusOr<OpenClaim> lagging = claim(&of_nova);
  if (lagging.ok() != step.at("expect").contains("ok")) return std::nullopt;
  if (!IsAsRecorded(world_, step, lagging)) return std::nullopt;
  return lagging;
}

void NodeLife::Take(const Json& step, const absl::StatusOr<OpenClaim>& lagging,
                    StepOutcome* outcome) {
  outcome->lags = true;
  outcome->reasons = ReadAnswer(lagging.status()).reasons;
  if (lagging.ok()) Put(step, *lagging);
}

// In a recording the success of a build is a step of its own, and no record tells it.
void NodeLife::PutInstance(Instance instance) {
  const int64_t failed_builds = account_.failed_builds();
  account_.PutInstance(instance);
  while (account_.failed_builds() < failed_builds) account_.CountFailedBuild();
  const tracker::Uuid uuid = instance.uuid;
  instances_.insert_or_assign(uuid, std::move(instance));
}

void NodeLife::PutMigration(Migration migration) {
  account_.PutMigration(migration);
  const tracker::Uuid uuid = migration.uuid;
  migrations_.insert_or_assign(uuid, std::move(migration));
}

tracker::NaiveAccount NodeLife::CountAll() const {
  std::vector<Migration> migrations;
  for (const auto& [uuid, migration] : migrations_) migrations.push_back(migration);
  return tracker::CountNaively(world_.self, world_.resources, instances_, migrations);
}

Json NodeLife::Naive() const { return DescribeNaively(world_, CountAll(), stored_failed_builds_); }

bool NodeLife::ResizesInPlace() const {
  for (const auto& [uuid, migration] : migrations_) {
    const auto instance = instances_.find(migration.instance_uuid);
    if (tracker::IsCandidate(world_.self, migration) && instance != instances_.end() &&
        migration.source == world_.self && migration.destination == world_.self &&
        instance->second.flavor.id == migration.old_flavor_id) {
      return true;
    }
  }
  return false;
}

bool NodeLife::KeepsDevices(const tracker::Uuid& owner) const {
  const auto instance = instances_.find(owner);
  if (instance != instances_.end() && instance->second.on == world_.self &&
      !instance->second.deleted) {
    return true;
  }
  return std::any_of(migrations_.begin(), migrations_.end(), [&](const auto& entry) {
    return entry.second.instance_uuid == owner && tracker::IsCandidate(world_.self, entry.second);
  });
}

Json NodeLife::DescribeInstance(const tracker::Uuid& uuid) const {
  return nova::DescribeInstance(world_, instances_.at(uuid));
}

Json NodeLife::DescribeMigration(const tracker::Uuid& uuid) const {
  const auto refused = refused_.find(uuid);
  return nova::DescribeMigration(
      world_, refused == refused_.end() ? migrations_.at(uuid) : refused->second);
}

}  // namespace berth::oracle::nova
