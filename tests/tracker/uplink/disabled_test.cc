// A caller of the tracker disables the host, and enables it again.
#include <algorithm>

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

TEST_F(UplinkTest, StaysDisabledWhenAMaintenanceEnds) {
  FakePlacement placement;
  const auto uplink = Connect(placement);
  const auto unready = [&placement](int count) {
    return placement.Wait([=](const std::vector<FakePlacement::Request>& all) {
      return count == std::count_if(all.begin(), all.end(), [](const auto& request) {
               return request.has_readiness() && !request.readiness().ready();
             });
    });
  };
  uplink->SetDisabled(true);
  ASSERT_TRUE(unready(1));
  for (const bool disabled : {true, false}) {
    FakePlacement::Response response;
    response.mutable_push()->set_node_uuid(uuid_);
    response.mutable_push()->mutable_service()->set_disabled(disabled);
    placement.Say(response);
  }
  EXPECT_TRUE(
      unready(2));  // T-295: somebody has enabled the service, not the caller of the tracker
}

}  // namespace
}  // namespace berth::tracker
