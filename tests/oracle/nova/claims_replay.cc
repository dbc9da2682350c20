#include "tests/oracle/nova/claims_replay.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/oracle/nova/account_replay.h"
#include "tests/oracle/nova/node_life.h"

namespace berth::oracle::nova {
namespace {

constexpr const char* kParts[] = {"node",
                                  "stats",
                                  "cells",
                                  "tracked_instances",
                                  "tracked_migrations",
                                  "pci_devices",
                                  "named_units_assigned"};

// Devices and units are alike: only who has how many is compared.
void CountAlike(Json* described) {
  std::multiset<std::string> owners;
  const Json devices = described->value("pci_devices", Json::object());
  for (const auto& [address, owner] : devices.items()) {
    owners.insert(owner.is_array() ? owner.at(1) : owner);
  }
  (*described)["pci_devices"] = owners;
  (*described)["named_units_assigned"] =
      described->value("named_units_assigned", Json::array()).size();
}

// What the account must be after the step, by Nova. Named units that no record has are not
// corrected: the next audit forgets them.
Json RecordedAccount(const Json& step, bool half, bool unstored_units, const Json& setup) {
  Json want = step.at("expect");
  const Json rebuilt = step.value("rebuilt", Json::object());
  if (!half && !rebuilt.contains("error")) {
    const Json failed = want.at("stats").value("failed_builds", Json());
    for (const char* part : kParts) {
      if (!rebuilt.contains(part)) continue;
      if (unstored_units && std::string(part) == "named_units_assigned") continue;
      want[part] = rebuilt.at(part);
      if (std::string(part) == "stats" && !failed.is_null()) want[part]["failed_builds"] = failed;
    }
  }
  want["stats"] = CountedStatistics(want.at("stats"), setup);
  if (!want.contains("cells")) want["cells"] = Json::array();
  return want;
}

class Comparison {
 public:
  Comparison(const Json& line, const NodeLife& life, Report* report)
      : setup_(line.at("setup")), life_(life), report_(report) {}

  void Compare(const Json& step, const StepOutcome& outcome, const std::string& at) {
    const Json decided = step.value("decided_by_rule", Json::object());
    for (const auto& [field, rule] : decided.items()) report_->Except(rule, at, field);
    if (life_.has_unstored_units()) report_->Except("T-155", at, "named units");
    if (!outcome.amount_reasons.empty() && decided.empty()) {
      report_->Except("T-159", at, "reasons");
    }
    if (!parted_.empty()) report_->Except(parted_, at, "everything that follows");
    if (outcome.lacks_free_pages && step.at("expect").contains("ok")) {
      report_->Except("T-277", at, "free pages");
      parted_ = "T-277";
    }
    if (parted_.empty()) CompareAnswer(step, outcome, decided, at);
    CompareAccount(step, outcome, decided, at);
    if (!parted_.empty() || decided.contains("*") || outcome.half) return;
    CompareRecords(step, outcome, at);
  }

 private:
  void Fail(const std::string& at, const std::string& what) {
    report_->failures.push_back(absl::StrCat(at, ": ", what));
  }

  void CompareAnswer(const Json& step, const StepOutcome& outcome, const Json& decided,
                     const std::string& at) {
    const std::string rule = decided.value("*", "");
    if (const std::string wrong = WrongByRule(rule, step, outcome); !wrong.empty()) {
      Fail(at, wrong);
    }
    if (rule == "T-159, T-162" || rule == "T-163") parted_ = rule;
    if (!rule.empty() && rule != "T-156") return;
    const Json error = step.at("expect").value("error", Json());
    Json reasons = error.is_null() ? Json::array() : error.at("reasons");
    // Named units are tested only if the amounts suffice (T-158).
    const bool untested = outcome.reasons.empty() && !outcome.amount_reasons.empty();
    if (untested && error.value("message", "").find("Needed ") != std::string::npos) return;
    if (Json(outcome.reasons) != reasons) {
      Fail(at, absl::StrCat("answer: ", Json(outcome.reasons).dump(), ", not ", reasons.dump()));
    }
  }

  // Why the answer is not what the rule says, for rules that decide the whole answer.
  static std::string WrongByRule(const std::string& rule, const Json& step,
                                 const StepOutcome& outcome) {
    const auto& reasons = outcome.reasons.empty() ? outcome.amount_reasons : outcome.reasons;
    const std::string reason = reasons.empty() ? "" : reasons.front();
    const auto needs = [&](const char* text) {
      return reason.find(text) == std::string::npos
                 ? absl::StrCat(rule, ": answered `", reason, "`, not `", text, "`")
                 : "";
    };
    if (rule == "T-159, T-162") return needs("Free memory ");
    if (rule == "T-163") return needs("Host has no NUMA topology");
    if (rule == "T-153") return needs(" on unknown node ");
    if (rule == "T-181") return needs(" is claimed already");
    if (rule == "T-174") return needs(" has the task ");
    const bool known = rule.empty() || rule == "T-156" || rule == "T-151";
    return known ? "" : absl::StrCat("no replay of the rule ", rule, " at ", step.dump());
  }

  void CompareAccount(const Json& step, const StepOutcome& outcome, const Json& decided,
                      const std::string& at) {
    Json got = DescribeAccount(life_.account());
    Json naive = life_.Naive();
    Json want = RecordedAccount(step, outcome.half, life_.has_unstored_units(), setup_);
    for (Json* described : {&got, &naive, &want}) CountAlike(described);
    const bool all = decided.contains("*") || !parted_.empty();
    for (const char* part : kParts) {
      if (all || decided.contains(part)) want[part] = naive[part];
    }
    if (outcome.half && !all) TakeUses(naive, &want);
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

  // Leaves the uses as recorded, and takes everything else from the naive account.
  static void TakeUses(const Json& naive, Json* want) {
    for (const char* part : {"stats", "tracked_instances", "tracked_migrations"}) {
      (*want)[part] = naive.at(part);
    }
    for (const char* count : {"running_vms", "current_workload"}) {
      (*want)["node"][count] = naive.at("node").at(count);
    }
  }

  // Nova stores the number with the next flush of the record (T-122).
  void SetFailedBuilds(Json* got) {
    (*got)["stats"].erase("failed_builds");
    if (life_.stored_failed_builds() > 0) {
      (*got)["stats"]["failed_builds"] = life_.stored_failed_builds();
    }
  }

  void CompareRecords(const Json& step, const StepOutcome& outcome, const std::string& at) {
    const Json& expect = step.at("expect");
    if (expect.contains("instance") && !outcome.instance.empty()) {
      CompareInstance(expect.at("instance"), life_.DescribeInstance(outcome.instance), at);
    }
    if (expect.contains("migration") && !outcome.migration.empty()) {
      CompareFields(expect.at("migration"), life_.DescribeMigration(outcome.migration), "migration",
                    at, report_);
    }
  }

  void CompareInstance(Json want, const Json& got, const std::string& at) {
    // An instance without a node is not placed, whatever ids its cells have.
    if (want.contains("numa") && want["numa"].is_array() && want["node"].is_null()) {
      for (Json& cell : want["numa"]) cell["host_cell"] = -1;
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

  const Json& setup_;
  const NodeLife& life_;
  Report* report_;
  // The rule by which Berth refused a claim that Nova granted. Nova's answers after it say nothing.
  std::string parted_;
};

}  // namespace

Report ReplayClaims(const Json& line, const std::string& where) {
  Report report;
  NodeLife life(line.at("setup"));
  Comparison comparison(line, life, &report);
  const std::string name = line.at("case");
  comparison.Compare({{"expect", line.at("start")}}, StepOutcome(),
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
