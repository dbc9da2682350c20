// Programs whose certificate ends after seconds, over mutual TLS: a tracker, `berth audit follow`, a
// watcher and a scheduler. With a newer certificate they go on; without one all end at its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/catalog.grpc.pb.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "berth/placement/v1/watch.grpc.pb.h"
#include "placement/store/child_process.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/client_credentials.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/private_cluster.h"
#include "tests/processes/tracker_process.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;
using ::berth::testing::CertificateWords;

constexpr char kRenewalDomain[] = "d.example";
constexpr absl::Duration kLifetime = absl::Seconds(5);
// How long after its certificate's end something may still be open: three times what is promised.
constexpr absl::Duration kEndedWithin = absl::Seconds(3);

// Waits until `holds`, at most until `deadline`.
bool AwaitUntil(absl::Time deadline, const std::function<bool()>& holds) {
  while (!holds()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(20));
  }
  return true;
}

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string TextIn(const std::filesystem::path& directory) {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    text += TextOf(entry.path());
  }
  return text;
}

class RenewalTest : public ::testing::Test {
 protected:
  // Starts placement. Its connections grow old soon, because its clients' certificates do.
  void SetUp() override {
    std::vector<std::string> arguments = Arguments("placement", "one", absl::Hours(1));
    arguments.emplace_back("--connection-age-max=1s");
    arguments.emplace_back("--service-down-time=3s");
    placement_ = StartOrDie(scratch_.path(), std::move(arguments));
    Write("admin", "ann", absl::Hours(1));
    admin_ = Channel("admin");
    // All four get certificates that end at the same time.
    begun_at_ = absl::Now();
    StartTracker();
    StartFollower();
    Write("reader", "wat", kLifetime);
    Write("scheduler", "nova", kLifetime);
    watcher_ = std::thread([this, channel = Channel("reader")] { Watch(channel); });
    scheduler_ = Channel("scheduler");
  }
  ~RenewalTest() override {
    stopping_ = true;  // noticed at the next message, which comes within seconds
    if (watcher_.joinable()) watcher_.join();
    if (follower_ > 0) {
      kill(follower_, SIGKILL);
      placement::WaitForChild(follower_, absl::Seconds(30)).IgnoreError();
    }
  }

  // Issues a certificate that ends after `lifetime`, and writes it where its owner reads it.
  testing::CertificatePaths Write(const std::string& role, const std::string& name,
                                  absl::Duration lifetime) {
    CertificateWords words;
    words.uris = {absl::StrCat("spiffe://", kRenewalDomain, "/", role, "/", name)};
    words.not_after = absl::Now() + lifetime;
    return testing::WriteCertificates(scratch_.path(), role, ca_.Issue(words), ca_.pem());
  }
  std::vector<std::string> Arguments(const std::string& role, const std::string& name,
                                     absl::Duration lifetime) {
    return testing::TlsArguments(Write(role, name, lifetime), kRenewalDomain);
  }

  // A channel of a client that is not ours: it has gRPC read its files anew, and keeps its channel.
  std::shared_ptr<grpc::Channel> Channel(const std::string& role) {
    const std::string base = absl::StrCat(scratch_.path(), "/", role);
    return testing::OwnChannel(
        placement_->address(),
        testing::ClientCredentials(
            std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
                base + ".key", base + ".crt", base + "-ca.crt", /*refresh_interval_sec=*/1)));
  }

  void StartTracker() {
    std::vector<std::string> arguments = Arguments("tracker", "host-1", kLifetime);
    arguments.insert(arguments.end(), {"--host=host-1", "--placement=" + placement_->address(),
                                       "--hypervisor=test:///default"});
    tracker_ = std::make_unique<TrackerProcess>(scratch_.path(), std::move(arguments));
    const absl::Status started = tracker_->AwaitAddress();
    ASSERT_TRUE(started.ok()) << started;
  }

  void StartFollower() {
    std::filesystem::create_directories(AuditDirectory());
    placement::ChildOptions options;
    options.arguments = {BERTH_PROGRAM, "--endpoint", placement_->address()};
    for (auto& argument : Arguments("operator", "ops", kLifetime)) {
      options.arguments.push_back(argument);
    }
    options.arguments.insert(options.arguments.end(),
                             {"audit", "follow", "--to", AuditDirectory()});
    options.account = {getuid(), getgid()};
    options.output_path = scratch_.path() + "/follower_log";
    options.death_signal = SIGKILL;
    const auto pid = placement::Spawn(options);
    ASSERT_TRUE(pid.ok()) << pid.status();
    follower_ = *pid;
  }
  std::string AuditDirectory() const { return scratch_.path() + "/audit"; }

  // Watches as a client does that resumes: a new stream after each that ended.
  void Watch(const std::shared_ptr<grpc::Channel>& channel) {
    const auto stub = pb::WatchService::NewStub(channel);
    pb::WatchRequest request;
    while (!stopping_) {
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(2)));
      const auto stream = stub->Watch(&context, request);
      pb::WatchResponse response;
      while (!stopping_ && stream->Read(&response)) {
        *request.mutable_after_revision() = response.revision();
        watched_ = std::max<int64_t>(watched_, response.revision().number());
        ++messages_;
      }
      context.TryCancel();
      const grpc::Status status = stream->Finish();
      if (!stopping_) ++ended_;
      absl::SleepFor(absl::Milliseconds(50));
    }
  }

  // Makes a class, as an admin; the revision of the change.
  int64_t Change(const std::string& name) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    pb::EnsureClassRequest request;
    request.set_name(name);
    pb::EnsureClassResponse response;
    const grpc::Status status =
        pb::CatalogService::NewStub(admin_)->EnsureClass(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.revision().number();
  }

  grpc::Status Schedule() {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    pb::ListTraitsResponse response;
    return pb::CatalogService::NewStub(scheduler_)->ListTraits(&context, {}, &response);
  }

  bool TrackerIsUp() {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    pb::ListServicesResponse response;
    return pb::FleetService::NewStub(admin_)->ListServices(&context, {}, &response).ok() &&
           response.services_size() == 1 && response.services(0).state() == pb::SERVICE_STATE_UP;
  }

  const testing::CertificateAuthority ca_{"one"};
  const placement::ScratchDirectory scratch_;
  absl::Time begun_at_;
  std::unique_ptr<PlacementServer> placement_;
  std::unique_ptr<TrackerProcess> tracker_;
  pid_t follower_ = -1;
  std::shared_ptr<grpc::Channel> admin_, scheduler_;
  std::thread watcher_;
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> watched_{0}, messages_{0}, ended_{0};
};

TEST_F(RenewalTest, WhoeverRenewsGoesOn) {
  ASSERT_TRUE(AwaitUntil(absl::Now() + absl::Seconds(30), [this] { return messages_ > 0; }));
  absl::SleepFor(begun_at_ + absl::Seconds(1) - absl::Now());
  for (const auto& [role, name] : {std::pair("tracker", "host-1"), std::pair("operator", "ops"),
                                   std::pair("reader", "wat"), std::pair("scheduler", "nova")}) {
    Write(role, name, absl::Hours(1));
  }
  absl::SleepFor(begun_at_ + absl::Seconds(15) - absl::Now());
  EXPECT_TRUE(TrackerIsUp()) << tracker_->Log();
  const grpc::Status scheduled = Schedule();
  EXPECT_TRUE(scheduled.ok()) << scheduled.error_message();
  const int64_t revision = Change("CUSTOM_AFTER_RENEWAL");
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  EXPECT_TRUE(AwaitUntil(deadline, [&] { return watched_ >= revision; }));
  EXPECT_TRUE(AwaitUntil(
      deadline,
      [&] { return absl::StrContains(TextIn(AuditDirectory()), "CUSTOM_AFTER_RENEWAL"); }))
      << placement_->Log() << TextOf(scratch_.path() + "/follower_log") << TextIn(AuditDirectory());
}

TEST_F(RenewalTest, WhoeverDoesNotIsEnded) {
  ASSERT_TRUE(AwaitUntil(absl::Now() + absl::Seconds(30), [this] { return messages_ > 0; }));
  ASSERT_TRUE(Schedule().ok());
  EXPECT_EQ(ended_, 0);
  const absl::Time last = absl::Now() + kLifetime + kEndedWithin;  // later than all ends
  EXPECT_TRUE(AwaitUntil(last, [&] { return !placement::IsRunning(follower_); }));
  EXPECT_TRUE(AwaitUntil(last, [&] { return ended_ > 0; }));
  EXPECT_TRUE(AwaitUntil(last, [&] { return !Schedule().ok(); }));
  EXPECT_TRUE(AwaitUntil(last, [&] {
    return absl::StrContains(tracker_->Log(), "there is no session with placement");
  })) << tracker_->Log();
}

// The calls that stay open for as long as their client wants, or that wait: each ends with its reason.
TEST_F(RenewalTest, EveryKindOfCallIsEnded) {
  const absl::Time ends_at = absl::Now() + kLifetime;
  Write("operator", "all", kLifetime);
  const auto channel = Channel("operator");
  std::atomic<int> ended{0};
  const auto expect_ended = [&](const std::string& what, const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED)
        << what << ": " << status.error_message();
    EXPECT_LT(absl::Now(), ends_at + kEndedWithin) << what;
    ++ended;
  };
  std::vector<std::thread> threads;
  threads.emplace_back([&] {  // a read that waits for a revision of the far future
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    pb::ListTraitsRequest request;
    request.mutable_minimum_revision()->set_epoch(1);
    request.mutable_minimum_revision()->set_number(1'000'000);
    pb::ListTraitsResponse response;
    expect_ended("a waiting read",
                 pb::CatalogService::NewStub(channel)->ListTraits(&context, request, &response));
  });
  threads.emplace_back([&] {  // an export that waits likewise
    grpc::ClientContext context;
    pb::ExportLedgerRequest request;
    request.mutable_minimum_revision()->set_epoch(1);
    request.mutable_minimum_revision()->set_number(1'000'000);
    const auto stream = pb::LedgerService::NewStub(channel)->ExportLedger(&context, request);
    pb::ExportLedgerResponse response;
    while (stream->Read(&response)) continue;
    expect_ended("an export", stream->Finish());
  });
  threads.emplace_back([&] {  // a silent watcher of a kind that never changes
    grpc::ClientContext context;
    pb::WatchRequest request;
    const auto stream = pb::WatchService::NewStub(channel)->Watch(&context, request);
    pb::WatchResponse response;
    while (stream->Read(&response)) continue;
    expect_ended("a watch", stream->Finish());
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, 3);
}

}  // namespace
}  // namespace berth::e2e
