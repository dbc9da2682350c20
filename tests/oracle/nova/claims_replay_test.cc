// Lives of a node that the replay must not excuse: each is a passing one with one thing changed.
#include <map>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tests/oracle/nova/claim_lines.h"
#include "tests/oracle/nova/replay_lines.h"

namespace berth::oracle::nova {
namespace {

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

const Json kPinsTwice = {{"error", {{"class", "CPUPinningInvalid"}}}};  // Nova's next audit

// A migration of `a` on one node, after which Nova's next audit pins the new CPU twice.
Json ResizeInPlace() {
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
  claim["rebuilt"] = kPinsTwice;
  line["steps"] = Json::array(
      {created,
       Step("audit", "a", audit),
       Set("a", {{"task_state", "resize_prep"}, {"old_flavor", "f1"}, {"new_flavor", "f1"}}),
       {{"op", "create_migration"}, {"record", migration}},
       claim});
  return line;
}

TEST(NovaReplay, AuditsThatAResizeInPlaceEnds) {
  const Json line = ResizeInPlace();
  EXPECT_EQ(ReplayLines({line}).exceptions_by_rule, (std::map<std::string, int>{{"T-284", 1}}));
  ExpectNoticed(line, [](Json& one) { one["steps"][4]["rebuilt"]["error"]["class"] = "X"; });
  ExpectNoticed(line, [](Json& one) { one["steps"][4]["expect"]["node"]["vcpus_used"] = 1; });
  Json over = line;  // a move that is over ends no audit
  const Json audit = line["steps"][1]["expect"];
  over["steps"].push_back(Set("a", {{"task_state", nullptr}}));
  over["steps"].push_back(
      {{"op", "set_migration"}, {"migration", "m"}, {"values", {{"status", "confirmed"}}}});
  over["steps"].push_back(Step("update_usage", "a", audit));
  ExpectNoticed(over, [](Json& one) { one["steps"][7]["rebuilt"] = kPinsTwice; });
}

// During a resize in place Nova may free the CPU on which the guest runs. If it gives this CPU to
// another instance, this is no answer of an account that counts what is gone.
TEST(NovaReplay, CpusThatAResizeInPlaceFreesBelongToTheGuest) {
  Json line = ResizeInPlace();
  Json claimed = Counted(3, Json::object());
  claimed["cells"] = CellWith(3072, Json::array({0, 1, 2}));
  claimed["instance"] = Granted("b", 2)["expect"]["instance"];
  claimed["instance"]["numa"][0]["pinning"] = {{"0", 2}};
  Json claim = Step("instance_claim", "b", claimed);
  claim["rebuilt"] = kPinsTwice;
  line["steps"].push_back(Created("b"));
  line["steps"].push_back(claim);
  ExpectNoticed(line, [](Json& one) {  // T-395
    one["steps"][4]["expect"]["cells"] = CellWith(1024, Json::array({1}));
    Json& expect = one["steps"][6]["expect"];
    expect["cells"] = CellWith(2048, Json::array({0, 1}));
    expect["instance"]["numa"][0]["pinning"] = {{"0", 0}};
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

// Adds a move that Nova refuses, and after which its account is `account`.
void AddRefusedMove(Json account, Json* line) {
  const Json small = (*line)["setup"]["flavors"]["f1"];
  Json& large = (*line)["setup"]["flavors"]["f2"] = small;
  large["id"] = 2;
  large["memory_mb"] = 8192;
  Json created = Created("c");
  created["record"]["host"] = "h2";
  created["record"]["node"] = "n2";
  created["record"]["vm_state"] = "active";
  created["record"]["task_state"] = "resize_prep";
  const Json migration = Json::parse(R"({"uuid": "mc", "instance": "c", "type": "resize",
      "status": "accepted", "source_host": "h2", "source_node": "n2", "dest_host": null,
      "dest_node": null, "old_flavor": "f1", "new_flavor": "f2"})");
  Json refused = Step("resize_claim", "c", std::move(account));
  refused["expect"].erase("ok");
  refused["expect"].erase("instance");
  refused["expect"]["error"] = {
      {"class", "ComputeResourcesUnavailable"},
      {"reasons",
       Json::array({"Requested instance NUMA topology cannot fit the given host NUMA topology"})}};
  refused["migration"] = "mc";
  refused["new_flavor"] = "f2";
  for (const Json& step :
       {created, Json({{"op", "create_migration"}, {"record", migration}}), refused}) {
    (*line)["steps"].push_back(step);
  }
}

// A move that is refused while Nova counts what is gone.
TEST(NovaReplay, PartsOfCommandsOfAnAccountThatLags) {
  Json line = Lagging(OfTheSecond());
  AddRefusedMove(line["steps"][4]["expect"], &line);
  EXPECT_EQ(ReplayLines({line}).exceptions_by_rule,
            (std::map<std::string, int>{{"T-394", 3}}));  // T-394: a claim, then amounts and cells
  ExpectNoticed(line, [](Json& one) {                     // Nova's audit would have ended this
    one["steps"].insert(one["steps"].begin() + 5, Step("audit", "b", OfTheSecond()));
  });
}

// A move of `b` on its node. `destination`: the host that its migration names already, or null.
Json MoveInPlace(const Json& destination) {
  Json migration = Json::parse(R"({"uuid": "m", "instance": "b", "type": "migration",
      "status": "accepted", "source_host": "h1", "source_node": "n1", "dest_host": null,
      "dest_node": null, "old_flavor": "f1", "new_flavor": "f1"})");
  if (!destination.is_null()) {
    migration["status"] = "migrating";
    migration["dest_host"] = destination;
    migration["dest_node"] = "n1";
  }
  return {{"op", "create_migration"}, {"record", migration}};
}

// No account built anew is recorded after the audit, but the audit itself counted anew.
TEST(NovaReplay, AnAuditEndsTheLagDuringAResizeInPlace) {
  Json line = Lagging(OfTheSecond());
  Json audit = Step("audit", "b", OfTheSecond());
  audit["rebuilt"] = kPinsTwice;
  line["steps"].push_back(MoveInPlace("h1"));
  line["steps"].push_back(audit);
  AddRefusedMove(OfTheSecond(), &line);
  ExpectNoticed(line, [](Json& one) {  // T-394
    one["steps"][9]["expect"]["node"] = {{"vcpus_used", 2}, {"memory_mb_used", 2048}};
  });
}

// A claim is no part of a command: after it all amounts are compared with what Nova recorded.
TEST(NovaReplay, NothingLagsAfterAClaimInPlace) {
  Json line = Lagging(OfTheSecond());
  Json claimed = Counted(2, Json::object());
  claimed["cells"] = CellWith(2048, Json::array({0, 1}));
  Json claim = Step("resize_claim", "b", claimed);
  claim["migration"] = "m";
  claim["new_flavor"] = "f1";
  claim["rebuilt"] = kPinsTwice;
  const Json prepared = {{"vm_state", "active"},
                         {"task_state", "resize_prep"},
                         {"old_flavor", "f1"},
                         {"new_flavor", "f1"}};
  for (const Json& step :
       {Step("audit", "b", OfTheSecond()), Set("b", prepared), MoveInPlace(nullptr), claim}) {
    line["steps"].push_back(step);
  }
  ExpectNoticed(line, [](Json& one) {  // T-284
    one["steps"].erase(one["steps"].begin() + 5);
    Json& expect = one["steps"][7]["expect"];
    expect["node"] = {{"vcpus_used", 3}, {"memory_mb_used", 3072}};
    expect["cells"] = CellWith(3072, Json::array({0, 1, 2}));
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
