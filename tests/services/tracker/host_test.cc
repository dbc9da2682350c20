// The tracker's nodes with their loops, its stream and its own service, over libvirt's test driver.
#include "services/tracker/host.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "services/log/log.h"
#include "services/process/server.h"
#include "services/tracker/reload.h"
#include "services/tracker/service.h"
#include "tests/processes/fake_placement.h"
#include "tests/tracker/facts/test_data.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/uuid.h"

namespace berth::services {
namespace {

namespace pb = berth::tracker::v1;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tracker::FakePlacement;
using tracker::MutexLock;
using tracker::PassCause;

constexpr char kAway[] = "test:///nowhere/at/all.xml";

// Lets a test wait for what other threads do.
class Bell {
 public:
  void Ring() {
    MutexLock lock(&mutex_);
    ++rings_;
    changed_.NotifyAll();
  }
  bool Wait(int rings = 1) {
    const auto deadline = tracker::BootClock::now() + std::chrono::seconds(10);
    MutexLock lock(&mutex_);
    while (rings_ < rings && tracker::BootClock::now() < deadline) {
      changed_.WaitUntil(&mutex_, deadline);
    }
    return rings_ >= rings;
  }

 private:
  tracker::Mutex mutex_;
  tracker::CondVar changed_;
  int rings_ ABSL_GUARDED_BY(mutex_) = 0;
};

bool Never() { return false; }

class TrackerHostTest : public ::testing::Test {
 protected:
  TrackerHostTest() {
    char path[] = "/tmp/berth-host-XXXXXX";
    state_ = mkdtemp(path);
    configuration_.host = "h";
    configuration_.my_address = "127.0.0.1";
    configuration_.state_path = state_;
    configuration_.update_resources_interval_seconds = -1;
    configuration_.startup_driver_timeout = absl::Seconds(5);
    AddNode("n1", Guests());
  }
  ~TrackerHostTest() override {
    host_.reset();
    std::filesystem::remove_all(state_);
  }

  static std::string Guests() { return "test://" + tracker::TestDataPath("three_guests.xml"); }
  void AddNode(const std::string& name, const std::string& uri) {
    configuration_.nodes.emplace_back();
    configuration_.nodes.back().name = name;
    configuration_.nodes.back().uri = uri;
  }
  absl::Status Start(const std::function<bool()>& stop = Never) {
    host_ = std::make_unique<TrackerHost>(configuration_);
    return host_->Start(stop);
  }
  // Waits for a pass that begins now.
  void Pass(size_t node = 0, PassCause cause = PassCause::kRequest) {
    Bell done;
    host_->runners()[node]->Request(cause, [&done] { done.Ring(); });
    ASSERT_TRUE(done.Wait());
  }
  int64_t ReservedMemory() {
    return host_->runners()[0]
        ->node()
        ->view()
        .audit->report.providers[0]
        .inventories.at("MEMORY_MB")
        .reserved;
  }
  void Connect(const FakePlacement& placement) {
    tracker::Uplink::Options options;
    options.target = placement.target();
    options.host = "h";
    options.incarnation = tracker::Uuid::Random().ToString();
    options.machine_id = "m";
    host_->Connect(options, [](const absl::Status&) {});
  }

  std::string state_;
  tracker::Configuration configuration_;
  std::unique_ptr<TrackerHost> host_;
};

TEST_F(TrackerHostTest, AuditsEveryNodeBeforeItHasStarted) {  // T-29, T-30
  AddNode("n2", "test:///default");
  ASSERT_TRUE(Start().ok());
  for (const auto& runner : host_->runners()) {
    EXPECT_EQ(runner->passes(), 1);  // T-6, T-30
    EXPECT_EQ(runner->results().at("complete"), 1);
    EXPECT_NE(runner->node()->view().audit, nullptr);
  }
  EXPECT_TRUE(std::filesystem::exists(state_ + "/nodes/n1/compute_id"));  // T-15, T-17
  EXPECT_TRUE(std::filesystem::exists(state_ + "/nodes/n2/compute_id"));
}

TEST_F(TrackerHostTest, OneHypervisorThatAnswersIsEnough) {  // T-43
  AddNode("away", kAway);
  EXPECT_TRUE(Start().ok());
  const tracker::PassOutcome away = host_->runners()[1]->node()->view().last;
  EXPECT_EQ(away.audit, nullptr);
  EXPECT_FALSE(away.error.ok());
  Pass(1);  // it is tried on, and the other one goes on
  Pass(0);
  EXPECT_GE(host_->runners()[1]->passes(), 2);
  EXPECT_EQ(host_->runners()[0]->results().at("complete"), 2);
}

TEST_F(TrackerHostTest, WithoutAnyHypervisorItGivesUpInTime) {  // T-38
  configuration_.nodes[0].uri = kAway;
  const absl::Status started = Start();
  EXPECT_EQ(started.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(started.message(), HasSubstr("nowhere"));
  host_.reset();
  configuration_.startup_driver_timeout = absl::Seconds(300);
  const absl::Time begun = absl::Now();
  EXPECT_EQ(Start([] { return true; }).code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(absl::Now() - begun, absl::Seconds(60));  // a stop is heard while it waits
}

TEST_F(TrackerHostTest, RefusesToStartWithABrokenIdentity) {
  std::ofstream(state_ + "/compute_id") << "no uuid";
  const absl::Status started = Start();
  EXPECT_FALSE(started.ok());
  EXPECT_NE(started.code(), absl::StatusCode::kUnavailable);          // nothing to wait for
  EXPECT_THAT(started.message(), HasSubstr(state_ + "/compute_id"));  // T-16
}

TEST_F(TrackerHostTest, RefusesToStartWithCpusThatTheHostHasNot) {  // T-74
  configuration_.nodes[0].cpu_shared_set = *tracker::CpuSet::Parse("0-2000");
  const absl::Status started = Start();
  EXPECT_EQ(started.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(started.message(), HasSubstr("cpu_shared_set"));
}

TEST_F(TrackerHostTest, RequestsDuringAPassShareTheNext) {
  tracker::HypervisorEventLoop loop;
  tracker::DeadlinePool pool{tracker::DeadlinePool::Options()};
  tracker::Node::Options options;
  options.configuration = configuration_.nodes[0];
  options.surroundings.state_path = state_;
  tracker::Node node(options, &pool, [](const tracker::HypervisorEvent&) {});
  Bell begun;
  Bell go_on;
  Bell done;
  NodeRunner runner(&node, tracker::PassSchedule::Options(), [&](const tracker::PassOutcome&) {
    begun.Ring();
    go_on.Wait();
  });
  runner.Request(PassCause::kStart);
  ASSERT_TRUE(begun.Wait());
  for (int i = 0; i < 20; ++i) runner.Request(PassCause::kRequest, [&done] { done.Ring(); });
  go_on.Ring();
  ASSERT_TRUE(done.Wait(20));
  EXPECT_EQ(runner.passes(), 2);  // T-45, T-46
  EXPECT_GT(runner.last_duration(), absl::ZeroDuration());
}

TEST_F(TrackerHostTest, StopsForGoodAndLeavesNobodyWaiting) {  // T-47
  ASSERT_TRUE(Start().ok());
  host_->Stop();
  const int64_t passes = host_->runners()[0]->passes();
  Pass();  // answered, without a pass
  EXPECT_EQ(host_->runners()[0]->passes(), passes);
}

TEST_F(TrackerHostTest, ConfirmsOrphansByItself) {
  configuration_.orphan_confirmation = absl::Milliseconds(10);
  FakePlacement placement;
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(ReservedMemory(), 512);
  Connect(placement);
  ASSERT_TRUE(placement.Wait([](const std::vector<FakePlacement::Request>& all) {
    for (const auto& report : FakePlacement::Reports(all)) {
      for (const auto& provider : report.providers()) {
        if (provider.inventories().at("MEMORY_MB").reserved() == 512 + 6144) return true;
      }
    }
    return false;
  }));
}

TEST_F(TrackerHostTest, AnswersAnOrderedAuditWhenThePassIsOver) {
  FakePlacement placement;
  ASSERT_TRUE(Start().ok());
  Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  const int64_t before = host_->runners()[0]->passes();
  FakePlacement::Response order;
  order.mutable_audit_order()->set_order_id("o1");
  placement.Say(order);
  ASSERT_TRUE(placement.WaitForAuditDone("o1"));
  EXPECT_GT(host_->runners()[0]->passes(), before);
  EXPECT_EQ(host_->uplink_status().state, tracker::Uplink::State::kConnected);
}

// Settings in a file, read anew as SIGHUP does.
class ReloadTest : public TrackerHostTest {
 protected:
  ReloadTest() : file_(state_ + "/tracker.toml") {
    WriteFile("");
    StartLog(LogFormat::kText, LogLevel::kInfo);
  }
  void WriteFile(const std::string& content, const std::string& uri = Guests()) {
    std::ofstream(file_) << "host = 'h'\n"
                         << content << "\n[[hypervisor]]\nname = 'n1'\nuri = '" << uri << "'\n";
  }
  absl::Status Reload() {
    const std::string config = "--config=" + file_;
    const char* const argv[] = {"berth-tracker", config.c_str()};
    return ReloadTracker(2, argv, running_, host_.get());
  }
  const std::string file_;
  TrackerOptions running_;
};

TEST_F(ReloadTest, TakesOverWhatMayChange) {  // T-63
  ASSERT_TRUE(Start().ok());
  WriteFile("reserved-host-memory-mb = 2048\ncpu-allocation-ratio = 3.0\nlog-level = 'error'");
  ASSERT_TRUE(Reload().ok());
  EXPECT_FALSE(LogEnabled(LogLevel::kWarning));
  Pass();
  EXPECT_EQ(ReservedMemory(), 2048);
  const auto audit = host_->runners()[0]->node()->view().audit;
  EXPECT_EQ(audit->report.providers[0].inventories.at("VCPU").allocation_ratio, 3.0);
}

TEST_F(ReloadTest, RefusesAWrongFileAndLooksAgainAllTheSame) {
  configuration_.nodes[0].reserved_host_memory_mib = 1024;
  ASSERT_TRUE(Start().ok());
  for (const char* wrong :
       {"reserved-host-memory-mb = 'much'", "colour = 'red'", "cpu-shared-set = '3-1'", "x = ["}) {
    const int64_t before = host_->runners()[0]->passes();
    WriteFile(absl::StrCat("log-level = 'error'\n", wrong));
    testing::internal::CaptureStderr();
    EXPECT_EQ(Reload().code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr("the new settings have an error, so the old settings stay in use"));
    Pass();
    EXPECT_GT(host_->runners()[0]->passes(), before);
    EXPECT_EQ(ReservedMemory(), 1024);
    EXPECT_TRUE(LogEnabled(LogLevel::kInfo));  // of a wrong file nothing is taken
  }
}

TEST_F(ReloadTest, RefusesWhatContradictsTheSettingsThatStay) {
  configuration_.nodes[0].file_backed_memory_mib = 1024;
  ASSERT_TRUE(Start().ok());
  WriteFile("reserved-host-memory-mb = 2048");  // T-79: not below the memory that stays
  EXPECT_EQ(Reload().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ReloadTest, KeepsTheLastGoodPassWhereTheHostHasNoSuchCpus) {  // T-74
  ASSERT_TRUE(Start().ok());
  WriteFile("cpu-shared-set = '0-2000'\nreserved-host-memory-mb = 2048");
  ASSERT_TRUE(Reload().ok());
  Pass();
  EXPECT_EQ(host_->runners()[0]->node()->view().last.error.code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReservedMemory(), 512);
  WriteFile("cpu-shared-set = '0'\nreserved-host-memory-mb = 2048");
  ASSERT_TRUE(Reload().ok());
  Pass();
  EXPECT_EQ(ReservedMemory(), 2048);
}

TEST_F(ReloadTest, NamesWhatWaitsForARestart) {
  ASSERT_TRUE(Start().ok());
  tracker::Configuration read = configuration_;
  read.nodes[0].virt_type = "qemu";
  EXPECT_THAT(*host_->Reconfigure(read), ElementsAre("virt-type"));
  read.nodes[0].uri = "test:///other";
  EXPECT_THAT(*host_->Reconfigure(read), Contains("hypervisor"));
}

TEST_F(ReloadTest, AsksForAllRecordsAnew) {  // T-63
  FakePlacement placement;
  ASSERT_TRUE(Start().ok());
  const std::string uuid = host_->runners()[0]->node()->identity()->uuid.ToString();
  Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  FakePlacement::Response push;
  push.mutable_push()->set_node_uuid(uuid);
  push.mutable_push()->set_complete(true);
  push.mutable_revision()->set_epoch(1);
  push.mutable_revision()->set_number(7);
  placement.Say(push);
  const auto told = [&] { return host_->runners()[0]->node()->view().told_up_to.has_value(); };
  const auto deadline = tracker::BootClock::now() + std::chrono::seconds(10);
  while (!told() && tracker::BootClock::now() < deadline) Pass();
  ASSERT_TRUE(told());
  ASSERT_TRUE(Reload().ok());
  ASSERT_TRUE(placement.Wait([](const std::vector<FakePlacement::Request>& all) {
    int hellos = 0;
    bool absent = false;
    for (const auto& request : all) {
      if (!request.has_hello()) continue;
      ++hellos;
      absent = !request.hello().nodes(0).has_pushed_revision();
    }
    return hellos == 2 && absent;
  }));  // T-191
}

TEST_F(TrackerHostTest, ItsServiceAnswersForItsNodes) {
  AddNode("n2", "test:///default");
  ASSERT_TRUE(Start().ok());
  Metrics metrics("tracker");
  const std::unique_ptr<grpc::Service> service = MakeTrackerService(host_.get(), "i", &metrics);
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  auto server = Server::Start(options, {service.get()});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto stub = pb::TrackerService::NewStub(
      grpc::CreateChannel((*server)->addresses()[0], grpc::InsecureChannelCredentials()));
  const auto call = [&](auto method, const auto& request, auto* response) {
    grpc::ClientContext context;
    return (stub.get()->*method)(&context, request, response);
  };
  pb::ListNodesResponse list;
  ASSERT_TRUE(call(&pb::TrackerService::Stub::ListNodes, pb::ListNodesRequest(), &list).ok());
  ASSERT_EQ(list.nodes_size(), 2);  // T-6
  EXPECT_EQ(list.nodes(0).name(), "n1");
  EXPECT_TRUE(list.nodes(0).connected());
  EXPECT_FALSE(list.placement_connected());  // T-199
  EXPECT_NE(list.placement_error(), "");

  pb::GetNodeViewRequest view;
  pb::GetNodeViewResponse seen;
  const auto look = [&] { return call(&pb::TrackerService::Stub::GetNodeView, view, &seen); };
  EXPECT_EQ(look().error_code(), grpc::StatusCode::INVALID_ARGUMENT);  // which of the two?
  view.set_node_uuid("no uuid");
  EXPECT_EQ(look().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  view.set_node_uuid("99999999-9999-4999-8999-999999999999");
  EXPECT_EQ(look().error_code(), grpc::StatusCode::NOT_FOUND);
  view.set_node_uuid(list.nodes(0).node_uuid());
  ASSERT_TRUE(look().ok());
  EXPECT_EQ(seen.facts().memory_mib(), 65536);
  ASSERT_EQ(seen.orphans_size(), 0);  // T-138: without placement's records nobody is judged

  pb::AuditNowResponse audited;
  const int64_t before = host_->runners()[0]->passes();
  ASSERT_TRUE(call(&pb::TrackerService::Stub::AuditNow, pb::AuditNowRequest(), &audited).ok());
  ASSERT_EQ(audited.audits_size(), 2);  // T-46
  EXPECT_EQ(audited.audits(0).audit().result(), placement::v1::AUDIT_RESULT_COMPLETE);
  EXPECT_EQ(host_->runners()[0]->passes(), before + 1);

  pb::SetProviderStatusResponse set;
  EXPECT_EQ(call(&pb::TrackerService::Stub::SetProviderStatus, pb::SetProviderStatusRequest(), &set)
                .error_code(),
            grpc::StatusCode::UNAVAILABLE);  // there is no stream to placement yet
  FakePlacement placement;
  Connect(placement);
  EXPECT_TRUE(
      call(&pb::TrackerService::Stub::SetProviderStatus, pb::SetProviderStatusRequest(), &set)
          .ok());  // T-385
  (*server)->Drain([this] { host_->Stop(); });
}

}  // namespace
}  // namespace berth::services
