// The hub over a real ledger, with watchers that read when the test says so.
#include "services/watch/hub.h"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::services {
namespace {

using placement::LedgerRunner;
using placement::MutexLock;
using placement::Revision;

// Keeps what is sent; the next message comes when the test has taken this one.
class TakenSink : public WatchSink {
 public:
  void Send(const WatchMessage& message) override {
    MutexLock lock(&mutex_);
    in_flight_ = true;
    EXPECT_TRUE(told_.emplace_back().ParseFromString(*message));
  }
  void Finish(const absl::Status& status) override {
    MutexLock lock(&mutex_);
    end_ = status;
  }
  // Whether there was one.
  bool Take() {
    MutexLock lock(&mutex_);
    return std::exchange(in_flight_, false);
  }
  std::vector<pb::WatchResponse> told() const {
    MutexLock lock(&mutex_);
    return told_;
  }
  std::optional<absl::Status> end() const {
    MutexLock lock(&mutex_);
    return end_;
  }

 private:
  mutable placement::Mutex mutex_;
  bool in_flight_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<pb::WatchResponse> told_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

class WatchHubTest : public ::testing::Test {
 protected:
  ~WatchHubTest() override {
    watcher_->End(absl::CancelledError());
    hub_.Closed(watcher_);
    AwaitWorker();
  }

  Revision Newest() { return runner_.ledger().Newest()->position().revision; }
  static pb::WatchRequest After(Revision revision) {
    pb::WatchRequest request;
    SetRevision(revision, request.mutable_after_revision());
    return request;
  }
  // There is one: what it was given before is done.
  void AwaitWorker() {
    LedgerRunner::Eventually([this] { return workers_.queue_length() == 0; });
    std::promise<void> reached;
    ASSERT_TRUE(workers_.Submit(
        {}, [&reached] { reached.set_value(); }, [] {}));
    reached.get_future().wait();
  }
  void TakeAll() {
    while (sink_.Take()) {
      watcher_->Sent(true);
      hub_.Continue(watcher_);
    }
  }
  // Takes what comes until all up to `revision` has been told, or the stream has ended.
  void TakeUntil(Revision revision) {
    EXPECT_TRUE(LedgerRunner::Eventually([&] {
      TakeAll();
      const auto told = sink_.told();
      return sink_.end().has_value() || (!told.empty() && told.back().complete() &&
                                         told.back().revision().number() >= revision.number);
    }));
    EXPECT_FALSE(sink_.end().has_value()) << *sink_.end();
  }

  const std::string url_ = placement::NewDatabase();
  LedgerRunner runner_{placement::OptionsFor(url_)};
  Workers workers_{1, 1000};
  WatchHub hub_{&runner_.ledger(), &workers_, url_};
  TakenSink sink_;
  const WatcherPtr watcher_ =
      std::make_shared<Watcher>(&sink_, WatchLimits{.messages_max = 1024, .bytes_max = 64 << 10});
};

TEST_F(WatchHubTest, WhoComesFromFarBackIsNotCutOff) {
  placement::MakeProviders(runner_, 40, 1000, 1024);
  std::vector<int> all;
  for (int provider = 1; provider <= 40; ++provider) all.push_back(provider);
  const Revision begin = Newest();
  // Sixteen of the large ones are more than may wait.
  for (int i = 1; i <= 32; ++i) runner_.Must(placement::Claim(i, all, 1));
  for (int i = 33; i <= 52; ++i) runner_.Must(placement::Claim(i, {1}, 1));
  hub_.Open(watcher_, After(begin));
  AwaitWorker();
  EXPECT_FALSE(sink_.end().has_value()) << *sink_.end();
  EXPECT_EQ(sink_.told().size(), 1U);
  EXPECT_LT(watcher_->position().number, begin.number + 10);  // what waits for it is little
  TakeUntil(Newest());
  const auto told = sink_.told();
  ASSERT_EQ(told.size(), 52U);
  for (int i = 0; i < 52; ++i) {
    EXPECT_EQ(told[static_cast<size_t>(i)].revision().number(), begin.number + 1 + i);
  }
}

// The message that a watcher was sent says which batch made its revision. After a restore of the
// database another batch has that number.
TEST_F(WatchHubTest, WhoComesFromALostHistoryBeginsAnew) {
  placement::MakeProviders(runner_, 1, 1000, 1024);
  hub_.Open(watcher_, pb::WatchRequest());
  runner_.Must(placement::Claim(1, {1}, 1));
  TakeUntil(Newest());
  const placement::Position newest = runner_.ledger().Newest()->position();
  for (const pb::WatchResponse& response : sink_.told()) EXPECT_NE(response.revision().batch(), 0U);
  pb::WatchRequest request;
  *request.mutable_after_revision() = sink_.told().back().revision();
  EXPECT_EQ(request.after_revision().batch(), newest.batch.uuid.high);
  request.mutable_after_revision()->set_batch(newest.batch.uuid.high + 1);
  TakenSink sink;
  const auto lost = std::make_shared<Watcher>(&sink, WatchLimits());
  testing::internal::CaptureStderr();
  hub_.Open(lost, request);
  const bool ended = LedgerRunner::Eventually([&] { return sink.end().has_value(); });
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(ended);
  EXPECT_NE(log.find("a watcher has seen a revision that this ledger does not have"),
            std::string::npos)
      << log;
  EXPECT_EQ(placement::RefusalOf(*sink.end())->reason, "REVISION_LOST") << *sink.end();
  hub_.Closed(lost);
}

TEST_F(WatchHubTest, WhoWatchesAnAggregateHearsOfItsTrees) {
  placement::MakeProviders(runner_, 2, 1000, 1024);
  const placement::AggregateId aggregate{placement::Uuid{7, 7}};
  pb::WatchRequest request;
  request.add_aggregate_uuids(aggregate.ToString());
  hub_.Open(watcher_, request);
  TakeUntil(Newest());
  AwaitWorker();  // from here on it is told as things happen
  ASSERT_EQ(sink_.told().size(), 1U);
  EXPECT_EQ(sink_.told()[0].changes_size(), 0);  // where it begins
  const auto set = [&](std::vector<placement::AggregateId> aggregates) {
    const auto place = runner_.ledger().Newest()->FindProvider(placement::ProviderNumber(1));
    runner_.Must(placement::SetProviderAggregates{
        placement::ProviderNumber(1), place->config().generation, std::move(aggregates)});
  };
  const auto changes = [this](size_t at) {
    TakeUntil(Newest());
    AwaitWorker();
    std::string words;
    const auto told = sink_.told();
    for (size_t i = at; i < told.size(); ++i) {
      for (const pb::Change& change : told[i].changes()) {
        absl::StrAppend(&words, change.has_present() ? "+" : "-",
                        change.has_present() ? static_cast<int>(change.present().entity_case())
                                             : static_cast<int>(change.removed().kind()),
                        " ");
      }
    }
    return words;
  };
  const auto told = [this] { return sink_.told().size(); };
  const std::string enters =
      absl::StrCat("+", int{pb::Entity::kProvider}, " +", int{pb::Entity::kProviderUsage}, " ");
  const std::string used =
      absl::StrCat("+", int{pb::Entity::kConsumer}, " +", int{pb::Entity::kProviderUsage}, " ");
  size_t before = told();
  runner_.Must(placement::Claim(1, {2}, 1));  // elsewhere
  set({aggregate});
  EXPECT_EQ(changes(before), enters);
  before = told();
  runner_.Must(placement::Claim(2, {1}, 1));
  EXPECT_EQ(changes(before), used);
  before = told();
  set({});
  EXPECT_EQ(changes(before), absl::StrCat("-", int{pb::ENTITY_KIND_PROVIDER}, " -",
                                          int{pb::ENTITY_KIND_PROVIDER_USAGE}, " -",
                                          int{pb::ENTITY_KIND_CONSUMER}, " "));
}

// This process has not yet heard of the revision, nor of the tree that came with it.
TEST_F(WatchHubTest, ATreeIsSoughtWhereTheWatchBegins) {
  placement::MakeProviders(runner_, 1, 1000, 1024);
  pb::WatchRequest request = After({Newest().epoch, Newest().number + 1});
  request.add_in_trees(placement::ProviderNumber(2).ToString());
  hub_.Open(watcher_, request);
  EXPECT_FALSE(sink_.end().has_value());
  runner_.Must(placement::CreateProvider{placement::ProviderNumber(2), "child",
                                         placement::ProviderNumber(1)});
  ASSERT_TRUE(LedgerRunner::Eventually([this] { return sink_.end().has_value(); }));
  EXPECT_EQ(sink_.end()->code(), absl::StatusCode::kInvalidArgument) << *sink_.end();
  EXPECT_EQ(placement::RefusalOf(*sink_.end())->reason, "INVALID_FIELD");
}

// Watchers of one caller have filled the queue of the workers. The watcher of another is served
// next but one, and the one whose work was put out is served at the next Tick.
TEST_F(WatchHubTest, TheWatchersOfOneCallerKeepThoseOfAnotherWaitingForOneTurn) {
  Workers workers(1, 4);
  WatchHub hub(&runner_.ledger(), &workers, url_);
  std::promise<void> busy, release;
  const auto wait = [&] {
    busy.set_value();
    release.get_future().wait();
  };
  ASSERT_TRUE(workers.Submit({}, wait, [] {}));
  busy.get_future().wait();
  std::vector<TakenSink> sinks(5);
  std::vector<WatcherPtr> watchers;
  for (TakenSink& sink : sinks) {
    const std::string owner = watchers.size() < 4 ? "reader/flood" : "reader/other";
    watchers.push_back(std::make_shared<Watcher>(&sink, WatchLimits(), owner));
    hub.Open(watchers.back(), After(Newest()));
  }
  EXPECT_EQ(workers.queue_length(), 4);
  EXPECT_EQ(workers.refused_count(), 1);
  release.set_value();
  runner_.Must(placement::NewProvider(1));
  for (TakenSink& sink : sinks) {
    EXPECT_TRUE(LedgerRunner::Eventually([&] {
      hub.Tick(placement::BootNow());
      return !sink.told().empty();
    }));
  }
  hub.EndAll();
  for (const WatcherPtr& watcher : watchers) hub.Closed(watcher);
  LedgerRunner::Eventually([&] { return workers.queue_length() == 0; });
  std::promise<void> idle;
  ASSERT_TRUE(workers.Submit(
      {}, [&idle] { idle.set_value(); }, [] {}));
  idle.get_future().wait();  // the work uses the hub
}

// Whoever has gone need not wait for the future, and leaves his caller's share to others.
TEST_F(WatchHubTest, WhoHasGoneDoesNotWaitForTheFuture) {
  TakenSink sink;
  std::weak_ptr<Watcher> gone;
  {
    const auto watcher = std::make_shared<Watcher>(&sink, WatchLimits(), "reader/gone");
    gone = watcher;
    hub_.Open(watcher, After({Newest().epoch, Newest().number + 1}));
    watcher->End(absl::CancelledError("the watcher has gone"));
    hub_.Closed(watcher);
  }
  const placement::BootTime begun = placement::BootNow();
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return gone.expired(); }));
  EXPECT_LT(placement::BootNow() - begun, absl::Seconds(8));  // it would wait for ten
}

}  // namespace
}  // namespace berth::services
