// Who waits for the record of an instance, and when he is answered.
#include "tracker/node/record_waiters.h"

#include <map>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/tracker/account/sample_records.h"

namespace berth::tracker {
namespace {

class RecordWaitersTest : public testing::Test {
 protected:
  RecordWaitersTest() { account_.PutInstance(Known("a", 1, 10)); }

  // The record of an instance here, in this generation, changed at this second.
  static Instance Known(const std::string& name, int64_t generation, int64_t second) {
    Instance instance = MakeInstance(name, kHere, MakeFlavor("f", 1, 0, 0));
    instance.generation = generation;
    instance.updated_at = absl::FromUnixSeconds(second);
    return instance;
  }
  void Wait(const std::string& caller, const Instance& known) {
    waiters_.Add(known, {[this, caller](const absl::StatusOr<ClaimResult>& answer) {
                           EXPECT_TRUE(answers_.emplace(caller, answer).second) << "twice";
                         },
                         [this, caller] { return gone_ == caller; }});
  }
  void Answer() {
    ClaimReplies replies;
    waiters_.Answer(account_, &replies);
  }
  std::string AnswerOf(const std::string& caller) const {
    const auto found = answers_.find(caller);
    if (found == answers_.end()) return "none";
    if (!found->second.ok()) return "refused";
    return found->second->tracked ? "tracked" : "not tracked";
  }

  NodeAccount account_{kHere, NodeResources()};
  RecordWaiters waiters_;
  std::string gone_;
  std::map<std::string, absl::StatusOr<ClaimResult>> answers_;
};

TEST_F(RecordWaitersTest, AreAnsweredWhenTheAccountHasTheRecordOrANewerOne) {  // T-116
  Wait("same", Known("a", 1, 10));
  Wait("same commit", Known("a", 4, 10));
  Wait("older", Known("a", 5, 9));
  Wait("newer", Known("a", 2, 11));
  Wait("elsewhere", Known("b", 1, 10));
  Answer();
  EXPECT_EQ(AnswerOf("same"), "tracked");
  EXPECT_EQ(AnswerOf("same commit"), "tracked");
  EXPECT_EQ(AnswerOf("older"), "tracked");
  EXPECT_EQ(AnswerOf("newer"), "none");
  EXPECT_EQ(AnswerOf("elsewhere"), "not tracked");
  EXPECT_EQ(waiters_.size(), 1u);
  account_.PutInstance(Known("a", 3, 12));
  Answer();
  EXPECT_EQ(AnswerOf("newer"), "tracked");
  EXPECT_EQ(waiters_.size(), 0u);
}

TEST_F(RecordWaitersTest, AreRefusedWhenTheyGoOrTheSessionEnds) {
  Wait("goes", Known("a", 2, 11));
  Wait("stays", Known("a", 2, 11));
  gone_ = "goes";
  Answer();
  EXPECT_EQ(AnswerOf("goes"), "refused");
  EXPECT_EQ(AnswerOf("stays"), "none");
  {
    ClaimReplies replies;
    waiters_.AnswerAll(absl::UnavailableError("x"), &replies);
    EXPECT_EQ(AnswerOf("stays"), "none") << "who holds the lock answers nobody";
  }
  EXPECT_EQ(AnswerOf("stays"), "refused");
  EXPECT_EQ(waiters_.size(), 0u);
}

}  // namespace
}  // namespace berth::tracker
