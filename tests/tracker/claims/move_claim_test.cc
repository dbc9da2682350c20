// Claims of moves: what a migration gets on its destination (T-168 to T-172).
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/claims/rich_claims.h"
#include "tracker/devices/device_providers.h"

namespace berth::tracker {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(ClaimMove, TakesWhatTheNewFlavorNeeds) {
  NodeAccount account(kHere, RichHost());
  MoveClaim request = RichMove(MigrationType::kResize, kThere);
  request.instance.task_state = "resize_prep";
  request.instance.launched_on = "h0";
  DeviceRequest port = *RequestsOfFlavor("nic:1", Settings().device_aliases, std::nullopt)->begin();
  port.source = DeviceRequestSource::kNeutronPort;
  request.instance.device_requests = {port};
  const auto claim = ClaimMove(Settings(), request, &account);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(claim->instance.on, kThere);  // T-169
  EXPECT_EQ(claim->instance.launched_on, "h0") << "a move is no build";
  EXPECT_EQ(claim->migration->status, "pre-migrating");  // T-168
  EXPECT_EQ(claim->migration->destination, kHere);       // T-168
  const MigrationContext& context = *claim->instance.context;
  EXPECT_EQ(context.migration_uuid, "m"_uuid);                            // T-168
  EXPECT_EQ(context.old_assigned, request.instance.assigned);             // T-168
  EXPECT_EQ(context.new_assigned.topology->cells[0].pinning.size(), 2u);  // T-168
  EXPECT_THAT(context.new_assigned.devices, SizeIs(2));                   // T-168: with the port
  EXPECT_THAT(context.new_assigned.units, SizeIs(1));
  EXPECT_EQ(account.used(), (Amounts{2, 512, 10 * kMibPerGib}));  // T-168
  EXPECT_THAT(account.tracked_migrations(), ElementsAre(Pair("a"_uuid, "m"_uuid)));
}

// Placement has chosen the card. An audit would allocate any other card too.
TEST(ClaimMove, TakesTheDevicesThatPlacementHasAllocated) {
  NodeAccount account(kHere, RichHost());
  account.SetDeviceProviders({{"0000:81:00.0", "p"_uuid}, {"0000:81:01.0", "q"_uuid}});
  MoveClaim request = RichMove(MigrationType::kResize, kThere);
  request.instance.task_state = "resize_prep";
  request.units.push_back({"q"_uuid, "CUSTOM_PCI_8086_1533", 1});
  request.new_flavor.extra_specs["pci_passthrough:alias"] = "nic:2";
  EXPECT_THAT(Reasons(ClaimMove(Settings(), request, &account).status()),
              Contains("Claim pci failed"));  // T-246: one is allocated
  request.new_flavor.extra_specs["pci_passthrough:alias"] = "nic:1";
  const auto claim = ClaimMove(Settings(), request, &account);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_THAT(claim->instance.context->new_assigned.devices,
              ElementsAre("0000:81:01.0"));  // T-249
  EXPECT_EQ(claim->instance.context->new_device_requests[0].providers, std::nullopt);
  const auto never = [](absl::string_view) { return false; };
  const DeviceTable table = account.Devices();
  const auto tree = DescribeDeviceProviders("n", table, {}, {never, never});
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_THAT(MissingDeviceAllocations(*tree, table, {{"a"_uuid, {{"0000:81:01.0", 1}}}}, {}),
              IsEmpty());  // T-262
}

// A second claim would choose other CPUs, while the record still names the first ones.
TEST(ClaimMove, AMoveThatIsClaimedIsNotClaimedAgain) {
  NodeAccount account(kHere, RichHost());
  MoveClaim request = RichMove(MigrationType::kCold, kThere);
  request.instance.task_state = "resize_prep";
  request.instance.context.emplace().migration_uuid = request.migration.uuid;
  EXPECT_EQ(RefusalOf(ClaimMove(Settings(), request, &account).status())->kind,
            ClaimRefusalKind::kAlreadyClaimed);  // T-181
  request.instance.context->migration_uuid = "another"_uuid;
  EXPECT_TRUE(ClaimMove(Settings(), request, &account).ok());
}

TEST(ClaimMove, AResizeInPlaceCountsBoth) {
  NodeAccount account(kHere, RichHost());
  MoveClaim request = RichMove(MigrationType::kResize, kHere);
  request.instance.task_state = "resize_prep";
  account.PutInstance(request.instance);
  const auto claim = ClaimMove(Settings(), request, &account);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(account.used().vcpus, 3);                                   // T-172
  EXPECT_EQ(account.owners().cells()[0].usage.pinned_cpus.Count(), 3);  // T-395
}

TEST(ClaimMove, ARefusedResizeInPlaceSaysThatBothCount) {
  NodeAccount account(kHere, RichHost());
  MoveClaim request = RichMove(MigrationType::kResize, kHere);
  request.instance.task_state = "resize_prep";
  account.PutInstance(request.instance);
  request.limits.vcpus = 2;
  const absl::Status in_place = ClaimMove(Settings(), request, &account).status();
  EXPECT_THAT(in_place.message(), HasSubstr("counts twice"));          // T-348
  EXPECT_EQ(RefusalOf(in_place)->kind, ClaimRefusalKind::kResources);  // T-348
  EXPECT_THAT(RefusalOf(in_place)->reasons, Each(Not(HasSubstr("twice"))));
  MoveClaim elsewhere = RichMove(MigrationType::kResize, kThere);
  elsewhere.limits.vcpus = 1;
  const absl::Status moved = ClaimMove(Settings(), elsewhere, &account).status();
  EXPECT_EQ(RefusalOf(moved)->kind, ClaimRefusalKind::kResources);
  EXPECT_THAT(moved.message(), Not(HasSubstr("twice")));
}

TEST(ClaimMove, EveryKindOfMoveIsClaimed) {
  for (const MigrationType type : {MigrationType::kCold, MigrationType::kResize,
                                   MigrationType::kLive, MigrationType::kEvacuation}) {
    NodeAccount account(kHere, RichHost());
    MoveClaim request = RichMove(type, kThere);
    request.instance.task_state = type == MigrationType::kLive         ? "migrating"
                                  : type == MigrationType::kEvacuation ? "rebuilding"
                                                                       : "resize_prep";
    const int64_t vcpus = type == MigrationType::kResize ? request.new_flavor.vcpus : 1;
    if (type != MigrationType::kResize) {
      request.new_flavor.vcpus = 1;
      request.instance.flavor = request.new_flavor;
    }
    const auto claim = ClaimMove(Settings(), request, &account);
    ASSERT_TRUE(claim.ok()) << claim.status();
    EXPECT_EQ(account.used().vcpus, vcpus);                // T-152
    EXPECT_THAT(account.tracked_migrations(), SizeIs(1));  // T-152
    EXPECT_EQ(claim->migration->destination, kHere);       // T-152
  }
}

TEST(ClaimMove, ALiveMigrationKeepsStatusPagesAndDevices) {
  NodeAccount account(kHere, RichHost());
  MoveClaim request = RichMove(MigrationType::kLive, kThere);
  request.instance.task_state = "migrating";
  const auto claim = ClaimMove(Settings(), request, &account);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(claim->migration->status, "accepted");                        // T-168
  EXPECT_THAT(claim->instance.context->new_assigned.devices, IsEmpty());  // T-168
  EXPECT_TRUE(account.Close(request.instance.uuid, "move"));
  const NodeAccount before = account;
  request.instance.flavor.extra_specs["hw:mem_page_size"] = "small";
  request.new_flavor = request.instance.flavor;
  const auto refused = ClaimMove(Settings(), request, &account);
  EXPECT_EQ(RefusalOf(refused.status())->kind, ClaimRefusalKind::kPageSizeMismatch);  // T-168
  EXPECT_EQ(account, before);
  request.migration.type = MigrationType::kCold;
  EXPECT_TRUE(ClaimMove(Settings(), request, &account).ok());
}

TEST(ClaimMove, ALiveMigrationKeepsItsFlavorAndMayGoElsewhereAfterARefusal) {
  NodeAccount full(kHere, RichHost());
  MoveClaim request = RichMove(MigrationType::kLive, kThere);
  request.instance.task_state = "migrating";
  request.instance.image = {{"hw_cpu_sockets", "1"}};
  request.limits.memory_mib = 1;
  EXPECT_EQ(RefusalOf(ClaimMove(Settings(), request, &full).status())->kind,
            ClaimRefusalKind::kResources);
  request.limits = {};
  NodeAccount next(kHere, RichHost());
  MoveClaim larger = request;
  larger.new_flavor.memory_mib *= 2;
  EXPECT_EQ(ClaimMove(Settings(), larger, &next).status().code(),
            absl::StatusCode::kInvalidArgument);  // T-171
  const auto claim = ClaimMove(Settings(), request, &next);
  ASSERT_TRUE(claim.ok()) << claim.status();                                // T-171: the next host
  EXPECT_EQ(claim->instance.flavor, request.instance.flavor);               // T-171
  EXPECT_EQ(claim->instance.image, request.instance.image);                 // T-171
  EXPECT_EQ(claim->instance.context->new_flavor, request.instance.flavor);  // T-171
}

TEST(ClaimMove, RatiosLimitTheCellsOfALiveMigration) {
  MoveClaim request = RichMove(MigrationType::kLive, kThere);
  request.instance.task_state = "migrating";
  request.new_flavor = MakeFlavor("large", 6, 512, 10);
  request.new_flavor.extra_specs = {{"hw:numa_nodes", "1"}};
  request.instance.flavor = request.new_flavor;
  ClaimSettings settings = Settings();
  NodeAccount account(kHere, RichHost());
  settings.default_cell_limits = CellLimits{0.5, 1.0};
  EXPECT_FALSE(ClaimMove(settings, request, &account).ok());  // T-377: 6 of 8 * 0.5 CPUs
  settings.default_cell_limits = CellLimits{1.0, 1.0};
  EXPECT_TRUE(ClaimMove(settings, request, &account).ok());  // T-377
}

TEST(ClaimMove, TheIdOfAnotherRequestIsRefused) {
  NodeAccount account(kHere, RichHost());
  MoveClaim request = RichMove(MigrationType::kCold, kThere);
  request.body = "digest";
  ASSERT_TRUE(ClaimMove(Settings(), request, &account).ok());
  const NodeAccount once = account;
  EXPECT_TRUE(ClaimMove(Settings(), request, &account).ok());
  InstanceClaim build = RichRequest("a");
  build.id = request.id;
  build.body = request.body;
  EXPECT_EQ(RefusalOf(ClaimInstance(Settings(), build, &account).status())->kind,
            ClaimRefusalKind::kRequestIdReused);
  request.body = "another";
  EXPECT_EQ(RefusalOf(ClaimMove(Settings(), request, &account).status())->kind,
            ClaimRefusalKind::kRequestIdReused);
  EXPECT_EQ(account, once);
}

TEST(ClaimMove, ARefusedMoveChangesNothing) {
  NodeAccount account(kHere, RichHost());
  const NodeAccount before = account;
  MoveClaim request = RichMove(MigrationType::kCold, kThere);
  request.instance.task_state = "resize_prep";
  request.limits.memory_mib = 1;
  EXPECT_FALSE(ClaimMove(Settings(), request, &account).ok());
  EXPECT_EQ(account, before);  // T-156
  request.limits = {};
  request.new_flavor.extra_specs["pci_passthrough:alias"] = "unknown:1";
  EXPECT_EQ(ClaimMove(Settings(), request, &account).status().code(), absl::StatusCode::kNotFound);
  request.new_flavor.extra_specs = {{"hw:numa_nodes", "0"}};
  EXPECT_EQ(ClaimMove(Settings(), request, &account).status().code(),
            absl::StatusCode::kInvalidArgument);
  request.node_uuid = "unknown"_uuid;
  EXPECT_EQ(RefusalOf(ClaimMove(Settings(), request, &account).status())->kind,
            ClaimRefusalKind::kNodeUnavailable);  // T-168
  EXPECT_EQ(account, before);
}

// Whatever state the records say, what a claim was given is nobody else's.
TEST(ClaimMove, AClaimCountsInEveryStateOfTheInstance) {
  NodeAccount account(kHere, RichHost());
  MoveClaim request = RichMove(MigrationType::kEvacuation, kThere);
  request.instance.vm_state = "error";
  request.new_flavor = request.instance.flavor;
  request.new_flavor.extra_specs["hw:cpu_policy"] = "dedicated";
  account.PutInstance(request.instance);
  Migration newer = request.migration;
  newer.uuid = "newer"_uuid;
  newer.destination = kHere;
  newer.created_at += absl::Seconds(5);
  account.PutMigration(newer);
  ASSERT_TRUE(ClaimMove(Settings(), request, &account).ok());
  EXPECT_EQ(account.used().vcpus, 1);  // T-168, T-182
  EXPECT_THAT(account.tracked_migrations(), ElementsAre(Pair("a"_uuid, "m"_uuid)));
  EXPECT_EQ(account.owners().cells()[0].usage.pinned_cpus.Count(), 1);  // T-395
  EXPECT_EQ(account.owners().by_unit().at({"node-1"_uuid, "PMEM", "ns0"}), "a"_uuid);
  EXPECT_EQ(account.Rebuilt(), account);  // T-394
}

TEST(Claims, NobodyClaimsForADeletedInstanceOrAMoveThatIsOver) {
  NodeAccount account(kHere, RichHost());
  InstanceClaim build = RichRequest("a");
  MoveClaim move = RichMove(MigrationType::kCold, kThere);
  const auto refused = [&] {
    const NodeAccount before = account;
    const absl::Status built = ClaimInstance(Settings(), build, &account).status();
    const absl::Status moved = ClaimMove(Settings(), move, &account).status();
    EXPECT_EQ(account.OpenClaimOf("a"_uuid), nullptr);
    EXPECT_EQ(account, before);
    EXPECT_FALSE(RefusalOf(built).has_value() || RefusalOf(moved).has_value());
    return absl::IsFailedPrecondition(built) + 2 * absl::IsFailedPrecondition(moved);
  };
  build.instance.deleted = true;
  move.instance.vm_state = "deleted";
  EXPECT_EQ(refused(), 3);  // T-166
  Instance record = build.instance;
  account.PutInstance(record);  // the record says it, the request does not yet
  build.instance.deleted = false;
  move.instance.vm_state = "active";
  EXPECT_EQ(refused(), 3);  // T-166
  record.deleted = false;
  account.PutInstance(record);
  build = RichRequest("b");
  build.instance.deleted = true;
  move.migration.status = "failed";
  EXPECT_EQ(refused(), 3);
  account.PutMigration(move.migration);
  move.migration.status = "accepted";
  EXPECT_EQ(refused(), 3);
}

}  // namespace
}  // namespace berth::tracker
