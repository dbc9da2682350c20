#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/rules/import_form.h"
#include "placement/values/faults.h"
#include "placement/values/refusal.h"
#include "tests/placement/rules/record_world.h"
#include "tests/worlds/fleet_world.h"
#include "tests/worlds/imported.h"
#include "tests/worlds/safety.h"
#include "tests/worlds/script.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

constexpr char kHosts[] = R"(
  cn1[CUSTOM_GOLD]{VCPU:8 ratio 2 used 3, CUSTOM_FPGA:4 min 2 step 2}(agg1,agg2)
    numa0{MEMORY_MB:512}
      pf1{SRIOV_NET_VF:8 used 2}
  shr[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:1000 reserved 10}(agg1)
)";

std::string ReasonOf(const absl::StatusOr<Outcome>& outcome) {
  if (outcome.ok()) return "OK";
  const std::optional<Refusal> refusal = RefusalOf(outcome.status());
  return refusal ? refusal->reason : "?";
}

// The reason of the refusal and the record at fault: "INVALID_FIELD 3".
std::string FaultOf(const absl::StatusOr<Outcome>& outcome) {
  if (outcome.ok()) return "OK";
  const std::optional<Refusal> refusal = RefusalOf(outcome.status());
  if (!refusal || refusal->items.empty()) return ReasonOf(outcome);
  const auto record = refusal->items[0].find("record");
  return record == refusal->items[0].end() ? refusal->reason
                                           : absl::StrCat(refusal->reason, " ", record->second);
}

// `state`, imported into a ledger that has only the standard names.
State Brought(const State& state, Generation fresh) {
  State other = EmptyLike(state);
  const RuleContext context{absl::FromUnixSeconds(1), fresh};
  const absl::StatusOr<Outcome> outcome = Decide(other, ImportOf(state), context);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  if (outcome.ok()) other.Apply(outcome->changes);
  return other;
}

TEST(RulesImport, BringsEverything) {
  World world(kHosts);
  world.Must(SetLease{world.consumer("held-by-cn1"), std::nullopt, absl::Seconds(60)});
  // What was lawful once stays: use beyond capacity, and amounts that break new units (P-89).
  RunScript(world, R"(
    claim c1 new cn1{CUSTOM_FPGA:4} shr{DISK_GB:7} for p1/u1/MIGRATION   OK
    inventories cn1@ VCPU:1, CUSTOM_FPGA:2 min 1 max 1                   OK
    class create CUSTOM_UNUSED                                           OK
  )");
  const State other = Brought(world.state(), Generation{77});
  EXPECT_EQ(TextOf(other), world.Text());
  CheckSafety(other);
  EXPECT_EQ(other.FindProvider(world.provider("pf1"))->config().generation, Generation{77});  // P-5
  EXPECT_EQ(other.FindProvider(world.provider("cn1"))->allocation_generation(), Generation{77});
  EXPECT_EQ(other.FindConsumer(world.consumer("c1"))->generation, Generation{77});  // P-119
  const auto before = world.state().FindConsumer(world.consumer("c1"));
  EXPECT_EQ(other.FindConsumer(world.consumer("c1"))->created_at, before->created_at);
  EXPECT_EQ(TextOf(Brought(other, Generation{5})), world.Text());
}

TEST(RulesImport, TellsWhatIsUsedBeyondItsCapacity) {
  World world(kHosts);
  RunScript(world, "inventories cn1@ VCPU:1, CUSTOM_FPGA:4   OK");
  State other = EmptyLike(world.state());
  const Outcome outcome = *Decide(other, ImportOf(world.state()), {absl::Now(), Generation{1}});
  ASSERT_EQ(outcome.result.over_capacity.size(), 1u);
  EXPECT_EQ(outcome.result.over_capacity[0].provider, world.provider("cn1"));
  EXPECT_EQ(outcome.result.over_capacity[0].resource_class, "VCPU");
  EXPECT_EQ(outcome.result.over_capacity[0].used, 3);
  EXPECT_EQ(outcome.result.over_capacity[0].capacity, 1);
}

TEST(RulesImport, BringsServicesAndNodes) {
  FleetWorld fleet;
  ASSERT_EQ(fleet.Register("h1", 1, "m1"), "OK");
  ASSERT_EQ(fleet.Report("h1", 1, "n1{VCPU:8}\n  n1_numa0{MEMORY_MB:64}", 1), "OK");
  ASSERT_EQ(fleet.Update("h1", true, "new memory", std::nullopt), "OK");
  const State& state = fleet.world.state();
  const State other = Brought(state, Generation{9});
  EXPECT_EQ(TextOf(other), fleet.world.Text());
  const NodeRecord& node = **other.nodes().Find(fleet.world.provider("n1"));
  EXPECT_EQ(node.created_at, fleet.node("n1").created_at);
}

// One change of what would be right, and what it is refused with.
struct Case {
  const char* fault;
  std::function<void(ImportLedger&)> spoil;
};

class ImportCases : public testing::Test {
 protected:
  ImportCases() : world_(kHosts), empty_(EmptyLike(world_.state())) {
    service_.record = 9;
    service_.service.host = "h1";
    service_.service.binary = "berth-tracker";
    service_.service.id = Uuid{7, 7};
    node_.record = 10;
    node_.node.id = world_.provider("cn1");
    node_.node.name = "cn1";
    node_.node.host = "h1";
  }

  // Records: 1 class, 2 trait, 3 cn1, 4 numa0, 5 pf1, 6 shr, 7 and 8 consumers, 9 service, 10 node.
  ImportLedger Right() const {
    ImportLedger import = ImportOf(world_.state());
    import.services.push_back(service_);
    import.nodes.push_back(node_);
    EXPECT_EQ(import.consumers.back().record, 8);
    return import;
  }

  void Expect(const State& state, const std::vector<Case>& cases) const {
    for (const Case& one : cases) {
      ImportLedger import = Right();
      one.spoil(import);
      const RuleContext context{absl::FromUnixSeconds(1), Generation{1}};
      const auto outcome = Decide(state, import, context);
      EXPECT_EQ(FaultOf(outcome), one.fault) << outcome.status();
    }
  }

  World world_;
  State empty_;
  ImportedService service_;
  ImportedNode node_;
};

TEST_F(ImportCases, Form) {
  const ProviderId pf1 = world_.provider("pf1");
  Expect(empty_,
         {{"OK", [](ImportLedger&) {}},
          {"INVALID_NAME 1", [](ImportLedger& i) { i.classes[0].name = "FPGA"; }},  // P-20
          {"INVALID_NAME 2", [](ImportLedger& i) { i.traits[0].name = "CUSTOM_a"; }},
          {"DUPLICATE_PARAMETER 99",
           [](ImportLedger& i) {
             i.traits.push_back({99, "CUSTOM_GOLD"});
           }},
          {"INVALID_FIELD 4", [](ImportLedger& i) { i.providers[1].name = ""; }},           // P-10
          {"DUPLICATE_PARAMETER 6", [](ImportLedger& i) { i.providers[3].name = "cn1"; }},  // P-11
          {"DUPLICATE_PARAMETER 5", [](ImportLedger& i) { i.providers[2].id = i.providers[0].id; }},
          {"INVALID_FIELD 4",
           [&](ImportLedger& i) { i.providers[1].parent = pf1; }},  // it comes later
          {"INVALID_FIELD 3",
           [](ImportLedger& i) { i.providers[0].inventories[0].inventory.total = 0; }},  // P-15
          {"DUPLICATE_PARAMETER 3",
           [](ImportLedger& i) {
             i.providers[0].inventories.push_back(i.providers[0].inventories[0]);
           }},
          {"INVALID_FIELD 3", [](ImportLedger& i) { i.providers[0].traits = {"gold"}; }},
          {"DUPLICATE_PARAMETER 3",
           [](ImportLedger& i) { i.providers[0].aggregates[1] = i.providers[0].aggregates[0]; }},
          {"INVALID_FIELD 7", [](ImportLedger& i) { i.consumers[0].project = ""; }},
          {"INVALID_FIELD 8", [](ImportLedger& i) { i.consumers[1].type = "unknown"; }},
          {"OK", [](ImportLedger& i) { i.consumers[1].type = ""; }},                         // P-24
          {"INVALID_FIELD 7", [](ImportLedger& i) { i.consumers[0].allocations.clear(); }},  // P-3
          {"INVALID_FIELD 7",
           [](ImportLedger& i) { i.consumers[0].allocations[0].amounts[0].amount = 0; }},  // P-25
          {"DUPLICATE_PARAMETER 7",
           [](ImportLedger& i) {
             i.consumers[0].allocations.push_back(i.consumers[0].allocations[0]);
           }},
          {"DUPLICATE_PARAMETER 8", [](ImportLedger& i) { i.consumers[1].id = i.consumers[0].id; }},
          {"INVALID_FIELD 9", [](ImportLedger& i) { i.services[0].service.host = ""; }},
          {"DUPLICATE_PARAMETER 9", [](ImportLedger& i) { i.services.push_back(i.services[0]); }},
          {"INVALID_FIELD 10", [](ImportLedger& i) { i.nodes[0].node.name = ""; }},
          {"DUPLICATE_PARAMETER 10", [](ImportLedger& i) { i.nodes.push_back(i.nodes[0]); }},
          {"INVALID_FIELD 10",
           [](ImportLedger& i) {
             i.nodes[0].node.facts = std::make_shared<const std::string>(kFactsBytesMax + 1, 'x');
           }},
          {"INVALID_FIELD 10", [](ImportLedger& i) { i.nodes[0].node.account.resize(70'000); }},
          // Last, whatever comes behind it.
          {"INVALID_FIELD 10",
           [](ImportLedger& i) {
             i.providers[0].inventories[0].inventory.reserved = 9;
             i.nodes[0].node.host = "";
           }},
          {"INVALID_INVENTORY 3",
           [](ImportLedger& i) { i.providers[0].inventories[1].inventory.reserved = 9; }}});
}

// An import into a ledger that has something already, with a fault for every stage. Each record has
// one; ids do not meet those of worlds by accident.
struct Broken {
  World there{R"(
    taken{VCPU:2 used 1}
    odd{VCPU:8 min 2}
  )"};
  State state = there.state();
  const ProviderId full = there.provider("taken"), odd = there.provider("odd");
  ImportLedger import;

  ImportedProvider& Provider(int64_t record, const std::string& name) {
    ImportedProvider& one = import.providers.emplace_back();
    one.record = record;
    one.id = ProviderId{Uuid{50, static_cast<uint64_t>(record)}};
    one.name = name;
    one.inventories = {{"VCPU", {4}}};
    return one;
  }
  ImportedConsumer& Consumer(int64_t record, ProviderId of, const std::string& resource_class) {
    ImportedConsumer& one = import.consumers.emplace_back();
    one.record = record;
    one.id = ConsumerId{Uuid{51, static_cast<uint64_t>(record)}};
    one.project = one.user = "p";
    one.type = "T";
    one.allocations = {{of, {{resource_class, 1}}}};
    return one;
  }

  static NodeRecord Node(ProviderId id, const std::string& name) {
    NodeRecord node;
    node.id = id;
    node.name = name;
    node.host = "h1";
    return node;
  }

  Broken() {
    Provider(1, "a").parent = ProviderId{Uuid{50, 1}};
    Provider(2, "b").parent = ProviderId{Uuid{60, 1}};
    Provider(3, "taken");
    Provider(4, "c").traits = {"CUSTOM_NEW"};
    const ProviderId c = import.providers[3].id;
    Consumer(5, c, "VCPU").id = there.consumer("held-by-taken");
    Consumer(6, ProviderId{Uuid{60, 2}}, "VCPU");
    Consumer(7, c, "CUSTOM_C");
    Consumer(8, c, "DISK_GB");
    Consumer(9, odd, "VCPU");
    Consumer(10, full, "VCPU");
    Consumer(11, full, "VCPU");
    ServiceRecord service;
    service.host = "h1";
    service.binary = "berth-tracker";
    service.id = Uuid{7, 7};
    state.Apply({ServicePut{std::make_shared<const ServiceRecord>(service)},
                 NodePut{std::make_shared<const NodeRecord>(Node(full, "taken"))}});
    import.services.push_back({12, service, {}});
    import.nodes.push_back({13, Node(ProviderId{Uuid { 60, 3 }}, "x"), {}});
    import.nodes.push_back({14, Node(odd, "taken"), {}});
    import.require_empty = true;
  }
};

// Errors by precedence: each line repairs the one before it.
TEST(RulesImport, Ladder) {
  Broken broken;
  State& state = broken.state;
  ImportLedger& import = broken.import;
  const ProviderId full = broken.full, odd = broken.odd;
  const auto next = [&](const char* fault, const std::function<void()>& repair) {
    const auto outcome = Decide(state, import, {absl::FromUnixSeconds(1), Generation{1'000}});
    EXPECT_EQ(FaultOf(outcome), fault) << outcome.status();
    repair();
  };
  next("WRONG_LEDGER_STATE", [&] { import.require_empty = false; });
  next("SELF_PARENT 1", [&] { import.providers[0].parent.reset(); });
  next("PARENT_NOT_FOUND 2", [&] { import.providers[1].parent = full; });
  next("DUPLICATE_PROVIDER 3", [&] { import.providers[2].name = "free"; });
  next("TRAIT_NOT_FOUND 4", [&] { import.traits.push_back({99, "CUSTOM_NEW"}); });
  next("CONSUMER_GENERATION_CONFLICT 5", [&] { import.consumers[0].id = {Uuid { 51, 5 }}; });
  next("PROVIDER_NOT_FOUND 6", [&] { import.consumers[1].allocations[0].provider = odd; });
  import.consumers[1].allocations[0].amounts[0].amount = 2;
  next("RESOURCE_CLASS_NOT_FOUND 7", [&] { import.classes.push_back({98, "CUSTOM_C"}); });
  next("NO_INVENTORY 7", [&] { import.providers[3].inventories.push_back({"CUSTOM_C", { 4 }}); });
  next("NO_INVENTORY 8", [&] { import.providers[3].inventories.push_back({"DISK_GB", { 1 }}); });
  next("UNIT_CONSTRAINT_VIOLATED 9",
       [&] { import.consumers[4].allocations[0].amounts[0].amount = 2; });  // P-130
  next("CAPACITY_EXCEEDED 11", [&] { import.consumers.pop_back(); });       // P-4, P-132
  next("DUPLICATE_SERVICE 12", [&] { import.services.clear(); });
  next("PROVIDER_NOT_FOUND 13", [&] { import.nodes[0].node.id = import.providers[0].id; });
  next("DUPLICATE_NODE 14", [&] { import.nodes[1].node.name = "odd"; });
  next("OK", [] {});
  next("OK", [&] { import.validate_only = true; });
  Command validation;
  validation.body = import;
  const auto validated = Decide(state, validation, {absl::FromUnixSeconds(1), Generation{1'000}});
  EXPECT_TRUE(validated->changes.empty());
  EXPECT_EQ(validated->result.imported, import.size());
  import.validate_only = false;
  const State before = state;
  state.Apply(Decide(state, import, {absl::FromUnixSeconds(1), Generation{1'000}})->changes);
  CheckStep(before, state, Generation{1'000});
  CheckSafety(state);
}

TEST_F(ImportCases, NamesThatAreThereStay) {
  ImportLedger import = Right();
  State state = empty_;
  state.Apply({ClassPut{state.catalog().classes.NextId(), "CUSTOM_FPGA"}});
  import.require_empty = true;
  EXPECT_EQ(FaultOf(Decide(state, import, {absl::Now(), Generation{1}})), "WRONG_LEDGER_STATE");
  import.require_empty = false;
  const auto outcome = Decide(state, import, {absl::Now(), Generation{1}});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->result.imported, 10);
  state.Apply(outcome->changes);
  CheckSafety(state);
}

TEST(RulesImport, Limits) {
  ImportLedger import;
  for (int64_t i = 0; i <= kImportedMax; ++i) import.classes.push_back({i, "CUSTOM_X"});
  EXPECT_EQ(ReasonOf(Decide(State(), import, {absl::Now(), Generation{1}})), "INVALID_FIELD");
  EXPECT_EQ(ReasonOf(Decide(State(), ImportLedger(), {absl::Now(), Generation{1}})), "OK");
}

TEST(RulesImport, AMigrationHasNoUuidOfAnInstance) {
  const RuleContext context{absl::FromUnixSeconds(1), Generation{1000}};
  ImportLedger import;
  import.instances.push_back({1, RecordWorld::InstanceOn(1, "h1"), {}});
  import.instances.push_back({2, RecordWorld::InstanceOn(2, "h1"), {}});
  MigrationRecord migration = RecordWorld::MigrationOf(1, 1, "h1", "h2");
  migration.status = "running";
  migration.id = MigrationId{RecordWorld::Instance(1).uuid};
  import.migrations.push_back({3, migration, {}});
  EXPECT_EQ(FaultOf(Decide(State(), import, context)), "INVALID_FIELD 3");
  import.migrations[0].migration.id = MigrationId{RecordWorld::Instance(2).uuid};
  EXPECT_EQ(FaultOf(Decide(State(), import, context)), "UUID_IN_USE 3");
  // One of the two is in the ledger already.
  RecordWorld there;
  ASSERT_EQ(there.Set(RecordWorld::InstanceOn(1, "h1")), "OK");
  ASSERT_EQ(there.Set(RecordWorld::InstanceOn(2, "h1")), "OK");
  import.instances.clear();
  EXPECT_EQ(FaultOf(Decide(there.world.state(), import, context)), "UUID_IN_USE 3");
  ASSERT_EQ(there.Answer(CreateMigration{RecordWorld::MigrationOf(1, 1, "h1", "h2")}), "OK");
  import.migrations.clear();
  import.instances.push_back({1, RecordWorld::InstanceOn(3, "h1"), {}});
  import.instances[0].instance.id = InstanceId{RecordWorld::Migration(1).uuid};
  EXPECT_EQ(FaultOf(Decide(there.world.state(), import, context)), "UUID_IN_USE 1");
}

TEST(RulesImport, AggregatesHaveNamesOfTheirOwn) {
  const RuleContext context{absl::FromUnixSeconds(1), Generation{1000}};
  const auto named = [](RecordNumber record, uint64_t number, const std::string& name) {
    ImportedAggregate one;
    one.record = record;
    one.aggregate.id = AggregateId{Uuid{14, number}};
    one.aggregate.name = name;
    return one;
  };
  World world;
  world.Must(SetAggregate{named(0, 9, "there").aggregate, std::nullopt});
  ImportLedger import;
  import.aggregates = {named(1, 1, "a"), named(2, 1, "a"), named(3, 9, "b"), named(4, 4, "there")};
  const auto fault = [&] { return FaultOf(Decide(world.state(), import, context)); };
  import.aggregates[0].aggregate.metadata = {{ "", "v" }};
  EXPECT_EQ(fault(), "INVALID_FIELD 1");
  import.aggregates[0].aggregate.metadata = {{ "k", "v" }};
  EXPECT_EQ(fault(), "DUPLICATE_PARAMETER 2");
  import.aggregates[1].aggregate.id = AggregateId{Uuid { 14, 2 }};
  EXPECT_EQ(fault(), "DUPLICATE_PARAMETER 2");  // the name
  import.aggregates[1].aggregate.name = "c";
  EXPECT_EQ(fault(), "RECORD_CONFLICT 3");
  import.aggregates[2].aggregate.id = AggregateId{Uuid { 14, 3 }};
  EXPECT_EQ(fault(), "DUPLICATE_AGGREGATE 4");
  import.aggregates[3].aggregate.name = "d";
  import.aggregates[3].times.created_at = absl::FromUnixSeconds(7);
  EXPECT_EQ(fault(), "OK");
  State state = world.state();
  state.Apply(Decide(state, import, context)->changes);
  const AggregatePtr found = state.aggregates().FindByName("d");
  EXPECT_EQ(found->generation, Generation{1000});
  EXPECT_EQ(found->created_at, absl::FromUnixSeconds(7));
  EXPECT_EQ(found->updated_at, absl::FromUnixSeconds(1));
  EXPECT_EQ(TextOf(Brought(state, Generation{5})), TextOf(state));
}

}  // namespace
}  // namespace berth::placement
