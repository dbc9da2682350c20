// Whose certificate it is, in words.
#include "services/client/cpp/holder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/processes/certificate_authority.h"

namespace berth::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HolderTest, IsTheUrisWithSerialNumberAndIssuer) {
  const testing::CertificateAuthority ca("issuing");
  testing::CertificateWords words;
  words.common_name = "ann";
  EXPECT_THAT(HolderIn(ca.Issue(words).certificate),
              AllOf(HasSubstr("subject CN=ann, serial number "), HasSubstr(", issuer CN=issuing")));
  words.uris = {"spiffe://d/reader/a", "spiffe://d/reader/b", "spiffe://d/reader/c"};
  EXPECT_THAT(HolderIn(ca.Issue(words).certificate),
              AllOf(HasSubstr("URI spiffe://d/reader/a, URI spiffe://d/reader/b, serial number "),
                    Not(HasSubstr("reader/c")), Not(HasSubstr("ann"))));
  EXPECT_EQ(HolderIn("no certificate"), "");
  EXPECT_EQ(HolderIn(ca.Issue(words).key), "");
}

// A peer chooses the texts.
TEST(HolderTest, IsOneShortLine) {
  const testing::CertificateAuthority ca("issuing");
  testing::CertificateWords words;
  words.uris = {"spiffe://d/reader/" + std::string(1000, 'a')};
  EXPECT_LT(HolderIn(ca.Issue(words).certificate).size(), 300u);
  EXPECT_EQ(Shown("a\nb\x7f"), "a?b?");
}

}  // namespace
}  // namespace berth::client
