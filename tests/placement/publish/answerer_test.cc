// Who is answered next.
#include "placement/publish/answerer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth::placement {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

class AnswererTest : public ::testing::Test {
 protected:
  Answer AnswerOf(const std::string& owner, const std::string& name,
                  Priority priority = Priority::kFirst) {
    return {[this, name](const Decision&) { given_.push_back(name); }, Decision(), owner, priority};
  }
  // A thousand answers of one owner, after `first`.
  std::vector<Answer> FloodAfter(std::vector<Answer> first = {}) {
    for (int i = 0; i < 1000; ++i) first.push_back(AnswerOf("flood", "flood"));
    return first;
  }
  // Makes the answering thread wait until Release.
  void Hold() {
    const auto begun = std::make_shared<absl::Notification>();
    answerer_.Post([this, begun] {
      begun->Notify();
      release_.WaitForNotification();
    });
    begun->WaitForNotification();
  }
  // The names of all answers and calls, in their order.
  std::vector<std::string> Release() {
    release_.Notify();
    answerer_.Stop();
    return given_;
  }

  absl::Notification release_;
  std::vector<std::string> given_;  // used by the answering thread until Stop
  Answerer answerer_;
};

TEST_F(AnswererTest, OwnersTakeTurns) {
  Hold();
  answerer_.Post(FloodAfter());
  std::vector<Answer> late;
  late.push_back(AnswerOf("honest", "honest"));
  answerer_.Post(std::move(late));
  std::vector<std::string> given = Release();
  EXPECT_EQ(given.size(), 1001U);
  given.resize(20);
  EXPECT_THAT(given, Contains("honest"));
}

TEST_F(AnswererTest, WhoComesLaterWaitsForAFewAnswers) {
  Hold();
  std::vector<Answer> answers;
  answers.push_back(AnswerOf("flood", "first"));
  answers.back().done = [this](const Decision&) {
    std::vector<Answer> late;
    late.push_back(AnswerOf("honest", "honest"));
    answerer_.Give(std::move(late));  // posts it: a callback runs
  };
  answerer_.Post(FloodAfter(std::move(answers)));
  std::vector<std::string> given = Release();
  EXPECT_EQ(given.size(), 1001U);
  given.resize(30);
  EXPECT_THAT(given, Contains("honest"));
}

TEST_F(AnswererTest, AnOwnerIsAnsweredInOrderAndSessionsComeLater) {
  Hold();
  std::vector<Answer> answers;
  answers.push_back(AnswerOf("tracker", "session", Priority::kSessions));
  for (const char* name : {"1", "2", "3"}) answers.push_back(AnswerOf("one", name));
  answerer_.Post(std::move(answers));
  EXPECT_THAT(Release(), ElementsAre("1", "2", "3", "session"));
}

TEST_F(AnswererTest, ACallDoesNotWaitForAllAnswers) {
  Hold();
  answerer_.Post(FloodAfter());
  answerer_.Post([this] { given_.emplace_back("call"); });
  std::vector<std::string> given = Release();
  given.resize(20);
  EXPECT_THAT(given, Contains("call"));
}

}  // namespace
}  // namespace berth::placement
