// The table of devices: what it follows, who has what, and what relatives mean for each other.
#include "tracker/devices/device_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/devices/device_fixture.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPf[] = "0000:3b:00.0";
constexpr char kVf0[] = "0000:3b:02.0";
constexpr char kVf1[] = "0000:3b:02.1";
constexpr char kPlain[] = "0000:05:00.0";

DeviceTable TableOf(const std::vector<PciDevice>& devices) {
  DeviceTable table(AnyIntel());
  table.Sync(devices);
  return table;
}

DeviceRequest AskPf() { return Asking(1, {{"dev_type", "type-PF"}}); }
DeviceRequest AskVf(int64_t count = 1) { return Asking(count, {{"dev_type", "type-VF"}}); }
DeviceRequest AskPlain() { return Asking(1, {{"product_id", "0443"}}); }

PciDevice PlainOn(std::optional<int> numa_node) {
  return OneDevice(kPlain, "type-PCI", "0443", numa_node);
}

TEST(DeviceSyncing, NewDevicesAreAvailable) {  // T-239
  DeviceTable table(AnyIntel());
  const DeviceSync sync = table.Sync(CardOf("3b", 2));
  EXPECT_THAT(sync.added, ElementsAre(kPf, kVf0, kVf1));
  EXPECT_EQ(StatusIn(table, kVf1), "available");
  EXPECT_EQ(PoolsText(table.Pools()), "type-PF:1 type-VF:2");
  EXPECT_TRUE(table.Sync(CardOf("3b", 2)).added.empty());
}

TEST(DeviceSyncing, FreeDevicesThatVanishAreRemovedAtOnce) {
  DeviceTable table = TableOf(CardOf("3b", 2));
  const DeviceSync sync = table.Sync({});
  EXPECT_THAT(sync.removed, ElementsAre(kPf, kVf0, kVf1));  // T-239, T-240
  EXPECT_THAT(table.Records(), IsEmpty());                  // T-240
  EXPECT_THAT(table.Pools(), IsEmpty());
}

TEST(DeviceSyncing, DevicesWithAnOwnerAreKeptUntilTheyAreFree) {  // T-239
  DeviceTable table = TableOf({PlainOn(0)});
  ASSERT_TRUE(table.Claim("i"_uuid, {AskPlain()}, {}).ok());
  const DeviceSync sync = table.Sync({});
  EXPECT_THAT(sync.kept, ElementsAre(kPlain));
  EXPECT_THAT(
      table.warnings(),
      ElementsAre(testing::AllOf(HasSubstr(kPlain), HasSubstr("instance " + "i"_uuid.ToString()))));
  EXPECT_EQ(StatusIn(table, kPlain), "claimed i");
  EXPECT_EQ(StatusIn(Freed(table, {}, "i"_uuid), kPlain), "none");  // T-239, T-252
}

TEST(DeviceSyncing, AKeptDeviceThatComesBackStays) {  // T-239
  DeviceTable table = TableOf({PlainOn(0)});
  ASSERT_TRUE(table.Claim("i"_uuid, {AskPlain()}, {}).ok());
  table.Sync({});
  table.Sync({PlainOn(0)});
  EXPECT_EQ(StatusIn(table, kPlain), "claimed i");
  EXPECT_EQ(StatusIn(Freed(table, {PlainOn(0)}, "i"_uuid), kPlain), "available");
}

TEST(DeviceSyncing, FreeDevicesFollowTheListAtOnce) {  // T-239
  DeviceTable table = TableOf({PlainOn(0)});
  EXPECT_THAT(table.Sync({PlainOn(1)}).updated, ElementsAre(kPlain));
  EXPECT_EQ(table.Pools()[0].key.numa_node, 1);  // T-239: its key changed
  EXPECT_THAT(table.Sync({PlainOn(1)}).updated, IsEmpty());
}

// The account's own tables do not remember what an owned device was: what stays until it is free is
// its class in placement (device_children_test.cc).
TEST(DeviceSyncing, DevicesWithAnOwnerFollowTheListWhenTheyAreFree) {
  DeviceTable table = TableOf({PlainOn(0)});
  ASSERT_TRUE(table.Claim("i"_uuid, {AskPlain()}, {}).ok());
  table.Sync({PlainOn(1)});
  EXPECT_EQ(table.Find(kPlain)->device.numa_node, 0);
  const DeviceTable freed = Freed(table, {PlainOn(1)}, "i"_uuid);
  EXPECT_EQ(freed.Find(kPlain)->device.numa_node, 1);  // T-252
  EXPECT_EQ(freed.Pools()[0].key.numa_node, 1);
}

TEST(DeviceSyncing, FollowsEveryList) {  // T-241: at each pass, not only at the first
  DeviceTable table = TableOf({});
  EXPECT_EQ(table.Sync({PlainOn(0)}).added.size(), 1u);
  EXPECT_EQ(table.Sync({}).removed.size(), 1u);
  EXPECT_EQ(table.Sync({PlainOn(0)}).added.size(), 1u);
}

TEST(DeviceSyncing, APhysicalFunctionThatBecomesPlainHasNoRelativesAnyMore) {
  std::vector<PciDevice> card = CardOf("3b", 1);
  DeviceTable table = TableOf(card);
  ASSERT_TRUE(table.Claim("i"_uuid, {AskVf()}, {}).ok());
  EXPECT_EQ(StatusIn(table, kPf), "unclaimable");
  card[0].dev_type = "type-PCI";
  table.Sync(card);
  EXPECT_EQ(StatusIn(table, kPf), "available");  // T-239: relatives follow the list
}

TEST(DeviceRecords, AreLoadedWithTheirOwners) {  // T-238
  DeviceTable before = TableOf(CardOf("3b", 2));
  ASSERT_TRUE(before.Claim("i"_uuid, {AskVf()}, {}).ok());
  before = Allocated(before, CardOf("3b", 2), "i"_uuid);
  ASSERT_TRUE(before.Claim("j"_uuid, {AskVf()}, {}).ok());
  DeviceTable after = DeviceTable::Load(AnyIntel(), before.Records(), {});
  EXPECT_EQ(StatusIn(after, kVf0), "allocated i");  // T-238
  EXPECT_EQ(StatusIn(after, kVf1), "claimed j");    // T-238
  EXPECT_EQ(StatusIn(after, kPf), "unavailable");
  after = Freed(Freed(after, CardOf("3b", 2), "i"_uuid), CardOf("3b", 2), "j"_uuid);
  EXPECT_EQ(PoolsText(after.Pools()), "type-PF:1 type-VF:2");
}

TEST(DeviceRecords, SayWhatIsKnown) {  // T-237
  DeviceTable table = TableOf(CardOf("3b", 1));
  DeviceRequest request = AskVf();
  request.request_id = "r1";
  ASSERT_TRUE(table.Claim("i"_uuid, {request}, {}).ok());
  const DeviceRecord* const record = table.Find(kVf0);
  EXPECT_EQ(record->request_id, "r1");
  EXPECT_EQ(record->instance_uuid, "i"_uuid);
  EXPECT_EQ(record->device.parent_address, kPf);
  EXPECT_EQ(OwnedIn(table).size(), 1u);
  const DeviceTable freed = Freed(table, CardOf("3b", 1), "i"_uuid);
  EXPECT_EQ(freed.Find(kVf0)->request_id, "");  // T-252
}

TEST(DeviceRecords, ARebuiltTableKnowsTheRelatives) {
  DeviceRecord owned;
  owned.device.address = kVf0;  // all that is known
  owned.status = DeviceStatus::kAllocated;
  owned.instance_uuid = "i"_uuid;
  DeviceRecord twice = owned;
  twice.instance_uuid = "j"_uuid;
  const DeviceTable table = DeviceTable::Rebuild(AnyIntel(), CardOf("3b", 2), {owned, twice});
  EXPECT_EQ(StatusIn(table, kVf0), "allocated i");  // T-395: not j as well
  EXPECT_EQ(StatusIn(table, kPf), "unavailable");
  EXPECT_EQ(StatusIn(table, kVf1), "available");
  EXPECT_EQ(table.Find(kVf0)->device.dev_type, "type-VF");
}

TEST(DeviceClaiming, TakesTheFirstDevicesOfThePools) {  // T-249
  DeviceTable table = TableOf(CardOf("3b", 3));
  const auto claimed = table.Claim("i"_uuid, {AskVf(2)}, {});
  ASSERT_TRUE(claimed.ok());
  ASSERT_EQ(claimed->size(), 2u);
  EXPECT_EQ((*claimed)[0].address, kVf0);
  EXPECT_EQ((*claimed)[1].address, kVf1);
  EXPECT_EQ(StatusIn(table, kVf0), "claimed i");
}

TEST(DeviceClaiming, SaysWhichRequestFailed) {  // T-249
  DeviceTable table = TableOf(CardOf("3b", 3));
  const absl::Status failed = table.Claim("i"_uuid, {AskVf(2), AskVf(2)}, {}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(failed));
  EXPECT_THAT(std::string(failed.message()), HasSubstr("PciDeviceRequestFailed"));
  EXPECT_THAT(std::string(failed.message()), HasSubstr("request 1"));
  EXPECT_FALSE(TableOf({}).Claim("i"_uuid, {AskVf()}, {}).ok());  // T-249: no device is tracked
}

TEST(DeviceClaiming, ChangesNothingIfItFails) {  // T-250
  DeviceTable table = TableOf(CardOf("3b", 2));
  ASSERT_FALSE(table.Claim("i"_uuid, {AskVf(), AskPf()}, {}).ok());
  EXPECT_EQ(PoolsText(table.Pools()), "type-PF:1 type-VF:2");
  EXPECT_THAT(OwnedIn(table), IsEmpty());
}

TEST(DeviceClaiming, ASecondClaimAddsToTheFirst) {  // T-250
  DeviceTable table = TableOf(CardOf("3b", 3));
  ASSERT_TRUE(table.Claim("i"_uuid, {AskVf()}, {}).ok());
  ASSERT_TRUE(table.Claim("i"_uuid, {AskVf()}, {}).ok());
  EXPECT_EQ(StatusIn(table, kVf0), "claimed i");
  EXPECT_EQ(StatusIn(table, kVf1), "claimed i");
  EXPECT_THAT(OwnedIn(Freed(table, CardOf("3b", 3), "i"_uuid)), IsEmpty());
}

TEST(DeviceClaiming, OfProvidersThatPlacementChose) {  // T-249
  std::vector<PciDevice> devices = CardOf("3b", 3);
  for (const PciDevice& device : CardOf("3c", 3)) devices.push_back(device);
  DeviceTable table = TableOf(devices);
  table.SetProviders({{kPf, "a"_uuid}, {"0000:3c:00.0", "b"_uuid}});
  EXPECT_EQ(table.Pools()[1].provider_uuid, "a"_uuid);  // T-263
  DeviceRequest request = AskVf(3);
  request.providers = {{"a"_uuid, 1}, {"b"_uuid, 2}};
  const auto claimed = table.Claim("i"_uuid, {request}, {});
  ASSERT_TRUE(claimed.ok());
  EXPECT_EQ((*claimed)[0].address, kVf0);
  EXPECT_EQ((*claimed)[1].address, "0000:3c:02.0");
  EXPECT_EQ((*claimed)[2].address, "0000:3c:02.1");
}

TEST(DeviceRelatives, TakenFunctionsTakeEachOtherOutOfThePools) {  // C-17
  const std::vector<PciDevice> card = CardOf("3b", 4);
  DeviceTable table = TableOf(card);
  EXPECT_EQ(PoolsText(table.Pools()), "type-PF:1 type-VF:4");
  ASSERT_TRUE(table.Claim("i"_uuid, {AskVf()}, {}).ok());
  EXPECT_EQ(StatusIn(table, kPf), "unclaimable");           // T-252, C-17
  EXPECT_EQ(PoolsText(table.Pools()), "type-VF:3");         // T-251, C-17
  EXPECT_FALSE(table.Claim("j"_uuid, {AskPf()}, {}).ok());  // C-17
  table = Freed(table, card, "i"_uuid);
  EXPECT_EQ(PoolsText(table.Pools()), "type-PF:1 type-VF:4");  // T-252, C-17
  ASSERT_TRUE(table.Claim("j"_uuid, {AskPf()}, {}).ok());
  EXPECT_EQ(StatusIn(table, kVf1), "unclaimable");  // T-252, C-17
  EXPECT_EQ(PoolsText(table.Pools()), "");          // T-251, C-17
  EXPECT_EQ(PoolsText(Freed(table, card, "j"_uuid).Pools()), "type-PF:1 type-VF:4");
}

TEST(DeviceRelatives, VdpaFunctionsAreRelativesToo) {  // T-251
  std::vector<PciDevice> card = CardOf("3b", 2);
  card[2].dev_type = "vdpa";
  DeviceTable table = TableOf(card);
  ASSERT_TRUE(table.Claim("i"_uuid, {Asking(1, {{"dev_type", "vdpa"}})}, {}).ok());
  EXPECT_EQ(StatusIn(table, kPf), "unclaimable");
  table = Freed(table, card, "i"_uuid);
  ASSERT_TRUE(table.Claim("i"_uuid, {AskPf()}, {}).ok());
  EXPECT_EQ(StatusIn(table, kVf1), "unclaimable");
}

TEST(DeviceRelatives, AllocationMakesThemUnavailable) {  // T-252
  const std::vector<PciDevice> card = CardOf("3b", 2);
  DeviceTable table = TableOf(card);
  ASSERT_TRUE(table.Claim("i"_uuid, {AskVf()}, {}).ok());
  table = Allocated(table, card, "i"_uuid);
  EXPECT_EQ(StatusIn(table, kPf), "unavailable");
  ASSERT_TRUE(table.Claim("j"_uuid, {AskVf()}, {}).ok());  // T-252: beside an unavailable PF
  EXPECT_EQ(StatusIn(table, kPf), "unavailable");
  table = Freed(table, card, "i"_uuid);
  EXPECT_EQ(StatusIn(table, kPf), "unclaimable");  // T-252: the other VF is claimed
  table = Freed(table, card, "j"_uuid);
  EXPECT_EQ(StatusIn(table, kPf), "available");
  ASSERT_TRUE(table.Claim("i"_uuid, {AskPf()}, {}).ok());
  table = Allocated(table, card, "i"_uuid);
  EXPECT_EQ(StatusIn(table, kVf0), "unavailable");
}

TEST(DeviceRelatives, ATakenRelativeForbidsAClaim) {  // T-252
  // The PF left and came back while its VF was claimed.
  const std::vector<PciDevice> card = CardOf("3b", 1);
  DeviceTable table = TableOf(card);
  ASSERT_TRUE(table.Claim("i"_uuid, {AskVf()}, {}).ok());
  table.Sync({card[1]});
  table.Sync(card);
  EXPECT_EQ(StatusIn(table, kPf), "available");  // T-239: new devices are
  const absl::Status refused = table.Claim("j"_uuid, {AskPf()}, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("PciDeviceVFInvalidStatus"));
  EXPECT_EQ(StatusIn(table, kPf), "available");

  // A VF appears while its PF is claimed.
  DeviceTable other = TableOf({card[0]});
  ASSERT_TRUE(other.Claim("i"_uuid, {AskPf()}, {}).ok());
  other.Sync(card);
  EXPECT_THAT(std::string(other.Claim("j"_uuid, {AskVf()}, {}).status().message()),
              HasSubstr("PciDevicePFInvalidStatus"));  // T-252
}

TEST(DeviceRelatives, InconsistentFunctionsDoNotForbidAClaim) {  // T-252
  DeviceTable table = TableOf(CardOf("3b", 1));
  std::vector<DeviceRecord> records = table.Records();
  records[1].status = DeviceStatus::kUnavailable;  // nobody has it
  DeviceTable odd = DeviceTable::Load(AnyIntel(), records, {});
  EXPECT_TRUE(odd.Claim("i"_uuid, {AskPf()}, {}).ok());  // T-378
}

TEST(DeviceRelatives, AnUnknownParentIsTolerated) {  // T-253
  const std::vector<PciDevice> alone = {CardOf("3b", 1)[1]};
  DeviceTable table = TableOf(alone);
  ASSERT_TRUE(table.Claim("i"_uuid, {AskVf()}, {}).ok());
  table = Allocated(table, alone, "i"_uuid);
  EXPECT_EQ(StatusIn(table, kVf0), "allocated i");
  EXPECT_EQ(StatusIn(Freed(table, alone, "i"_uuid), kVf0), "available");
}

TEST(AttachedDevices, AreNotGivenToAnybody) {  // T-256
  DeviceTable table = TableOf(CardOf("3b", 2));
  ASSERT_TRUE(table.Claim("i"_uuid, {AskVf()}, {}).ok());
  EXPECT_THAT(table.SetAttached({kVf0, kVf1, "0000:ff:00.0"}), ElementsAre(kVf1));
  EXPECT_EQ(StatusIn(table, kVf0), "claimed i");
  EXPECT_EQ(StatusIn(table, kVf1), "unavailable");
  EXPECT_FALSE(table.Claim("j"_uuid, {AskVf()}, {}).ok());
  table = Freed(table, CardOf("3b", 2), "i"_uuid);
  table.SetAttached({kVf1});
  EXPECT_EQ(StatusIn(table, kPf), "unavailable");  // T-256: its VF is attached
  table.Sync(CardOf("3b", 2));
  EXPECT_EQ(StatusIn(table, kVf1), "unavailable");
  EXPECT_THAT(table.SetAttached({}), IsEmpty());
  EXPECT_EQ(PoolsText(table.Pools()), "type-PF:1 type-VF:2");  // T-256: resolved
}

TEST(AttachedDevices, AnAttachedPhysicalFunctionTakesItsFunctions) {  // T-256
  DeviceTable table = TableOf(CardOf("3b", 1));
  table.SetAttached({kPf});
  EXPECT_EQ(StatusIn(table, kVf0), "unavailable");
  table.Sync(CardOf("3b", 2));
  EXPECT_EQ(StatusIn(table, kVf1), "unavailable");  // T-256: a VF that appears later
}

}  // namespace
}  // namespace berth::tracker
