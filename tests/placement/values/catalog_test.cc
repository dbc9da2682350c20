#include "placement/values/catalog.h"

#include "gtest/gtest.h"

namespace berth::placement {
namespace {

TEST(Catalog, KnowsTheFormsOfNames) {
  struct Case {
    std::string name;
    bool upper, custom, standard;
  };
  for (const Case& c : std::vector<Case>{
           {"VCPU", true, false, true},
           {"CUSTOM_A", true, true, false},
           {"CUSTOM_A_9", true, true, false},
           {"CUSTOM__", true, true, false},
           {"CUSTOM_", true, false, false},  // P-20
           {"CUSTOM", true, false, true},
           {"XCUSTOM_A", true, false, true},     // P-21
           {"CUSTOM_A ", false, false, false},   // P-21
           {"CUSTOM_A\n", false, false, false},  // P-21
           {"CUSTOM_a", false, false, false},
           {"vcpu", false, false, true},
           {"", false, false, true},
           {std::string(255, 'A'), true, false, true},
           {std::string(256, 'A'), false, false, true},
           {"CUSTOM_" + std::string(248, 'A'), true, true, false},
           {"CUSTOM_" + std::string(249, 'A'), false, false, false},
       }) {
    EXPECT_EQ(IsUpperName(c.name), c.upper) << c.name;
    EXPECT_EQ(IsCustomName(c.name), c.custom) << c.name;
    EXPECT_EQ(IsStandardName(c.name), c.standard) << c.name;  // P-33
  }
}

TEST(Catalog, NeverHandsAnIdOutTwice) {
  NameTable<ClassId> table;
  const ClassId first = table.NextId();
  table.Insert(first, "VCPU");
  const ClassId second = table.NextId();
  table.Insert(second, "CUSTOM_A");
  EXPECT_EQ(table.Find("CUSTOM_A"), second);
  EXPECT_EQ(table.NameOf(second), "CUSTOM_A");
  table.Erase(second);
  EXPECT_EQ(table.Find("CUSTOM_A"), std::nullopt);
  EXPECT_FALSE(table.Contains(second));
  EXPECT_GT(table.NextId(), second);  // P-40: a new class of that name is another one
  table.ReserveIds(100);
  EXPECT_EQ(table.NextId(), ClassId{100});
  table.ReserveIds(50);
  EXPECT_EQ(table.NextId(), ClassId{100});
  EXPECT_EQ(table.by_name().size(), 1u);
}

}  // namespace
}  // namespace berth::placement
