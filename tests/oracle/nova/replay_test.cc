// Recordings that the replay must not excuse: each is a passing one with one thing changed.
#include "tests/oracle/nova/replay.h"

#include <cstdlib>
#include <fstream>
#include <functional>

#include "gtest/gtest.h"

namespace berth::oracle::nova {
namespace {

Report ReplayLines(const std::vector<Json>& lines) {
  const std::string path = testing::TempDir() + "/nova_replay_test.jsonl";
  std::ofstream file(path);
  for (const Json& line : lines) file << line.dump() << "\n";
  file.close();
  return ReplayFile(path);
}

// Expects that `line` passes, and fails with the change.
void ExpectNoticed(const Json& line, const std::function<void(Json&)>& change) {
  const Report before = ReplayLines({line});
  for (const std::string& failure : before.failures) ADD_FAILURE() << failure;
  EXPECT_GT(before.passed, 0);
  Json changed = line;
  change(changed);
  EXPECT_FALSE(ReplayLines({changed}).failures.empty()) << changed.dump();
}

// A new node with a configured ratio and nothing on it.
Json Audit() {
  return Json::parse(R"({"case": "new", "setup": {
    "host": "h1", "node": "n1", "node_uuid": "u1", "node_is_new": true, "failed_builds_before": 0,
    "options": {"cpu_allocation_ratio": 2.0, "ram_allocation_ratio": null,
                "disk_allocation_ratio": 1.0, "reserved_host_cpus": 0,
                "reserved_host_disk_mb": 0, "reserved_host_memory_mb": 512},
    "facts": {"vcpus": 4, "memory_mb": 4096, "local_gb": 10},
    "flavors": {}, "instances": [], "migrations": [], "allocations": {}},
   "expect": {"node": {"vcpus_used": 0, "memory_mb_used": 512, "local_gb_used": 0,
                       "free_ram_mb": 3584, "free_disk_gb": 10, "running_vms": 0,
                       "current_workload": 0, "cpu_allocation_ratio": 16.0,
                       "ram_allocation_ratio": 1.5, "disk_allocation_ratio": 1.0},
              "stats": {}, "tracked_instances": [], "tracked_migrations": {},
              "statuses_changed": {}, "allocations_deleted": [],
              "second_audit": {"writes_record": true, "same": true}}})");
}

TEST(NovaReplay, RatiosOfANewNode) {
  ExpectNoticed(Audit(), [](Json& line) { line["expect"]["node"]["cpu_allocation_ratio"] = 4.0; });
  ExpectNoticed(Audit(), [](Json& line) { line["setup"]["node_is_new"] = false; });
  ExpectNoticed(Audit(),
                [](Json& line) { line["expect"]["second_audit"]["writes_record"] = false; });
}

TEST(NovaReplay, AuditsWithoutAnAnswer) {
  ExpectNoticed(Audit(), [](Json& line) { line["expect"] = {{"error", {{"class", "X"}}}}; });
}

TEST(NovaReplay, RulesThatDecideNothing) {
  ExpectNoticed(Audit(), [](Json& line) {
    line["expect"]["node"]["local_gb_used"] = 1;
    line["decided_by_rule"] = {{"local_gb_used", "T-108"}};
  });
}

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

// A life in which a claim fails, and then one that is the second of its instance.
Json Devices() {
  return Json::parse(R"({"case": 0, "setup": {
    "numa_cells": [], "alias": [], "device_spec": ["{\"vendor_id\": \"8086\"}"], "netdevs": {},
    "devices": [{"address": "0000:81:00.0", "vendor_id": "8086", "product_id": "1533",
                 "dev_type": "type-PCI", "numa_node": null},
                {"address": "0000:82:00.0", "vendor_id": "8086", "product_id": "1533",
                 "dev_type": "type-PCI", "numa_node": null}]},
   "expect": {"alias": {}}, "steps": [
    {"op": "report", "state": {
      "devices": {"0000:81:00.0": ["available"], "0000:82:00.0": ["available"]},
      "pools": [{"vendor_id": "8086", "product_id": "1533", "numa_node": null, "count": 2,
                 "tags": {"dev_type": "type-PCI"}}]}},
    {"op": "claim", "instance": "i0", "guest_cells": null, "rules": ["T-250"],
     "requests": [{"count": 3, "spec": [{"vendor_id": "8086"}], "numa_policy": "legacy",
                   "alias_name": null}],
     "result": {"supported": false, "error": "PciDeviceRequestFailed"},
     "state": {"devices": {"0000:81:00.0": ["available"], "0000:82:00.0": ["available"]},
               "pools": []}},
    {"op": "claim", "instance": "i0", "guest_cells": null, "rules": ["T-250"],
     "requests": [{"count": 2, "spec": [{"vendor_id": "8086"}], "numa_policy": "legacy",
                   "alias_name": null}],
     "result": {"supported": true, "assigned": {"0": ["0000:81:00.0", "0000:82:00.0"]}},
     "state": {"devices": {"0000:81:00.0": ["claimed", "i0"], "0000:82:00.0": ["claimed", "i0"]},
               "pools": []}}]})");
}

TEST(NovaReplay, ClaimsOfDevicesThatNovaDoesNotUndo) {
  ExpectNoticed(Devices(), [](Json& line) {  // T-250
    line["steps"][1]["result"] = {{"supported", false}, {"assigned", {{"0", {"0000:81:00.0"}}}}};
  });
  ExpectNoticed(Devices(), [](Json& line) {
    line["steps"][1]["state"]["devices"]["0000:81:00.0"] = {"claimed", "i0"};
  });
  ExpectNoticed(Devices(), [](Json& line) {
    line["steps"][2]["result"] = {{"supported", true}, {"error", "PciDeviceRequestFailed"}};
  });
  ExpectNoticed(Devices(), [](Json& line) {
    line["steps"][2]["state"]["devices"]["0000:81:00.0"] = {"available"};
  });
}

// A guest on a cell that lists no pages, which Nova cannot count.
TEST(NovaReplay, CellsWithoutPages) {
  const Json line = Json::parse(R"({"case": 0, "kind": "usage", "free": false, "host": {"cells": [
     {"id": 0, "socket": 0, "cpuset": [0, 1], "pcpuset": [0, 1], "siblings": [[0], [1]],
      "memory": 2048, "memory_usage": 0, "cpu_usage": 0, "pinned_cpus": [], "mempages": []}]},
    "instance": {"emulator_threads_policy": null, "cells": [
     {"id": 0, "cpuset": [0], "pcpuset": [], "memory": 512, "pagesize": null, "cpu_policy": "shared",
      "cpu_thread_policy": null, "cpu_pinning": null, "cpuset_reserved": null}]},
    "expect": {"usage": {"error": "IndexError"}}})");
  ExpectNoticed(line, [](Json& one) {  // T-283
    one["host"]["cells"][0]["mempages"] = {
        {{"size_kb", 4}, {"total", 524288}, {"reserved", 0}, {"used", 0}}};
  });
}

// Each of two settings is wrong, and either may be named. A third fault may not.
TEST(NovaReplay, TwoWrongSettings) {
  Json line = {{"case", 0},
               {"vcpus", 2},
               {"memory_mb", 512},
               {"extra_specs", {{"hw:cpu_policy", "nonsense"}, {"hw:numa_nodes", "0"}}},
               {"image_properties", Json::object()},
               {"expect", {{"error", "InvalidCPUAllocationPolicy"}}}};
  EXPECT_TRUE(ReplayLines({line}).failures.empty());
  line["expect"]["error"] = "InvalidNUMANodesNumber";
  EXPECT_TRUE(ReplayLines({line}).failures.empty());
  line["expect"]["error"] = "MemoryPageSizeInvalid";
  EXPECT_FALSE(ReplayLines({line}).failures.empty());
}

// A host, a request that it passes, and what is taken from it.
Json HostLine() {
  return Json::parse(R"({"case": "one",
   "setup": {"aggregates": [], "options": {"max_io_ops_per_host": 8, "max_instances_per_host": 50,
      "ram_weight_multiplier": 1.0, "cpu_weight_multiplier": 1.0, "disk_weight_multiplier": 1.0,
      "io_ops_weight_multiplier": -1.0, "build_failure_weight_multiplier": 1000000.0},
    "hosts": [{"instances": [], "service": {"created_at_s": -10, "disabled": false,
                                            "forced_down": false, "last_seen_up_s": -60},
      "node": {"uuid": "u", "host": "h1", "hypervisor_hostname": "n1", "hypervisor_type": "QEMU",
               "hypervisor_version": 6002000, "host_ip": "", "cpu_info": "",
               "supported_instances": [], "memory_mb": 1024, "free_ram_mb": 512, "local_gb": 10,
               "local_gb_used": 4, "free_disk_gb": 6, "disk_available_least": null, "vcpus": 4,
               "vcpus_used": 1, "cpu_allocation_ratio": 4.0, "ram_allocation_ratio": 1.5,
               "disk_allocation_ratio": 1.0, "stats": {}, "updated_at_s": -5}}]},
   "after_update": {"h1": {"free_disk_mb": 6144, "updated_s": -5.0}},
   "steps": [
    {"op": "select", "request": {"instance_uuid": "i", "flavor": {"extra_specs": {}}},
     "expect": {"by_filter": {}, "passing": ["h1"]}},
    {"op": "consume", "host": "h1", "at_s": 10, "request": {"instance_uuid": "i", "flavor": {
       "memory_mb": 512, "root_gb": 1, "ephemeral_gb": 1, "vcpus": 1, "extra_specs": {}}},
     "expect": {"guest_cells": null, "state": {"free_ram_mb": 0, "free_disk_mb": 4096,
                                               "num_instances": 1, "updated_s": 10.0}}}]})");
}

TEST(NovaReplay, HostsAsASchedulerSeesThem) {
  ExpectNoticed(HostLine(), [](Json& line) { line["after_update"]["h1"]["free_disk_mb"] = 6145; });
  ExpectNoticed(HostLine(), [](Json& line) { line["steps"][0]["expect"]["passing"].clear(); });
  ExpectNoticed(HostLine(),
                [](Json& line) { line["steps"][1]["expect"]["state"]["num_instances"] = 2; });
  ExpectNoticed(HostLine(),
                [](Json& line) { line["setup"]["hosts"][0]["service"]["last_seen_up_s"] = -61; });
  ExpectNoticed(HostLine(), [](Json& line) {
    line["steps"][1]["decided_by_rule"] = {{"*", "T-336"}};
  });
}

}  // namespace
}  // namespace berth::oracle::nova
