#include "tests/oracle/nova/account_replay.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/processes/short_uuid.h"
#include "tracker/account/leftovers.h"
#include "tracker/audit/inventory.h"

namespace berth::oracle::nova {
namespace {

using tracker::Instance;
using tracker::Migration;
using tracker::NodeAccount;

// The ratios of every recorded node, unless its options set others.
const std::map<std::string, double> kInitialRatios = {
    {"cpu_allocation_ratio", 16}, {"ram_allocation_ratio", 1.5}, {"disk_allocation_ratio", 1}};

struct Recorded {
  std::map<tracker::Uuid, Instance> instances;
  std::vector<Migration> migrations;
};

Recorded ReadRecords(const NovaWorld& world, const Json& setup) {
  Recorded records;
  for (const Json& from : setup.at("instances")) {
    records.instances.emplace(ReadUuid(from.at("uuid")), ReadInstance(world, from));
  }
  for (const Json& from : setup.at("migrations")) {
    if (!from.value("deleted", false)) records.migrations.push_back(ReadMigration(world, from));
  }
  return records;
}

NodeAccount CountRecords(const NovaWorld& world, const Recorded& records) {
  NodeAccount account(world.self, world.resources);
  for (const auto& [uuid, instance] : records.instances) account.PutInstance(instance);
  for (const Migration& migration : records.migrations) account.PutMigration(migration);
  return account;
}

bool ResizesInPlace(const NovaWorld& world, const Recorded& records) {
  for (const Migration& migration : records.migrations) {
    const auto found = records.instances.find(migration.instance_uuid);
    if (found != records.instances.end() && migration.source == world.self &&
        migration.destination == world.self && found->second.context.has_value() &&
        found->second.flavor.id == migration.old_flavor_id) {
      return true;
    }
  }
  return false;
}

// Whether a migration that brought the instance to the node is not over, and the context of the
// instance is another migration's.
bool HasForeignContext(const NovaWorld& world, const Instance& instance,
                       const std::vector<Migration>& migrations) {
  if (!CountsOn(world.self, instance) || !instance.context.has_value()) return false;
  bool comes = false;
  for (const Migration& migration : migrations) {
    if (migration.instance_uuid != instance.uuid || !IsCandidate(world.self, migration) ||
        !(migration.destination == world.self)) {
      continue;
    }
    if (migration.uuid == instance.context->migration_uuid) return false;
    comes = true;
  }
  return comes;
}

// The cells as they are counted if every instance with a foreign context has the new values of that
// context, as Nova has it. Null: there is no such instance.
Json CellsByForeignContexts(const NovaWorld& world, const Recorded& records) {
  std::map<tracker::Uuid, Instance> instances = records.instances;
  bool found = false;
  for (auto& [uuid, instance] : instances) {
    if (!HasForeignContext(world, instance, records.migrations)) continue;
    instance.assigned = instance.context->new_assigned;
    found = true;
  }
  if (!found) return Json();
  return DescribeNaively(
             world,
             tracker::CountNaively(world.self, world.resources, instances, records.migrations), 0)
      .at("cells");
}

// Nova's record of the node, as far as the account says something about it.
Json WantedFields(const Json& expect, const Json& naive) {
  Json want;
  if (!expect.contains("node")) return naive;
  for (const auto& [key, value] : naive.at("node").items()) want["node"][key] = expect["node"][key];
  want["cells"] = expect.value("cells", Json::array());
  want["tracked_instances"] = expect.at("tracked_instances");
  want["tracked_migrations"] = expect.at("tracked_migrations");
  return want;
}

// Whether the page names the rule as deciding the field, and the line has what the rule is about.
bool DecidesLine(const std::string& rule, const std::string& field, const Json& line) {
  const Json& setup = line.at("setup");
  const Json& flavors = setup.at("flavors");
  if (rule == "T-61" || rule == "T-61, T-284") {
    return field == "*" && line.at("expect").contains("error");
  }
  if (rule == "T-125") {
    const Json& migrations = setup.at("migrations");
    return field == "*" && std::any_of(migrations.begin(), migrations.end(),
                                       [](const Json& one) { return one.at("status").is_null(); });
  }
  if (rule != "T-108" || (field != "free_disk_gb" && field != "local_gb_used")) return false;
  const auto in_part = [](const Json& mib) {
    return mib.get<int64_t>() % tracker::kMibPerGib != 0;
  };
  return in_part(setup.at("options").at("reserved_host_disk_mb")) ||
         std::any_of(flavors.begin(), flavors.end(),
                     [&](const Json& flavor) { return in_part(flavor.at("swap_mb")); });
}

void CheckDecided(const Json& line, const std::string& where, Report* report) {
  const Json decided = line.value("decided_by_rule", Json::object());
  for (const auto& [field, rule] : decided.items()) {
    if (DecidesLine(rule, field, line)) continue;
    report->failures.push_back(
        absl::StrCat(where, ": no replay of the rule ", rule.dump(), " for ", field));
  }
  if (line.at("expect").contains("node") || decided.contains("*")) return;
  report->failures.push_back(absl::StrCat(where, ": no account is recorded"));
}

// Puts what the rules demand in place of what Nova answered.
void ApplyRules(const Json& line, const Json& naive, const NovaWorld& world,
                const Recorded& records, const std::string& where, Json* want, Report* report) {
  const Json decided = line.value("decided_by_rule", Json::object());
  for (const auto& [field, rule] : decided.items()) {
    report->Except(rule, where, field);
    if (field == "*") {
      *want = naive;
    } else if (naive.at("node").contains(field)) {
      (*want)["node"][field] = naive["node"][field];
    } else {
      (*want)[field] = naive.at(field);
    }
  }
  if (want->at("cells") == naive.at("cells")) return;
  if (ResizesInPlace(world, records) ||
      want->at("cells") == CellsByForeignContexts(world, records)) {
    report->Except("T-395", where, "cells");
    (*want)["cells"] = naive["cells"];
  }
}

// Compares the ratios, and whether a second audit writes the record again. The record of a new node
// has the initial ratios, and configured ones only after the second audit (T-206, T-393).
void CompareRatios(const Json& line, const std::string& where, Report* report) {
  const Json& setup = line.at("setup");
  const bool is_new = setup.at("node_is_new");
  bool late = false;
  for (const auto& [key, initial] : kInitialRatios) {
    const Json& option = setup.at("options").at(key);
    const std::optional<double> configured =
        option.is_null() ? std::nullopt : std::make_optional(option.get<double>());
    const double ratio =
        tracker::ChooseRatio(tracker::RatioMode::kApiWithInitial, configured, std::nullopt, initial)
            .ratio;
    const double recorded = line.at("expect").at("node").at(key);
    if (std::abs(ratio - recorded) < 1e-9) continue;
    if (is_new && configured == ratio && recorded == initial) {
      report->Except("T-206", where, key);
      late = true;
    } else {
      report->failures.push_back(absl::StrCat(where, ": ", key, ": ", ratio, ", not ", recorded));
    }
  }
  if (late) report->Except("T-393", where, "second_audit");
  if (line.at("expect").at("second_audit").at("writes_record") != late) {
    report->failures.push_back(absl::StrCat(where, ": second_audit: writes_record"));
  }
}

void CompareLeftovers(const NodeAccount& account, const Recorded& records, const Json& line,
                      const std::string& where, Report* report) {
  const Json& setup = line.at("setup");
  const Json& expect = line.at("expect");
  std::set<tracker::Uuid> consumers;
  for (const auto& [uuid, amounts] : setup.at("allocations").items()) {
    consumers.insert(tracker::ShortUuid(uuid));
  }
  std::set<std::string> deleted;
  if (!setup.at("node_is_new")) {
    for (const auto& consumer : tracker::JudgeConsumers(account, records.instances, consumers)) {
      if (consumer.verdict == tracker::ConsumerVerdict::kDeleted) {
        deleted.insert(tracker::ShortName(consumer.uuid));
      }
    }
  }
  const std::set<std::string> wanted = expect.at("allocations_deleted");
  if (deleted != wanted) {
    report->failures.push_back(absl::StrCat(where, ": allocations_deleted: ", Json(deleted).dump(),
                                            ", not ", Json(wanted).dump()));
  }
  Json changed = Json::object();
  for (const tracker::Uuid& uuid : account.stale_migrations()) {
    changed[tracker::ShortName(uuid)] = "error";
  }
  CompareFields(expect.at("statuses_changed"), changed, "statuses_changed", where, report);
  CompareFields(changed, expect.at("statuses_changed"), "statuses_changed", where, report);
}

// An account that is built in another order is the same account.
void CompareOrders(const NodeAccount& account, const NovaWorld& world, const Recorded& records,
                   const std::string& where, Report* report) {
  NodeAccount reversed(world.self, world.resources);
  for (auto at = records.migrations.rbegin(); at != records.migrations.rend(); ++at) {
    reversed.PutMigration(*at);
  }
  for (auto at = records.instances.rbegin(); at != records.instances.rend(); ++at) {
    reversed.PutInstance(at->second);
  }
  while (reversed.failed_builds() < account.failed_builds()) reversed.CountFailedBuild();
  if (!(reversed == account) || !(account.Rebuilt() == account)) {
    report->failures.push_back(absl::StrCat(where, ": T-394: depends on the order of records"));
  }
}

}  // namespace

Json CountedStatistics(const Json& stats, const Json& setup) {
  const Json drivers = setup.at("facts").value("stats", Json::object());
  Json counted = Json::object();
  for (const auto& [key, value] : stats.items()) {
    if (absl::StartsWith(key, "num_os_type_") || drivers.contains(key) || value == 0) continue;
    counted[key] = value;
  }
  return counted;
}

void CompareFields(const Json& want, const Json& got, const std::string& what,
                   const std::string& where, Report* report) {
  for (const auto& [key, value] : want.items()) {
    const Json found = got.value(key, Json());
    if (found == value) continue;
    report->failures.push_back(
        absl::StrCat(where, ": ", what, ".", key, ": ", found.dump(), ", not ", value.dump()));
  }
}

Report ReplayAccount(const Json& line, const std::string& where) {
  Report report;
  const Json& setup = line.at("setup");
  const NovaWorld world = ReadWorld(setup);
  const Recorded records = ReadRecords(world, setup);
  NodeAccount account = CountRecords(world, records);
  const int64_t failed_builds = setup.at("failed_builds_before");
  while (account.failed_builds() < failed_builds) account.CountFailedBuild();
  const Json got = DescribeAccount(account);
  const Json naive = DescribeNaively(
      world,
      tracker::CountNaively(world.self, world.resources, records.instances, records.migrations),
      failed_builds);
  const Json& expect = line.at("expect");
  Json want = WantedFields(expect, naive);
  if (expect.contains("stats")) want["stats"] = CountedStatistics(expect.at("stats"), setup);
  const std::string at = absl::StrCat(where, ": ", line.at("case").get<std::string>());
  CheckDecided(line, at, &report);
  ApplyRules(line, naive, world, records, at, &want, &report);
  for (const char* part : {"node", "stats", "tracked_migrations"}) {
    CompareFields(want.at(part), got.at(part), part, at, &report);
    CompareFields(got.at(part), want.at(part), part, at, &report);
  }
  CompareFields(want, got, "account", at, &report);
  CompareOrders(account, world, records, at, &report);
  if (expect.contains("node")) {
    CompareRatios(line, at, &report);
    CompareLeftovers(account, records, line, at, &report);
  }
  if (report.failures.empty()) report.passed = 1;
  return report;
}

}  // namespace berth::oracle::nova
