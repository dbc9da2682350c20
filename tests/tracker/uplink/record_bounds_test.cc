// What a record may say that no tracker can use: numbers, lists and words without bounds.
#include <climits>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tracker/uplink/record_messages.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using ::testing::ElementsAre;

TEST(RecordMessages, NumbersBeyondAllBoundsAreLeftOut) {
  const auto unreadable = [](const std::function<void(v1::Instance*)>& change) {
    v1::Instance wire = WireInstance(MakeInstance("i", kHere, MakeFlavor("f", 1, 1, 1)));
    change(&wire);
    const Instance read = ReadInstance(wire);
    EXPECT_LE(read.device_requests.size(), 256u);
    for (const DeviceRequest& request : read.device_requests) EXPECT_GE(request.count, 1);
    return read.unreadable;
  };
  for (const int32_t count : {INT32_MIN, -1, 0, 257, INT32_MAX}) {
    const std::string text = absl::StrCat("a PCI request asks for ", count, " devices of ");
    EXPECT_EQ(unreadable([&](v1::Instance* i) { i->add_pci_requests()->set_count(count); }),
              text + "0 providers");
    EXPECT_EQ(unreadable([&](v1::Instance* i) {
                v1::PciRequest* const request =
                    i->mutable_migration_context()->add_old_pci_requests();
                request->set_count(count);
                request->add_provider_uuids("p"_uuid.ToString());
              }),
              text + "1 providers");
  }
  EXPECT_EQ(unreadable([](v1::Instance* i) { i->add_pci_requests()->set_count(256); }), "");
  EXPECT_EQ(unreadable([](v1::Instance* i) {
              for (int n = 0; n < 257; ++n) i->add_pci_requests()->set_count(1);
            }),
            "it has 257 PCI requests");
  EXPECT_EQ(unreadable([](v1::Instance* i) {
              for (int n = 0; n < 129; ++n) i->add_numa_cells();
            }),
            "it has 129 NUMA cells");
  EXPECT_EQ(unreadable([](v1::Instance* i) { i->add_numa_cells()->set_memory_mib(INT64_MIN); }),
            absl::StrCat("it has ", INT64_MIN, " MiB of memory in a cell"));
  EXPECT_EQ(unreadable([](v1::Instance* i) { i->mutable_flavor()->set_memory_mib(1LL << 31); }),
            "it has 2147483648 memory_mib");
  EXPECT_EQ(unreadable([](v1::Instance* i) {
              i->mutable_migration_context()->mutable_new_flavor()->set_vcpus(-1);
            }),
            "it has -1 vcpus");
  const std::string word(1000, 'x');
  EXPECT_EQ(unreadable([&](v1::Instance* i) { i->add_numa_cells()->set_cpu_policy(word); }),
            "it has the cpu_policy `" + word.substr(0, 64) + "`");
  EXPECT_EQ(unreadable([](v1::Instance* i) { i->mutable_updated_at()->set_seconds(INT64_MAX); }),
            "");
}

TEST(RecordMessages, AQuotedWordIsCutBetweenCharacters) {
  const Instance good = MakeInstance("i", kHere, MakeFlavor("f", 1, 1, 1));
  const std::string fits(63, 'x');
  v1::Instance wire = WireInstance(good);
  wire.add_numa_cells()->set_cpu_policy(fits + "\u20ac");
  EXPECT_EQ(ReadInstance(wire).unreadable, "it has the cpu_policy `" + fits + "`");
  wire = WireInstance(good);
  wire.add_pci_requests()->set_count(1);
  wire.mutable_pci_requests(0)->set_numa_policy(fits + "\u20ac");
  EXPECT_EQ(ReadInstance(wire).unreadable, "it has the numa_policy `" + fits + "`");
}

TEST(RecordMessages, AHoldingNamesEachPartOnce) {
  v1::Instance wire = WireInstance(MakeInstance("i", kHere, MakeFlavor("f", 1, 1, 1)));
  for (const char* const name : {"b", "a", "b"}) {
    wire.add_pci_devices()->set_address(name);
    wire.add_named_units()->set_name(name);
    wire.mutable_named_units(wire.named_units_size() - 1)->set_provider_uuid("p"_uuid.ToString());
  }
  Instance read = ReadInstance(wire);
  EXPECT_EQ(read.unreadable, "");
  EXPECT_THAT(read.assigned.devices, ElementsAre("b", "a"));
  EXPECT_THAT(read.assigned.units,
              ElementsAre(NamedUnit{"p"_uuid, "", "b"}, NamedUnit{"p"_uuid, "", "a"}));
  while (wire.pci_devices_size() < 257) wire.add_pci_devices()->set_address("c");
  EXPECT_EQ(ReadInstance(wire).unreadable, "it has 257 PCI devices");
  EXPECT_THAT(ReadInstance(wire).assigned.devices, ElementsAre("b", "a", "c"));
  wire.clear_pci_devices();
  while (wire.named_units_size() < 257) *wire.add_named_units() = wire.named_units(0);
  EXPECT_EQ(ReadInstance(wire).unreadable, "it has 257 named units");
}

}  // namespace
}  // namespace berth::tracker
