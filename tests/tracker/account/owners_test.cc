// What an instance cannot own, and how that is told.
#include "tracker/account/owners.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Owners, TellOneTextForEachKindOfPart) {
  const NamedUnit ns0 = {"p"_uuid, "PMEM", "ns0"};
  const NamedUnit ns1 = {"p"_uuid, "PMEM", "ns1"};
  const std::string first = "a"_uuid.ToString();
  Owners owners;
  EXPECT_THAT(owners.Take("a"_uuid, {{}, {"d1", "d2", "d3"}, {ns0, ns1}}), IsEmpty());
  EXPECT_THAT(owners.Take("b"_uuid, {{}, {"d2", "d4"}, {ns1}}),
              ElementsAre("device d2 belongs to " + first,  // T-284
                          "unit ns1 of PMEM belongs to " + first));
  EXPECT_THAT(owners.Take("c"_uuid, {{}, {"d3", "d1", "d5", "d4"}, {ns1, ns0}}),
              ElementsAre("device d3 belongs to " + first + ", and likewise 2 more",
                          "unit ns1 of PMEM belongs to " + first + ", and likewise 1 more"));
  EXPECT_EQ(owners.by_device().at("d4"), "b"_uuid);  // T-284: the rest is taken
  EXPECT_EQ(owners.by_device().at("d5"), "c"_uuid);
}

}  // namespace
}  // namespace berth::tracker
