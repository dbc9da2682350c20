// The generated names: complete, valid, in the promised order.
#include "standard_data/standard_data.h"

#include <algorithm>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth::sample {
namespace {

TEST(StandardData, ClassesKeepTheirOrder) {
  ASSERT_GE(StandardClasses().size(), 21u);
  EXPECT_EQ(StandardClasses()[0], "VCPU");
  EXPECT_EQ(StandardClasses()[1], "MEMORY_MB");
  EXPECT_EQ(StandardClasses()[2], "DISK_GB");
  EXPECT_THAT(StandardClasses(), testing::Contains(absl::string_view("PCPU")));
}

TEST(StandardData, TraitsAreSortedAndUnique) {
  EXPECT_GE(StandardTraits().size(), 300u);
  EXPECT_TRUE(std::is_sorted(StandardTraits().begin(), StandardTraits().end()));
  std::set<absl::string_view> unique(StandardTraits().begin(), StandardTraits().end());
  EXPECT_EQ(unique.size(), StandardTraits().size());
  EXPECT_TRUE(unique.contains("HW_CPU_X86_AVX2"));
  EXPECT_TRUE(unique.contains("MISC_SHARES_VIA_AGGREGATE"));
}

}  // namespace
}  // namespace berth::sample
