// What is said of a peer whose certificate has the wrong id.
#include "services/client/cpp/peer_verifier.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::client {
namespace {

// A peer chooses the URI of its certificate, and its size.
TEST(CheckPeerTest, SaysNoLongUri) {
  const std::string name(1500, 'n');
  const absl::Status refused = CheckPeer({"spiffe://other.test/reader/" + name}, "d.test", {});
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_LT(refused.message().size(), 300u);
}

}  // namespace
}  // namespace berth::client
