// Sessions of trackers that have used up their day, over a real ledger: what exceeds it is refused,
// the stream goes on, and what is there already costs nothing.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

class DailyLimitSessionTest : public ReportSessionTest {
 protected:
  DailyLimitSessionTest() { settings_.policy = &policy_; }

  // "LIMIT requested/left" of each item; "OK" if the report was acknowledged.
  static std::string Said(const pb::SessionResponse& answer) {
    if (answer.has_ack()) return "OK";
    std::string said;
    for (const auto& detail : answer.reject().status().details()) {
      google::rpc::ErrorInfo info;
      if (!detail.UnpackTo(&info)) continue;
      const auto& items = info.metadata();
      if (info.reason() != "DAILY_LIMIT_REACHED") return info.reason();
      absl::StrAppend(&said, items.at("limit"), " ", items.at("requested"), "/", items.at("left"),
                      " ");
    }
    return said;
  }
  void Limit(const DailyAmounts& limits) {
    RulesInForce rules;
    rules.rules.daily["tracker/h1"] = limits;
    policy_.Put(std::move(rules));
  }
  // The next report of the node: a snapshot with the inventory of PlayedTracker, and `traits`.
  pb::SessionRequest ReportOf(const std::vector<std::string>& traits) {
    pb::SessionRequest request;
    pb::Report& report = *request.mutable_report();
    report.set_node_uuid(node_.ToString());
    report.set_node_name("h1");
    report.set_sequence(sequence_);
    report.set_kind(pb::REPORT_KIND_SNAPSHOT);
    report.set_digest(absl::StrCat("digest ", ++digests_));
    report.mutable_audit();
    pb::WantedProvider& root = *report.add_providers();
    root.set_uuid(node_.ToString());
    root.set_name("h1");
    const auto place = runner_.ledger().Newest()->FindProvider(node_);
    if (place) root.set_base_generation(place->config().generation.value);
    (*root.mutable_inventories())["CUSTOM_SLOT"].set_total(8);
    for (const std::string& trait : traits) root.add_traits_present(trait);
    return request;
  }
  std::string Report(PlayedTracker& tracker, const pb::SessionRequest& request) {
    EXPECT_TRUE(tracker.Say(request));
    const std::string said = Said(tracker.Next());
    if (said == "OK") ++sequence_;
    return said;
  }
  static bool Hello(PlayedTracker& tracker, const std::string& host, const std::string& binary) {
    pb::SessionRequest request;
    request.mutable_hello()->set_host(host);
    request.mutable_hello()->set_binary(binary);
    request.mutable_hello()->set_incarnation(tracker.incarnation);
    request.mutable_hello()->set_machine_id("m");
    return tracker.Say(request) && tracker.Next().has_welcome();
  }

  AccessPolicy policy_;
  SessionSettings settings_;
  int64_t sequence_ = 1;
  int digests_ = 0;
};

TEST_F(DailyLimitSessionTest, NewNamesAreChargedOnceAndARefusalLeavesTheStreamOpen) {
  DailyAmounts limits = kNoDailyLimits;
  limits.names = 2;
  limits.nodes = limits.providers = 1;
  Limit(limits);
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_, settings_);
  const Settled settled(this);
  {
    PlayedTracker tracker(&sessions, "h1", node_, {.host = "h1"});
    ASSERT_TRUE(tracker.IsWelcomed());
    EXPECT_EQ(Report(tracker, ReportOf({"CUSTOM_A", "CUSTOM_B"})), "names 3/2 ");
    EXPECT_EQ(runner_.ledger().Newest()->FindProvider(node_), std::nullopt);
    EXPECT_EQ(Report(tracker, ReportOf({"CUSTOM_A"})), "OK");  // with CUSTOM_SLOT that is two
    EXPECT_EQ(Report(tracker, ReportOf({"CUSTOM_A", "CUSTOM_C"})), "names 1/0 ");
    EXPECT_FALSE(runner_.ledger().Newest()->catalog().traits.Find("CUSTOM_C"));
    pb::SessionRequest grown = ReportOf({"CUSTOM_A"});
    grown.mutable_report()->add_providers()->set_uuid(placement::Uuid::Random().ToString());
    grown.mutable_report()->mutable_providers(1)->set_name("child");
    grown.mutable_report()->mutable_providers(1)->set_parent_uuid(node_.ToString());
    EXPECT_EQ(Report(tracker, grown), "providers 1/0 ");
    EXPECT_EQ(Report(tracker, ReportOf({"CUSTOM_A"})), "OK");
  }
  // The tracker is started again, and must not be stranded.
  sequence_ = 1;
  PlayedTracker again(&sessions, "h1", node_, {.host = "h1"});
  ASSERT_TRUE(again.IsWelcomed());
  EXPECT_EQ(Report(again, ReportOf({"CUSTOM_A"})), "OK");
  EXPECT_EQ(Report(again, ReportOf({"CUSTOM_D"})), "names 1/0 ");
  // What is allowed anew holds from the next report on.
  limits.names = 3;
  Limit(limits);
  EXPECT_EQ(Report(again, ReportOf({"CUSTOM_D"})), "OK");
}

TEST_F(DailyLimitSessionTest, BytesOfFactsAreCounted) {
  DailyAmounts limits = kNoDailyLimits;
  limits.fact_bytes = 1 << 20;
  Limit(limits);
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_, settings_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_, {.host = "h1"});
  ASSERT_TRUE(tracker.IsWelcomed());
  const auto with_facts = [this](size_t bytes) {
    pb::SessionRequest request = ReportOf({});
    request.mutable_report()->mutable_facts()->set_cpu_info_json(std::string(bytes, 'x'));
    return request;
  };
  EXPECT_EQ(Report(tracker, with_facts(600 << 10)), "OK");
  const std::string refused = Report(tracker, with_facts(600 << 10));
  EXPECT_TRUE(refused.starts_with("facts_mib 6")) << refused;
  const auto* node = runner_.ledger().Newest()->nodes().Find(node_);
  EXPECT_EQ((*node)->report_sequence, 1);
  EXPECT_EQ(Report(tracker, with_facts(100)), "OK") << "a smaller one fits";
  // A host that the file does not name is not limited.
  const placement::ProviderId other{placement::Uuid::Random()};
  PlayedTracker free(&sessions, "h2", other, {.host = "h2"});
  ASSERT_TRUE(free.Introduce());
}

// The ledger would tell it, but its reports do not reach the ledger. A newer process has said hello
// to another process of placement.
TEST_F(DailyLimitSessionTest, AProcessWithoutADayLearnsThatItIsFenced) {
  DailyAmounts limits = kNoDailyLimits;
  limits.fact_bytes = 0;
  Limit(limits);
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_, settings_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_, {.host = "h1"});
  ASSERT_TRUE(tracker.IsWelcomed());
  EXPECT_TRUE(Report(tracker, ReportOf({})).starts_with("facts_mib "));
  placement::RegisterService newer;
  newer.host = "h1";
  newer.binary = "berth-tracker";
  newer.machine_id = "m";
  newer.incarnation = placement::Uuid::Random();
  newer.id = placement::Uuid::Random();
  runner_.Must(newer);
  // The feed tells the session; until then the limit is answered.
  std::string answer = "facts_mib ";
  while (answer.starts_with("facts_mib ")) answer = Report(tracker, ReportOf({}));
  EXPECT_EQ(answer, "");
  const std::optional<absl::Status> end = tracker.End();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(placement::RefusalOf(*end)->reason, "TRACKER_FENCED");
}

TEST_F(DailyLimitSessionTest, OnlyNewServicesAreCounted) {
  DailyAmounts limits = kNoDailyLimits;
  limits.services = 1;
  Limit(limits);
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_, settings_);
  const Settled settled(this);
  for (int start = 0; start < 3; ++start) {
    PlayedTracker tracker(&sessions, "h1", node_, {.host = "h1"});
    EXPECT_TRUE(Hello(tracker, "h1", "berth-tracker")) << start;
  }
  PlayedTracker another(&sessions, "h1", node_, {.host = "h1"});
  EXPECT_FALSE(Hello(another, "h1", "another"));
  const std::optional<absl::Status> end = another.End();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(placement::RefusalOf(*end)->reason, "DAILY_LIMIT_REACHED");
  EXPECT_EQ(runner_.ledger().Newest()->services().Find({"h1", "another"}), nullptr);
}

// A used-up day stops neither a restart nor what keeps guests away from the host.
TEST_F(DailyLimitSessionTest, OnlyReportsAndNewServicesAreCounted) {
  DailyAmounts limits;
  limits.services = 1;
  Limit(limits);
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_, settings_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_, {.host = "h1"});
  ASSERT_TRUE(tracker.IsWelcomed());
  EXPECT_TRUE(Report(tracker, ReportOf({})).starts_with("facts_mib "));
  const auto service = [this] {
    return **runner_.ledger().Newest()->services().Find({"h1", "berth-tracker"});
  };
  pb::SessionRequest hello;
  hello.mutable_hello()->set_host("h1");
  hello.mutable_hello()->set_binary("berth-tracker");
  hello.mutable_hello()->set_incarnation(tracker.incarnation);
  hello.mutable_hello()->set_machine_id("m");
  hello.mutable_hello()->set_version("2.0");
  ASSERT_TRUE(tracker.Say(hello));
  ASSERT_TRUE(tracker.Next().has_welcome());
  EXPECT_EQ(service().version, "2.0");
  pb::SessionRequest readiness;
  readiness.mutable_readiness()->set_ready(false);
  readiness.mutable_readiness()->set_reason("no disk");
  ASSERT_TRUE(tracker.Say(readiness));
  EXPECT_TRUE(placement::LedgerRunner::Eventually([&] { return service().disabled; }));
}

TEST_F(DailyLimitSessionTest, WhoHasNoCertificateHasNoDay) {
  Limit(DailyAmounts());
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_, settings_);
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  EXPECT_TRUE(tracker.Introduce());
  EXPECT_EQ(policy_.days(), 0u);
}

}  // namespace
}  // namespace berth::services
