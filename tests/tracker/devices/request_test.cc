// Aliases, flavors' texts, and what a property matches.
#include "tracker/devices/request.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/devices/device_fixture.h"

namespace berth::tracker {
namespace {

using ::testing::HasSubstr;

std::string AliasFault(const std::vector<std::string>& options) {
  const absl::Status status = ParseDeviceAliases(options).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

DeviceAliases GpuAndNic() {
  return ParseDeviceAliases({R"({"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"})",
                             R"({"name": " nic ", "vendor_id": "8086", "product_id": "154c",
                                 "device_type": "type-VF", "numa_policy": "required"})",
                             R"({"name": "gpu", "vendor_id": "10de", "product_id": "20b5"})"})
      .value();
}

TEST(DeviceAlias, DefinitionsOfOneNameAreAlternatives) {  // T-244
  const DeviceAliases aliases = GpuAndNic();
  ASSERT_EQ(aliases.at("gpu").alternatives.size(), 2u);
  EXPECT_EQ(TextOf(aliases.at("gpu").alternatives[1], "product_id"), "20b5");
  EXPECT_EQ(aliases.at("gpu").numa_policy, DeviceNumaPolicy::kLegacy);
  EXPECT_EQ(aliases.at("nic").numa_policy, DeviceNumaPolicy::kRequired);
  EXPECT_EQ(TextOf(aliases.at("nic").alternatives[0], "dev_type"), "type-VF");
  const DeviceAliases more =
      ParseDeviceAliases({R"({"name": "x", "resource_class": "CUSTOM_X", "traits": "A,B",
                              "live_migratable": "Yes"})"})
          .value();
  EXPECT_EQ(TextOf(more.at("x").alternatives[0], "live_migratable"), "true");  // T-244
}

TEST(DeviceAlias, NamesWhatIsWrong) {  // T-244
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{", "alias[1]: is not valid JSON: there is an error at byte 2"},
      {"[]", "alias[1]: must be a JSON object"},
      {R"({"vendor_id": "8086"})", "alias[1].name"},
      {R"({"name": ""})", "alias[1].name"},
      {R"({"name": "x", "vendor_id": "80"})", "alias[1].vendor_id: must be four"},
      {R"({"name": "x", "colour": "red"})", "alias[1].colour: there is no such key"},
      {R"({"name": "x", "numa_policy": "strict"})", "alias[1].numa_policy: must be 'required'"},
      {R"({"name": "x", "device_type": "vdpa"})", "alias[1].device_type"},
      {R"({"name": "x", "vendor_id": 8086})", "alias[1].vendor_id: must be a JSON string"},
      {R"({"name": "x", "live_migratable": "maybe"})", "alias[1].live_migratable"},
      {R"({"name": "a", "device_type": "type-PF"})", "alias[1].numa_policy: must be the same"},
      {R"({"name": "a", "numa_policy": "socket"})", "alias[1].device_type: must be the same"}};
  for (const auto& [option, what] : cases) {
    EXPECT_THAT(
        AliasFault({R"({"name": "a", "device_type": "type-PF", "numa_policy": "socket"})", option}),
        HasSubstr(what));
  }
  EXPECT_THAT(AliasFault({absl::StrCat(R"({"name": ")", std::string(257, 'x'), R"("})")}),
              HasSubstr("alias[0].name: must have at most 256 bytes"));
}

TEST(DeviceAlias, FlavorsAskByAlias) {  // T-244
  const auto requests = RequestsOfFlavor(" nic:2,gpu: 1", GpuAndNic(), std::nullopt);
  ASSERT_TRUE(requests.ok());
  ASSERT_EQ(requests->size(), 2u);
  EXPECT_EQ((*requests)[0].alias_name, "nic");
  EXPECT_EQ((*requests)[0].count, 2);
  EXPECT_EQ((*requests)[0].numa_policy, DeviceNumaPolicy::kRequired);
  EXPECT_EQ((*requests)[1].alternatives.size(), 2u);
  EXPECT_EQ((*requests)[1].source, DeviceRequestSource::kFlavorAlias);
  const auto other = RequestsOfFlavor("nic:2", GpuAndNic(), DeviceNumaPolicy::kSocket);
  EXPECT_EQ((*other)[0].numa_policy, DeviceNumaPolicy::kSocket);  // T-244: overrides the alias's
}

TEST(DeviceAlias, FlavorsThatAskWrongly) {  // T-244
  const auto code = [](const char* text) {
    return RequestsOfFlavor(text, GpuAndNic(), std::nullopt).status().code();
  };
  EXPECT_EQ(code("fpga:1"), absl::StatusCode::kNotFound);
  for (const char* const text : {"nic", "nic:x", "nic:0", "nic:+1", "nic:1.", "nic:-1", "nic:1:1",
                                 "nic:1,", "", "nic:257", "nic:2147483647"}) {
    EXPECT_EQ(code(text), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(code("nic:256"), absl::StatusCode::kOk);
  std::string many = "nic:1";
  for (int i = 1; i < 256; ++i) many += ",nic:1";
  EXPECT_EQ(code(many.c_str()), absl::StatusCode::kOk);
  many += ",nic:1";
  EXPECT_EQ(code(many.c_str()), absl::StatusCode::kInvalidArgument);
}

TEST(DeviceAlias, FlavorAndImageMayNotContradictEachOther) {  // T-244
  EXPECT_EQ(*CombineDevicePolicies("", ""), std::nullopt);
  EXPECT_EQ(*CombineDevicePolicies("socket", ""), DeviceNumaPolicy::kSocket);
  EXPECT_EQ(*CombineDevicePolicies("", "preferred"), DeviceNumaPolicy::kPreferred);
  EXPECT_EQ(*CombineDevicePolicies("legacy", "legacy"), DeviceNumaPolicy::kLegacy);
  EXPECT_FALSE(CombineDevicePolicies("legacy", "socket").ok());
  EXPECT_FALSE(CombineDevicePolicies("near", "").ok());
}

TEST(DeviceProperty, EveryWantedPropertyMustBeOffered) {  // T-245
  const DeviceProperties pool = {{"vendor_id", "8086"},
                                 {"physical_network", "PhysNet1"},
                                 {"features", std::vector<std::string>{"rss", "tso", "gro"}}};
  EXPECT_TRUE(HasProperties(pool, {}));
  EXPECT_TRUE(HasProperties(pool, {{"vendor_id", "8086"}}));
  EXPECT_TRUE(HasProperties(pool, {{"physical_network", "physnet1"}}));       // T-245: in any case
  EXPECT_FALSE(HasProperties(pool, {{"vendor_id", "8086"}, {"tier", "a"}}));  // T-245: missing key
  EXPECT_FALSE(HasProperties(pool, {{"vendor_id", "10de"}}));
  EXPECT_TRUE(HasProperties(pool, {{"features", std::vector<std::string>{"tso", "rss"}}}));
  EXPECT_FALSE(HasProperties(pool, {{"features", std::vector<std::string>{"tso", "rdma"}}}));
  EXPECT_FALSE(HasProperties(pool, {{"features", "rss"}}));
  // T-245: placement has decided about these.
  EXPECT_TRUE(HasProperties(pool, {{"resource_class", "X"}, {"traits", "Y"}, {"rp_uuids", "Z"}}));
}

}  // namespace
}  // namespace berth::tracker
