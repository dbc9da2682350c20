// Malformed messages in sessions of trackers, over a real ledger: each is answered, and the stream
// goes on.
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "google/rpc/error_details.pb.h"
#include "services/wire/instance.h"
#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

using placement::ProviderId;
using placement::Uuid;

const std::string kNul("p\0", 2);

// "REASON field" of an error; "OK" if there is none.
std::string FaultIn(const google::rpc::Status& status) {
  if (status.code() == 0) return "OK";
  google::rpc::ErrorInfo info;
  if (status.details().empty() || !status.details(0).UnpackTo(&info)) return status.message();
  const auto field = info.metadata().find("field");
  return absl::StrCat(info.reason(), " ", field == info.metadata().end() ? "" : field->second);
}

class SessionFormTest : public ReportSessionTest {
 protected:
  // An unplaced instance that holds a slot of the node.
  placement::InstancePtr Create() {
    placement::InstanceRecord record;
    record.id = placement::InstanceId{Uuid::Random()};
    record.project = record.user = record.vm_state = "any";
    runner_.Must(placement::SetInstance{record, std::nullopt});
    Allocate(runner_, record.id, node_);
    return Find(record.id);
  }
  placement::InstancePtr Find(placement::InstanceId id) {
    return runner_.ledger().Newest()->records().FindInstance(id);
  }
  pb::SessionRequest WriteOf(const placement::InstanceRecord& record) {
    pb::SessionRequest request;
    pb::RecordWrite* const write = request.mutable_record_write();
    write->set_write_id(++writes_);
    write->set_node_uuid(node_.ToString());
    write->mutable_instance()->set_uuid(record.id.ToString());
    write->mutable_instance()->set_generation(record.generation.value);
    write->mutable_instance()->set_host("h1");
    write->mutable_instance()->set_node_uuid(node_.ToString());
    return request;
  }
  pb::SessionRequest ReportOf(int64_t sequence) {
    pb::SessionRequest request;
    pb::Report& report = *request.mutable_report();
    report.set_node_uuid(node_.ToString());
    report.set_node_name("h1");
    report.set_sequence(sequence);
    report.set_kind(pb::REPORT_KIND_DELTA);
    return request;
  }

  ReportSessions sessions_{&runner_.ledger(), &workers_, &recorder_};
  int64_t writes_ = 0;
};

TEST_F(SessionFormTest, AMalformedWriteIsAnsweredAndTheSessionLasts) {
  const Settled settled(this);
  PlayedTracker tracker(&sessions_, "h1", node_);
  ASSERT_TRUE(tracker.Introduce());
  const placement::InstancePtr record = Create();
  struct Case {
    std::string fault;
    std::function<void(pb::RecordWrite*)> spoil;
    std::string node;  // in the answer
    bool has_record = true;
  };
  const std::string node = node_.ToString();
  const std::string stranger = Uuid::Random().ToString();
  const std::string large(200000, 'x');
  const std::vector<Case> cases = {
      {"record_write.node_uuid", [](auto* write) { write->set_node_uuid("n"); }, "n", false},
      {"record_write.node_uuid", [](auto* write) { write->clear_node_uuid(); }, "", false},
      {"record_write.node_uuid", [&](auto* write) { write->set_node_uuid(large); }, "", false},
      {"record_write.node_uuid", [&](auto* write) { write->set_node_uuid("{" + node + "}"); },
       "{" + node + "}", false},
      {"record_write.node_uuid", [&](auto* write) { write->set_node_uuid(stranger); }, stranger,
       false},
      {"record_write.instance.uuid", [](auto* write) { write->mutable_instance()->set_uuid("i"); },
       node, false},
      {"record_write.instance.host", [](auto* write) { write->mutable_instance()->set_host(kNul); },
       node},
      {"instance.host", [](auto* write) { write->mutable_instance()->set_host("h\n"); }, node},
      {"record_write.instance.project_id",
       [](auto* write) { write->mutable_instance()->set_project_id(kNul); }, node},
      {"record_write.instance.node_uuid",
       [](auto* write) { write->mutable_instance()->set_node_uuid("x"); }, node},
      {"record_write.instance.pci_devices[0].address",
       [](auto* write) { write->mutable_instance()->add_pci_devices()->set_address(kNul); }, node},
      {"record_write.instance",
       [&](auto* write) { write->mutable_instance()->add_pci_devices()->set_address(large); },
       node},
      {"instance",  // the ledger's bound for the bytes of a record
       [&](auto* write) {
         write->mutable_instance()->add_pci_devices()->set_address(large.substr(0, 70000));
       },
       node},
      {"record_write.end", [](auto* write) { write->set_end(pb::MOVE_END_FAILED); }, node},
      {"record_write.instance.host", [](auto* write) { write->set_withdraw(true); }, node},
      {"record_write.migration.uuid",
       [](auto* write) { write->mutable_migration()->set_status("running"); }, node},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.fault);
    pb::SessionRequest request = WriteOf(*record);
    one.spoil(request.mutable_record_write());
    ASSERT_TRUE(tracker.Say(request));
    const pb::RecordAnswer answer = tracker.Next().record_answer();
    EXPECT_EQ(answer.write_id(), request.record_write().write_id());
    EXPECT_EQ(FaultIn(answer.status()), "INVALID_FIELD " + one.fault);
    EXPECT_EQ(answer.node_uuid(), one.node);
    EXPECT_EQ(answer.instances_size() + answer.removed_instance_uuids_size(),
              one.has_record ? 1 : 0);
  }
  EXPECT_EQ(Find(record->id)->generation, record->generation);
  // The same session still writes, whatever the spelling of the uuids.
  pb::SessionRequest request = WriteOf(*record);
  request.mutable_record_write()->set_node_uuid(absl::AsciiStrToUpper(node));
  request.mutable_record_write()->mutable_instance()->set_node_uuid(absl::AsciiStrToUpper(node));
  ASSERT_TRUE(tracker.Say(request));
  const pb::RecordAnswer answer = tracker.Next().record_answer();
  EXPECT_EQ(FaultIn(answer.status()), "OK");
  EXPECT_EQ(answer.node_uuid(), node);
  ASSERT_EQ(answer.instances_size(), 1);
  EXPECT_EQ(answer.instances(0).node_uuid(), node);
}

// A tracker cannot move the generations of records that are not its own.
TEST_F(SessionFormTest, AForeignRecordIsNotWithdrawn) {
  const Settled settled(this);
  PlayedTracker tracker(&sessions_, "h1", node_);
  ASSERT_TRUE(tracker.Introduce());
  const auto withdraw = [&](const placement::InstanceRecord& record) {
    pb::SessionRequest request = WriteOf(record);
    request.mutable_record_write()->mutable_instance()->clear_host();
    request.mutable_record_write()->mutable_instance()->clear_node_uuid();
    request.mutable_record_write()->set_withdraw(true);
    EXPECT_TRUE(tracker.Say(request));
    return FaultIn(tracker.Next().record_answer().status());
  };
  placement::InstanceRecord foreign;
  foreign.id = placement::InstanceId{Uuid::Random()};
  foreign.project = foreign.user = foreign.vm_state = "any";
  foreign.host = "h2";
  runner_.Must(placement::SetInstance{foreign, std::nullopt});
  const placement::InstancePtr before = Find(foreign.id);
  EXPECT_EQ(withdraw(*before), "POLICY_DENIED ");  // T-386
  EXPECT_EQ(Find(foreign.id)->generation, before->generation);
  const placement::InstancePtr own = Create();
  EXPECT_EQ(withdraw(*own), "OK");
  EXPECT_NE(Find(own->id)->generation, own->generation);
}

TEST_F(SessionFormTest, AMalformedReportIsRejectedAndTheSessionLasts) {
  const Settled settled(this);
  PlayedTracker tracker(&sessions_, "h1", node_);
  ASSERT_TRUE(tracker.SayHello());
  ASSERT_TRUE(tracker.Next().has_welcome());
  ASSERT_TRUE(tracker.SayReport(1, 8, std::nullopt, true));
  const int64_t generation = tracker.Next().ack().generations(0).generation();
  struct Case {
    std::string fault;
    std::function<void(pb::Report*)> spoil;
    std::string node;  // in the answer
  };
  const std::string node = node_.ToString();
  const std::string stranger = Uuid::Random().ToString();
  const std::vector<Case> cases = {
      {"report.node_uuid", [](auto* report) { report->set_node_uuid("n"); }, "n"},
      {"report.node_uuid", [](auto* report) { report->set_node_uuid(std::string(200000, 'x')); },
       ""},
      {"report.node_uuid", [&](auto* report) { report->set_node_uuid(stranger); }, stranger},
      {"report.kind", [](auto* report) { report->clear_kind(); }, node},
      {"report.node_name", [](auto* report) { report->set_node_name(kNul); }, node},
      {"report.providers[0].uuid", [](auto* report) { report->add_providers()->set_uuid("x"); },
       node},
      {"report.removed_provider_uuids[0]",
       [](auto* report) { report->add_removed_provider_uuids("x"); }, node},
      {"report.allocations[0].consumer_uuid", [](auto* report) { report->add_allocations(); },
       node},
      {"report.orphans.orphans[0].uuid",
       [](auto* report) { report->mutable_orphans()->add_orphans()->set_uuid("x"); }, node},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.fault);
    pb::SessionRequest request = ReportOf(2);
    one.spoil(request.mutable_report());
    ASSERT_TRUE(tracker.Say(request));
    const pb::Reject reject = tracker.Next().reject();
    EXPECT_EQ(FaultIn(reject.status()), "INVALID_FIELD " + one.fault);
    EXPECT_EQ(reject.node_uuid(), one.node);
    EXPECT_EQ(reject.sequence(), 2);
  }
  ASSERT_TRUE(tracker.SayReport(2, 16, generation, false));
  EXPECT_EQ(tracker.Next().ack().sequence(), 2);
}

// Answers name nodes in one spelling, and so does what the ledger keeps.
TEST_F(SessionFormTest, AnswersNameANodeInItsCanonicalForm) {
  const Settled settled(this);
  PlayedTracker tracker(&sessions_, "h1", node_);
  ASSERT_TRUE(tracker.Introduce());
  const std::string guest = "ABCDEFAB-CDEF-4ABC-8DEF-ABCDEFABCDEF";
  pb::SessionRequest request = ReportOf(2);
  request.mutable_report()->set_node_uuid(absl::AsciiStrToUpper(node_.ToString()));
  request.mutable_report()->mutable_orphans()->add_orphans()->set_uuid(guest);
  ASSERT_TRUE(tracker.Say(request));
  const pb::SessionResponse answer = tracker.Next();
  EXPECT_EQ(answer.ack().node_uuid(), node_.ToString()) << answer.ShortDebugString();
  pb::Node account;
  const auto state = runner_.ledger().Newest();
  ASSERT_TRUE(account.ParseFromString((*state->nodes().Find(node_))->account));
  ASSERT_EQ(account.orphans_size(), 1);
  EXPECT_EQ(account.orphans(0).uuid(), absl::AsciiStrToLower(guest));
}

TEST_F(SessionFormTest, MalformedReadinessDoesNotFillTheLog) {
  const Settled settled(this);
  PlayedTracker tracker(&sessions_, "loud", node_);
  ASSERT_TRUE(tracker.Introduce());
  pb::SessionRequest readiness;
  readiness.mutable_readiness()->set_reason(kNul);
  testing::internal::CaptureStderr();
  const placement::BootTime begun = placement::BootNow();
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(tracker.Say(readiness));
  const int64_t seconds = absl::ToInt64Seconds(placement::BootNow() - begun);
  const std::string log = testing::internal::GetCapturedStderr();
  const std::vector<std::string> parts = absl::StrSplit(log, "readiness could not be recorded");
  EXPECT_GE(parts.size(), 2U) << log;
  EXPECT_LE(static_cast<int64_t>(parts.size()), seconds + 2) << log;
}

// A readiness has no answer, and a heartbeat and an audit's end have no effect on the ledger.
TEST_F(SessionFormTest, OtherMalformedMessagesEndNothing) {
  const Settled settled(this);
  PlayedTracker tracker(&sessions_, "h1", node_);
  ASSERT_TRUE(tracker.Introduce());
  pb::SessionRequest readiness;
  readiness.mutable_readiness()->set_reason(kNul);
  ASSERT_TRUE(tracker.Say(readiness));
  readiness.mutable_readiness()->set_reason(std::string(200000, 'x'));
  ASSERT_TRUE(tracker.Say(readiness));
  pb::SessionRequest beat;
  beat.mutable_heartbeat()->add_nodes()->set_node_uuid(kNul);
  ASSERT_TRUE(tracker.Say(beat));
  pb::SessionRequest done;
  done.mutable_audit_done()->set_order_id(kNul);
  ASSERT_TRUE(tracker.Say(done));
  ASSERT_TRUE(tracker.Say(pb::SessionRequest()));
  const placement::InstancePtr record = Create();
  ASSERT_TRUE(tracker.Say(WriteOf(*record)));
  EXPECT_EQ(FaultIn(tracker.Next().record_answer().status()), "OK");
}

}  // namespace
}  // namespace berth::services
