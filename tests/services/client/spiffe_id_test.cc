// Which texts are ids, and that each id has one spelling.
#include "services/client/cpp/spiffe_id.h"

#include <gtest/gtest.h>

namespace berth::client {
namespace {

TEST(SpiffeIdTest, ReadsItsParts) {
  const auto id = ParseSpiffeId("spiffe://berth.example.org/tracker/host-1.Rack_7");
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(*id, (SpiffeId{"berth.example.org", "tracker", "host-1.Rack_7"}));
  EXPECT_EQ(UriOf(*id), "spiffe://berth.example.org/tracker/host-1.Rack_7");
}

TEST(SpiffeIdTest, RefusesEveryOtherSpelling) {
  for (const std::string text : {"",
                                 "spiffe://",
                                 "spiffe://d",
                                 "spiffe://d/",
                                 "spiffe://d/tracker",
                                 "spiffe://d/tracker/",
                                 "spiffe://d//host",
                                 "spiffe:///tracker/host",
                                 "spiffe://d/tracker/host/",
                                 "spiffe://d/tracker/host/more",
                                 "SPIFFE://d/tracker/host",
                                 "spiffe://D/tracker/host",
                                 "spiffe://d:80/tracker/host",
                                 "spiffe://u@d/tracker/host",
                                 "spiffe://d/tracker/a%20b",
                                 "spiffe://d/tracker/host?q",
                                 "spiffe://d/tracker/host#f",
                                 "spiffe://d/../host",
                                 "spiffe://d/tracker/.",
                                 " spiffe://d/tracker/host",
                                 "spiffe://d/tracker/host\n",
                                 "https://d/tracker/host"}) {
    EXPECT_EQ(ParseSpiffeId(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_FALSE(ParseSpiffeId(absl::string_view("spiffe://d/tracker/h\0x", 22)).ok());
  EXPECT_FALSE(ParseSpiffeId("spiffe://d/tracker/" + std::string(3000, 'a')).ok());
}

TEST(SpiffeIdTest, AnErrorShowsAtMostTheBeginningOfTheText) {
  const absl::Status status = ParseSpiffeId("x\x01" + std::string(5000, 'y')).status();
  EXPECT_LT(status.message().size(), 200);
  EXPECT_NE(status.message().find("'x?yyy"), std::string::npos) << status;
}

TEST(SpiffeIdTest, ATrustDomainIsAPlainName) {
  EXPECT_TRUE(CheckTrustDomain("berth.example.org").ok());
  for (const char* domain : {"", "Berth", "a/b", "spiffe://a", "a:1", "a b"}) {
    EXPECT_FALSE(CheckTrustDomain(domain).ok()) << domain;
  }
}

}  // namespace
}  // namespace berth::client
