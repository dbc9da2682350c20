// Steps in the life of a node, made by tests of the replay itself: claims of one CPU and 1 GiB.
#ifndef BERTH_TESTS_ORACLE_NOVA_CLAIM_LINES_H_
#define BERTH_TESTS_ORACLE_NOVA_CLAIM_LINES_H_

#include <string>
#include <utility>

#include "tests/oracle/nova/replay.h"

namespace berth::oracle::nova {

// A claim of 1 GiB, pinned and without a page size, on a host of which half the pages are used.
inline Json Claim() {
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

inline Json WantedCell(const Json& host_cell, const Json& pinning) {
  return {{"host_cell", host_cell},      {"memory_mb", 1024},  {"page_size_kb", nullptr},
          {"pinned_cpus", {0}},          {"pinning", pinning}, {"reserved_cpus", Json::array()},
          {"shared_cpus", Json::array()}};
}

inline Json Created(const std::string& uuid) {
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
inline Json Granted(const std::string& uuid, int number) {
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

inline Json TwoClaims() {
  Json line = Claim();
  line["steps"] = Json::array({Created("a"), Granted("a", 1), Created("b"), Granted("b", 2)});
  return line;
}

// A step that Nova does. `expect`: what stands after it.
inline Json Step(const std::string& op, const std::string& instance, Json expect) {
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

inline Json Set(const std::string& instance, const Json& values) {
  return {{"op", "set_instance"}, {"instance", instance}, {"values", values}};
}

// An account of so many instances of the flavor with 1 vCPU and 1 GiB, of which the first is `a`.
inline Json Counted(int instances, const Json& stats) {
  return {{"node", {{"vcpus_used", instances}, {"memory_mb_used", 1024 * instances}}},
          {"stats", stats},
          {"tracked_instances", instances > 0 ? Json::array({"a"}) : Json::array()},
          {"tracked_migrations", Json::object()},
          {"cells", Json::array()}};
}

inline Json CellWith(int memory_mib, const Json& pinned) {
  return Json::array({{{"id", 0},
                       {"cpu_usage", 0},
                       {"memory_usage_mb", memory_mib},
                       {"pages_used", {{"4", memory_mib * 256}}},
                       {"pinned_cpus", pinned}}});
}

inline const Json kBuilding = {{"num_instances", 1},
                               {"num_proj_p", 1},
                               {"num_task_None", 1},
                               {"num_vm_building", 1},
                               {"io_workload", 1}};

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_CLAIM_LINES_H_
