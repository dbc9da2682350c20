#include "tracker/ground/uuid.h"

#include <regex>

#include "gtest/gtest.h"

namespace berth::tracker {
namespace {

constexpr char kCanonical[] = "6ff2b5b1-6e13-4ca4-842d-80f02318e6e8";

TEST(Uuid, HasOneText) {
  for (const char* const text :
       {kCanonical, "6FF2B5B1-6E13-4CA4-842D-80F02318E6E8", "6FF2B5B1-6e13-4ca4-842d-80f02318e6e8",
        "6ff2b5b16e134ca4842d80f02318e6e8", "6FF2B5B16E134CA4842D80F02318E6E8"}) {
    const std::optional<Uuid> uuid = ParseName(text);
    ASSERT_TRUE(uuid) << text;
    EXPECT_EQ(uuid->ToString(), kCanonical);
    EXPECT_EQ(uuid, Uuid::Parse(kCanonical));
  }
}

TEST(Uuid, IsNotReadFromAnythingElse) {
  for (const char* const text :
       {"", "i1", "6ff2b5b1-6e13-4ca4-842d-80f02318e6eg", "6ff2b5b1-6e13-4ca4-842d-80f02318e6e",
        "6ff2b5b1-6e13-4ca4-842d-80f02318e6e88", "6ff2b5b1x6e13-4ca4-842d-80f02318e6e8",
        "6ff2b5b16e13-4ca4-842d-80f02318e6e8-", "{6ff2b5b1-6e13-4ca4-842d-80f02318e6e8}",
        "urn:uuid:6ff2b5b1-6e13-4ca4-842d-80f02318e6e8", " 6ff2b5b1-6e13-4ca4-842d-80f02318e6e8",
        "6ff2b5b1-6e13-4ca4-842d-80f02318e6e8 ", " ff2b5b1-6e13-4ca4-842d-80f02318e6e8"}) {
    EXPECT_EQ(Uuid::Parse(text), std::nullopt) << text;
    EXPECT_EQ(ParseName(text), std::nullopt) << text;
    EXPECT_EQ(UuidOrNil(text), Uuid()) << text;
  }
}

TEST(Uuid, OfZerosNamesNothing) {
  for (const char* const text :
       {"00000000-0000-0000-0000-000000000000", "00000000000000000000000000000000"}) {
    EXPECT_EQ(Uuid::Parse(text), Uuid());
    EXPECT_EQ(ParseName(text), std::nullopt);
  }
  EXPECT_TRUE(IsNil(Uuid()));
  EXPECT_EQ(TextOrEmpty(Uuid()), "");
  EXPECT_EQ(TextOrEmpty(*ParseName(kCanonical)), kCanonical);
}

TEST(Uuid, OfRandomBitsHasVersionFour) {
  const std::string text = Uuid::Random().ToString();
  EXPECT_TRUE(std::regex_match(
      text, std::regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")))
      << text;
  EXPECT_NE(Uuid::Random(), Uuid::Random());
}

// A provider of a node keeps its uuid from release to release.
TEST(Uuid, OfANameIsTheSameInEveryRelease) {
  const Uuid node = *ParseName(kCanonical);
  EXPECT_EQ(NamedUuid(node, "n_amd_sev").ToString(), "7f009369-7d48-8a85-bd15-c0075363fa8c");
  EXPECT_NE(NamedUuid(node, "n_amd_sev_es"), NamedUuid(node, "n_amd_sev"));
}

TEST(Uuid, OfBytesHasThemInOrder) {
  unsigned char bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<unsigned char>(16 * i + 15 - i);
  EXPECT_EQ(UuidFromBytes(bytes).ToString(), "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0");
}

}  // namespace
}  // namespace berth::tracker
