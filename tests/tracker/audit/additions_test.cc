// What provider configuration files add to the providers of a report.
#include "tracker/audit/additions.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A root and its child, as the tracker makes them.
std::vector<WantedProvider> RootAndChild() {
  return {{"u1"_uuid, "n1", Uuid(), {{"VCPU", {4, 0, 1, 4, 1, 1.0}}}, {{"COMPUTE_NODE", true}}},
          {"u2"_uuid, "n1_gpu", "u1"_uuid, {{"CUSTOM_OWN", {1}}}, {{"CUSTOM_OURS", false}}}};
}

ProviderEntry Entry(const std::string& uuid, const std::string& name, const std::string& class_name,
                    std::set<std::string> traits = {}) {
  ProviderEntry entry{
      "f.yaml:" + (uuid.empty() ? name : uuid), ShortUuid(uuid), name, {}, std::move(traits)};
  if (!class_name.empty()) entry.inventories[class_name] = {22, 2, 3, 10, 5, 1.5};
  return entry;
}

TEST(Additions, GoToTheProviderThatAnEntryNames) {  // T-219
  std::vector<WantedProvider> providers = RootAndChild();
  const Additions additions =
      AddConfigured({Entry("", "", "CUSTOM_EVERY"), Entry("u1", "", "CUSTOM_X", {"CUSTOM_T"}),
                     Entry("", "n1_gpu", "CUSTOM_Y")},
                    {}, &providers);
  EXPECT_THAT(additions.problems, IsEmpty());
  EXPECT_THAT(additions.absent, IsEmpty());
  EXPECT_EQ(providers[0].inventories.size(), 2u);  // $COMPUTE_NODE is for other roots only
  EXPECT_EQ(providers[0].inventories.at("CUSTOM_X"), (Inventory{22, 2, 3, 10, 5, 1.5}));
  EXPECT_EQ(providers[0].traits, (OwnedTraits{{"COMPUTE_NODE", true}, {"CUSTOM_T", true}}));
  EXPECT_EQ(providers[1].inventories.size(), 2u);
  EXPECT_EQ(providers[1].inventories.count("CUSTOM_Y"), 1u);
}

TEST(Additions, ForEveryRootGoToRootsOnly) {  // T-219
  std::vector<WantedProvider> providers = RootAndChild();
  AddConfigured({Entry("", "", "CUSTOM_EVERY")}, {}, &providers);
  EXPECT_EQ(providers[0].inventories.count("CUSTOM_EVERY"), 1u);
  EXPECT_EQ(providers[1].inventories.count("CUSTOM_EVERY"), 0u);
}

TEST(Additions, NeverOverwrite) {  // T-219
  for (const ProviderEntry& entry : {Entry("u2", "", "CUSTOM_OWN", {"CUSTOM_T"}),
                                     Entry("u2", "", "CUSTOM_X", {"CUSTOM_OURS"})}) {
    std::vector<WantedProvider> providers = RootAndChild();
    const Additions additions = AddConfigured({entry}, {}, &providers);
    EXPECT_THAT(additions.problems, ElementsAre(HasSubstr("f.yaml:u2 adds nothing to provider")));
    EXPECT_EQ(providers[1].inventories, RootAndChild()[1].inventories);
    EXPECT_EQ(providers[1].traits, RootAndChild()[1].traits);
  }
}

TEST(Additions, OfTwoEntriesForOneProviderHaveNoEffect) {  // T-219
  std::vector<WantedProvider> providers = RootAndChild();
  const Additions additions = AddConfigured(
      {Entry("u1", "", "CUSTOM_X"), Entry("", "n1", "CUSTOM_Y"), Entry("", "", "CUSTOM_EVERY")}, {},
      &providers);
  EXPECT_THAT(additions.problems, ElementsAre(HasSubstr("f.yaml:u1 and f.yaml:n1 both name")));
  EXPECT_EQ(providers[0].inventories, RootAndChild()[0].inventories);
}

TEST(Additions, NameProvidersThatTheNodeDoesNotHave) {  // T-219
  std::vector<WantedProvider> providers = RootAndChild();
  const Additions additions =
      AddConfigured({Entry("u9", "", "CUSTOM_X"), Entry("", "n9", "CUSTOM_Y")}, {}, &providers);
  EXPECT_THAT(additions.absent,
              ElementsAre("f.yaml:u9: this host has no provider " + "u9"_uuid.ToString(),
                          "f.yaml:n9: this host has no provider n9"));
  EXPECT_THAT(additions.problems, IsEmpty());
}

TEST(Additions, ThatAreGoneTakeTheirTraitsWithThem) {  // T-220, T-358
  std::vector<WantedProvider> providers = RootAndChild();
  AddConfigured(
      {Entry("u1", "", "", {"CUSTOM_STAYS"})},
      {{"u1"_uuid, {"CUSTOM_STAYS", "CUSTOM_GONE", "COMPUTE_NODE"}}, {"u9"_uuid, {"CUSTOM_X"}}},
      &providers);
  EXPECT_EQ(providers[0].traits,
            (OwnedTraits{{"COMPUTE_NODE", true}, {"CUSTOM_GONE", false}, {"CUSTOM_STAYS", true}}));
  EXPECT_EQ(providers[1].traits, RootAndChild()[1].traits);
}

TEST(Additions, TellTheirTraits) {
  const std::vector<ProviderEntry> entries = {Entry("", "", "", {"CUSTOM_A"}),
                                              Entry("", "n1_gpu", "CUSTOM_X"),
                                              Entry("u9", "", "", {"CUSTOM_C"})};
  EXPECT_EQ(ConfiguredTraits(entries, RootAndChild()), (AddedTraits{{"u1"_uuid, {"CUSTOM_A"}}}));
}

}  // namespace
}  // namespace berth::tracker
