// Which devices specifications match, and how wrong ones are refused.
#include "tracker/devices/device_spec.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/devices/device_fixture.h"

namespace berth::tracker {
namespace {

using ::testing::HasSubstr;

// Whether a single specification matches the device.
bool Matches(const std::string& spec, const PciDevice& device,
             const InterfaceAddresses& interfaces = {}) {
  return SpecsOf({spec}).Find(device, interfaces) != nullptr;
}

std::string Fault(const std::vector<std::string>& options) {
  const absl::Status status = DeviceSpecs::Parse(options, {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(DeviceSpec, WithoutSpecificationsNothingIsTracked) {
  DeviceTable table{DeviceSpecs()};
  EXPECT_TRUE(table.Sync(CardOf("3b", 2)).added.empty());  // T-233
  EXPECT_TRUE(table.Records().empty());
}

TEST(DeviceSpec, ReadsObjectsAndListsInOrder) {
  const DeviceSpecs specs =
      SpecsOf({R"({"vendor_id": "8086"})",
               R"([{"product_id": "0443"}, {"vendor_id": "10de", "tier": "a"}])"});
  ASSERT_EQ(specs.specs().size(), 3u);  // T-233
  EXPECT_EQ(specs.specs()[2].where, "device_spec[1][1]");
  EXPECT_EQ(TextOf(specs.specs()[2].tags, "tier"), "a");  // T-233: unknown tags are kept
}

TEST(DeviceSpec, IdsAreHexadecimalUpToFourDigits) {
  const PciDevice device = OneDevice("0000:05:00.0", "type-PCI", "0443");
  for (const char* const id : {"0443", "443", "0x443", "00443", " 443 ", "*"}) {
    EXPECT_TRUE(Matches(absl::StrCat(R"({"product_id": ")", id, R"("})"), device)) << id;  // T-233
  }
  EXPECT_FALSE(Matches(R"({"product_id": "0444"})", device));
  EXPECT_FALSE(Matches(R"({"vendor_id": "10de"})", device));  // T-235
  EXPECT_THAT(Fault({R"({"product_id": "xyz"})"}), HasSubstr("device_spec[0].product_id: 'xyz'"));
  for (const char* const id : {"+443", "0x+443", "443.", "-1", "0x", ""}) {
    EXPECT_THAT(Fault({absl::StrCat(R"({"product_id": ")", id, R"("})")}),
                HasSubstr("is not a hexadecimal number"));  // T-233
  }
  EXPECT_THAT(Fault({R"({"vendor_id": "10000"})"}), HasSubstr("larger than FFFF"));  // T-233
  EXPECT_THAT(Fault({R"({"vendor_id": 8086})"}), HasSubstr("device_spec[0].vendor_id"));
}

TEST(DeviceSpec, NamesTheEntryThatIsWrong) {  // T-233
  EXPECT_THAT(Fault({R"({"vendor_id": "8086"})", R"([{}, "8086"])"}),
              HasSubstr("device_spec[1][1]"));
  EXPECT_THAT(Fault({R"({"vendor_id")"}),
              HasSubstr("device_spec[0]: is not valid JSON: there is an error at byte 13"));
  EXPECT_THAT(Fault({"7"}), HasSubstr("device_spec[0]: must be a JSON object or array"));
  EXPECT_THAT(Fault({R"({"address": "0000:3b:00.0", "devname": "eth0"})"}),
              HasSubstr("give either address or devname, not both"));
  EXPECT_THAT(Fault({R"({"tier": {"a": 1}})"}), HasSubstr("device_spec[0].tier"));
  EXPECT_THAT(Fault({R"({"one_time_use": "perhaps"})"}), HasSubstr("device_spec[0].one_time_use"));
}

TEST(DeviceSpec, GlobsOfAddresses) {  // T-234
  const PciDevice device = OneDevice("0000:3b:0a.1", "type-PCI", "0443");
  for (const char* const glob : {"0000:3b:0a.1", "0:3b:a.1", "*:3b:0a.*", "3b:0a.1", "0a", ".1", "",
                                 "0a.", "3b:", ":0a.", "0000:3B:0A.1", "*:*:*.*", "0000:3b:"}) {
    EXPECT_TRUE(Matches(absl::StrCat(R"({"address": ")", glob, R"("})"), device)) << glob;
  }
  for (const char* const glob : {"0001:3b:0a.1", "3c:0a.1", "0b", ".0", "3b:0a.2"}) {
    EXPECT_FALSE(Matches(absl::StrCat(R"({"address": ")", glob, R"("})"), device)) << glob;
  }
}

TEST(DeviceSpec, WrongGlobsOfAddresses) {  // T-234
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"10000:00:00.0", "domain 10000"},
      {"0000:100:00.0", "bus 100"},
      {"20.0", "slot 20"},
      {"00.8", "function 8"},
      {"0:0:0:0.0", "DOMAIN:BUS:SLOT.FUNCTION"},
      {"+0:3b:00.0", "domain '+0'"},
      {"*:*:*.[0-1]", "[0-1]"}};
  for (const auto& [glob, what] : cases) {
    const std::string fault = Fault({absl::StrCat(R"({"address": ")", glob, R"("})")});
    EXPECT_THAT(fault, HasSubstr("device_spec[0].address"));
    EXPECT_THAT(fault, HasSubstr(what));
  }
}

TEST(DeviceSpec, ExpressionsOfAddresses) {  // T-234
  const PciDevice device = OneDevice("0000:3b:0a.1", "type-PCI", "0443");
  for (const char* const address :
       {"{}", R"({"bus": "3"})", R"({"bus": "3B"})", R"({"function": "[0-1]"})",
        R"({"domain": ".*", "bus": "3b", "slot": "0[a-f]"})"}) {
    EXPECT_TRUE(Matches(absl::StrCat(R"({"address": )", address, "}"), device)) << address;
  }
  EXPECT_FALSE(Matches(R"({"address": {"bus": "b"}})", device));  // T-234: from the beginning
  EXPECT_FALSE(Matches(R"({"address": {"slot": "0[0-9]"}})", device));
  EXPECT_THAT(Fault({R"({"address": {"slot": "0["}})"}), HasSubstr("slot '0['"));
  EXPECT_THAT(Fault({R"({"address": {"slot": 1}})"}), HasSubstr("slot must be a JSON string"));
}

TEST(DeviceSpec, AFullAddressStandsForTheVirtualFunctions) {  // T-235
  const std::vector<PciDevice> card = CardOf("3b", 1);
  const std::string full = R"({"address": "0000:3b:00.0"})";
  EXPECT_TRUE(Matches(full, card[0]));
  EXPECT_TRUE(Matches(full, card[1]));
  EXPECT_TRUE(Matches(
      R"({"address": {"domain": "0000", "bus": "3B", "slot": "00", "function": "0"}})", card[1]));
  EXPECT_FALSE(Matches(R"({"address": "0000:3b:00.*"})", card[1]));  // T-235: a glob does not
  EXPECT_FALSE(Matches(R"({"address": {"slot": "00"}})", card[1]));
  EXPECT_FALSE(Matches(R"({"address": "0000:3c:00.0"})", card[1]));
  EXPECT_FALSE(Matches(R"({"address": "0000:3b:00.0", "product_id": "154c"})", card[0]));
}

TEST(DeviceSpec, AnInterfaceStandsForItsDeviceAndTheVirtualFunctions) {  // T-235
  std::vector<PciDevice> card = CardOf("3b", 1);
  card[0].interfaces = {"ens1", "ens1d1"};
  const InterfaceAddresses interfaces = InterfacesOf(card);
  const std::string spec = R"({"devname": "ens1d1", "physical_network": "a"})";
  EXPECT_TRUE(Matches(spec, card[0], interfaces));
  EXPECT_TRUE(Matches(spec, card[1], interfaces));
  EXPECT_FALSE(Matches(spec, OneDevice("0000:05:00.0", "type-PCI", "0443"), interfaces));
  EXPECT_FALSE(Matches(spec, card[0], {}));  // T-235: without the interface nothing matches
  EXPECT_TRUE(SpecsOf({spec}).Warnings(interfaces).empty());
  EXPECT_THAT(SpecsOf({spec}).Warnings({}).at(0), HasSubstr("ens1d1"));  // T-235
}

TEST(DeviceSpec, TheFirstMatchSuppliesTheTags) {  // T-235
  const DeviceSpecs specs = SpecsOf({R"({"product_id": "0443", "tier": "a"})",
                                     R"({"vendor_id": "8086", "tier": "b", "label": "x"})"});
  const DeviceSpec* const first = specs.Find(OneDevice("0000:05:00.0", "type-PCI", "0443"), {});
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(TextOf(first->tags, "tier"), "a");
  EXPECT_EQ(first->tags.count("label"), 0u);
}

TEST(DeviceSpec, RemoteManagedNeedsASerialNumber) {  // T-235
  std::vector<PciDevice> card = CardOf("3b", 1);
  const std::string spec = R"({"vendor_id": "8086", "remote_managed": "true"})";
  EXPECT_FALSE(Matches(spec, card[1]));
  card[1].card_serial_number = "";
  EXPECT_FALSE(Matches(spec, card[1]));
  card[1].card_serial_number = "MT2113";
  EXPECT_TRUE(Matches(spec, card[1]));
}

TEST(DeviceSpec, RemoteManagedMayNotNameAPhysicalFunction) {  // T-235
  std::vector<PciDevice> card = CardOf("3b", 1);
  card[0].interfaces = {"ens1"};
  const auto check = [&](const char* spec) { return SpecsOf({spec}).CheckRemoteManaged(card); };
  EXPECT_TRUE(check(R"({"address": "0000:3b:02.0", "remote_managed": "true"})").ok());
  EXPECT_TRUE(check(R"({"address": "0000:3b:00.0", "remote_managed": "false"})").ok());
  EXPECT_TRUE(check(R"({"address": "*:3b:*.*", "remote_managed": "true"})").ok());
  for (const char* const spec : {R"({"address": "0000:3b:00.0", "remote_managed": "true"})",
                                 R"({"devname": "ens1", "remote_managed": "true"})",
                                 R"({"devname": "ens2", "remote_managed": "true"})"}) {
    const absl::Status status = check(spec);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << spec;
    EXPECT_THAT(std::string(status.message()), HasSubstr("device_spec[0]"));
  }
}

TEST(DeviceSpec, DevicesWithALargeDomainAreSkipped) {
  DeviceTable table(AnyIntel());
  const DeviceSync sync = table.Sync({OneDevice("10000:00:02.0", "type-PCI", "0443"),
                                      OneDevice("0000:05:00.0", "type-PCI", "0443")});
  EXPECT_EQ(sync.added, std::vector<std::string>{"0000:05:00.0"});  // T-236
}

TEST(DeviceSpec, SomeTagsNeedMoreOfTheHost) {  // T-236
  const std::vector<std::string> once = {R"({"one_time_use": "yes"})"};
  EXPECT_TRUE(absl::IsFailedPrecondition(DeviceSpecs::Parse(once, {}).status()));
  EXPECT_TRUE(DeviceSpecs::Parse(once, {.report_in_placement = true}).ok());
  const std::vector<std::string> live = {R"([{"live_migratable": "true"}])"};
  const absl::Status refused = DeviceSpecs::Parse(live, {}).status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("device_spec[0][0].live_migratable"));
  EXPECT_TRUE(DeviceSpecs::Parse(live, {.live_migration = true}).ok());
  EXPECT_TRUE(OffersDeviceLiveMigration(10000000, 8002002));
  EXPECT_FALSE(OffersDeviceLiveMigration(9010000, 8002002));
  EXPECT_FALSE(OffersDeviceLiveMigration(10000000, 8002001));
}

}  // namespace
}  // namespace berth::tracker
