// The writes of records in sessions of trackers, over a real ledger.
#include <string>
#include <vector>

#include "placement/values/refusal.h"
#include "services/wire/instance.h"
#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

using placement::LedgerRunner;
using placement::ProviderId;
using placement::Uuid;

// The write of a claim: the record is set to the node of the tracker.
pb::SessionRequest ClaimOf(const placement::InstanceRecord& record, ProviderId node) {
  pb::SessionRequest request;
  pb::RecordWrite* const write = request.mutable_record_write();
  write->set_write_id(7);
  write->set_node_uuid(node.ToString());
  write->mutable_instance()->set_uuid(record.id.ToString());
  write->mutable_instance()->set_generation(record.generation.value);
  write->mutable_instance()->set_host("h1");
  write->mutable_instance()->set_node_uuid(node.ToString());
  return request;
}

// A tracker writes what it has claimed, and gets the record as it is afterwards with the answer.
TEST_F(ReportSessionTest, AClaimIsWrittenAndAnsweredWithTheRecord) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.Introduce());
  placement::InstanceRecord record;
  record.id = placement::InstanceId{Uuid::Random()};
  record.project = record.user = record.vm_state = "any";
  runner_.Must(placement::SetInstance{record, std::nullopt});
  Allocate(runner_, record.id, node_);
  const auto find = [&] { return runner_.ledger().Newest()->records().FindInstance(record.id); };
  const pb::SessionRequest claim = ClaimOf(*find(), node_);
  ASSERT_TRUE(tracker.Say(claim));
  const pb::RecordAnswer answer = tracker.Next().record_answer();
  EXPECT_EQ(answer.write_id(), 7);
  EXPECT_EQ(answer.status().code(), 0) << answer.status().message();
  EXPECT_EQ(answer.node_uuid(), node_.ToString());
  ASSERT_EQ(answer.instances_size(), 1);
  EXPECT_EQ(answer.instances(0).generation(), find()->generation.value);
  EXPECT_EQ(find()->node, node_);  // T-155
  // The same write again has another generation than the record, and the answer has the record.
  ASSERT_TRUE(tracker.Say(claim));
  const pb::RecordAnswer again = tracker.Next().record_answer();
  EXPECT_EQ(again.status().code(), static_cast<int>(absl::StatusCode::kAborted));
  EXPECT_EQ(again.instances_size(), 1);
  // A newer process takes over: the old one is told so, whatever it writes.
  placement::RegisterService newer{"h1", "berth-tracker", Uuid::Random(), "m", "", Uuid::Random()};
  runner_.Must(newer);
  ASSERT_TRUE(tracker.Say(ClaimOf(*find(), node_)));
  EXPECT_TRUE(tracker.Next().ShortDebugString().empty());
  EXPECT_EQ(placement::RefusalOf(*tracker.End())->reason, "TRACKER_FENCED");
}

TEST_F(ReportSessionTest, AnInterruptedBuildIsWrittenAsFailed) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.Introduce());
  placement::InstanceRecord record;
  record.id = placement::InstanceId{Uuid::Random()};
  record.project = record.user = "any";
  record.vm_state = "building";
  record.task_state = "spawning";
  runner_.Must(placement::SetInstance{record, std::nullopt});
  Allocate(runner_, record.id, node_);
  const auto find = [&] { return runner_.ledger().Newest()->records().FindInstance(record.id); };
  ASSERT_TRUE(tracker.Say(ClaimOf(*find(), node_)));
  EXPECT_EQ(tracker.Next().record_answer().status().code(), 0);
  EXPECT_EQ(find()->vm_state + "/" + find()->task_state, "building/spawning");
  pb::SessionRequest write = ClaimOf(*find(), node_);
  write.mutable_record_write()->mutable_instance()->set_vm_state("error");
  ASSERT_TRUE(tracker.Say(write));
  const pb::RecordAnswer answer = tracker.Next().record_answer();
  EXPECT_EQ(answer.status().code(), 0) << answer.status().message();
  EXPECT_EQ(find()->vm_state + "/" + find()->task_state, "error/");  // T-33
  EXPECT_EQ(find()->node, node_);
  ASSERT_EQ(answer.instances_size(), 1);
  EXPECT_EQ(answer.instances(0).vm_state(), "error");
}

// A record of an instance of h1 with `bytes` bytes.
placement::InstanceRecord LargeRecord(size_t bytes) {
  pb::Instance instance;
  instance.set_uuid(Uuid::Random().ToString());
  instance.set_project_id("p");
  instance.set_user_id("u");
  instance.set_host("h1");
  instance.set_vm_state("active");
  instance.mutable_flavor();
  instance.mutable_image()->set_id(std::string(bytes, 'x'));
  return *InstanceOf("instance", instance);
}

// Slices that are sent later may have older values, and the tracker takes them in together.
TEST_F(ReportSessionTest, AnAnswerWaitsForTheLastSliceOfAPush) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.Introduce());
  ASSERT_TRUE(tracker.GetsAll());
  placement::InstanceRecord record = LargeRecord(1);
  runner_.Must(placement::SetInstance{record, std::nullopt});
  const auto find = [&] { return runner_.ledger().Newest()->records().FindInstance(record.id); };
  ASSERT_TRUE(tracker.Sends([](const pb::SessionResponse& sent) { return sent.has_push(); }));
  for (int i = 0; i < 40; ++i) {
    runner_.Must(placement::SetInstance{LargeRecord(60000), std::nullopt});
  }
  tracker.Any();
  ASSERT_TRUE(tracker.Sends([](const pb::SessionResponse& sent) { return sent.push().more(); }));
  ASSERT_TRUE(tracker.Say(ClaimOf(*find(), node_)));
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return find()->node == node_; }));
  runner_.Do(placement::FindRequest{"tester", "none"});  // the write is answered before this
  bool last = false;
  pb::SessionResponse message = tracker.Any();
  for (; message.has_push(); message = tracker.Any()) last = !message.push().more();
  EXPECT_TRUE(message.has_record_answer()) << message.ShortDebugString();
  EXPECT_TRUE(last) << "the answer came between two slices";
}

// A tracker that does not read its answers cannot make the session keep any number of them.
TEST_F(ReportSessionTest, NoMoreIsReadWhileManyAnswersWait) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.Introduce());
  ASSERT_TRUE(tracker.GetsAll());
  std::vector<placement::InstanceId> written;
  for (int i = 0; i < 40; ++i) {
    const placement::InstanceRecord record = LargeRecord(60000);
    if (i < 8) written.push_back(record.id);
    runner_.Must(placement::SetInstance{record, std::nullopt});
  }
  tracker.Any();
  ASSERT_TRUE(tracker.Sends([](const pb::SessionResponse& sent) { return sent.push().more(); }));
  const auto find = [&](placement::InstanceId id) {
    return runner_.ledger().Newest()->records().FindInstance(id);
  };
  for (const placement::InstanceId id : written) {
    ASSERT_TRUE(tracker.Say(ClaimOf(*find(id), node_)));
    ASSERT_TRUE(LedgerRunner::Eventually([&] { return find(id)->node == node_; }));
  }
  runner_.Do(placement::FindRequest{"tester", "none"});  // the last write is answered before this
  EXPECT_FALSE(tracker.IsHeard());
  size_t answers = 0;
  for (int i = 0; i < 200 && answers < written.size(); ++i) {
    answers += tracker.Any().has_record_answer() ? 1 : 0;
  }
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return tracker.IsHeard(); }));
}

}  // namespace
}  // namespace berth::services
