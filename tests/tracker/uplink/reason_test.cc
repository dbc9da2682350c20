// The tracker acts on the reason of a refusal, and never on the words beside the reason.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/tracker/uplink/fixture.h"

namespace berth::tracker {
namespace {

using Fate = FakePlacement::Fate;

// The uuid of the service record that each Hello names.
std::vector<std::string> Registered(FakePlacement& placement) {
  std::vector<std::string> uuids;
  for (const auto& request : placement.requests()) {
    if (request.has_hello()) uuids.push_back(request.hello().registered().service_uuid());
  }
  return uuids;
}

TEST_F(UplinkTest, IsDeletedByTheReasonOnly) {
  FakePlacement placement;
  placement.end = FakePlacement::Refusal(grpc::StatusCode::UNAVAILABLE, "STORE_UNAVAILABLE",
                                         "not SERVICE_NOT_REGISTERED, not TRACKER_FENCED");
  const auto uplink = Connect(placement);
  // It comes back, as often as placement ends the session.
  ASSERT_TRUE(placement.Wait([](const auto& requests) { return requests.size() >= 3; }));
  EXPECT_EQ(uplink->status().state, Uplink::State::kConnecting);
}

TEST_F(UplinkTest, IsDeletedOnceTheServiceIsNotRegistered) {
  FakePlacement placement;
  placement.end = FakePlacement::Refusal(grpc::StatusCode::FAILED_PRECONDITION,
                                         "SERVICE_NOT_REGISTERED", "no such service");
  const auto uplink = Connect(placement);
  ASSERT_TRUE(Eventually([&] { return uplink->status().state == Uplink::State::kDeleted; }));
  EXPECT_EQ(placement.requests().size(), 1u);  // T-289: it does not create the record again
  EXPECT_THAT(gave_up(), testing::ElementsAre(testing::HasSubstr("restart the tracker")));  // T-289
}

TEST_F(UplinkTest, IsNotFencedByAnotherDomain) {
  FakePlacement placement;
  google::rpc::ErrorInfo info;
  info.set_reason("TRACKER_FENCED");
  info.set_domain("proxy.example");
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  placement.end =
      grpc::Status(grpc::StatusCode::ABORTED, "another fence", details.SerializeAsString());
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.Wait([](const auto& requests) { return requests.size() >= 3; }));
  EXPECT_EQ(uplink->status().state, Uplink::State::kConnecting);
}

TEST_F(UplinkTest, SendsNoSnapshotForTheWordsOfARefusal) {
  FakePlacement placement;
  placement.fate = [](const FakePlacement::Report&) { return Fate::kInvalid; };
  placement.words = "provider REPORT_GAP has a bad name";
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  ASSERT_TRUE(Eventually([&] { return node_->view().reports_rejected == 1; }));
  const int64_t beats = uplink->status().heartbeats;
  ASSERT_TRUE(Eventually([&] { return uplink->status().heartbeats > beats + 2; }));
  EXPECT_EQ(placement.reports().size(), 1u);
}

// The command line is told this text in a message.
TEST_F(UplinkTest, KeepsNoErrorThatAMessageCannotHave) {
  FakePlacement placement;
  placement.end = grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone \xFF\xC3");
  const auto uplink = Connect(placement);
  EXPECT_TRUE(Eventually([&] { return uplink->status().error == "gone ??"; }));
}

// A process that was away while its service was deleted must not create it again: placement sees in
// the Hello that the process has been registered before.
TEST_F(UplinkTest, TellsWithWhichRecordItRegistered) {
  FakePlacement placement;
  placement.service_uuid = "8c5f2b1e-0000-4000-8000-000000000001";
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  placement.EndSession();
  ASSERT_TRUE(Eventually([&] { return Registered(placement).size() >= 2; }));
  EXPECT_EQ(Registered(placement)[0], "");                      // T-384: a new process
  EXPECT_EQ(Registered(placement)[1], placement.service_uuid);  // T-384
}

// Placement would refuse each later Hello.
TEST_F(UplinkTest, KeepsNoRecordWhoseUuidCannotBeRead) {
  const std::pair<const char*, const char*> kCases[] = {
      {"x", ""},
      {"00000000-0000-0000-0000-000000000000", ""},
      {"8C5F2B1E000040008000000000000001", "8c5f2b1e-0000-4000-8000-000000000001"},
  };
  for (const auto& [said, kept] : kCases) {
    FakePlacement placement;
    placement.service_uuid = said;
    const auto uplink = Connect(placement);
    ASSERT_TRUE(placement.WaitForReports(1));
    placement.EndSession();
    ASSERT_TRUE(Eventually([&] { return Registered(placement).size() >= 2; }));
    EXPECT_EQ(Registered(placement)[1], kept) << said;
  }
}

}  // namespace
}  // namespace berth::tracker
