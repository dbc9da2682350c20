// The registry of open calls: a call is told once why it must end, and cancelled only if it does not
// end by itself.
#include "services/process/open_calls.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "placement/values/refusal.h"

namespace berth::services {
namespace {

const std::string& WatchMethod() {
  static const auto* const name = new std::string("berth.placement.v1.WatchService/Watch");
  return *name;
}

OpenCallPtr CallOf(const std::string& name) {
  Caller caller;
  caller.domain = "d";
  caller.role = "reader";
  caller.name = name;
  return std::make_shared<OpenCall>(nullptr, &WatchMethod(), caller, nullptr);
}

absl::Status Gone() { return absl::UnauthenticatedError("it has expired"); }

TEST(OpenCallTest, IsToldOnceWhyItMustEnd) {
  const OpenCallPtr call = CallOf("a");
  std::vector<absl::Status> told;
  call->OnEnding([&](const absl::Status& why) { told.push_back(why); });
  EXPECT_TRUE(call->ending().ok());
  EXPECT_TRUE(call->End(Gone(), absl::ZeroDuration()));
  EXPECT_FALSE(call->End(absl::PermissionDeniedError("later"), absl::ZeroDuration()));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0], Gone());
  EXPECT_EQ(call->ending(), Gone());
}

TEST(OpenCallTest, ThatMustEndAlreadyIsToldAtOnce) {
  const OpenCallPtr call = CallOf("a");
  call->End(Gone(), absl::ZeroDuration());
  absl::Status told;
  call->OnEnding([&](const absl::Status& why) { told = why; });
  EXPECT_EQ(told, Gone());
}

// What waits in a queue looks at the flag; its end has the reason and not CANCELLED.
TEST(OpenCallTest, SetsTheFlagOfWhatWaits) {
  const OpenCallPtr call = CallOf("a");
  const auto cancelled = CancelledFlagOf(call);
  EXPECT_EQ(EndingOf(call, absl::CancelledError("the caller has gone")),
            absl::CancelledError("the caller has gone"));
  call->End(Gone(), absl::ZeroDuration());
  EXPECT_TRUE(cancelled->load());
  EXPECT_EQ(EndingOf(call, absl::CancelledError("the caller has gone")), Gone());
  EXPECT_EQ(EndingOf(call, absl::OkStatus()), absl::OkStatus());  // it was done after all
  EXPECT_EQ(EndingOf(nullptr, absl::CancelledError("x")), absl::CancelledError("x"));
  EXPECT_FALSE(CancelledFlagOf(nullptr)->load());
}

TEST(OpenCallTest, IsCurrentOnlyWhileItsHandlerBegins) {
  EXPECT_EQ(OpenCall::Current(), nullptr);
  const OpenCallPtr call = CallOf("a");
  {
    const BeginningOfCall beginning(call);
    EXPECT_EQ(OpenCall::Current(), call);
  }
  EXPECT_EQ(OpenCall::Current(), nullptr);
}

TEST(OpenCallsTest, EndsTheCallsOfOneCallerOnce) {
  OpenCalls calls;
  const OpenCallPtr one = CallOf("a"), two = CallOf("b"), three = CallOf("a");
  for (const OpenCallPtr& call : {one, two, three}) calls.Enter(call);
  calls.Leave(three);
  EXPECT_EQ(calls.size(), 2u);
  std::vector<std::string> told;
  const auto judge = [](const OpenCall& call) {
    return call.caller().name == "a" ? Gone() : absl::OkStatus();
  };
  const auto tell = [&](const OpenCall& call, const absl::Status& why) {
    told.push_back(call.caller().name + ": " + std::string(why.message()));
  };
  calls.EndWhere(judge, tell, absl::ZeroDuration());
  calls.EndWhere(judge, tell, absl::Seconds(1));
  EXPECT_EQ(told, std::vector<std::string>{"a: it has expired"});
  EXPECT_EQ(one->ending(), Gone());
  EXPECT_TRUE(two->ending().ok());
  EXPECT_TRUE(three->ending().ok());
}

}  // namespace
}  // namespace berth::services
