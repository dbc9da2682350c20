// Lives of a node that the replay must not excuse: each is a passing one with one thing changed.
#include <map>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tests/oracle/nova/replay_lines.h"

namespace berth::oracle::nova {
namespace {

// A claim of 1 GiB, pinned and without a page size, on a host of which half the pages are used.
Json Claim() {
  return Json::parse(R"({"case": "pinned", "setup": {
    "host": "h1", "node": "n1", "node_uuid": "u1",
    "options": {"reserved_host_cpus": 0, "reserved_host_disk_mb": 0, "reserved_host_memory_mb": 0},
    "facts": {"vcpus": 4, "memory_mb": 4096, "local_gb": 10},
    "cells": [{"id": 0, "socket": 0, "cpuset": [0, 1, 2, 3], "pcpuset": [0, 1, 2, 3],
               "siblings": [[0], [1], [2], [3]], "memory_mb": 4096,
               "mempages": [{"size_kb": 4, "total": 393216, "reserved": 0}]}],
    "flavors": {"f1": {"id": 1, "vcpus": 1, "memory_mb": 1024, "root_gb": 0, "ephemeral_gb": 0,
                       "swap_mb": 0, "extra_specs": {"hw:cpu_policy": "dedicated"}}}},
   "start": {"node": {"vcpus_used": 0, "memory_mb_used": 0}, "stats": {}, "tracked_instances": [],
             "tracked_migrations": {}, "cells": [{"id": 0, "cpu_usage": 0, "memory_usage_mb": 0,
             "pages_used": {"4": 0}, "pinned_cpus": []}]},
   "steps": []})");
}

Json WantedCell(const Json& host_cell, const Json& pinning) {
  return {{"host_cell", host_cell},      {"memory_mb", 1024},  {"page_size_kb", nullptr},
          {"pinned_cpus", {0}},          {"pinning", pinning}, {"reserved_cpus", Json::array()},
          {"shared_cpus", Json::array()}};
}

Json Created(const std::string& uuid) {
  return {{"op", "create_instance"},
          {"record",
           {{"uuid", uuid},
            {"project_id", "p"},
            {"vm_state", "building"},
            {"flavor", "f1"},
            {"boot_from_volume", false},
            {"numa", Json::array({WantedCell(nullptr, Json::object())})}}}};
}

// The claim that is the `number`th on the node, which Nova grants.
Json Granted(const std::string& uuid, int number) {
  Json tracked = Json::array({"a"});
  Json pinned = Json::array({0});
  if (number == 2) {
    tracked.push_back("b");
    pinned.push_back(1);
  }
  return {{"op", "instance_claim"},
          {"instance", uuid},
          {"node", "n1"},
          {"claim", "c" + uuid},
          {"limits", nullptr},
          {"allocations", nullptr},
          {"rebuilt", Json::object()},
          {"expect",
           {{"ok", true},
            {"node", {{"vcpus_used", number}, {"memory_mb_used", 1024 * number}}},
            {"stats",
             {{"num_instances", number},
              {"num_proj_p", number},
              {"num_task_None", number},
              {"num_vm_building", number},
              {"io_workload", number}}},
            {"tracked_instances", tracked},
            {"tracked_migrations", Json::object()},
            {"cells", Json::array({{{"id", 0},
                                    {"cpu_usage", 0},
                                    {"memory_usage_mb", 1024 * number},
                                    {"pages_used", {{"4", 262144 * number}}},
                                    {"pinned_cpus", pinned}}})},
            {"instance",
             {{"flavor", "f1"},
              {"host", "h1"},
              {"node", "n1"},
              {"migration_context", nullptr},
              {"numa", Json::array({WantedCell(0, {{"0", number - 1}})})}}}}}};
}

Json TwoClaims() {
  Json line = Claim();
  line["steps"] = Json::array({Created("a"), Granted("a", 1), Created("b"), Granted("b", 2)});
  return line;
}

TEST(NovaReplay, FreePagesOfPinnedGuests) {
  const Report report = ReplayLines({TwoClaims()});
  EXPECT_EQ(report.exceptions_by_rule, (std::map<std::string, int>{{"T-277", 1}}));  // T-277
  ExpectNoticed(TwoClaims(), [](Json& line) {
    line["steps"][3]["expect"]["instance"]["numa"][0]["page_size_kb"] = 4;
  });
  ExpectNoticed(TwoClaims(), [](Json& line) {
    line["steps"][3]["expect"]["instance"]["numa"][0]["pinning"]["0"] = 2;
  });
  ExpectNoticed(TwoClaims(),
                [](Json& line) { line["steps"][3]["expect"]["cells"][0]["pinned_cpus"] = {0}; });
}

TEST(NovaReplay, MemoryWithoutALimit) {
  Json line = Claim();
  line["steps"] = Json::array({Created("a"), Granted("a", 1)});
  line["steps"][1]["limits"] = {{"memory_mb", 1023}, {"numa_topology", nullptr}};
  line["steps"][1]["decided_by_rule"] = {{"*", "T-159, T-162"}};
  ExpectNoticed(line, [](Json& one) { one["steps"][1]["limits"] = nullptr; });
  ExpectNoticed(line, [](Json& one) { one["steps"][1]["limits"]["memory_mb"] = 1024; });
  ExpectNoticed(line, [](Json& one) { one["steps"][1].erase("decided_by_rule"); });
  ExpectNoticed(line, [](Json& one) { one["steps"][1]["expect"]["node"]["vcpus_used"] = 0; });
}

// A step that Nova does. `expect`: what stands after it.
Json Step(const std::string& op, const std::string& instance, Json expect) {
  Json step = {{"op", op},
               {"instance", instance},
               {"node", "n1"},
               {"claim", "c" + instance},
               {"limits", nullptr},
               {"allocations", nullptr},
               {"rebuilt", Json::object()}};
  step["expect"] = std::move(expect);
  step["expect"]["ok"] = true;
  return step;
}

Json Set(const std::string& instance, const Json& values) {
  return {{"op", "set_instance"}, {"instance", instance}, {"values", values}};
}

// An account of so many instances of the flavor with 1 vCPU and 1 GiB, of which the first is `a`.
Json Counted(int instances, const Json& stats) {
  return {{"node", {{"vcpus_used", instances}, {"memory_mb_used", 1024 * instances}}},
          {"stats", stats},
          {"tracked_instances", instances > 0 ? Json::array({"a"}) : Json::array()},
          {"tracked_migrations", Json::object()},
          {"cells", Json::array()}};
}

Json CellWith(int memory_mib, const Json& pinned) {
  return Json::array({{{"id", 0},
                       {"cpu_usage", 0},
                       {"memory_usage_mb", memory_mib},
                       {"pages_used", {{"4", memory_mib * 256}}},
                       {"pinned_cpus", pinned}}});
}

const Json kBuilding = {{"num_instances", 1},
                        {"num_proj_p", 1},
                        {"num_task_None", 1},
                        {"num_vm_building", 1},
                        {"io_workload", 1}};

// A migration on one node, after which Nova's next audit pins the new CPU twice.
TEST(NovaReplay, AuditsThatAResizeInPlaceEnds) {
  Json line = Claim();
  line["setup"]["cells"][0]["mempages"][0]["total"] = 1048576;
  const Json stats = {
      {"num_instances", 1}, {"num_proj_p", 1}, {"num_task_None", 1}, {"num_vm_active", 1}};
  Json created = Created("a");
  created["record"]["vm_state"] = "active";
  created["record"]["host"] = "h1";
  created["record"]["node"] = "n1";
  created["record"]["numa"][0]["host_cell"] = 0;
  created["record"]["numa"][0]["pinning"] = {{"0", 0}};
  Json audit = Counted(1, stats);
  audit["cells"] = CellWith(1024, Json::array({0}));
  const Json migration = Json::parse(R"({"uuid": "m", "instance": "a", "type": "migration",
      "status": "accepted", "source_host": "h1", "source_node": "n1", "dest_host": null,
      "dest_node": null, "old_flavor": "f1", "new_flavor": "f1"})");
  Json claimed = Counted(2, stats);  // Nova has not seen the task yet
  claimed["cells"] = CellWith(2048, Json::array({0, 1}));
  claimed["tracked_migrations"] = {{"a", "m"}};
  Json claim = Step("resize_claim", "a", claimed);
  claim["migration"] = "m";
  claim["new_flavor"] = "f1";
  claim["rebuilt"] = {{"error", {{"class", "CPUPinningInvalid"}}}};
  line["steps"] = Json::array(
      {created,
       Step("audit", "a", audit),
       Set("a", {{"task_state", "resize_prep"}, {"old_flavor", "f1"}, {"new_flavor", "f1"}}),
       {{"op", "create_migration"}, {"record", migration}},
       claim});
  EXPECT_EQ(ReplayLines({line}).exceptions_by_rule, (std::map<std::string, int>{{"T-284", 1}}));
  ExpectNoticed(line, [](Json& one) { one["steps"][4]["rebuilt"]["error"]["class"] = "X"; });
  ExpectNoticed(line, [](Json& one) { one["steps"][4]["expect"]["node"]["vcpus_used"] = 1; });
  Json over = line;  // a move that is over ends no audit
  over["steps"].push_back(Set("a", {{"task_state", nullptr}}));
  over["steps"].push_back(
      {{"op", "set_migration"}, {"migration", "m"}, {"values", {{"status", "confirmed"}}}});
  over["steps"].push_back(Step("update_usage", "a", audit));
  ExpectNoticed(over, [](Json& one) {
    one["steps"][7]["rebuilt"] = {{"error", {{"class", "CPUPinningInvalid"}}}};
  });
}

// The second claim gets the second CPU, since Nova still counts an instance that is gone. `rebuilt`:
// what it would count if it did not.
Json Lagging(const Json& rebuilt) {
  Json line = TwoClaims();
  line["setup"]["cells"][0]["mempages"][0]["total"] = 1048576;
  line["steps"][3]["rebuilt"] = rebuilt;
  line["steps"].insert(line["steps"].begin() + 2, Set("a", {{"vm_state", "deleted"}}));
  return line;
}

Json OfTheSecond() {
  Json account = Counted(1, kBuilding);
  account["tracked_instances"] = Json::array({"b"});
  account["cells"] = CellWith(1024, Json::array({1}));
  return account;
}

TEST(NovaReplay, ClaimsOfAnAccountThatLags) {
  const Json line = Lagging(OfTheSecond());
  EXPECT_EQ(ReplayLines({line}).exceptions_by_rule,
            (std::map<std::string, int>{{"T-394", 1}}));  // T-394
  ExpectNoticed(line, [](Json& one) {
    one["steps"][4]["expect"]["instance"]["numa"][0]["pinning"]["0"] = 2;
  });
  ExpectNoticed(line, [](Json& one) {  // Nova counts the first no more
    Json update = Step("update_usage", "a", Counted(0, Json::object()));
    update["expect"]["cells"] = CellWith(0, Json::array());
    one["steps"].insert(one["steps"].begin() + 3, update);
  });
}

// A move that is refused while Nova counts what is gone.
TEST(NovaReplay, PartsOfCommandsOfAnAccountThatLags) {
  Json line = Lagging(OfTheSecond());
  Json& large = line["setup"]["flavors"]["f2"] = line["setup"]["flavors"]["f1"];
  large["id"] = 2;
  large["memory_mb"] = 8192;
  Json created = Created("c");
  created["record"]["host"] = "h2";
  created["record"]["node"] = "n2";
  created["record"]["vm_state"] = "active";
  created["record"]["task_state"] = "resize_prep";
  const Json migration = Json::parse(R"({"uuid": "m", "instance": "c", "type": "resize",
      "status": "accepted", "source_host": "h2", "source_node": "n2", "dest_host": null,
      "dest_node": null, "old_flavor": "f1", "new_flavor": "f2"})");
  Json refused = Step("resize_claim", "c", line["steps"][4]["expect"]);
  refused["expect"].erase("ok");
  refused["expect"].erase("instance");
  refused["expect"]["error"] = {
      {"class", "ComputeResourcesUnavailable"},
      {"reasons",
       Json::array({"Requested instance NUMA topology cannot fit the given host NUMA topology"})}};
  refused["migration"] = "m";
  refused["new_flavor"] = "f2";
  for (const Json& step :
       {created, Json({{"op", "create_migration"}, {"record", migration}}), refused}) {
    line["steps"].push_back(step);
  }
  EXPECT_EQ(ReplayLines({line}).exceptions_by_rule,
            (std::map<std::string, int>{{"T-394", 3}}));  // T-394: a claim, then amounts and cells
  ExpectNoticed(line, [](Json& one) {                     // Nova's audit would have ended this
    one["steps"].insert(one["steps"].begin() + 5, Step("audit", "b", OfTheSecond()));
  });
}

TEST(NovaReplay, TheCpuForEmulatorThreadsOfAnAbortedBuild) {
  Json line = Claim();
  line["setup"]["flavors"]["f1"]["extra_specs"]["hw:emulator_threads_policy"] = "isolate";
  Json claimed = Counted(1, kBuilding);
  claimed["cells"] = CellWith(1024, Json::array({0, 1}));
  Json aborted = Counted(0, Json::object());
  aborted["cells"] = CellWith(0, Json::array());
  Json cell = WantedCell(-1, Json::object());
  cell["reserved_cpus"] = Json::array({1});
  aborted["instance"] = {{"flavor", "f1"},
                         {"host", nullptr},
                         {"node", nullptr},
                         {"migration_context", nullptr},
                         {"numa", Json::array({cell})}};
  line["steps"] = Json::array(
      {Created("a"), Step("instance_claim", "a", claimed), Step("abort", "a", aborted)});
  EXPECT_EQ(ReplayLines({line}).exceptions_by_rule, (std::map<std::string, int>{{"T-165", 1}}));
  ExpectNoticed(line, [](Json& one) {
    one["steps"][2]["expect"]["instance"]["numa"][0]["pinning"] = {{"0", 0}};
  });
  ExpectNoticed(line, [](Json& one) {  // the cell was never placed
    one["steps"][2]["expect"]["instance"]["numa"][0]["host_cell"] = nullptr;
  });
  ExpectNoticed(line, [](Json& one) {  // it is not the end of a claim
    one["steps"][2]["expect"]["instance"]["node"] = "n1";
  });
}

TEST(NovaReplay, NamedUnitsThatNoRecordHas) {
  Json line = Claim();
  line["setup"]["named_units"] = {{"PMEM", {"ns0", "ns1"}}};
  line["setup"].erase("cells");
  line["setup"]["flavors"]["f1"]["extra_specs"] = Json::object();
  line["start"].erase("cells");
  Json created = Created("a");
  created["record"]["numa"] = nullptr;
  Json claimed = Counted(1, kBuilding);
  claimed["named_units_assigned"] = Json::array({"ns1"});
  Json claim = Step("instance_claim", "a", claimed);
  claim["allocations"] = {{"u1", {{"resources", {{"PMEM", 1}}}}}};
  claim["rebuilt"]["named_units_assigned"] = Json::array();
  Json gone = Counted(0, Json::object());
  gone["named_units_assigned"] = Json::array({"ns1"});
  Json update = Step("update_usage", "a", gone);
  update["rebuilt"]["named_units_assigned"] = Json::array();
  line["steps"] = Json::array({created, claim, Set("a", {{"vm_state", "deleted"}}), update});
  EXPECT_EQ(ReplayLines({line}).exceptions_by_rule, (std::map<std::string, int>{{"T-155", 1}}));
  ExpectNoticed(line, [](Json& one) {
    one["steps"][1]["expect"]["named_units_assigned"] = Json::array({"ns0", "ns1"});
  });
  ExpectNoticed(line, [](Json& one) {
    one["steps"][3]["rebuilt"]["named_units_assigned"] = Json::array({"ns1"});
  });
}

// The one device of a node stays with an instance that Nova counts no more.
TEST(NovaReplay, DevicesOfInstancesThatDoNotCount) {
  Json line = Claim();
  line["setup"]["pci_devices"] = {
      {{"address", "0000:81:00.0"}, {"numa_cell", nullptr}, {"policy", "legacy"}}};
  line["setup"].erase("cells");
  line["setup"]["flavors"]["f1"]["extra_specs"] = Json::object();
  line["start"].erase("cells");
  const auto created = [](const std::string& uuid) {
    Json step = Created(uuid);
    step["record"]["numa"] = nullptr;
    step["record"]["pci_requests"] = {
        {{"alias", "nic"}, {"request_id", "r"}, {"count", 1}, {"numa_policy", "legacy"}}};
    return step;
  };
  const Json device = {{"0000:81:00.0", {"allocated", "a"}}};
  Json claimed = Counted(1, kBuilding);
  Json gone = Counted(0, Json::object());
  claimed["pci_devices"] = gone["pci_devices"] = device;
  Json refused = Step("instance_claim", "b", gone);
  refused["expect"].erase("ok");
  refused["expect"]["error"] = {{"class", "ComputeResourcesUnavailable"},
                                {"reasons", Json::array({"Claim pci failed"})}};
  line["steps"] = Json::array({created("a"), Step("instance_claim", "a", claimed),
                               Set("a", {{"vm_state", "shelved_offloaded"}}),
                               Step("audit", "a", gone), created("b"), refused});
  EXPECT_EQ(ReplayLines({line}).exceptions_by_rule,
            (std::map<std::string, int>{{"T-112, T-129", 2}, {"T-394", 1}}));  // T-394
  ExpectNoticed(line, [](Json& one) {  // Nova leaves a device to nobody who has no record here
    one["steps"][2]["values"] = {{"host", nullptr}, {"node", nullptr}};
  });
  ExpectNoticed(
      line, [](Json& one) { one["steps"][3]["expect"]["tracked_instances"] = Json::array({"a"}); });
  ExpectNoticed(line, [](Json& one) { one["steps"][3]["expect"]["pci_devices"] = Json::object(); });
  ExpectNoticed(line, [](Json& one) {
    one["steps"][5]["expect"]["error"]["reasons"] = Json::array({"Other"});
  });
}

}  // namespace
}  // namespace berth::oracle::nova
