// What counts on a node, by the cases that the ledger's rule of owners is tested with, too.
#include "tests/counted/counted_cases.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tracker/account/gates.h"

namespace berth::tracker {
namespace {

const HostAndNode kCaseSource = {"h1", "source"_uuid};
const HostAndNode kCaseDestination = {"h2", "destination"_uuid};
const HostAndNode kCaseThird = {"h3", "third"_uuid};

// The parts of a record, each with a CPU, a device and a unit of its own.
const char* const kCaseParts[] = {"own", "old", "new"};

std::string CaseDevice(int part) { return absl::StrCat("0000:81:0", part, ".0"); }
NamedUnit CaseUnit(int part) { return {"units"_uuid, "CUSTOM_A", kCaseParts[part]}; }
Assigned AssignedOf(int part) { return {MakePinned({part}), {CaseDevice(part)}, {CaseUnit(part)}}; }

void AddTo(Assigned* assigned, const Assigned& more) {
  assigned->topology->cells.push_back(more.topology->cells[0]);
  assigned->devices.insert(assigned->devices.end(), more.devices.begin(), more.devices.end());
  assigned->units.insert(assigned->units.end(), more.units.begin(), more.units.end());
}

// The flavor of before the migration has one CPU, that of after it has ten.
Flavor CaseFlavor(const std::string& which) {
  return MakeFlavor(which, which == "old" ? 1 : 10, 512, 1);
}

std::string Joined(const std::string& one, const std::string& other) {
  return absl::StrCat(one, one.empty() || other.empty() ? "" : "+", other);
}

MigrationType TypeOf(const std::string& move) {
  return move == "resize"       ? MigrationType::kResize
         : move == "live"       ? MigrationType::kLive
         : move == "evacuation" ? MigrationType::kEvacuation
                                : MigrationType::kCold;
}

// The records of a case, and the account of the node that it asks.
class CaseWorld {
 public:
  explicit CaseWorld(const CountedCase& one) : case_(one) {
    self_ = one.node == "source" || one.node == "source-host" ? source_
            : one.node == "both"                              ? source_
            : one.node == "neither"                           ? kCaseThird
                                                              : destination_;
    if (one.node == "both") destination_ = source_;
    SetUpInstance();
    if (one.has_move()) SetUpMigrations();
    resources_.topology = MakeTopology();
  }

  // As the columns of the case say it.
  std::string Counts() const {
    const NodeAccount account = Account();
    const bool counts = account.IsTracked(instance_.uuid);
    const bool moves = account.tracked_migrations().contains(instance_.uuid);
    const auto hold = JudgeMigrations(self_, instance_, Pointers()).hold;
    EXPECT_EQ(moves, hold.has_value());
    int64_t vcpus = counts ? instance_.flavor.vcpus : 0;
    if (hold.has_value()) vcpus += hold->flavor.vcpus;
    EXPECT_EQ(account.used().vcpus, vcpus);
    const std::string side = hold.has_value() ? (hold->side == Side::kOld ? "old" : "new") : "";
    return Joined(counts ? "instance" : "", side);
  }

  std::string Owners() const {
    const NodeAccount account = Account();
    const bool lacks_flavor =
        case_.move == "resize" && !(case_.has_flavor("old") && case_.has_flavor("new"));
    // A resize whose flavor is not written yet counts with the new side beside a record that has it.
    const bool has_new_twice = case_.context == "applied" && case_.move == "resize";
    EXPECT_TRUE(account.faults().empty() || lacks_flavor || has_new_twice);
    std::string owners;
    for (int part = 0; part < 3; ++part) {
      const HostCell& cell = account.owners().cells()[0];
      const bool owned = cell.usage.pinned_cpus.Contains(part);
      EXPECT_EQ(account.owners().by_device().contains(CaseDevice(part)), owned);
      EXPECT_EQ(account.owners().by_unit().contains(CaseUnit(part)), owned);
      if (owned) owners = Joined(owners, kCaseParts[part]);
    }
    return owners;
  }

 private:
  void SetUpInstance() {
    const std::string& at = case_.instance;
    const HostAndNode on = at == "source"        ? source_
                           : at == "destination" ? destination_
                           : at == "node"        ? self_
                           : at == "host"        ? HostAndNode{self_.host, {}}
                           : at == "elsewhere"   ? kCaseThird
                                                 : HostAndNode();
    instance_ = MakeInstance("i", on, CaseFlavor(case_.flavor));
    if (at == "elsewhere" && !case_.has_move()) instance_.on = kCaseDestination;
    instance_.vm_state = case_.vm_state;
    instance_.task_state = case_.task_state;
    instance_.deleted = case_.vm_state == "deleted";
    const bool is_grown = case_.context == "grown";
    instance_.assigned = AssignedOf(case_.context == "applied" || is_grown ? 2 : 0);
    if (is_grown) AddTo(&instance_.assigned, AssignedOf(0));
    if (!case_.has_context()) return;
    MigrationContext& context = instance_.context.emplace();
    context.migration_uuid = case_.context == "other"     ? "of another"_uuid
                             : case_.context == "unnamed" ? ""_uuid
                                                          : "m"_uuid;
    if (case_.has_flavor("old")) context.old_flavor = CaseFlavor("old");
    if (case_.has_flavor("new")) context.new_flavor = CaseFlavor("new");
    context.old_assigned = AssignedOf(1);
    context.new_assigned = AssignedOf(2);
  }

  void SetUpMigrations() {
    Migration first =
        MakeMigration(instance_, TypeOf(case_.move), case_.status, source_, destination_);
    first.old_flavor_id = "old";
    first.new_flavor_id = case_.move == "resize" ? "new" : "old";
    if (case_.node == "source-host") first.source.node_uuid = {};
    if (case_.node == "destination-host") first.destination.node_uuid = {};
    first.updated_at = absl::UnixEpoch() + absl::Seconds(CountedCase::kChangedAt);
    migrations_ = {first};
    if (case_.beside.empty()) return;
    Migration beside = first;
    beside.uuid = "n"_uuid;  // higher than that of the first
    beside.created_at += absl::Seconds(case_.beside_created_at());
    beside.updated_at = absl::UnixEpoch() + absl::Seconds(case_.beside_changed_at());
    if (case_.beside == "newer-over") beside.status = "failed";
    if (case_.beside == "newer-elsewhere") {
      beside.source = kCaseThird;
      beside.destination = {"h4", "fourth"_uuid};
    }
    migrations_.push_back(beside);
  }

  std::vector<const Migration*> Pointers() const {
    std::vector<const Migration*> pointers;
    for (const Migration& migration : migrations_) pointers.push_back(&migration);
    return pointers;
  }

  NodeAccount Account() const {
    NodeAccount account(self_, resources_);
    for (const Migration& migration : migrations_) account.PutMigration(migration);
    account.PutInstance(instance_);
    EXPECT_TRUE(account == account.Rebuilt());
    return account;
  }

  const CountedCase& case_;
  const HostAndNode source_ = kCaseSource;
  HostAndNode destination_ = kCaseDestination;
  HostAndNode self_;
  NodeResources resources_;
  Instance instance_;
  std::vector<Migration> migrations_;
};

TEST(CountedCases, TheAccountCountsEachCaseAsItSays) {
  for (const CountedCase& one : ReadCountedCases()) {
    SCOPED_TRACE(one.name);
    const CaseWorld world(one);
    EXPECT_EQ(world.Counts(), one.counts) << one.name;  // T-111, T-112, T-123, T-129, T-133
    EXPECT_EQ(world.Owners(), one.owners) << one.name;  // T-134, T-149
  }
}

// Two records name one CPU, and a deleted one names it, too. Nobody is offered it until both are
// gone; the first one by uuid has it.
TEST(CountedCases, ACpuOfTwoRecordsIsOfferedToNobody) {
  NodeResources resources;
  resources.topology = MakeTopology();
  NodeAccount account(kHere, resources);
  std::vector<Instance> instances;
  for (const char* name : {"i", "j", "k"}) {
    instances.push_back(MakeInstance(name, kHere, MakeFlavor("old", 1, 512, 1)));
    instances.back().assigned = {MakePinned({3}), {}, {}};
  }
  instances[2].vm_state = "deleted";
  instances[2].deleted = true;
  const auto offered = [&] {
    return !account.owners().OfferedCells()[0].usage.pinned_cpus.Contains(3);
  };
  for (const Instance& instance : instances) account.PutInstance(instance);
  EXPECT_EQ(account.faults().size(), 1u);  // T-61, T-284
  EXPECT_FALSE(offered());                 // T-395
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(offered());
    instances[i].vm_state = "deleted";
    instances[i].deleted = true;
    account.PutInstance(instances[i]);
    EXPECT_TRUE(account.faults().empty());
  }
  EXPECT_TRUE(offered());  // T-112
}

}  // namespace
}  // namespace berth::tracker
