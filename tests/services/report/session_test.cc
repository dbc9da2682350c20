// Sessions of trackers over a real ledger, without gRPC: what happens when a stream ends at the wrong
// moment, and when the database does.
#include "services/report/session.h"

#include <cstring>
#include <future>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

using placement::LedgerRunner;
using placement::ProviderId;
using placement::Uuid;

// The Welcome of a stream waits for a worker, and placement stops meanwhile: gRPC is done with the
// stream while the worker looks at its Hello.
TEST_F(ReportSessionTest, AStreamThatEndedBeforeItsWelcomeOwnsNothing) {
  std::string incarnation;
  {
    ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
    const Settled settled(this);
    PlayedTracker tracker(&sessions, "h1", node_);
    incarnation = tracker.incarnation;
    ASSERT_TRUE(tracker.SayHello());
    EXPECT_TRUE(tracker.Next().has_welcome());
  }
  AwaitWorker();
  for (int round = 0; round < 20; ++round) {
    ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
    const Settled settled(this);
    std::promise<void> go_on;
    BlockWorker(&go_on);
    PlayedTracker tracker(&sessions, "h1", node_);
    tracker.incarnation = incarnation;  // is registered: no commit, so nothing else for the worker
    ASSERT_TRUE(tracker.SayHello());
    ASSERT_TRUE(LedgerRunner::Eventually([this] { return workers_.queue_length() == 1; }));
    std::promise<void> welcomed;
    ASSERT_TRUE(workers_.Submit(
        {"", placement::Priority::kBulk}, [&welcomed] { welcomed.set_value(); }, [] {}));
    sessions.EndAll();
    // From here on nothing orders the two threads but what the session and its registry do.
    std::thread release([&go_on] { go_on.set_value(); });
    tracker.Close();
    release.join();
    welcomed.get_future().wait();
    EXPECT_EQ(Attached(sessions), 0);
    absl::Status audited;
    sessions.Audit(node_, absl::InfiniteDuration(),
                   [&audited](const auto& answer) { audited = answer.status(); });
    EXPECT_EQ(audited.code(), absl::StatusCode::kUnavailable);
  }
}

// A record that is written reaches the trackers of the hosts that it concerns.
TEST_F(ReportSessionTest, ARecordIsPushedToItsHost) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.Introduce());
  placement::InstanceRecord record;
  record.id = placement::InstanceId{Uuid::Random()};
  record.project = record.user = record.vm_state = "any";
  record.host = "h1";
  runner_.Must(placement::SetInstance{record, std::nullopt});
  const auto is_told = [&](const pb::Push& push) {
    return push.instances_size() > 0 && push.instances(0).uuid() == record.id.ToString();
  };
  EXPECT_TRUE(tracker.AwaitPush(is_told));
  record.host = "h2";
  const auto instance = runner_.ledger().Newest()->records().FindInstance(record.id);
  runner_.Must(placement::SetInstance{record, instance->generation});
  const auto is_taken_back = [&](const pb::Push& push) {
    return push.removed_instance_uuids_size() > 0;
  };
  EXPECT_TRUE(tracker.AwaitPush(is_taken_back));
  tracker.Close();
}

// The end of a move reaches the trackers of both hosts.
TEST_F(ReportSessionTest, TheEndOfAMoveIsPushedToBothHosts) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker source(&sessions, "h1", node_);
  PlayedTracker destination(&sessions, "h2", placement::ProviderId{Uuid::Random()});
  for (PlayedTracker* tracker : {&source, &destination}) {
    ASSERT_TRUE(tracker->SayHello());
    ASSERT_TRUE(tracker->Next().has_welcome());
    ASSERT_TRUE(tracker->SayReport(1, 8, std::nullopt, true));
    ASSERT_EQ(tracker->Next().ack().sequence(), 1);
  }
  placement::InstanceRecord record;
  record.id = placement::InstanceId{Uuid::Random()};
  record.project = record.user = record.vm_state = "any";
  record.host = "h1";
  runner_.Must(placement::SetInstance{record, std::nullopt});
  placement::MigrationRecord migration;
  migration.id = placement::MigrationId{Uuid::Random()};
  migration.instance = record.id;
  migration.type = placement::MigrationType::kLive;
  migration.source_host = "h1";
  migration.destination_host = "h2";
  runner_.Must(placement::CreateMigration{migration});
  for (PlayedTracker* tracker : {&source, &destination}) {
    EXPECT_TRUE(tracker->AwaitPush([&](const pb::Push& push) {
      return push.migrations_size() > 0 && push.migrations(0).uuid() == migration.id.ToString();
    }));
  }
  const placement::StatePtr state = runner_.ledger().Newest();
  const placement::Records& records = state->records();
  placement::EndMove end;
  end.migration = migration.id;
  end.end = placement::MoveEnd::kCompleted;
  end.expected_generation = records.FindMigration(migration.id)->generation;
  end.expected_instance_generation = records.FindInstance(record.id)->generation;
  record.host = "h2";
  end.instance = std::make_shared<const placement::InstanceRecord>(record);
  runner_.Must(end);
  const auto migration_is_gone = [&](const pb::Push& push) {
    return push.removed_migration_uuids_size() > 0;
  };
  EXPECT_TRUE(source.AwaitPush([&](const pb::Push& push) {
    return migration_is_gone(push) && push.removed_instance_uuids_size() > 0;
  }));
  EXPECT_TRUE(destination.AwaitPush([&](const pb::Push& push) {
    return migration_is_gone(push) && push.instances_size() > 0 && push.instances(0).host() == "h2";
  }));
  source.Close();
  destination.Close();
}

// The deadline passes while the batch waits in PostgreSQL, and then the batch is committed: nobody may
// conclude from the answer that the report was not applied, and use its number again.
TEST_F(ReportSessionTest, AnUnknownOutcomeEndsTheStream) {  // T-229, T-398
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_,
                          {.settle_within = absl::Seconds(1)});
  const Settled settled(this);
  auto tracker = std::make_unique<PlayedTracker>(&sessions, "h1", node_);
  ASSERT_TRUE(tracker->SayHello());
  ASSERT_TRUE(tracker->Next().has_welcome());
  ASSERT_TRUE(tracker->SayReport(1, 8, std::nullopt, true));
  const pb::Ack ack = tracker->Next().ack();
  ASSERT_EQ(ack.sequence(), 1);

  const auto database = placement::ConnectOrDie(url_);
  ASSERT_EQ(database->Run("BEGIN; LOCK TABLE node IN EXCLUSIVE MODE", nullptr), absl::OkStatus());
  ASSERT_TRUE(tracker->SayReport(2, 16, ack.generations(0).generation(), false));
  const pb::SessionResponse answer = tracker->Next();
  EXPECT_TRUE(answer.ShortDebugString().empty()) << answer.ShortDebugString();
  EXPECT_EQ(tracker->End()->code(), absl::StatusCode::kDeadlineExceeded);
  ASSERT_EQ(database->Run("COMMIT", nullptr), absl::OkStatus());
  ASSERT_TRUE(LedgerRunner::Eventually(
      [this] { return (*runner_.ledger().Newest()->nodes().Find(node_))->report_sequence == 2; }));

  const std::string incarnation = tracker->incarnation;
  tracker.reset();
  PlayedTracker again(&sessions, "h1", node_);
  again.incarnation = incarnation;
  ASSERT_TRUE(again.SayHello("digest-8"));
  const pb::SessionResponse welcome = again.Next();
  ASSERT_EQ(welcome.welcome().nodes_size(), 1);
  EXPECT_EQ(welcome.welcome().nodes(0).last_sequence(), 2);
  EXPECT_EQ(welcome.welcome().nodes(0).standing(), pb::NODE_STANDING_SEND_ALL);
}

// A number that was used for another report is no duplicate: it is never acknowledged.
TEST_F(ReportSessionTest, ANumberThatIsUsedTwiceIsNotAcknowledged) {  // T-229, T-398
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.SayHello());
  ASSERT_TRUE(tracker.Next().has_welcome());
  ASSERT_TRUE(tracker.SayReport(1, 8, std::nullopt, true));
  const int64_t generation = tracker.Next().ack().generations(0).generation();
  ASSERT_TRUE(tracker.SayReport(1, 8, generation, true));
  EXPECT_EQ(tracker.Next().ack().sequence(), 1);  // the same report again
  ASSERT_TRUE(tracker.SayReport(1, 16, generation, false));
  EXPECT_TRUE(tracker.Next().has_snapshot_order());
  ASSERT_TRUE(tracker.SayReport(1, 16, generation, true));
  EXPECT_TRUE(tracker.Next().ShortDebugString().empty());  // the next Hello tells the number to use
  EXPECT_EQ(placement::RefusalOf(*tracker.End())->reason, "REPORT_GAP");
}

// A report about a guest has no facts of the node.
TEST_F(ReportSessionTest, AReportWithoutFactsKeepsThem) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.SayHello());
  ASSERT_TRUE(tracker.Next().has_welcome());
  const auto node = [this] { return *runner_.ledger().Newest()->nodes().Find(node_); };
  ASSERT_TRUE(tracker.SayReport(1, 8, std::nullopt, true));
  const int64_t generation = tracker.Next().ack().generations(0).generation();
  const auto facts = node()->facts;
  ASSERT_NE(facts, nullptr);
  ASSERT_TRUE(tracker.SayReport(2, 16, generation, false));
  EXPECT_EQ(tracker.Next().ack().sequence(), 2);
  EXPECT_EQ(node()->report_sequence, 2);
  EXPECT_EQ(node()->facts, facts);  // the same bytes, not a copy
}

// The answer to a report does not say which providers went, and which stay because they are in use.
TEST_F(ReportSessionTest, ATrackerIsToldWhichOfItsProvidersWent) {  // T-260
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.Introduce());
  ASSERT_TRUE(tracker.GetsAll());
  runner_.Must(placement::EnsureStandardNames{{}, {"OWNER_NOVA"}});
  const std::string device = Uuid::Random().ToString();
  pb::SessionRequest request;
  pb::Report& report = *request.mutable_report();
  report.set_node_uuid(node_.ToString());
  report.set_node_name("h1");
  report.set_sequence(2);
  report.set_kind(pb::REPORT_KIND_DELTA);
  report.set_digest("with the device");
  report.mutable_audit();
  pb::WantedProvider& child = *report.add_providers();
  child.set_uuid(device);
  child.set_name("h1_device");
  child.set_parent_uuid(node_.ToString());
  child.add_traits_present("OWNER_NOVA");
  ASSERT_TRUE(tracker.Say(request));
  ASSERT_EQ(tracker.Next().ack().sequence(), 2);
  report.set_sequence(3);
  report.set_digest("without it");
  report.clear_providers();
  report.add_removed_provider_uuids(device);
  ASSERT_TRUE(tracker.Say(request));                         // the push may come before the answer
  EXPECT_TRUE(tracker.AwaitPush([&](const pb::Push& push) {  // T-260
    return push.removed_provider_uuids_size() == 1 && push.removed_provider_uuids(0) == device;
  }));
}

// The tracker of the other host knows nothing of the node's consumers.
TEST_F(ReportSessionTest, ANodeThatMovesIsPushedToItsNewHost) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker old(&sessions, "h1", node_);
  ASSERT_TRUE(old.SayHello());
  ASSERT_TRUE(old.Next().has_welcome());
  ASSERT_TRUE(old.SayReport(1, 8, std::nullopt, true));
  const int64_t generation = old.Next().ack().generations(0).generation();
  old.Close();
  runner_.Must(placement::UpdateService{"h1", "berth-tracker", std::nullopt, "", true});
  PlayedTracker tracker(&sessions, "h2", node_);
  ASSERT_TRUE(tracker.SayHello());
  const pb::SessionResponse welcome = tracker.Next();
  EXPECT_EQ(welcome.welcome().nodes(0).standing(), pb::NODE_STANDING_SEND_ALL);
  ASSERT_TRUE(tracker.SayReport(1, 8, generation, true));
  EXPECT_EQ(tracker.Next().ack().sequence(), 1);
  EXPECT_TRUE(tracker.GetsAll());  // T-228
}

// A provider is pushed with its associations, and without the providers that share with it.
TEST_F(ReportSessionTest, AssociationsOfProvidersArePushed) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.Introduce());
  ASSERT_TRUE(tracker.GetsAll());
  runner_.Must(placement::EnsureStandardNames{{}, {"MISC_SHARES_VIA_AGGREGATE"}});
  runner_.Must(placement::EnsureTrait{"CUSTOM_MINE"});
  const placement::AggregateId together{Uuid::Random()};
  const auto associate = [&](ProviderId id, const char* trait) {
    const auto generation = [&] {
      return runner_.ledger().Newest()->FindProvider(id)->config().generation;
    };
    runner_.Must(placement::SetProviderTraits{id, generation(), {trait}});
    runner_.Must(placement::SetProviderAggregates{id, generation(), {together}});
  };
  runner_.Must(placement::NewProvider(1));
  associate(placement::ProviderNumber(1), "MISC_SHARES_VIA_AGGREGATE");
  associate(node_, "CUSTOM_MINE");
  pb::Push joined;
  EXPECT_TRUE(tracker.AwaitPush([&](const pb::Push& push) {
    joined.MergeFrom(push);
    const int last = joined.providers_size() - 1;
    return last >= 0 && joined.providers(last).traits_size() == 1 &&        // T-191
           joined.providers(last).inventories().contains("CUSTOM_SLOT") &&  // T-190
           joined.providers(last).aggregate_uuids_size() == 1 &&            // T-190, T-191
           joined.providers(last).aggregate_uuids(0) == together.ToString();
  }));
  for (const pb::Provider& provider : joined.providers()) {
    EXPECT_EQ(provider.uuid(), node_.ToString());
  }
}

// A tracker says once that it is not ready; the record must follow when the database is back.
TEST_F(ReportSessionTest, AReadinessThatWasRefusedIsRecordedLater) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.SayHello());
  ASSERT_TRUE(tracker.Next().has_welcome());
  const std::string name =
      url_.substr(strlen("postgresql:///"), url_.find('?') - strlen("postgresql:///"));
  const auto operator_ = placement::ConnectOrDie(placement::PrivateCluster().Url("postgres"));
  const auto allow = [&](const std::string& allowed) {
    ASSERT_EQ(operator_->Run(absl::StrCat("ALTER DATABASE ", name, " ALLOW_CONNECTIONS ", allowed),
                             nullptr),
              absl::OkStatus());
  };
  allow("false");
  ASSERT_EQ(operator_->Run(absl::StrCat("SELECT bool_and(pg_terminate_backend(pid, 5000)) FROM "
                                        "pg_stat_activity WHERE datname = '",
                                        name, "'"),
                           nullptr),
            absl::OkStatus());
  int provider = 0;
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    return placement::ReasonOf(runner_.Do(placement::NewProvider(++provider))) ==
           "STORE_UNAVAILABLE";
  }));
  pb::SessionRequest request;
  request.mutable_readiness()->set_ready(false);
  request.mutable_readiness()->set_reason("the hypervisor does not answer");
  ASSERT_TRUE(tracker.Say(request));
  request.mutable_heartbeat()->set_count(1);
  ASSERT_TRUE(tracker.Say(request));  // the readiness was refused: the session reads on
  allow("true");
  const auto disabled = [this] {
    const auto state = runner_.ledger().Newest();
    return (*state->services().Find(Liveness::Key("h1", "berth-tracker")))->disabled;
  };
  EXPECT_FALSE(disabled());
  EXPECT_TRUE(LedgerRunner::Eventually([&] {
    sessions.Tick(placement::BootNow());
    return disabled();
  }));
}

}  // namespace
}  // namespace berth::services
