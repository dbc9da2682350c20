// Reports of trackers that the access file limits, over a real ledger, without gRPC.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "services/access/policy.h"
#include "services/access/rules_file.h"
#include "services/report/session.h"
#include "tests/services/report/session_fixture.h"

namespace berth::services {
namespace {

class SessionLimitsTest : public ReportSessionTest {
 protected:
  void PutRules(absl::string_view text) {
    auto rules = ParseRules(text, "access.toml");
    ASSERT_TRUE(rules.ok()) << rules.status();
    policy_.Put({*std::move(rules), "access.toml", "", absl::InfinitePast()});
  }
  SessionSettings Settings() {
    SessionSettings settings;
    settings.policy = &policy_;
    return settings;
  }
  // Reports a root with `totals` and the trait CUSTOM_LICENSED. Returns the answer.
  pb::SessionResponse Report(PlayedTracker* tracker, int64_t sequence, bool snapshot,
                             const std::map<std::string, int64_t>& totals) {
    pb::SessionRequest request;
    pb::Report& report = *request.mutable_report();
    report.set_node_uuid(node_.ToString());
    report.set_node_name("h1");
    report.set_sequence(sequence);
    report.set_kind(snapshot ? pb::REPORT_KIND_SNAPSHOT : pb::REPORT_KIND_DELTA);
    report.set_digest(absl::StrCat("digest-", sequence));
    report.mutable_audit();
    pb::WantedProvider& root = *report.add_providers();
    root.set_uuid(node_.ToString());
    root.set_name("h1");
    root.add_traits_present("CUSTOM_LICENSED");
    if (generation_) root.set_base_generation(*generation_);
    for (const auto& [name, total] : totals) (*root.mutable_inventories())[name].set_total(total);
    EXPECT_TRUE(tracker->Say(request));
    pb::SessionResponse answer = tracker->Next();
    if (answer.has_ack()) generation_ = answer.ack().generations(0).generation();
    return answer;
  }
  int64_t Total(const std::string& name) {
    const placement::StatePtr state = runner_.ledger().Newest();
    const auto id = state->catalog().classes.Find(name);
    const placement::ProviderConfig& root = state->FindProvider(node_)->config();
    const int at = id ? root.FindInventory(*id) : -1;
    return at < 0 ? 0 : root.inventories[at].inventory.total;
  }
  bool HasLicense() {
    const placement::StatePtr state = runner_.ledger().Newest();
    const auto id = state->catalog().traits.Find("CUSTOM_LICENSED");
    return id && state->FindProvider(node_)->config().HasTrait(*id);
  }

  AccessPolicy policy_;
  std::optional<int64_t> generation_;
};

constexpr char kLimited[] =
    "[withheld]\ntraits = [\"CUSTOM_LICENSED\"]\nresource_classes = [\"CUSTOM_GOLD\"]\n"
    "[ceilings]\ntracker = {CUSTOM_SLOT = 4}\n\"tracker/h1\" = {CUSTOM_SLOT = 16}\n";

TEST_F(SessionLimitsTest, TheAnswerTellsWhatIsLimited) {
  PutRules(kLimited);
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_, Settings());
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_, {.host = "h1"});
  ASSERT_TRUE(tracker.SayHello());
  ASSERT_TRUE(tracker.Next().has_welcome());
  const pb::SessionResponse answer =
      Report(&tracker, 1, true, {{"CUSTOM_SLOT", 160}, {"CUSTOM_GOLD", 3}, {"CUSTOM_OWN", 5}});
  ASSERT_EQ(answer.ack().limited_size(), 1) << answer.ShortDebugString();
  const pb::ProviderLimits& limited = answer.ack().limited(0);
  EXPECT_EQ(limited.provider_uuid(), node_.ToString());
  ASSERT_EQ(limited.traits_size(), 1);
  EXPECT_EQ(limited.traits(0), "CUSTOM_LICENSED");
  std::map<std::string, std::string> classes;
  for (const pb::LimitedClass& one : limited.classes()) {
    classes[one.resource_class()] =
        absl::StrCat(one.withheld(), " ", one.asked_total(), " ", one.stored_total());
  }
  EXPECT_EQ(classes, (std::map<std::string, std::string>{{"CUSTOM_SLOT", "0 160 16"},
                                                         {"CUSTOM_GOLD", "1 3 0"}}));
  EXPECT_EQ(Total("CUSTOM_SLOT"), 16);
  EXPECT_EQ(Total("CUSTOM_OWN"), 5);
  EXPECT_EQ(Total("CUSTOM_GOLD"), 0);
  EXPECT_FALSE(HasLicense());
  tracker.Close();
}

TEST_F(SessionLimitsTest, NewRulesCountFromTheNextReport) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_, Settings());
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_, {.host = "h1"});
  ASSERT_TRUE(tracker.SayHello());
  ASSERT_TRUE(tracker.Next().has_welcome());
  const pb::SessionResponse free = Report(&tracker, 1, true, {{"CUSTOM_SLOT", 160}});
  EXPECT_EQ(free.ack().limited_size(), 0);
  EXPECT_EQ(Total("CUSTOM_SLOT"), 160);
  EXPECT_TRUE(HasLicense());
  PutRules(kLimited);
  EXPECT_EQ(Total("CUSTOM_SLOT"), 160);
  const pb::SessionResponse limited = Report(&tracker, 2, false, {{"CUSTOM_SLOT", 160}});
  EXPECT_EQ(limited.ack().limited_size(), 1) << limited.ShortDebugString();
  EXPECT_EQ(Total("CUSTOM_SLOT"), 16);
  EXPECT_TRUE(HasLicense()) << "what was there stays";
  PutRules("# nothing\n");
  EXPECT_EQ(Report(&tracker, 3, false, {{"CUSTOM_SLOT", 160}}).ack().limited_size(), 0);
  EXPECT_EQ(Total("CUSTOM_SLOT"), 160);
  tracker.Close();
}

// A retired node ends with its last consumer. Its tracker could then make it again.
TEST_F(SessionLimitsTest, ANodeWithSomethingWithheldIsRetiredByOperatorsOnly) {
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_, Settings());
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_, {.host = "h1"});
  ASSERT_TRUE(tracker.SayHello());
  ASSERT_TRUE(tracker.Next().has_welcome());
  ASSERT_TRUE(Report(&tracker, 1, true, {{"CUSTOM_OWN", 1}}).has_ack());
  const auto retire = [&] {
    pb::SessionRequest request;
    pb::Hello& hello = *request.mutable_hello();
    hello.set_host("h1");
    hello.set_binary("berth-tracker");
    hello.set_incarnation(tracker.incarnation);
    hello.set_machine_id("m");
    hello.add_retired_node_uuids(node_.ToString());
    EXPECT_TRUE(tracker.Say(request));
    EXPECT_TRUE(tracker.Next().has_welcome());
    runner_.Must(placement::EnsureTrait{"CUSTOM_LICENSED"});  // decided after the retirement
    return (*runner_.ledger().Newest()->nodes().Find(node_))->retired;
  };
  PutRules(kLimited);
  EXPECT_FALSE(retire());
  PutRules("# nothing\n");
  EXPECT_TRUE(retire());
  tracker.Close();
}

// Nobody has checked the host of a tracker without a certificate, so it is no identity.
TEST_F(SessionLimitsTest, ATrackerWithoutACertificateIsNotLimited) {
  PutRules(kLimited);
  ReportSessions sessions(&runner_.ledger(), &workers_, &recorder_, Settings());
  const Settled settled(this);
  PlayedTracker tracker(&sessions, "h1", node_);
  ASSERT_TRUE(tracker.SayHello());
  ASSERT_TRUE(tracker.Next().has_welcome());
  EXPECT_EQ(Report(&tracker, 1, true, {{"CUSTOM_SLOT", 160}}).ack().limited_size(), 0);
  EXPECT_EQ(Total("CUSTOM_SLOT"), 160);
  tracker.Close();
}

}  // namespace
}  // namespace berth::services
