// Who a tracker is, and which outcomes of its commands end its stream.
#include "services/report/tracker_identity.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "placement/values/refusal.h"

namespace berth::services {
namespace {

using placement::RegisterService;
using placement::Uuid;

const Uuid kProcess{5, 1};

RegisterService ServiceOf(const std::string& host, Uuid process = kProcess) {
  RegisterService service;
  service.host = host;
  service.binary = "b";
  service.incarnation = process;
  return service;
}

std::string ReasonFor(const absl::Status& status) {
  const auto refusal = placement::RefusalOf(status);
  return status.ok() ? "OK" : refusal ? refusal->reason : status.ToString();
}

TEST(TrackerIdentityTest, IsSetByTheFirstHelloAndNeverChanges) {
  TrackerIdentity identity({});
  EXPECT_TRUE(identity.Hear(ServiceOf("h")).ok());
  EXPECT_EQ(ReasonFor(identity.Hear(ServiceOf("h2"))), "INVALID_FIELD");
  EXPECT_EQ(ReasonFor(identity.Hear(ServiceOf("h", Uuid{5, 2}))), "INVALID_FIELD");
  EXPECT_TRUE(identity.Hear(ServiceOf("h")).ok());
  EXPECT_EQ(identity.key(), Liveness::Key("h", "b"));
  EXPECT_EQ(identity.incarnation(), kProcess);
  EXPECT_EQ(identity.Actor(), "tracker/h (unverified)");
}

TEST(TrackerIdentityTest, HasTheHostOfItsCertificate) {
  TrackerIdentity identity({.host = "h", .not_after = absl::FromUnixSeconds(100)});
  EXPECT_EQ(ReasonFor(identity.Hear(ServiceOf("h2"))), "POLICY_DENIED");
  EXPECT_TRUE(identity.Hear(ServiceOf("h")).ok());
  EXPECT_EQ(identity.Actor(), "tracker/h");
  EXPECT_TRUE(identity.CheckCertificate(absl::FromUnixSeconds(99)).ok());
  EXPECT_EQ(ReasonFor(identity.CheckCertificate(absl::FromUnixSeconds(100))), "UNAUTHENTICATED");
}

TEST(TrackerIdentityTest, EndsForUnknownOutcomesAndForAProcessThatWasReplaced) {
  TrackerIdentity identity({});
  ASSERT_TRUE(identity.Hear(ServiceOf("h")).ok());
  placement::State state;
  const auto ending = [&](const absl::Status& status) {
    return ReasonFor(identity.EndingOf(state, status));
  };
  const auto refused = [](absl::StatusCode code, absl::string_view reason) {
    return placement::Refuse(code, reason, "any");
  };
  EXPECT_EQ(ending(absl::OkStatus()), "OK");
  EXPECT_EQ(ending(refused(absl::StatusCode::kAborted, "GENERATION_CONFLICT")), "OK");
  EXPECT_EQ(ending(absl::DeadlineExceededError("any")), "OUTCOME_UNKNOWN");
  EXPECT_EQ(ending(refused(absl::StatusCode::kDeadlineExceeded, "ANY")), "OK");
  EXPECT_EQ(ending(refused(absl::StatusCode::kAborted, "TRACKER_FENCED")), "TRACKER_FENCED");
  const absl::Status unknown =
      refused(absl::StatusCode::kFailedPrecondition, "SERVICE_NOT_REGISTERED");
  EXPECT_EQ(ending(unknown), "SERVICE_NOT_REGISTERED");  // its record was deleted
  auto newer = std::make_shared<placement::ServiceRecord>();
  newer->host = "h";
  newer->binary = "b";
  state.Apply({placement::ServicePut{std::move(newer)}});
  EXPECT_EQ(ending(unknown), "TRACKER_FENCED");
}

}  // namespace
}  // namespace berth::services
