// A readiness is recorded once, unless nobody knows whether it was.
#include "services/report/readiness.h"

#include <gtest/gtest.h>

#include <string>

#include "placement/values/refusal.h"

namespace berth::services {
namespace {

pb::Readiness Unready(const std::string& reason) {
  pb::Readiness readiness;
  readiness.set_reason(reason);
  return readiness;
}

class ReadinessTest : public ::testing::Test {
 protected:
  ReadinessTest() { service_.host = "h"; }

  // The reason with which the service is to be disabled; "-" if nothing is to be recorded now.
  std::string Next() {
    const auto command = readiness_.Next(&service_);
    return command ? command->disabled_reason : "-";
  }

  placement::ServiceRecord service_;
  Readiness readiness_;
};

TEST_F(ReadinessTest, IsRecordedOnceAndTheNewestOfThoseThatWait) {
  EXPECT_EQ(Next(), "-");
  readiness_.Hear(Unready("one"));
  EXPECT_EQ(Next(), "AUTO: one");
  readiness_.Hear(Unready("two"));
  readiness_.Hear(Unready("three"));
  EXPECT_EQ(Next(), "-");  // one command at a time
  EXPECT_TRUE(readiness_.Settle(absl::OkStatus()));
  EXPECT_EQ(Next(), "AUTO: three");
  EXPECT_FALSE(readiness_.Settle(absl::OkStatus()));
  EXPECT_EQ(Next(), "-");
}

TEST_F(ReadinessTest, IsRecordedAgainIfItMayNotBeWritten) {
  readiness_.Hear(Unready("one"));
  for (const absl::Status& unknown :
       {absl::UnavailableError("any"), absl::DeadlineExceededError("any"),
        placement::Refuse(absl::StatusCode::kFailedPrecondition, "RECOVERY_REQUIRED", "any")}) {
    EXPECT_EQ(Next(), "AUTO: one");
    EXPECT_TRUE(readiness_.Settle(unknown));
  }
  EXPECT_EQ(Next(), "AUTO: one");
  readiness_.Hear(Unready("two"));
  EXPECT_TRUE(readiness_.Settle(absl::UnavailableError("any")));
  EXPECT_EQ(Next(), "AUTO: two");  // a newer one has replaced it
  EXPECT_FALSE(readiness_.Settle(absl::InvalidArgumentError("any")));
}

TEST_F(ReadinessTest, IsNotRecordedIfTheRecordSaysTheSame) {
  service_.disabled = true;
  readiness_.Hear(Unready("one"));
  EXPECT_EQ(Next(), "-");
  pb::Readiness ready;
  ready.set_ready(true);
  readiness_.Hear(ready);
  const auto command = readiness_.Next(&service_);
  ASSERT_TRUE(command);
  EXPECT_EQ(command->disabled, false);
  EXPECT_TRUE(command->automatic);
  readiness_.Settle(absl::OkStatus());
  readiness_.Hear(ready);
  EXPECT_FALSE(readiness_.Next(nullptr));
}

}  // namespace
}  // namespace berth::services
