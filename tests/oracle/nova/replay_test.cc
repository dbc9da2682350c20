// Recordings that the replay must not excuse: each is a passing one with one thing changed.
#include "gtest/gtest.h"
#include "tests/oracle/nova/replay_lines.h"

namespace berth::oracle::nova {
namespace {

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

// A life in which one of two taken VFs is freed. Nova's PF stays as the first one left it.
TEST(NovaReplay, FunctionsThatAreFreedOneByOne) {
  const auto vf = [](const char* address) {
    return Json{{"address", address},    {"vendor_id", "8086"},  {"product_id", "154c"},
                {"dev_type", "type-VF"}, {"numa_node", nullptr}, {"parent_addr", "0000:3b:00.0"}};
  };
  const auto state = [](const Json& pf, const Json& first, const Json& second, int free) {
    const Json pool = {{"vendor_id", "8086"},
                       {"product_id", "154c"},
                       {"numa_node", nullptr},
                       {"count", free},
                       {"tags", {{"dev_type", "type-VF"}, {"remote_managed", "false"}}}};
    return Json{
        {"devices",
         {{"0000:3b:00.0", Json::array({pf})}, {"0000:3b:02.0", first}, {"0000:3b:02.1", second}}},
        {"pools", Json::array({pool})}};
  };
  const auto claim = [](const char* instance, const char* address, const Json& after) {
    Json step = Json::parse(R"({"op": "claim", "guest_cells": null, "requests": [
        {"count": 1, "spec": [{"dev_type": "type-VF"}], "numa_policy": "legacy",
         "alias_name": null}], "result": {"supported": true}})");
    step["instance"] = instance;
    step["result"]["assigned"]["0"] = Json::array({address});
    step["state"] = after;
    return step;
  };
  const Json free = Json::array({"available"});
  const Json taken = Json::array({"claimed", "i1"});
  Json line = Devices();
  line["setup"]["devices"] = Json::array({vf("0000:3b:02.0"), vf("0000:3b:02.1"), Json()});
  line["setup"]["devices"][2] = {{"address", "0000:3b:00.0"},
                                 {"vendor_id", "8086"},
                                 {"product_id", "1583"},
                                 {"dev_type", "type-PF"},
                                 {"numa_node", nullptr}};
  const Json pf_pool = Json::parse(R"({"vendor_id": "8086", "product_id": "1583",
      "numa_node": null, "count": 1, "tags": {"dev_type": "type-PF", "remote_managed": "false"}})");
  Json all = state("available", free, free, 2);
  all["pools"].push_back(pf_pool);
  line["steps"] = Json::array(
      {{{"op", "report"}, {"state", all}},
       claim("i0", "0000:3b:02.0", state("unclaimable", Json::array({"claimed", "i0"}), free, 1)),
       {{"op", "allocate"},
        {"instance", "i0"},
        {"state", state("unavailable", Json::array({"allocated", "i0"}), free, 1)}},
       claim("i1", "0000:3b:02.1",
             state("unavailable", Json::array({"allocated", "i0"}), taken, 0)),
       {{"op", "free"}, {"instance", "i0"}, {"state", state("unavailable", free, taken, 1)}}});
  EXPECT_EQ(ReplayLines({line}).exceptions_by_rule,
            (std::map<std::string, int>{{"T-252", 1}}));  // T-252
  ExpectNoticed(line, [](Json& one) {
    one["steps"][4]["state"]["devices"]["0000:3b:02.1"] = {"allocated", "i1"};
  });
  ExpectNoticed(line, [](Json& one) {
    one["steps"][4]["state"]["devices"]["0000:3b:02.0"] = {"unavailable"};
  });
  ExpectNoticed(line, [](Json& one) { one["steps"][4]["state"]["pools"][0]["count"] = 2; });
  line["steps"][4]["state"] = state("available", free, taken, 1);
  EXPECT_FALSE(ReplayLines({line}).failures.empty()) << "the PF is in no pool";
  line["steps"][4]["state"]["pools"].push_back(pf_pool);
  EXPECT_EQ(ReplayLines({line}).exceptions_by_rule,
            (std::map<std::string, int>{{"T-396", 1}}));  // T-396
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
