// The places for exports by themselves, and under a real server whose callers do not read.
#include "services/api/export_places.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <future>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "placement/values/refusal.h"
#include "services/api/edge.h"
#include "services/api/import_place.h"
#include "services/api/services.h"
#include "services/process/server.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::services {
namespace {

using placement::LedgerRunner;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const placement::BootTime kExportsBegin = absl::Hours(1000);

class ExportPlacesTest : public ::testing::Test {
 protected:
  int64_t Take(const std::string& owner) {
    return places_.Take(owner, kExportsBegin, [this](const absl::Status& status) {
      EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
      ends_.push_back(placement::RefusalOf(status)->reason);
    });
  }
  // Whether it was begun to write.
  bool Await(int64_t ticket, absl::Duration after) {
    bool writes = false;
    places_.Await(ticket, kExportsBegin + after, [&writes] { writes = true; });
    return writes;
  }

  bool Heard(int64_t ticket, absl::Duration after) {
    return places_.Heard(ticket, kExportsBegin + after);
  }

  ExportPlaces places_;
  std::vector<std::string> ends_;
};

TEST_F(ExportPlacesTest, OneIdentityHasTwoAndAllHaveEight) {
  const int64_t first = Take("reader/a");
  EXPECT_GT(first, 0);
  EXPECT_GT(Take("reader/a"), 0);
  EXPECT_EQ(Take("reader/a"), 0);
  for (int i = 0; i < 6; ++i) EXPECT_GT(Take(absl::StrCat("reader/", i)), 0);
  EXPECT_EQ(Take("reader/b"), 0);
  places_.Leave(first);
  places_.Leave(first);
  EXPECT_GT(Take("reader/b"), 0);
  EXPECT_EQ(Take("reader/a"), 0);
}

TEST_F(ExportPlacesTest, WhoDoesNotReadGivesItBack) {
  const int64_t slow = Take("reader/a");
  const int64_t working = Take("reader/a");
  EXPECT_TRUE(Await(slow, absl::ZeroDuration()));
  EXPECT_TRUE(Await(working, absl::ZeroDuration()));
  EXPECT_TRUE(Heard(working, absl::Minutes(1)));
  places_.Tick(kExportsBegin + ExportPlaces::kReadWithin);
  EXPECT_THAT(ends_, IsEmpty());
  places_.Tick(kExportsBegin + ExportPlaces::kReadWithin + absl::Seconds(1));
  EXPECT_THAT(ends_,
              ElementsAre("WATCHER_TOO_SLOW"));  // the other one does not wait for its caller
  EXPECT_FALSE(Heard(slow, absl::ZeroDuration()));
  EXPECT_FALSE(Await(slow, absl::ZeroDuration()));
  EXPECT_GT(Take("reader/a"), 0);
}

// The turns that an export waits for in the process are not its caller's time.
TEST_F(ExportPlacesTest, OnlyReadingCounts) {
  const int64_t ticket = Take("reader/a");
  for (int minute = 0; minute < 20; minute += 4) {
    EXPECT_TRUE(Await(ticket, absl::Minutes(minute)));
    EXPECT_TRUE(Heard(ticket, absl::Minutes(minute + 1)));
  }
  places_.Tick(kExportsBegin + absl::Minutes(20));
  EXPECT_TRUE(Await(ticket, absl::Minutes(20)));  // the caller has read for five minutes
  places_.Tick(kExportsBegin + absl::Minutes(20));
  EXPECT_THAT(ends_, IsEmpty());
  places_.Tick(kExportsBegin + absl::Minutes(20) + absl::Seconds(1));
  EXPECT_THAT(ends_, ElementsAre("WATCHER_TOO_SLOW"));
}

TEST_F(ExportPlacesTest, NoneLastsForLongerThanHalfAnHour) {
  const int64_t ticket = Take("reader/a");
  const int64_t other = Take("reader/a");
  EXPECT_TRUE(Await(ticket, ExportPlaces::kLastsMax));
  EXPECT_TRUE(Heard(ticket, ExportPlaces::kLastsMax));
  EXPECT_TRUE(Await(other, ExportPlaces::kLastsMax));
  EXPECT_FALSE(Await(ticket, ExportPlaces::kLastsMax + absl::Seconds(1)));
  EXPECT_THAT(ends_, ElementsAre("WATCHER_TOO_SLOW"));
  places_.Tick(kExportsBegin + ExportPlaces::kLastsMax + absl::Seconds(1));
  EXPECT_THAT(ends_, ElementsAre("WATCHER_TOO_SLOW", "WATCHER_TOO_SLOW"));
  EXPECT_FALSE(Heard(ticket, ExportPlaces::kLastsMax));
}

// The service over a real ledger, with time as the test tells it.
class SlowExportTest : public ::testing::Test {
 protected:
  static constexpr int kProviders = 6000;

  // An open call whose caller has read one message.
  struct Call {
    explicit Call(pb::LedgerService::Stub* stub) {
      context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(2)));
      reader = stub->ExportLedger(&context, pb::ExportLedgerRequest());
      begun = reader->Read(&message);
    }
    grpc::Status End() {
      while (reader->Read(&message)) {
      }
      return reader->Finish();
    }
    grpc::ClientContext context;
    pb::ExportLedgerResponse message;
    std::unique_ptr<grpc::ClientReader<pb::ExportLedgerResponse>> reader;
    bool begun = false;
  };

  SlowExportTest() {
    std::vector<std::future<placement::Decision>> made;
    for (int i = 1; i <= kProviders; ++i) {
      placement::CreateProvider provider;
      provider.id = placement::ProviderNumber(i);
      provider.name = absl::StrCat(std::string(180, 'n'), i);
      made.push_back(runner_.Begin(placement::WithId(provider, "")));
      if (made.size() < 1000 && i < kProviders) continue;
      for (auto& each : made) EXPECT_EQ(each.get().status, absl::OkStatus());
      made.clear();
    }
  }
  static ServerOptions Loopback() {
    ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    return options;
  }
  // gRPC gives the server no more room than the caller has read.
  static grpc::ChannelArguments SmallWindow() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 65'536);
    return arguments;
  }
  void TickLater() { exports_.Tick(placement::BootNow() + absl::Hours(1)); }

  LedgerRunner runner_{placement::OptionsFor(placement::NewDatabase())};
  ExportPlaces exports_;
  ImportPlace imports_;
  Workers workers_{1, 1000};
  placement::DatabaseWatch watch_;
  Metrics metrics_{"placement"};
  Edge edge_{&runner_.ledger(), &workers_, &workers_, &metrics_, AccessLog::kNone};
  const std::unique_ptr<grpc::Service> service_ =
      MakeLedgerService(&edge_, "", &watch_, &exports_, &imports_, &workers_);
  const std::unique_ptr<Server> server_ = *Server::Start(Loopback(), {service_.get()});
  const std::unique_ptr<pb::LedgerService::Stub> stub_ =
      pb::LedgerService::NewStub(grpc::CreateCustomChannel(
          server_->addresses()[0], grpc::InsecureChannelCredentials(), SmallWindow()));
};

TEST_F(SlowExportTest, WhoDoesNotReadKeepsNeitherStateNorPlace) {
  const std::weak_ptr<const placement::State> state = runner_.ledger().Newest();
  Call first(stub_.get());
  ASSERT_TRUE(first.begun);
  Call second(stub_.get());
  ASSERT_TRUE(second.begun);
  Call third(stub_.get());
  EXPECT_FALSE(third.begun);
  const grpc::Status refused = third.End();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(refused.error_message(), "too many exports are running: try again later");
  for (int i = 1; i <= 20; ++i) runner_.Must(placement::NewProvider(kProviders + i));
  EXPECT_FALSE(state.expired());
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    TickLater();
    return state.expired();
  }));
  for (Call* const call : {&first, &second}) {
    const grpc::Status ended = call->End();
    EXPECT_EQ(ended.error_code(), grpc::StatusCode::ABORTED);
    EXPECT_EQ(
        ended.error_message(),
        "the caller had 5m to read the export, and all of it had 30m: begin again, with a faster "
        "connection");
  }
  Call later(stub_.get());
  EXPECT_TRUE(later.begun);
  const grpc::Status whole = later.End();
  EXPECT_TRUE(whole.ok()) << whole.error_message();
}

}  // namespace
}  // namespace berth::services
