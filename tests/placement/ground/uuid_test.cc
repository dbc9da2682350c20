#include "placement/ground/uuid.h"

#include <set>

#include "gtest/gtest.h"

namespace berth::placement {
namespace {

constexpr char kCanonical[] = "01234567-89ab-cdef-8123-456789abcdef";

TEST(Uuid, AcceptsAnyCaseWithOrWithoutHyphens) {
  for (const char* text :
       {kCanonical, "01234567-89AB-CDEF-8123-456789ABCDEF", "0123456789abcdef8123456789ABCDEF"}) {
    const std::optional<Uuid> uuid = Uuid::Parse(text);
    ASSERT_TRUE(uuid) << text;                // P-6
    EXPECT_EQ(uuid->ToString(), kCanonical);  // P-6
  }
  EXPECT_EQ(Uuid::Parse("00000000-0000-0000-0000-000000000000"), Uuid{});
}

TEST(Uuid, RefusesEverythingElse) {
  for (const char* text : {
           "",
           "0123456789abcdef8123456789abcde",         // 31 digits
           "0123456789abcdef8123456789abcdef0",       // 33
           "0123456789abcdef8123456789abcdeg",        // no digit
           "01234567-89ab-cdef-8123456789abcdef",     // a hyphen too few
           "012345678-9ab-cdef-8123-456789abcdef",    // a hyphen elsewhere
           "------------------------------------",    // nothing but hyphens
           "{01234567-89ab-cdef-8123-456789abcdef}",  // braces
           "urn:uuid:01234567-89ab-cdef-8123-456789abcdef",
           " 1234567-89ab-cdef-8123-456789abcdef",
       }) {
    EXPECT_FALSE(Uuid::Parse(text)) << text;  // P-6
  }
}

TEST(Uuid, RandomOnesAreVersionFourAndDiffer) {
  std::set<Uuid> seen;
  for (int i = 0; i < 1000; ++i) {
    const Uuid uuid = Uuid::Random();
    const std::string text = uuid.ToString();
    EXPECT_EQ(text[14], '4') << text;
    EXPECT_NE(std::string("89ab").find(text[19]), std::string::npos) << text;
    EXPECT_EQ(Uuid::Parse(text), uuid);
    seen.insert(uuid);
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(Uuid, OrdersLikeItsText) {
  for (int i = 0; i < 1000; ++i) {
    const Uuid a = Uuid::Random();
    const Uuid b = Uuid::Random();
    EXPECT_EQ(a < b, a.ToString() < b.ToString());
  }
}

}  // namespace
}  // namespace berth::placement
