// The place for imports by itself, and under a real server whose callers are slow.
#include "services/api/import_place.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <future>

#include "absl/time/clock.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "placement/values/refusal.h"
#include "services/api/edge.h"
#include "services/api/export_places.h"
#include "services/api/services.h"
#include "services/process/server.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::services {
namespace {

using placement::LedgerRunner;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const placement::BootTime kBegin = absl::Hours(1000);

class ImportPlaceTest : public ::testing::Test {
 protected:
  int64_t Take() {
    return place_.Take(kBegin, [this](const absl::Status& status) {
      ends_.push_back(placement::RefusalOf(status)->reason);
    });
  }
  // Whether it was begun to read.
  bool Await(int64_t ticket, absl::Duration after) {
    bool reads = false;
    place_.Await(ticket, kBegin + after, [&reads] { reads = true; });
    return reads;
  }

  ImportPlace place_;
  std::vector<std::string> ends_;
};

TEST_F(ImportPlaceTest, WhoIsSilentGivesItBack) {
  const int64_t first = Take();
  EXPECT_GT(first, 0);
  EXPECT_EQ(Take(), 0);
  place_.Tick(kBegin + absl::Hours(1));
  EXPECT_THAT(ends_, IsEmpty());  // is not awaited yet
  EXPECT_TRUE(Await(first, absl::Seconds(5)));
  place_.Tick(kBegin + absl::Seconds(35));
  EXPECT_THAT(ends_, IsEmpty());
  place_.Tick(kBegin + absl::Seconds(36));
  EXPECT_THAT(ends_, ElementsAre("DEADLINE_BEFORE_START"));
  place_.Tick(kBegin + absl::Seconds(37));
  EXPECT_EQ(ends_.size(), 1U);
  EXPECT_FALSE(place_.Heard(first));
  EXPECT_FALSE(Await(first, absl::Seconds(38)));

  const int64_t second = Take();
  EXPECT_GT(second, 0);
  EXPECT_FALSE(place_.Heard(first));
  place_.Leave(first);
  EXPECT_EQ(Take(), 0);
  EXPECT_TRUE(place_.Heard(second));
  place_.Leave(second);
  EXPECT_GT(Take(), 0);
  EXPECT_EQ(ends_.size(), 1U);
}

TEST_F(ImportPlaceTest, WhoHasBeenHeardIsNotTimed) {
  const int64_t ticket = Take();
  EXPECT_TRUE(Await(ticket, absl::ZeroDuration()));
  EXPECT_TRUE(place_.Heard(ticket));
  place_.Tick(kBegin + absl::Hours(1));
  EXPECT_THAT(ends_, IsEmpty());
  EXPECT_TRUE(place_.Heard(ticket));
}

TEST_F(ImportPlaceTest, AllTogetherMayTakeTenMinutes) {
  const int64_t ticket = Take();
  absl::Duration after;
  while (after < absl::Hours(1) && Await(ticket, after)) {
    after += absl::Seconds(29);
    place_.Tick(kBegin + after);
    if (!place_.Heard(ticket)) break;
  }
  EXPECT_EQ(after, absl::Seconds(21 * 29));  // 20 would be 9:40
  EXPECT_THAT(ends_, ElementsAre("DEADLINE_BEFORE_START"));
}

TEST_F(ImportPlaceTest, AtTheEndWhoIsAwaitedIsEnded) {
  const int64_t first = Take();
  EXPECT_TRUE(Await(first, absl::ZeroDuration()));
  EXPECT_TRUE(place_.Heard(first));
  place_.EndAll();
  EXPECT_THAT(ends_, IsEmpty());  // all may be there
  EXPECT_FALSE(Await(first, absl::ZeroDuration()));
  EXPECT_THAT(ends_, ElementsAre("NOT_SERVING"));
  const int64_t second = Take();
  EXPECT_FALSE(Await(second, absl::ZeroDuration()));
  EXPECT_EQ(ends_.size(), 2U);
  EXPECT_FALSE(place_.Heard(second));

  ImportPlace other;
  const int64_t silent = other.Take(kBegin, [this](const absl::Status&) { ends_.emplace_back(); });
  other.Await(silent, kBegin, [] {});
  other.EndAll();
  EXPECT_EQ(ends_.size(), 3U);
  EXPECT_FALSE(other.Heard(silent));
}

// The service over a real ledger, with time as the test tells it.
class SlowImportTest : public ::testing::Test {
 protected:
  // A call that is open. `begins`: it has sent the first message of an import of nothing.
  struct Call {
    Call(pb::LedgerService::Stub* stub, bool begins) {
      context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
      writer = stub->ImportLedger(&context, &response);
      pb::ImportLedgerRequest first;
      first.set_total_count(0);
      if (begins) writer->Write(first);
    }
    grpc::ClientContext context;
    pb::ImportLedgerResponse response;
    std::unique_ptr<grpc::ClientWriter<pb::ImportLedgerRequest>> writer;
  };

  static ServerOptions Loopback() {
    ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    return options;
  }
  void TickLater() { place_.Tick(placement::BootNow() + absl::Hours(1)); }
  grpc::Status ImportNothing() {
    Call call(stub_.get(), true);
    call.writer->WritesDone();
    return call.writer->Finish();
  }

  LedgerRunner runner_{placement::OptionsFor(placement::NewDatabase())};
  ExportPlaces exports_;
  ImportPlace place_;
  Workers workers_{1, 1000};
  placement::DatabaseWatch watch_;
  Metrics metrics_{"placement"};
  Edge edge_{&runner_.ledger(), &workers_, &workers_, &metrics_, AccessLog::kNone};
  const std::unique_ptr<grpc::Service> service_ =
      MakeLedgerService(&edge_, "", &watch_, &exports_, &place_, &workers_);
  const std::unique_ptr<Server> server_ = *Server::Start(Loopback(), {service_.get()});
  const std::unique_ptr<pb::LedgerService::Stub> stub_ = pb::LedgerService::NewStub(
      grpc::CreateChannel(server_->addresses()[0], grpc::InsecureChannelCredentials()));
};

TEST_F(SlowImportTest, WhoSendsNothingIsEndedAndAnotherIsTaken) {
  for (const bool begins : {false, true}) {
    Call silent(stub_.get(), begins);
    auto ended = std::async(std::launch::async, [&silent] { return silent.writer->Finish(); });
    ASSERT_TRUE(LedgerRunner::Eventually([&] {
      TickLater();
      return ended.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }));
    const grpc::Status status = ended.get();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(status.error_message(), "the records did not arrive in time: nothing was imported");
    const grpc::Status next = ImportNothing();
    EXPECT_TRUE(next.ok()) << next.error_message();
  }
}

TEST_F(SlowImportTest, WhoSendsNothingDoesNotHoldTheEndUp) {
  std::optional<Call> silent;
  std::future<grpc::Status> ended;
  // The import that asks may come before the silent one, which is then refused and begins again.
  const auto is_taken = [&] {
    if (!ended.valid() || ended.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      silent.emplace(stub_.get(), true);
      ended = std::async(std::launch::async, [&silent] { return silent->writer->Finish(); });
    }
    return !ImportNothing().ok();
  };
  ASSERT_TRUE(LedgerRunner::Eventually(is_taken));
  EXPECT_TRUE(server_->Drain([this] { place_.EndAll(); }));
  const grpc::Status status = ended.get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "placement is stopping: nothing was imported");
}

// What the caller sends, its going and the timer may come at one moment.
TEST_F(SlowImportTest, EachIsEndedOnce) {
  const auto takes = [this] { return ImportNothing().ok(); };
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(LedgerRunner::Eventually(takes));
    Call call(stub_.get(), true);
    for (int message = 0; message < 5; ++message) {
      call.writer->Write(pb::ImportLedgerRequest());
      if (message != round % 5) continue;
      if (round % 3 != 0) TickLater();
      if (round % 3 != 1) call.context.TryCancel();
    }
    call.writer->WritesDone();
    call.writer->Finish();
  }
  EXPECT_TRUE(LedgerRunner::Eventually(takes));
}

}  // namespace
}  // namespace berth::services
