// Many ask what a database that went back in time has lost.
#include "services/api/lost_changes.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/ground/mutex.h"
#include "placement/values/refusal.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/processes/restorable.h"

namespace berth::services {
namespace {

using placement::LedgerRunner;
using placement::LossPtr;
using placement::MutexLock;

class LostChangesTest : public ::testing::Test {
 protected:
  LostChangesTest() {
    placement::MakeProviders(runner_, 1, 100, 1024);
    database_.Save();
    EXPECT_TRUE(LedgerRunner::Eventually([this] {
      return runner_.Do(placement::Claim(1, {1}, 1)).status.ok() ||
             runner_.ledger().Newest()->FindConsumer(placement::ConsumerNumber(1)) != nullptr;
    }));
    database_.Restore();
    EXPECT_TRUE(LedgerRunner::Eventually([this] {
      return runner_.ledger().health().recovery_required &&
             runner_.ledger().health().database_revision.number > 0;
    }));
    blocking_ = placement::ConnectOrDie(database_.url());
    looking_ = placement::ConnectOrDie(database_.url());
    lost_.emplace(&runner_.ledger(), &worker_);
  }

  void Ask(const std::string& owner = "reader/one") {
    lost_->Find(owner, [this](const absl::StatusOr<LossPtr>& loss) {
      const MutexLock lock(&mutex_);
      answers_.push_back(loss);
    });
  }
  std::vector<absl::StatusOr<LossPtr>> answers() {
    const MutexLock lock(&mutex_);
    return answers_;
  }
  // How many connections read the tables, or wait for them.
  std::string Reading() {
    return placement::QueryOne(*looking_,
                               "SELECT count(pid) FROM pg_stat_activity WHERE application_name = "
                               "'berth-placement recovery' AND datname = current_database()");
  }

  placement::Restorable database_;
  LedgerRunner runner_{placement::OptionsFor(database_.url())};
  std::unique_ptr<placement::Database> blocking_, looking_;
  placement::Mutex mutex_;
  std::vector<absl::StatusOr<LossPtr>> answers_ ABSL_GUARDED_BY(mutex_);
  std::optional<LostChanges> lost_;
  Workers worker_{1, 16};  // ends first: its work uses the rest
};

TEST_F(LostChangesTest, AFloodOfReadersTakesOneThreadAndOneConnection) {
  ASSERT_EQ(blocking_->Run("BEGIN; LOCK TABLE provider", nullptr), absl::OkStatus());
  Ask();
  ASSERT_TRUE(LedgerRunner::Eventually([this] { return Reading() == "1"; }));
  for (size_t i = 1; i < LostChanges::kWaitingMax; ++i) Ask(absl::StrCat("reader/", i));
  EXPECT_EQ(worker_.queue_length(), 0);
  EXPECT_EQ(Reading(), "1");
  EXPECT_TRUE(answers().empty());
  Ask("reader/late");  // one too many
  ASSERT_EQ(answers().size(), 1u);
  EXPECT_EQ(placement::RefusalOf(answers()[0].status())->reason, "OVERLOADED");
  ASSERT_EQ(blocking_->Run("COMMIT", nullptr), absl::OkStatus());
  ASSERT_TRUE(LedgerRunner::Eventually(
      [this] { return answers().size() == LostChanges::kWaitingMax + 1; }));
  for (size_t i = 1; i < answers().size(); ++i) {
    ASSERT_TRUE(answers()[i].ok()) << answers()[i].status();
    EXPECT_EQ(*answers()[i], *answers()[1]);
  }
}

TEST_F(LostChangesTest, OneReaderDoesNotTakeThePlacesOfOthers) {
  ASSERT_EQ(blocking_->Run("BEGIN; LOCK TABLE provider", nullptr), absl::OkStatus());
  for (size_t i = 0; i < LostChanges::kWaitingMax; ++i) Ask("reader/flood");
  ASSERT_EQ(answers().size(), LostChanges::kWaitingMax - 1);
  for (const auto& answer : answers()) {
    EXPECT_EQ(placement::RefusalOf(answer.status())->reason, "OVERLOADED");
  }
  Ask("operator/other");
  ASSERT_EQ(answers().size(), LostChanges::kWaitingMax - 1);
  ASSERT_EQ(blocking_->Run("COMMIT", nullptr), absl::OkStatus());
  ASSERT_TRUE(LedgerRunner::Eventually(
      [this] { return answers().size() == LostChanges::kWaitingMax + 1; }));
  EXPECT_TRUE(answers().back().ok());
}

TEST_F(LostChangesTest, WhatIsKnownIsToldAtOnce) {
  Ask();
  ASSERT_TRUE(LedgerRunner::Eventually([this] { return answers().size() == 1; }));
  ASSERT_TRUE(answers()[0].ok()) << answers()[0].status();
  EXPECT_EQ((*answers()[0])->differences.size(), 2u);  // the consumer, and what is used
  ASSERT_EQ(blocking_->Run("BEGIN; LOCK TABLE provider", nullptr), absl::OkStatus());
  Ask();
  ASSERT_EQ(answers().size(), 2u);
  EXPECT_EQ(*answers()[1], *answers()[0]);
  ASSERT_EQ(blocking_->Run("COMMIT", nullptr), absl::OkStatus());
}

TEST_F(LostChangesTest, AFailureIsToldToAllAndTriedAgain) {
  ASSERT_EQ(blocking_->Run("ALTER TABLE provider RENAME TO away", nullptr), absl::OkStatus());
  Ask();
  ASSERT_TRUE(LedgerRunner::Eventually([this] { return answers().size() == 1; }));
  EXPECT_FALSE(answers()[0].ok());
  ASSERT_EQ(blocking_->Run("ALTER TABLE away RENAME TO provider", nullptr), absl::OkStatus());
  Ask();
  ASSERT_TRUE(LedgerRunner::Eventually([this] { return answers().size() == 2; }));
  EXPECT_TRUE(answers()[1].ok()) << answers()[1].status();
}

}  // namespace
}  // namespace berth::services
