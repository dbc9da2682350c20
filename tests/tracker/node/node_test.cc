// One tracked hypervisor: passes, settings and records meet here.
#include "tracker/node/node.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/facts/test_data.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/hypervisor/events.h"
#include "tracker/settings/identity.h"

namespace berth::tracker {
namespace {

bool DisableService(Records* records, NodeAccount* /*account*/) {
  records->service_disabled = true;
  return true;
}

// A hypervisor that takes the call and never answers.
class SilentHypervisor {
 public:
  explicit SilentHypervisor(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(door_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(door_, 1), 0);
  }
  ~SilentHypervisor() {
    close(caller_);
    close(door_);
  }
  // Waits until somebody calls.
  void Take() { caller_ = accept(door_, nullptr, nullptr); }

 private:
  const int door_ = socket(AF_UNIX, SOCK_STREAM, 0);
  int caller_ = -1;
};

class NodeTest : public testing::Test {
 protected:
  NodeTest() {
    char path[] = "/tmp/berth-node-XXXXXX";
    state_ = mkdtemp(path);
    Node::Options options;
    options.configuration.uri = "test://" + TestDataPath("three_guests.xml");
    options.configuration.name = "n1";
    options.surroundings.state_path = state_;
    options.surroundings.host_address = "127.0.0.1";
    options.host = "h";
    options.pass_interval = std::chrono::seconds(60);
    node_ = std::make_unique<Node>(options, &pool_, [](const HypervisorEvent&) {});
    EXPECT_EQ(Pass().result, PassOutcome::Result::kComplete);
    uuid_ = node_->identity()->uuid;
  }
  ~NodeTest() override { std::filesystem::remove_all(state_); }

  PassOutcome Pass() { return node_->Pass(BootClock::now()); }

  HypervisorEventLoop loop_;
  DeadlinePool pool_{DeadlinePool::Options()};
  std::string state_;
  std::unique_ptr<Node> node_;
  Uuid uuid_;
};

TEST_F(NodeTest, KeepsItsIdentityWhateverBecomesOfTheFile) {
  std::ofstream(state_ + "/compute_id") << "99999999-9999-4999-8999-999999999999\n";
  Pass();
  EXPECT_EQ(node_->identity()->uuid, uuid_);                 // T-17, T-18
  EXPECT_EQ(Pass().audit->report.providers[0].uuid, uuid_);  // T-25
}

TEST_F(NodeTest, ARefusedRenameDoesNotChangeWhoseTheIdentityFileIs) {
  const std::vector<NodeRecord> records = {{uuid_, "n1", "h"}};
  ASSERT_TRUE(node_->CheckRecords(records).ok());
  Node::Options options = node_->options();
  options.configuration.name = "n2";
  Node renamed(options, &pool_, [](const HypervisorEvent&) {});
  EXPECT_EQ(renamed.Pass(BootClock::now()).result, PassOutcome::Result::kComplete);
  EXPECT_FALSE(renamed.CheckRecords(records).ok());  // T-20
  // The rename is taken back, and the tracker gets a second hypervisor.
  const auto directories = IdentityDirectories({}, state_, "n1", /*several_nodes=*/true);
  ASSERT_TRUE(directories.ok()) << directories.status();
  const NodeIdentity identity = *EnsureIdentity(*directories);
  EXPECT_EQ(identity.uuid, uuid_);  // T-15
}

TEST_F(NodeTest, TellsIfItCannotRecordWhoseTheIdentityFileIs) {
  std::filesystem::create_directories(state_ + "/compute_name/in the way");
  const absl::StatusOr<IdentityCheck> check = node_->CheckRecords({{uuid_, "n1", "h"}});
  ASSERT_TRUE(check.ok()) << check.status();
  ASSERT_EQ(check->warnings.size(), 1u);
  EXPECT_NE(check->warnings[0].find(state_ + "/compute_name"), std::string::npos);
}

TEST_F(NodeTest, NothingWaitsForAHypervisorThatHangs) {  // T-49, T-57
  SilentHypervisor silent(state_ + "/libvirt-sock");
  Node::Options options = node_->options();
  options.configuration.uri = "qemu+unix:///system?socket=" + state_ + "/libvirt-sock";
  options.surroundings.timeout = absl::Seconds(3);
  Node hanging(options, &pool_, [](const HypervisorEvent&) {});
  std::atomic<bool> over = false;
  PassOutcome outcome;
  std::thread pass([&] {
    outcome = hanging.Pass(BootClock::now());
    over = true;
  });
  silent.Take();
  EXPECT_EQ(hanging.view().audit, nullptr);
  hanging.ChangeRecords(DisableService, BootClock::now());
  EXPECT_TRUE(hanging.view().has_records);
  EXPECT_EQ(Pass().result, PassOutcome::Result::kComplete);  // T-60, T-359: another node
  EXPECT_FALSE(over);
  pass.join();
  EXPECT_EQ(outcome.result, PassOutcome::Result::kNotReady);  // T-70
}

TEST_F(NodeTest, APassThatFailsChangesNothing) {
  NodeConfiguration bad = node_->options().configuration;
  bad.cpu_shared_set = CpuSet::Range(0, 2000);
  bad.reserved_host_memory_mib = 1024;
  const auto before = node_->view().audit;
  node_->Configure(bad);
  EXPECT_EQ(Pass().error.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(node_->view().audit, before);  // T-36, T-37, T-68
  // Records that come meanwhile are judged by what the last good pass went by.
  node_->ChangeRecords(DisableService, BootClock::now());
  EXPECT_EQ(node_->view().audit->report.accounting.reserve.memory_mib, 512);
  EXPECT_EQ(node_->view().audit->report.facts, before->report.facts) << "a push copies no facts";
  bad.cpu_shared_set.reset();
  node_->Configure(bad);
  EXPECT_EQ(Pass().audit->report.accounting.reserve.memory_mib, 1024);  // T-63
}

TEST_F(NodeTest, CallersAreAnsweredWithoutItsLock) {
  std::vector<std::future<Node::View>> looks;
  const ClaimCaller caller = {
      [&](const absl::StatusOr<ClaimResult>&) {
        looks.push_back(std::async(std::launch::async, [&] { return node_->view(); }));
        EXPECT_EQ(looks.back().wait_for(std::chrono::seconds(5)), std::future_status::ready);
      },
      [] { return false; }};
  Instance known;
  known.uuid = "a"_uuid;
  known.on = {"h", uuid_};
  known.vm_state = "active";
  const auto put = [&](Records*, NodeAccount* account) {
    account->PutInstance(known);
    return true;
  };
  const auto wait = [&] {
    ++known.generation;
    node_->Claims([&](NodeClaims* claims, ClaimReplies* replies) {
      claims->UpdateUsage(known, caller, replies);
    });
  };
  wait();
  EXPECT_EQ(looks.size(), 1u) << "there is no session";
  node_->ChangeRecords(put, BootClock::now());
  node_->Reports([](NodeReports* reports) { reports->Welcome(Standing::kKnown, 0); });
  wait();
  EXPECT_EQ(looks.size(), 1u) << "the record has not come";
  node_->ChangeRecords(put, BootClock::now());
  EXPECT_EQ(looks.size(), 2u);
  wait();
  node_->Disconnect();
  EXPECT_EQ(looks.size(), 3u);
  EXPECT_EQ(node_->view().standing, Standing::kNone);
}

TEST_F(NodeTest, RemovesTraitsThatNoFileHasAnyMore) {  // T-220
  const auto traits = [](Node* node) {
    return node->Pass(BootClock::now()).audit->report.providers[0].traits;
  };
  const Node::Options without = node_->options();
  NodeConfiguration with = without.configuration;
  with.provider_entries = {{"f.yaml:1", Uuid(), "", {}, {"CUSTOM_A"}}};
  node_->Configure(with);
  EXPECT_TRUE(traits(node_.get()).at("CUSTOM_A"));

  Node restarted(without, &pool_, [](const HypervisorEvent&) {});
  EXPECT_FALSE(traits(&restarted).at("CUSTOM_A"));  // T-220
  const MonotonicTime now = BootClock::now();
  restarted.Reports([](NodeReports* reports) { reports->Welcome(Standing::kSendAll, 0); });
  restarted.ChangeRecords([](auto&&...) { return true; }, now);
  std::optional<Records> records;
  const std::optional<Outbox::Outgoing> report =
      restarted.Audits([&](NodeAudits* audits) { return audits->NextReport(now, &records); });
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(traits(&restarted).at("CUSTOM_A"));  // placement has not answered yet
  restarted.Reports(
      [&](NodeReports* reports) { reports->Acknowledge(report->sequence, {}, {}, now); });
  // From now on the trait is none of the tracker's: an operator may set it by hand.
  EXPECT_EQ(traits(&restarted).count("CUSTOM_A"), 0u);  // T-211
  Node third(without, &pool_, [](const HypervisorEvent&) {});
  EXPECT_EQ(traits(&third).count("CUSTOM_A"), 0u);
}

TEST_F(NodeTest, RemembersTraitsOfDevicesBeforeTheFirstReport) {  // T-220
  Node::Options options = node_->options();
  options.configuration.pci_report_in_placement = true;
  options.configuration.pci_device_specs = {R"({"product_id": "154c"})"};
  options.configuration.provider_entries = {
      {"f.yaml:1", Uuid(), "n1_0000:3B:00.0", {}, {"CUSTOM_A"}}};
  Node node(options, &pool_, [](const HypervisorEvent&) {});
  const PassOutcome first = node.Pass(BootClock::now());
  ASSERT_EQ(first.audit->report.providers.size(), 2u);
  AddedTraitsFile file;
  ASSERT_TRUE(file.Open(state_).ok());
  EXPECT_EQ(file.traits(),
            (AddedTraits{{first.audit->report.providers[1].uuid, {"CUSTOM_A"}}}));  // T-220
}

TEST_F(NodeTest, SaysWhenItsLastGoodPassIsThreeIntervalsAgo) {
  const MonotonicTime start = BootClock::now();
  const auto at = [start](int seconds) { return start + std::chrono::seconds(seconds); };
  NodeConfiguration bad = node_->options().configuration;
  bad.cpu_shared_set = CpuSet::Range(0, 2000);
  EXPECT_TRUE(node_->Pass(at(0)).error.ok());
  node_->Configure(bad);
  for (const int tick : {60, 120, 180}) EXPECT_FALSE(node_->Pass(at(tick)).error.ok());
  EXPECT_FALSE(node_->AuditOverdue(at(180)));  // T-293
  EXPECT_TRUE(node_->AuditOverdue(at(181)));   // T-293
  bad.cpu_shared_set.reset();
  node_->Configure(bad);
  EXPECT_TRUE(node_->Pass(at(240)).error.ok());
  EXPECT_FALSE(node_->AuditOverdue(at(420)));  // T-293

  // One that has never had a good pass is counted from its first; without periodic passes none is
  // due.
  Node::Options options = node_->options();
  options.configuration.cpu_shared_set = CpuSet::Range(0, 2000);
  Node never(options, &pool_, [](const HypervisorEvent&) {});
  EXPECT_FALSE(never.AuditOverdue(at(1000)));
  EXPECT_FALSE(never.Pass(at(0)).error.ok());
  EXPECT_TRUE(never.AuditOverdue(at(181)));
  options.pass_interval.reset();
  Node unscheduled(options, &pool_, [](const HypervisorEvent&) {});
  EXPECT_FALSE(unscheduled.Pass(at(0)).error.ok());
  EXPECT_FALSE(unscheduled.AuditOverdue(at(100'000)));
}

}  // namespace
}  // namespace berth::tracker
