// A caller over gRPC is served in turn with one who has filled the queue of the workers, and the
// calls of one caller leave room for those of others.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "berth/placement/v1/candidate.grpc.pb.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "berth/placement/v1/watch.grpc.pb.h"
#include "services/api/edge.h"
#include "services/api/export_places.h"
#include "services/api/import_place.h"
#include "services/api/services.h"
#include "services/process/server.h"
#include "services/watch/hub.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::services {
namespace {

using placement::LedgerRunner;
using placement::Priority;

constexpr int kFlood = 8;  // fills the queue
constexpr std::future_status kReady = std::future_status::ready;

class TurnsOfCallersTest : public ::testing::Test {
 protected:
  TurnsOfCallersTest() {
    placement::MakeProviders(runner_, 1, 8, 1024);
    std::promise<void> busy;
    const auto wait = [this, &busy] {
      busy.set_value();
      release_.get_future().wait();
    };
    EXPECT_TRUE(workers_.Submit({}, wait, [] {}));
    busy.get_future().wait();
  }

  // Fills the queue with work of one reader. After `before` pieces of it, the next one waits until
  // the other caller has been answered.
  void Fill(int before) {
    for (int i = 0; i < kFlood; ++i) {
      const auto work = [this, i, before] {
        if (i >= before) LedgerRunner::Eventually([this] { return answered_.load(); });
        ++done_;
      };
      EXPECT_TRUE(
          workers_.Submit({"reader/flood", Priority::kReads}, work, [this] { ++refused_; }));
    }
    EXPECT_FALSE(workers_.Submit(
        {"reader/flood", Priority::kReads}, [] {}, [] {}));
  }
  // Calls, lets the worker go on when the call is in the queue, and returns the end of the call.
  // `put_out`: how much of the other reader's work leaves the queue for the call.
  template <typename Invoke>
  grpc::Status CallBeside(int put_out, const Invoke& invoke) {
    const int64_t refused = workers_.refused_count() + put_out;
    const int length = kFlood + 1 - put_out;
    auto call = std::async(std::launch::async, [&] {
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
      return invoke(&context);
    });
    EXPECT_TRUE(LedgerRunner::Eventually(
        [&] { return workers_.refused_count() == refused && workers_.queue_length() == length; }));
    release_.set_value();
    grpc::Status status = call.get();
    answered_ = true;
    EXPECT_TRUE(LedgerRunner::Eventually([this] { return done_ + refused_ == kFlood; }));
    EXPECT_EQ(refused_, put_out);
    return status;
  }

  static ServerOptions Loopback() {
    ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    return options;
  }
  static placement::LedgerOptions FewMayWait(const std::string& url) {
    placement::LedgerOptions options = placement::OptionsFor(url);
    options.awaits_max = 2;  // one of each caller
    return options;
  }

  std::promise<void> release_;
  std::atomic<bool> answered_{false};
  std::atomic<int> done_{0}, refused_{0};
  const std::string url_ = placement::NewDatabase();
  LedgerRunner runner_{FewMayWait(url_)};
  ExportPlaces exports_;
  ImportPlace imports_;
  Workers workers_{1, kFlood};
  placement::DatabaseWatch watch_;
  Metrics metrics_{"placement"};
  Edge edge_{&runner_.ledger(), &workers_, &workers_, &metrics_, AccessLog::kNone};
  const std::unique_ptr<grpc::Service> ledger_ =
      MakeLedgerService(&edge_, "", &watch_, &exports_, &imports_, &workers_);
  const std::unique_ptr<grpc::Service> providers_ = MakeProviderService(&edge_);
  const std::unique_ptr<grpc::Service> candidates_ =
      MakeCandidateService(&edge_, placement::SearchBudget());
  WatchHub hub_{&runner_.ledger(), &workers_, url_};
  const std::unique_ptr<grpc::Service> watches_ = MakeWatchService(&hub_);
  const std::unique_ptr<Server> server_ = *Server::Start(
      Loopback(), {ledger_.get(), providers_.get(), candidates_.get(), watches_.get()});
  const std::shared_ptr<grpc::Channel> channel_ =
      grpc::CreateChannel(server_->addresses()[0], grpc::InsecureChannelCredentials());
};

TEST_F(TurnsOfCallersTest, AReadIsNextButOne) {
  Fill(1);
  const auto stub = pb::ProviderService::NewStub(channel_);
  const grpc::Status status = CallBeside(1, [&](grpc::ClientContext* context) {
    pb::ListProvidersResponse response;
    return stub->ListProviders(context, pb::ListProvidersRequest(), &response);
  });
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(TurnsOfCallersTest, AClaimComesBeforeAllReads) {
  Fill(0);
  const auto stub = pb::CandidateService::NewStub(channel_);
  const grpc::Status status = CallBeside(0, [&](grpc::ClientContext* context) {
    pb::ClaimRequest request;
    (*request.mutable_query()->add_groups()->mutable_resources())["VCPU"] = 1;
    pb::ClaimConsumer* const consumer = request.mutable_consumer();
    consumer->set_consumer_uuid(placement::Uuid::Random().ToString());
    consumer->mutable_new_consumer();
    consumer->set_project_id("p");
    consumer->set_user_id("u");
    consumer->set_consumer_type("INSTANCE");
    pb::ClaimResponse response;
    return stub->Claim(context, request, &response);
  });
  EXPECT_TRUE(status.ok()) << status.error_message();
}

// Its own calls have filled the queue: the next one is refused, and one is put out for another.
TEST_F(TurnsOfCallersTest, WhoIsPutOutIsToldSo) {
  const auto stub = pb::ProviderService::NewStub(channel_);
  const auto list = [&] {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
    pb::ListProvidersResponse response;
    return stub->ListProviders(&context, pb::ListProvidersRequest(), &response);
  };
  std::vector<std::future<grpc::Status>> calls;
  for (int i = 0; i < kFlood; ++i) calls.push_back(std::async(std::launch::async, list));
  ASSERT_TRUE(LedgerRunner::Eventually([this] { return workers_.queue_length() == kFlood; }));
  const grpc::Status refused = list();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(refused.error_message(), "too many calls are waiting: nothing was done, try again");
  EXPECT_TRUE(workers_.Submit(
      {"reader/other", Priority::kReads}, [] {}, [] {}));
  release_.set_value();
  int put_out = 0;
  for (std::future<grpc::Status>& call : calls) {
    const grpc::Status status = call.get();
    if (status.ok()) continue;
    EXPECT_EQ(status.error_message(), refused.error_message());
    ++put_out;
  }
  EXPECT_EQ(put_out, 1);
}

// A stream that is refused because its caller has too many waiting: the log has it, as it has a call.
TEST_F(TurnsOfCallersTest, AWatchThatIsRefusedIsLogged) {
  release_.set_value();
  const auto stub = pb::WatchService::NewStub(channel_);
  pb::WatchRequest request;
  request.mutable_after_revision()->set_epoch(runner_.ledger().Newest()->position().revision.epoch);
  request.mutable_after_revision()->set_number(1'000'000);
  testing::internal::CaptureStderr();
  grpc::ClientContext contexts[2];
  std::atomic<int> refused{0};
  std::vector<std::future<void>> watches;
  for (grpc::ClientContext& context : contexts) {
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
    watches.push_back(std::async(std::launch::async, [&] {
      pb::WatchResponse response;
      const auto stream = stub->Watch(&context, request);
      EXPECT_FALSE(stream->Read(&response));
      if (stream->Finish().error_code() == grpc::StatusCode::UNAVAILABLE) ++refused;
    }));
  }
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return refused == 1; }));
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (std::future<void>& watch : watches) watch.get();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("a call was refused caller=anonymous "
                                 "method=berth.placement.v1.WatchService/Watch reason=OVERLOADED"));
}

// The second call of a caller has no place beside the first to wait for the future. When the first one is
// cancelled, its place is free.
TEST_F(TurnsOfCallersTest, ACancelledCallDoesNotWaitForTheFuture) {
  release_.set_value();
  const auto stub = pb::LedgerService::NewStub(channel_);
  pb::GetRevisionRequest request;
  request.mutable_minimum_revision()->set_epoch(
      runner_.ledger().Newest()->position().revision.epoch);
  request.mutable_minimum_revision()->set_number(1'000'000);
  const auto await = [&](grpc::ClientContext* context, absl::Duration limit) {
    context->set_deadline(absl::ToChronoTime(absl::Now() + limit));
    pb::GetRevisionResponse response;
    return stub->GetRevision(context, request, &response);
  };
  const auto code_of_another = [&] {
    grpc::ClientContext context;
    return await(&context, absl::Milliseconds(200)).error_code();
  };
  std::optional<grpc::ClientContext> first;
  std::future<grpc::Status> waiting;
  // The other call may come before the first one, which is then refused and begins again.
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    if (!waiting.valid() || waiting.wait_for(std::chrono::seconds(0)) == kReady) {
      first.emplace();
      waiting = std::async(std::launch::async, [&] { return await(&*first, absl::Seconds(50)); });
    }
    return code_of_another() == grpc::StatusCode::UNAVAILABLE;
  }));
  first->TryCancel();
  EXPECT_EQ(waiting.get().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(LedgerRunner::Eventually(
      [&] { return code_of_another() == grpc::StatusCode::DEADLINE_EXCEEDED; }));
}

}  // namespace
}  // namespace berth::services
