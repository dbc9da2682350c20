// A state directory that hangs holds nobody up but the thread of its keeper.
#include "services/placement/position_keeper.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "placement/ground/mutex.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::services {
namespace {

using placement::BootNow;
using placement::LedgerRunner;
using placement::MutexLock;
using placement::Position;
using placement::PositionFile;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PositionKeeperTest : public ::testing::Test {
 protected:
  static Position At(int64_t number) {
    Position position;
    position.revision = {1, number};
    position.batch.uuid = {1, static_cast<uint64_t>(number)};
    return position;
  }
  int64_t Kept() const {
    const auto kept = PositionFile(path_).Read();
    return kept.ok() && *kept ? (*kept)->revision.number : 0;
  }
  // From here on a write hangs: a FIFO is opened for writing when somebody reads it.
  void Hang() { ASSERT_EQ(mkfifo((path_ + ".new").c_str(), 0600), 0); }
  // Lets the write that hangs go on. Returns what must be closed when it has ended.
  int GoOn() const { return open((path_ + ".new").c_str(), O_RDONLY | O_NONBLOCK); }

  // Has `token` as long as anybody may still tell something.
  PositionKeeper::TellOperator Tell(std::shared_ptr<int> token = nullptr) {
    return [this, token = std::move(token)](const std::string& words) {
      const MutexLock lock(&mutex_);
      told_.push_back(words);
    };
  }
  std::vector<std::string> told() {
    const MutexLock lock(&mutex_);
    return told_;
  }
  // Whether the operator is told that the write of `position` lasts too long.
  bool IsToldOfHang(PositionKeeper* keeper, const Position& position) {
    return LedgerRunner::Eventually([&] {
      keeper->Keep(position, BootNow() + PositionKeeper::kWriteWithin);
      return !told().empty();
    });
  }

  placement::ScratchDirectory directory_;
  const std::string path_ = directory_.path() + "/position";
  placement::Mutex mutex_;
  std::vector<std::string> told_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(PositionKeeperTest, TheNewestPositionIsInTheFileAtTheEnd) {
  PositionKeeper keeper(path_, Tell());
  for (int64_t number = 1; number <= 20; ++number) keeper.Keep(At(number), BootNow());
  EXPECT_TRUE(keeper.Stop(BootNow() + absl::Seconds(30)));
  EXPECT_EQ(Kept(), 20);
  keeper.Keep(At(21), BootNow());  // too late
  EXPECT_TRUE(keeper.Stop(BootNow()));
  EXPECT_EQ(Kept(), 20);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(PositionKeeperTest, WithoutAFileNothingIsDone) {
  PositionKeeper keeper("", Tell());
  keeper.Keep(At(1), BootNow());
  EXPECT_TRUE(keeper.Stop(BootNow()));
}

TEST_F(PositionKeeperTest, ADirectoryThatHangsDoesNotHoldUpTheEnd) {
  Hang();
  const auto token = std::make_shared<int>();
  auto keeper = std::make_unique<PositionKeeper>(path_, Tell(token));
  keeper->Keep(At(1), BootNow());
  ASSERT_TRUE(IsToldOfHang(keeper.get(), At(2)));
  keeper->Keep(At(3), BootNow() + PositionKeeper::kWriteWithin);
  EXPECT_THAT(told(), SizeIs(1));
  EXPECT_THAT(told()[0], HasSubstr("does not answer"));
  EXPECT_FALSE(keeper->Stop(BootNow()));
  keeper.reset();
  // The thread ends with its write, and tells nobody.
  const int reader = GoOn();
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return token.use_count() == 1; }));
  EXPECT_EQ(::access(path_.c_str(), F_OK), 0);
  EXPECT_THAT(told(), SizeIs(1));
  close(reader);
}

TEST_F(PositionKeeperTest, ADirectoryThatAnswersAgainGetsTheNewestPosition) {
  Hang();
  PositionKeeper keeper(path_, Tell());
  keeper.Keep(At(1), BootNow());
  ASSERT_TRUE(IsToldOfHang(&keeper, At(2)));
  keeper.Keep(At(3), BootNow());
  const int reader = GoOn();
  EXPECT_TRUE(LedgerRunner::Eventually([this] { return told().size() == 2; }));
  EXPECT_THAT(told().back(), HasSubstr("answers again"));
  EXPECT_TRUE(keeper.Stop(BootNow() + absl::Seconds(30)));
  EXPECT_EQ(Kept(), 3);
  close(reader);
}

TEST_F(PositionKeeperTest, ADirectoryThatIsGoneIsToldOnce) {
  PositionKeeper keeper(directory_.path() + "/none/position", Tell());
  keeper.Keep(At(1), BootNow());
  EXPECT_TRUE(LedgerRunner::Eventually([this] { return !told().empty(); }));
  keeper.Keep(At(2), BootNow());
  EXPECT_TRUE(keeper.Stop(BootNow() + absl::Seconds(30)));
  EXPECT_THAT(told(), SizeIs(1));
  EXPECT_THAT(told()[0], HasSubstr("cannot write"));
}

}  // namespace
}  // namespace berth::services
