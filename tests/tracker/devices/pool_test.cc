// Pools, and which of them serve a request.
#include "tracker/devices/pool.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/devices/device_fixture.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Policy = DeviceNumaPolicy;

// A pool as a record has it, without devices.
DevicePool PoolOf(int64_t count, std::optional<int> numa_node, DeviceProperties properties = {},
                  const std::string& type = "type-VF") {
  DevicePool pool;
  pool.count = count;
  pool.key.numa_node = numa_node;
  pool.key.properties = std::move(properties);
  pool.key.properties["dev_type"] = type;
  return pool;
}

// Cells 0 and 1 are on socket 0, cell 2 is on socket 1.
GuestAffinity On(std::set<int> cells) { return {std::move(cells), {{0, 0}, {1, 0}, {2, 1}}}; }

TEST(DevicePool, KeysHaveWhatDevicesHaveInCommon) {  // T-242
  std::vector<PciDevice> card = CardOf("3b", 1, std::nullopt);
  card[1].parent_interface = "ens1";
  const DeviceSpecs specs = SpecsOf({R"({"product_id": "154c", "physical_network": "a",
      "resource_class": "X", "traits": "Y", "remote_managed": "no"})",
                                     "{}"});
  const DevicePoolKey function = PoolKeyOf(card[1], specs.specs()[0]);
  EXPECT_EQ(function.properties, (DeviceProperties{{"vendor_id", "8086"},
                                                   {"product_id", "154c"},
                                                   {"dev_type", "type-VF"},
                                                   {"address", "0000:3b:00.0"},
                                                   {"parent_ifname", "ens1"},
                                                   {"physical_network", "a"},
                                                   {"remote_managed", "no"}}));
  EXPECT_EQ(function.numa_node, std::nullopt);
  const DevicePoolKey physical = PoolKeyOf(card[0], specs.specs()[1]);
  EXPECT_EQ(TextOf(physical.properties, "address"), "0000:3b:00.0");
  EXPECT_EQ(TextOf(physical.properties, "remote_managed"), "false");  // T-242: filled in
  const PciDevice plain = OneDevice("0000:05:00.0", "type-PCI", "0443", 1);
  EXPECT_EQ(PoolKeyOf(plain, specs.specs()[1]).properties.count("remote_managed"), 0u);  // T-242
  EXPECT_EQ(PoolKeyOf(plain, specs.specs()[1]).numa_node, 1);
}

TEST(DevicePool, PlainDevicesComeBeforeTaggedOnes) {  // T-242
  DeviceTable table(
      SpecsOf({R"({"address": "0000:05:00.0", "tier": "a"})", R"({"vendor_id": "8086"})"}));
  table.Sync({OneDevice("0000:05:00.0", "type-PCI", "0443"),
              OneDevice("0000:06:00.0", "type-PCI", "0443")});
  const std::vector<DevicePool> pools = table.Pools();
  ASSERT_EQ(pools.size(), 2u);
  EXPECT_THAT(pools[0].addresses, ElementsAre("0000:06:00.0"));  // T-242
  EXPECT_EQ((*table.Claim("i"_uuid, {Asking(1, {})}, {}))[0].address, "0000:06:00.0");
  EXPECT_EQ(table.Pools().size(), 1u);  // T-242: an empty pool is removed
}

TEST(DevicePool, FunctionsOfOneCardAreOnePool) {  // T-242
  DeviceTable table(AnyIntel());
  std::vector<PciDevice> devices = CardOf("3b", 3);
  for (const PciDevice& device : CardOf("3c", 2)) devices.push_back(device);
  table.Sync(devices);
  EXPECT_EQ(PoolsText(table.Pools()), "type-PF:1 type-VF:3 type-PF:1 type-VF:2");
}

TEST(DevicePool, PublishedForm) {
  EXPECT_EQ(nlohmann::json::parse(DevicePoolsJson(
                {PoolOf(2, 1, {{"vendor_id", "8086"}, {"product_id", "154c"}, {"tier", "a"}}),
                 PoolOf(1, std::nullopt)})),
            nlohmann::json::parse(R"([
  {"vendor_id": "8086", "product_id": "154c", "numa_node": 1, "count": 2,
   "tags": {"dev_type": "type-VF", "tier": "a"}},
  {"numa_node": null, "count": 1, "tags": {"dev_type": "type-VF"}}])"));  // T-243
}

TEST(PoolFilter, RequestsNeedEnoughDevices) {  // T-246
  const std::vector<DevicePool> pools = {PoolOf(1, 0), PoolOf(2, 0)};
  EXPECT_THAT(PoolsFor(Asking(3, {}), pools, {}), ElementsAre(0, 1));
  EXPECT_THAT(PoolsFor(Asking(4, {}), pools, {}), IsEmpty());
  EXPECT_TRUE(SupportsRequests(pools, {Asking(2, {}), Asking(1, {})}, {}));
  EXPECT_FALSE(SupportsRequests(pools, {Asking(2, {}), Asking(2, {})}, {}));  // T-246: at once
  DeviceRequest either = Asking(1, {{"tier", "a"}});
  EXPECT_FALSE(SupportsRequests(pools, {either}, {}));
  either.alternatives.push_back({});
  EXPECT_TRUE(SupportsRequests(pools, {either}, {}));  // T-244: alternatives
}

TEST(PoolFilter, SomeKindsMustBeAskedFor) {
  const std::vector<DevicePool> pools = {PoolOf(1, 0, {}, "type-PF"), PoolOf(1, 0, {}, "vdpa"),
                                         PoolOf(1, 0, {{"remote_managed", "True"}}),
                                         PoolOf(1, 0, {{"remote_managed", "false"}})};
  EXPECT_THAT(PoolsFor(Asking(1, {}), pools, {}), ElementsAre(3));  // T-246
  EXPECT_THAT(PoolsFor(Asking(1, {{"dev_type", "type-PF"}}), pools, {}), ElementsAre(0));
  EXPECT_THAT(PoolsFor(Asking(1, {{"dev_type", "vdpa"}}), pools, {}), ElementsAre(1));
  EXPECT_THAT(PoolsFor(Asking(1, {{"remote_managed", "true"}}), pools, {}), ElementsAre(2));
}

TEST(PoolFilter, LiveMigratableMustBeEqualIfItIsAskedFor) {  // T-246
  const std::vector<DevicePool> pools = {PoolOf(1, 0), PoolOf(1, 0, {{"live_migratable", "true"}}),
                                         PoolOf(1, 0, {{"live_migratable", "false"}})};
  EXPECT_THAT(PoolsFor(Asking(1, {}), pools, {}), ElementsAre(0, 1, 2));
  EXPECT_THAT(PoolsFor(Asking(1, {{"live_migratable", "true"}}), pools, {}), ElementsAre(1));
  EXPECT_THAT(PoolsFor(Asking(1, {{"live_migratable", "false"}}), pools, {}), ElementsAre(2));
}

TEST(PoolFilter, ProvidersThatPlacementChose) {  // T-246
  std::vector<DevicePool> pools = {PoolOf(1, 0), PoolOf(3, 0), PoolOf(2, 0)};
  pools[1].provider_uuid = "a"_uuid;
  pools[2].provider_uuid = "b"_uuid;
  DeviceRequest request = Asking(3, {});
  request.providers = {{"a"_uuid, 1}, {"b"_uuid, 2}};
  EXPECT_THAT(PoolsFor(request, pools, {}), ElementsAre(1, 2));
  EXPECT_TRUE(SupportsRequests(pools, {request}, {}));
  request.providers = {{"b"_uuid, 3}};  // T-246: fewer than placement allocated
  EXPECT_FALSE(SupportsRequests(pools, {request}, {}));
  request.providers = {{"a"_uuid, 2}, {"c"_uuid, 1}};
  EXPECT_FALSE(SupportsRequests(pools, {request}, {}));
  pools[0].provider_uuid = "a"_uuid;  // T-249: two pools of one provider
  request.providers = {{"a"_uuid, 1}, {"b"_uuid, 2}};
  EXPECT_FALSE(SupportsRequests(pools, {request}, {}));
}

TEST(PoolFilter, ProvidersLimitWhatIsTakenFromEach) {  // T-249
  std::vector<DevicePool> pools = {PoolOf(3, 0), PoolOf(3, 0)};
  pools[0].provider_uuid = "a"_uuid;
  pools[1].provider_uuid = "b"_uuid;
  DeviceRequest request = Asking(3, {});
  request.providers = {{"a"_uuid, 1}, {"b"_uuid, 2}};
  EXPECT_TRUE(SupportsRequests(pools, {request}, {}));
  EXPECT_FALSE(SupportsRequests(pools, {request, request}, {}));
  EXPECT_EQ(DevicesToDraw(request, pools[0], pools[0].count, 3), 1);
}

TEST(NumaPolicy, EachPolicyInTurn) {  // T-248
  const std::vector<DevicePool> pools = {PoolOf(1, 2), PoolOf(1, std::nullopt), PoolOf(1, 1),
                                         PoolOf(1, 0)};
  const auto for_count = [&](int64_t count, Policy policy, const std::set<int>& cells) {
    return PoolsFor(Asking(count, {}, policy), pools, On(cells));
  };
  for (const Policy policy : {Policy::kRequired, Policy::kPreferred, Policy::kLegacy}) {
    EXPECT_THAT(for_count(4, policy, {}), ElementsAre(0, 1, 2, 3));  // T-248: no cells, no filter
    EXPECT_THAT(for_count(1, policy, {0}), ElementsAre(3));          // T-248: the strict set
  }
  EXPECT_THAT(for_count(2, Policy::kRequired, {0}), IsEmpty());
  EXPECT_THAT(for_count(1, Policy::kSocket, {0}), ElementsAre(3));
  EXPECT_THAT(for_count(2, Policy::kSocket, {0}), ElementsAre(2, 3));
  EXPECT_THAT(for_count(3, Policy::kSocket, {0}), IsEmpty());
  EXPECT_THAT(for_count(2, Policy::kLegacy, {0}), ElementsAre(1, 3));
  EXPECT_THAT(for_count(3, Policy::kLegacy, {0}), IsEmpty());
  EXPECT_THAT(for_count(2, Policy::kPreferred, {0}), ElementsAre(1, 3));
  EXPECT_THAT(for_count(3, Policy::kPreferred, {0}), ElementsAre(1, 3, 0, 2));  // T-248
}

TEST(NumaPolicy, AnUnknownSocketEndsTheSocketPolicy) {  // T-248
  const std::vector<DevicePool> pools = {PoolOf(1, 0), PoolOf(1, 1)};
  GuestAffinity affinity = On({0});
  EXPECT_TRUE(SupportsRequests(pools, {Asking(2, {}, Policy::kSocket)}, affinity));
  affinity.sockets[2].reset();
  EXPECT_FALSE(SupportsRequests(pools, {Asking(2, {}, Policy::kSocket)}, affinity));
  EXPECT_TRUE(SupportsRequests(pools, {Asking(1, {}, Policy::kSocket)}, affinity));
}

TEST(NumaPolicy, IsAppliedAfterTheOtherFilters) {  // T-247
  // The near PF is not asked for. It must not make the strict set look large enough.
  const std::vector<DevicePool> pools = {PoolOf(1, 0, {}, "type-PF"), PoolOf(1, 2)};
  EXPECT_THAT(PoolsFor(Asking(1, {}, Policy::kPreferred), pools, On({0})), ElementsAre(1));
}

}  // namespace
}  // namespace berth::tracker
