// What placement has allocated, divided among the requests of a guest.
#include "tracker/devices/provider_shares.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/devices/device_fixture.h"

namespace berth::tracker {
namespace {

using ::testing::IsEmpty;

// A pool of 8 devices of `product`, which `provider` counts; an empty name: none does.
DevicePool CountedPool(absl::string_view provider, const std::string& product) {
  DevicePool pool;
  pool.key.properties = {{"vendor_id", std::string("8086")}, {"product_id", product}};
  pool.count = 8;
  if (!provider.empty()) pool.provider_uuid = ShortUuid(provider);
  return pool;
}

DeviceRequest AnyOfVendor(int64_t count) { return Asking(count, {{"vendor_id", "8086"}}); }
DeviceRequest OfProduct(int64_t count, const std::string& product) {
  return Asking(count, {{"product_id", product}});
}

// What the requests get of two providers with devices of the product 1 and one with the product 2.
std::vector<std::optional<ProviderAmounts>> SharesOf(const ProviderAmounts& allocated,
                                                     std::vector<DeviceRequest> requests) {
  const std::vector<DevicePool> pools = {CountedPool("p", "0001"), CountedPool("q", "0001"),
                                         CountedPool("r", "0002"), CountedPool("", "0003")};
  std::vector<std::optional<ProviderAmounts>> shares;
  for (DeviceRequest& request : ShareProviders(allocated, pools, std::move(requests))) {
    shares.push_back(std::move(request.providers));
  }
  return shares;
}

TEST(ProviderShares, FollowWhatIsAllocated) {  // T-246, T-249
  EXPECT_EQ(SharesOf({{"q"_uuid, 1}}, {OfProduct(1, "0001")})[0], (ProviderAmounts{{"q"_uuid, 1}}));
  EXPECT_EQ(SharesOf({{"p"_uuid, 2}, {"q"_uuid, 1}}, {OfProduct(3, "0001")})[0],
            (ProviderAmounts{{"p"_uuid, 2}, {"q"_uuid, 1}}));
  const auto two = SharesOf({{"p"_uuid, 1}, {"r"_uuid, 2}}, {OfProduct(2, "0002"), AnyOfVendor(1)});
  EXPECT_EQ(two[0], (ProviderAmounts{{"r"_uuid, 2}}));
  EXPECT_EQ(two[1], (ProviderAmounts{{"p"_uuid, 1}}));
}

// The first request could be served by all three, and leaves the second what only that can use.
TEST(ProviderShares, MakeRoomForARequestThatHasLessChoice) {
  const auto shares = SharesOf({{"p"_uuid, 2}, {"q"_uuid, 1}, {"r"_uuid, 1}},
                               {AnyOfVendor(2), OfProduct(2, "0001")});
  int64_t given = 0;
  for (const auto& [provider, amount] : *shares[1]) given += amount;
  EXPECT_EQ(given, 2);  // T-249
  EXPECT_EQ(shares[1]->count("r"_uuid), 0u);
  given = 0;
  for (const auto& [provider, amount] : *shares[0]) given += amount;
  EXPECT_EQ(given, 2);  // T-249
  EXPECT_EQ(shares[0]->at("r"_uuid), 1);
}

TEST(ProviderShares, AreTooSmallIfTooLittleIsAllocated) {
  EXPECT_EQ(SharesOf({{"p"_uuid, 1}}, {OfProduct(2, "0001")})[0], (ProviderAmounts{{"p"_uuid, 1}}));
  EXPECT_THAT(*SharesOf({{"p"_uuid, 1}}, {OfProduct(1, "0001"), OfProduct(1, "0001")})[1],
              IsEmpty());
}

TEST(ProviderShares, AreOnlyForAliasesWithoutProviders) {  // T-246
  DeviceRequest port = OfProduct(1, "0001");
  port.source = DeviceRequestSource::kNeutronPort;
  DeviceRequest named = OfProduct(1, "0001");
  named.providers = ProviderAmounts{{"p"_uuid, 1}};
  const auto shares = SharesOf({{"p"_uuid, 1}, {"q"_uuid, 1}},
                               {port, OfProduct(1, "0001"), named, OfProduct(1, "0003")});
  EXPECT_EQ(shares[0], std::nullopt);
  EXPECT_EQ(shares[1], (ProviderAmounts{{"q"_uuid, 1}}));  // p is named by another request
  EXPECT_EQ(shares[2], named.providers);
  EXPECT_EQ(shares[3], std::nullopt);  // no provider counts such devices
}

// What the table offers to a claim with allocations.
TEST(ProviderShares, OtherProvidersAreOutOfThePools) {  // T-246
  DeviceTable table = DeviceTable::Rebuild(
      AnyIntel(),
      {OneDevice("0000:81:00.0", "type-PCI", "1533"), OneDevice("0000:82:00.0", "type-PCI", "1533"),
       OneDevice("0000:83:00.0", "type-PCI", "1533")},
      {});
  table.SetProviders({{"0000:81:00.0", "p"_uuid}, {"0000:82:00.0", "q"_uuid}});
  EXPECT_EQ(table.Pools().size(), 3u);
  table.OfferOnly({{"q"_uuid, 1}});
  std::vector<Uuid> offered;
  for (const DevicePool& pool : table.Pools()) offered.push_back(pool.provider_uuid);
  EXPECT_EQ(offered, (std::vector<Uuid>{"q"_uuid, Uuid()}));
}

}  // namespace
}  // namespace berth::tracker
