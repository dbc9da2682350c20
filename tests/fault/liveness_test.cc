// Two placement processes judge whether a tracker is alive, while one of them holds its stream: it is up
// for both as long as either hears it, down once the holder is gone, and up again through the other
// (T-288 to T-293).
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "tests/fault/await.h"
#include "tests/fault/claim_client.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/test_host.h"
#include "tests/processes/tracker_process.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;

constexpr absl::Duration kPairDownTime = absl::Seconds(10);  // a busy machine stands for seconds
constexpr absl::Duration kWatched = absl::Seconds(15);       // longer than that
constexpr absl::Duration kVerdictMax = absl::Seconds(60);
constexpr absl::Duration kLook = absl::Milliseconds(20);  // between two looks

bool AwaitVerdict(const std::function<bool()>& condition) {
  return AwaitWithin(kVerdictMax, condition);
}

// One of the processes.
class Judge {
 public:
  explicit Judge(const std::string& url)
      : server_(directory_.path(),
                {"--database=" + url,
                 absl::StrCat("--service-down-time=", absl::FormatDuration(kPairDownTime))}) {
    const absl::Status started = server_.AwaitAddress();
    EXPECT_TRUE(started.ok()) << started.message();
    stub_ = pb::FleetService::NewStub(ConnectTo(server_.address()));
  }

  const std::string& address() const { return server_.address(); }
  void Kill() {
    server_.Signal(SIGKILL);
    EXPECT_EQ(server_.AwaitEnd(kVerdictMax), 128 + SIGKILL);
  }
  // The only service there is; nothing where there is none.
  std::optional<pb::Service> Find() {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kVerdictMax));
    pb::ListServicesResponse response;
    if (!stub_->ListServices(&context, {}, &response).ok()) return std::nullopt;
    if (response.services_size() != 1) return std::nullopt;
    return response.services(0);
  }
  bool Says(pb::ServiceState state) {
    const std::optional<pb::Service> service = Find();
    return service.has_value() && service->state() == state;
  }

 private:
  const placement::ScratchDirectory directory_;
  e2e::PlacementServer server_;
  std::unique_ptr<pb::FleetService::Stub> stub_;
};

class PairLiveness : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    host_ = TestHost::Start(&why);
    if (host_ == nullptr) GTEST_SKIP() << "no private libvirt daemon: " << why;
    const std::string url = placement::NewDatabase();
    first_ = std::make_unique<Judge>(url);
    second_ = std::make_unique<Judge>(url);
  }
  void StartTracker(const Judge& placement) {
    tracker_ = std::make_unique<e2e::TrackerProcess>(
        directory_.path(),
        std::vector<std::string>{"--placement=" + placement.address(),
                                 "--hypervisor=" + host_->uri(), "--host=judged-host"});
  }

  const placement::ScratchDirectory directory_;
  std::unique_ptr<TestHost> host_;
  std::unique_ptr<Judge> first_;
  std::unique_ptr<Judge> second_;
  std::unique_ptr<e2e::TrackerProcess> tracker_;
};

TEST_F(PairLiveness, IsJudgedByWhatEitherProcessHears) {
  StartTracker(*first_);
  for (Judge* judge : {first_.get(), second_.get()}) {
    ASSERT_TRUE(AwaitVerdict([&] { return judge->Says(pb::SERVICE_STATE_UP); })) << tracker_->Log();
  }
  const absl::Time begun = absl::Now();
  while (absl::Now() < begun + kWatched) {
    for (Judge* judge : {first_.get(), second_.get()}) {
      ASSERT_TRUE(judge->Says(pb::SERVICE_STATE_UP)) << "after " << absl::Now() - begun;
    }
    ASSERT_EQ(tracker_->AwaitEnd(kLook), -1);
  }

  first_->Kill();
  const absl::Time killed = absl::Now();
  ASSERT_TRUE(AwaitVerdict([&] { return second_->Says(pb::SERVICE_STATE_DOWN); }));
  const absl::Duration silence = absl::Now() - killed;
  EXPECT_LT(silence, 5 * kPairDownTime);

  tracker_.reset();
  StartTracker(*second_);
  const absl::Time started = absl::Now();
  ASSERT_TRUE(AwaitVerdict([&] { return second_->Says(pb::SERVICE_STATE_UP); })) << tracker_->Log();
  std::printf(
      "down %.2f s after the holder of the stream was killed; up %.2f s after the tracker came "
      "to the other\n",
      absl::ToDoubleSeconds(silence), absl::ToDoubleSeconds(absl::Now() - started));
}

}  // namespace
}  // namespace berth::fault
