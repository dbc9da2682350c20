// What sessions of trackers are told of a command about many hosts.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

using placement::InstanceId;
using placement::LedgerRunner;
using placement::ProviderId;
using placement::Uuid;

// A command may concern a whole fleet. Nobody looks at all of it for each host.
TEST_F(ReportSessionTest, AHostIsToldOfItsOwnPartOfAnImport) {
  constexpr int kHosts = 6;
  constexpr int kInstances = 20;  // on each host
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  std::vector<std::unique_ptr<PlayedTracker>> trackers;
  placement::ImportLedger import;
  for (int host = 0; host < kHosts; ++host) {
    const std::string name = absl::StrCat("h", host);
    trackers.push_back(
        std::make_unique<PlayedTracker>(&sessions, name, ProviderId{Uuid::Random()}));
    ASSERT_TRUE(trackers.back()->Introduce());
    ASSERT_TRUE(trackers.back()->GetsAll());
    for (int i = 0; i < kInstances; ++i) {
      placement::ImportedInstance& record = import.instances.emplace_back();
      record.record = static_cast<int64_t>(import.instances.size());
      const auto first_half = static_cast<uint64_t>(host + 1);
      record.instance.id = InstanceId{Uuid{first_half, static_cast<uint64_t>(i + 1)}};
      record.instance.project = record.instance.user = record.instance.vm_state = "any";
      record.instance.host = name;
    }
  }
  const auto visited = [&] {
    EXPECT_TRUE(LedgerRunner::Eventually([&] {
      return sessions.dispatched() == runner_.ledger().Newest()->position().revision;
    }));
    Measured measured;
    sessions.Measure(&measured);
    return measured.values["report_changes_visited_total"];
  };
  const double before = visited();
  runner_.Must(import);
  // Each change is looked at for its host, and once for the services among them.
  EXPECT_EQ(visited() - before, 2 * kHosts * kInstances);
  for (int host = 0; host < kHosts; ++host) {
    EXPECT_TRUE(trackers[host]->AwaitPush([&](const pb::Push& push) {
      if (push.instances_size() == 0) return false;  // one of before
      EXPECT_EQ(push.instances_size(), kInstances);
      EXPECT_EQ(push.removed_instance_uuids_size(), 0);
      for (const pb::Instance& instance : push.instances()) {
        EXPECT_EQ(Uuid::Parse(instance.uuid())->high, static_cast<uint64_t>(host + 1));
      }
      return true;
    }));
    trackers[host]->Close();
  }
}

}  // namespace
}  // namespace berth::services
