#include "tests/oracle/nova/claims_replay.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/oracle/nova/account_replay.h"
#include "tests/oracle/nova/node_life.h"
#include "tests/oracle/nova/nova_tracker.h"

namespace berth::oracle::nova {
namespace {

constexpr const char* kParts[] = {"node",
                                  "stats",
                                  "cells",
                                  "tracked_instances",
                                  "tracked_migrations",
                                  "pci_devices",
                                  "named_units_assigned"};

std::string OwnerOf(const Json& device) { return device.is_array() ? device.at(1) : device; }

// Devices of one cell are alike, and so are units of one class: only who has how many is compared.
void CountAlike(const Json& setup, Json* described) {
  std::map<std::string, std::string> kinds;
  for (const Json& device : setup.value("pci_devices", Json::array())) {
    kinds[device.at("address")] = absl::StrCat("cell ", device.at("numa_cell").dump());
  }
  const Json classes = setup.value("named_units", Json::object());
  for (const auto& [resource_class, names] : classes.items()) {
    for (const std::string name : names) kinds[name] = resource_class;
  }
  std::multiset<std::string> owners, assigned;
  const Json devices = described->value("pci_devices", Json::object());
  for (const auto& [address, device] : devices.items()) {
    owners.insert(absl::StrCat(OwnerOf(device), " has one of ", kinds.at(address)));
  }
  for (const std::string name : described->value("named_units_assigned", Json::array())) {
    assigned.insert(kinds.at(name));
  }
  (*described)["pci_devices"] = owners;
  (*described)["named_units_assigned"] = assigned;
}

// Whether the page names the rule as deciding the field of such a step.
bool DecidesStep(const std::string& rule, const std::string& field, const std::string& op) {
  static const std::set<std::string> whole = {"T-151", "T-153", "T-156",       "T-163",
                                              "T-174", "T-181", "T-159, T-162"};
  static const std::set<std::string> of_aborts = {"cells", "pci_devices", "named_units_assigned",
                                                  "instance.migration_context"};
  if (field == "*") return whole.count(rule) > 0;
  return op == "abort" && (rule == "T-165" || rule == "T-170") && of_aborts.count(field) > 0;
}

// Whether Nova placed only pinned guest cells that ask for no page size. For these alone it does not
// count used pages (T-277).
bool PinnedWithoutPageSize(const Json& cells) {
  if (!cells.is_array()) return false;
  for (const Json& cell : cells) {
    if (!cell.at("page_size_kb").is_null() || cell.at("pinned_cpus").empty()) return false;
  }
  return !cells.empty();
}

bool SaysCellsDoNotFit(const std::vector<std::string>& reasons) {
  return reasons.size() == 1 && absl::StartsWith(reasons[0], "Requested instance NUMA topology ") &&
         absl::EndsWith(reasons[0], "cannot fit the given host NUMA topology");
}

// The records that Berth has after the step, if those of Nova are `want`. A refused move, the abort
// and the drop of a move are halves of a command: what the rest of it writes is left out, or put in
// where Berth writes it at once.
void FollowCommand(const Json& step, const Json& decided, Json* want) {
  const std::string op = step.at("op");
  if (decided.contains("instance.migration_context")) {
    (*want)["instance"]["migration_context"] = nullptr;  // T-170
  }
  if (op == "abort" && want->contains("migration")) {
    (*want)["migration"]["status"] = kAbortedStatus;
  }
  const bool refused_move = want->contains("error") && want->contains("migration");
  if (refused_move && !want->contains("made_migration")) (*want)["migration"].erase("status");
  if (op == "drop_move_claim_at_dest") {  // T-174
    Json& instance = (*want)["instance"];
    const Json& migration = want->at("migration");
    instance["flavor"] = migration.at("old_flavor");
    instance["host"] = migration.at("source_host");
    instance["node"] = migration.at("source_node");
    if (instance.contains("numa")) {
      instance["numa"] = instance.at("migration_context").value("old_numa", Json());
    }
    instance["migration_context"] = nullptr;
  }
}

// What the account must be after the step, by Nova. `uses_only`: what a tracker would find that
// starts now is not recorded, or is not comparable.
Json RecordedAccount(const Json& step, bool uses_only, const Json& setup) {
  Json want = step.at("expect");
  const Json rebuilt = step.value("rebuilt", Json::object());
  if (!uses_only) {
    const Json failed = want.at("stats").value("failed_builds", Json());
    for (const char* part : kParts) {
      if (!rebuilt.contains(part)) continue;
      want[part] = rebuilt.at(part);
      if (std::string(part) == "stats" && !failed.is_null()) want[part]["failed_builds"] = failed;
    }
  }
  want["stats"] = CountedStatistics(want.at("stats"), setup);
  if (!want.contains("cells")) want["cells"] = Json::array();
  return want;
}

// Whether Nova's account counts the instance, by itself or for a migration.
bool Tracks(const Json& account, const std::string& uuid) {
  const Json& instances = account.at("tracked_instances");
  return std::find(instances.begin(), instances.end(), Json(uuid)) != instances.end() ||
         account.at("tracked_migrations").contains(uuid);
}

class Comparison {
 public:
  Comparison(const Json& line, const NodeLife& life, Report* report)
      : setup_(line.at("setup")), life_(life), report_(report) {}

  void Compare(const Json& step, const StepOutcome& outcome, const std::string& at) {
    const Json decided = step.value("decided_by_rule", Json::object());
    for (const auto& [field, rule] : decided.items()) {
      report_->Except(rule, at, field);
      if (!DecidesStep(rule, field, step.at("op"))) {
        Fail(at, absl::StrCat("no replay of the rule ", rule.dump(), " for ", field));
      }
    }
    CompareAnswer(step, outcome, decided, at);
    CompareAccount(step, outcome, decided, at);
    CompareRecords(step, outcome, decided, at);
  }

 private:
  void Fail(const std::string& at, const std::string& what) {
    report_->failures.push_back(absl::StrCat(at, ": ", what));
  }

  void CompareAnswer(const Json& step, const StepOutcome& outcome, const Json& decided,
                     const std::string& at) {
    const Json error = step.at("expect").value("error", Json());
    const Json reasons = error.is_null() ? Json::array() : error.at("reasons");
    const std::string rule = decided.value("*", "");
    if (outcome.lags) report_->Except("T-394", at, "answer");
    if (!rule.empty() && rule != "T-156") {
      if (!RefusedBy(rule, step, outcome)) {
        Fail(at, absl::StrCat(rule, ": answered ", Json(outcome.reasons).dump(),
                              Json(outcome.memory_reasons).dump(), ", Nova ", reasons.dump()));
      }
      return;
    }
    if (outcome.refused_by == "T-277") {
      report_->Except("T-277", at, "free pages");
      const Json placed = PlacedCells(step, step.at("expect").at("instance"));
      if (!SaysCellsDoNotFit(outcome.reasons) || !PinnedWithoutPageSize(placed)) {
        Fail(at, absl::StrCat("T-277: answered ", Json(outcome.reasons).dump()));
      }
      return;
    }
    if (!outcome.memory_reasons.empty()) {
      report_->Except("T-159", at, "reasons");
      // Nova refuses the claim as well. It does so for named units alone, which Berth tests only if
      // memory suffices (T-158).
      if (error.is_null()) Fail(at, "T-159: Nova grants it");
      if (outcome.reasons.empty() && LacksUnits(reasons)) return;
    }
    if (Json(outcome.reasons) != reasons) {
      Fail(at, absl::StrCat("answer: ", Json(outcome.reasons).dump(), ", not ", reasons.dump()));
    }
  }

  static bool LacksUnits(const Json& reasons) {
    return reasons.size() == 1 && absl::StartsWith(reasons[0].get<std::string>(), "Needed ");
  }

  // Whether the answer is the one that the rule demands, for rules that decide the whole answer.
  static bool RefusedBy(const std::string& rule, const Json& step, const StepOutcome& outcome) {
    const auto& reasons = outcome.reasons;
    const std::string uuid = ReadUuid(step.at("instance")).ToString();
    if (rule == "T-159, T-162") return reasons.empty() && outcome.refused_by == rule;
    if (!outcome.memory_reasons.empty()) return false;
    if (rule == "T-151") return reasons.empty();
    if (reasons.size() != 1) return false;
    if (rule == "T-163") return reasons[0] == "Host has no NUMA topology";
    if (rule == "T-153") {
      return reasons[0] == absl::StrCat("Attempt to claim resources for instance ", uuid,
                                        " on unknown node ", ReadUuid(step.at("node")).ToString(),
                                        " failed");
    }
    if (rule == "T-181")
      return reasons[0] == absl::StrCat("instance ", uuid, " is claimed already");
    return rule == "T-174" &&
           absl::StartsWith(reasons[0], "instance " + uuid + " has task_state '");
  }

  void CompareAccount(const Json& step, const StepOutcome& outcome, const Json& decided,
                      const std::string& at) {
    const bool uses_only = outcome.half || EndsNextAudit(step, at);
    const bool all = decided.contains("*") && outcome.refused_by.empty();
    Json got = DescribeAccount(life_.account());
    Json naive = life_.Naive();
    Json want = RecordedAccount(step, uses_only, setup_);
    Json of_nova = RecordedAccount(step, true, setup_);
    if (!uses_only) AddUnstoredUnits(at, &want);
    if (!all && !decided.contains("pci_devices")) DropStrayDevices(naive, at, &want);
    for (Json* described : {&got, &naive, &want, &of_nova}) CountAlike(setup_, described);
    for (const char* part : kParts) {
      if (all || decided.contains(part)) want[part] = naive[part];
    }
    if (uses_only && !all) TakeRecords(naive, &want);
    const bool is_audit = step.at("op") == "audit";
    const bool audited = is_audit && step.at("expect").value("error", Json()).is_null();
    if (!uses_only || audited) lagging_.clear();
    if (outcome.half) CatchUp(naive, at, &want);
    RememberLag(of_nova, want);
    if (life_.ResizesInPlace() && want["cells"] != naive["cells"]) {
      report_->Except("T-395", at, "cells");
      want["cells"] = naive["cells"];
    }
    SetFailedBuilds(&got);
    for (const char* part : {"node", "stats", "tracked_migrations"}) {
      CompareFields(want.at(part), got.at(part), part, at, report_);
      if (std::string(part) == "node") continue;
      CompareFields(got.at(part), want.at(part), part, at, report_);
    }
    for (const char* part : {"cells", "tracked_instances", "pci_devices", "named_units_assigned"}) {
      if (want[part] == got[part]) continue;
      Fail(at, absl::StrCat(part, ": ", got[part].dump(), ", not ", want[part].dump()));
    }
    if (!(life_.account().Rebuilt() == life_.account())) Fail(at, "T-394: not as built anew");
  }

  // Remembers which parts of Nova's account lag behind after the step. What lagged before lags
  // still, unless an account built anew is recorded, or Nova has audited without an error.
  void RememberLag(const Json& of_nova, const Json& want) {
    for (const char* part : {"cells", "pci_devices", "named_units_assigned"}) {
      if (of_nova.at(part) != want.at(part)) lagging_.insert(part);
    }
    for (const char* use : {"vcpus_used", "memory_mb_used", "local_gb_used"}) {
      const Json& node = of_nova.at("node");
      if (node.value(use, Json()) != want.at("node").value(use, Json())) lagging_.insert("node");
    }
  }

  // What Nova's account lagged behind before a part of a command, it still lags behind after it. No
  // account built anew is recorded there.
  void CatchUp(const Json& naive, const std::string& at, Json* want) {
    for (const std::string& part : lagging_) {
      if ((*want)[part] == naive.at(part)) continue;
      report_->Except("T-394", at, part);
      (*want)[part] = naive.at(part);
    }
  }

  // Whether Nova's next audit ends with an error, because it pins CPUs twice: it gives an instance
  // that is resized in place its new cells, and counts them for the migration once more (T-395). In
  // Berth such an instance ends no audit (T-284).
  bool EndsNextAudit(const Json& step, const std::string& at) {
    const Json error = step.value("rebuilt", Json::object()).value("error", Json());
    if (error.is_null()) return false;
    if (error.value("class", "") == "CPUPinningInvalid" && life_.ResizesInPlace()) {
      report_->Except("T-284", at, "account built anew");
    } else {
      Fail(at, "no account is recorded");
    }
    return true;
  }

  // Adds the units of new instances to those that Nova would find if it started now (T-155).
  void AddUnstoredUnits(const std::string& at, Json* want) {
    const std::vector<std::string> units = life_.UnstoredUnits();
    if (!units.empty()) report_->Except("T-155", at, "named units");
    for (const std::string& unit : units) (*want)["named_units_assigned"].push_back(unit);
  }

  // Nova keeps a device for its owner as long as the owner has a record on the node, or a migration
  // that is not over, also if Nova's account counts the owner no more. In Berth an owner that does
  // not count has nothing on the node (T-112, T-129).
  void DropStrayDevices(const Json& naive, const std::string& at, Json* want) {
    const Json devices = want->value("pci_devices", Json::object());
    const Json& owned = naive.at("pci_devices");
    for (const auto& [address, device] : devices.items()) {
      const std::string owner = OwnerOf(device);
      const bool has = std::find(owned.begin(), owned.end(), Json(owner)) != owned.end();
      if (has || Tracks(*want, owner) || !life_.KeepsDevices(ReadUuid(owner))) continue;
      report_->Except("T-112, T-129", at, "pci_devices");
      (*want)["pci_devices"].erase(address);
    }
  }

  // Leaves the uses as recorded, and takes everything else from the naive account.
  static void TakeRecords(const Json& naive, Json* want) {
    for (const char* part : {"stats", "tracked_instances", "tracked_migrations"}) {
      (*want)[part] = naive.at(part);
    }
    for (const char* count : {"running_vms", "current_workload"}) {
      (*want)["node"][count] = naive.at("node").at(count);
    }
  }

  // Nova stores the number with the next flush of the record.
  void SetFailedBuilds(Json* got) {
    (*got)["stats"].erase("failed_builds");
    if (life_.stored_failed_builds() > 0) {
      (*got)["stats"]["failed_builds"] = life_.stored_failed_builds();
    }
  }

  void CompareRecords(const Json& step, const StepOutcome& outcome, const Json& decided,
                      const std::string& at) {
    const std::string rule = decided.value("*", "");
    if (!rule.empty() && rule != "T-151" && outcome.refused_by.empty()) return;
    Json want = step.at("expect");
    FollowCommand(step, decided, &want);
    if (want.contains("instance") && !IsNil(outcome.instance)) {
      CompareInstance(want.at("instance"), life_.DescribeInstance(outcome.instance), at);
    }
    if (want.contains("migration") && !IsNil(outcome.migration)) {
      CompareFields(want.at("migration"), life_.DescribeMigration(outcome.migration), "migration",
                    at, report_);
    }
  }

  void CompareInstance(Json want, const Json& got, const std::string& at) {
    if (want.contains("numa") && want["numa"].is_array() && want["node"].is_null()) {
      Unplace(got.at("numa"), at, &want["numa"]);
    }
    want.erase("named_units");  // which units is not compared; their number is above
    const Json context = want["migration_context"];
    want.erase("migration_context");
    CompareFields(want, got, "instance", at, report_);
    const Json& got_context = got.at("migration_context");
    if (context.is_null() != got_context.is_null()) {
      Fail(at, absl::StrCat("context: ", got_context.dump(), ", not ", context.dump()));
    }
    if (context.is_null() || got_context.is_null()) return;
    for (const auto& [key, value] : context.items()) {
      const Json found = got_context.value(key, Json());
      const bool devices = key == "new_pci_devices" || key == "old_pci_devices";
      if (devices ? found.size() == value.size() : found == value) continue;
      Fail(at, absl::StrCat("context.", key, ": ", found.dump(), ", not ", value.dump()));
    }
  }

  // A cell that Berth has not placed has no host cell, whatever id Nova's cell has. It has no CPU
  // for emulator threads either. Nova leaves this CPU in the record after an abort, which makes the
  // host cell -1 (T-165).
  void Unplace(const Json& got, const std::string& at, Json* want) {
    for (size_t i = 0; i < want->size() && i < got.size(); ++i) {
      Json& cell = (*want)[i];
      if (got[i].at("host_cell") != -1) continue;
      const bool aborted = cell.at("host_cell") == -1;
      cell["host_cell"] = -1;
      if (!aborted || cell.at("reserved_cpus").empty()) continue;
      report_->Except("T-165", at, "instance.numa.reserved_cpus");
      cell["reserved_cpus"] = Json::array();
    }
  }

  const Json& setup_;
  const NodeLife& life_;
  Report* report_;
  std::set<std::string> lagging_;  // the parts of Nova's account that count what is gone
};

}  // namespace

Report ReplayClaims(const Json& line, const std::string& where) {
  Report report;
  NodeLife life(line.at("setup"));
  Comparison comparison(line, life, &report);
  const std::string name = line.at("case");
  comparison.Compare({{"op", "start"}, {"expect", line.at("start")}}, StepOutcome(),
                     absl::StrCat(where, ": ", name, ": start"));
  int number = 0;
  for (const Json& step : line.at("steps")) {
    const std::string op = step.at("op");
    const StepOutcome outcome = life.Do(step);
    const std::string at = absl::StrCat(where, ": ", name, ": step ", number++, " ", op);
    if (step.contains("expect")) comparison.Compare(step, outcome, at);
    if (!outcome.wrong.empty()) {
      report.failures.push_back(absl::StrCat(at, ": ", outcome.wrong));
    }
    if (!report.failures.empty()) return report;  // what follows from a difference says nothing
  }
  report.passed = 1;
  return report;
}

}  // namespace berth::oracle::nova
