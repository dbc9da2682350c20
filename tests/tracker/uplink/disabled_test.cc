// A caller of the tracker disables the host, and enables it again.
#include "tests/tracker/uplink/fixture.h"

namespace berth::tracker {
namespace {

TEST_F(UplinkTest, SaysThatACallerHasDisabledTheHost) {
  FakePlacement placement;
  const auto uplink = Connect(placement);
  const auto said = [&placement](bool ready, int count) {
    return placement.Wait([=](const std::vector<FakePlacement::Request>& all) {
      int found = 0;
      for (const auto& request : all) {
        found += request.has_readiness() && request.readiness().ready() == ready ? 1 : 0;
      }
      return found == count;
    });
  };
  ASSERT_TRUE(said(true, 1));
  uplink->SetDisabled(true);
  EXPECT_TRUE(said(false, 1));  // T-295, T-385
  placement.EndSession();
  EXPECT_TRUE(said(false, 2));  // T-295: again, because placement may not have heard it
  uplink->SetDisabled(false);
  EXPECT_TRUE(said(true, 2));  // T-295, T-385
}

}  // namespace
}  // namespace berth::tracker
