// The stream to placement, against a placement that does as the test wishes.
#include "tracker/uplink/uplink.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/uplink/fixture.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using ::testing::Contains;
using Fate = FakePlacement::Fate;
using Requests = std::vector<FakePlacement::Request>;

constexpr char kFirst[] = "11111111-aaaa-4111-8111-111111111111";
constexpr char kSecond[] = "22222222-aaaa-4222-8222-222222222222";
constexpr char kThird[] = "33333333-aaaa-4333-8333-333333333333";

TEST_F(UplinkTest, SaysHelloAndSendsASnapshot) {  // T-226
  FakePlacement placement;
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  const v1::Hello hello = placement.requests()[0].hello();
  EXPECT_EQ(hello.host(), "h");
  EXPECT_EQ(hello.binary(), "berth-tracker");
  EXPECT_EQ(hello.machine_id(), "m");
  EXPECT_EQ(hello.zone(), "zone-1");
  ASSERT_EQ(hello.nodes_size(), 1);
  EXPECT_EQ(hello.nodes(0).node_uuid(), uuid_);
  EXPECT_EQ(hello.nodes(0).node_name(), "n1");
  EXPECT_EQ(hello.nodes(0).digest(), "");
  const v1::Report report = placement.reports()[0];
  EXPECT_EQ(report.kind(), v1::REPORT_KIND_SNAPSHOT);
  EXPECT_EQ(report.sequence(), 1);
  EXPECT_LE(report.digest().size(), 64u);
  EXPECT_EQ(report.facts().memory_mib(), 65536);
  const Facts& facts = *node_->view().audit->report.facts;
  EXPECT_EQ(report.facts().vcpus(), facts.vcpus);  // T-26
  EXPECT_EQ(report.facts().disk_gib(), facts.local_disk_gib);
  EXPECT_EQ(report.account().disk_available_least_gib(), facts.disk_available_least_gib);
  EXPECT_EQ(report.facts().cpu_info_json(), facts.cpu_info);
  EXPECT_EQ(report.facts().hypervisor_type(), "TEST");
  EXPECT_EQ(report.facts().hypervisor_version(), facts.hypervisor_version);
  EXPECT_EQ(report.facts().supported_instances_size(),
            static_cast<int>(facts.supported_instances.size()));
  EXPECT_EQ(report.facts().host_ip(), "127.0.0.1");  // T-69
  EXPECT_EQ(report.observation().vcpus_used(), 3);   // T-352: beside what is promised
  EXPECT_EQ(report.facts().pci_devices_size(), 2);
  // Running ones that nobody claims; they keep nobody from starting.
  EXPECT_EQ(report.orphans().orphans_size(), 2);  // T-20 c as decided
  ASSERT_EQ(report.providers_size(), 1);
  EXPECT_FALSE(report.providers(0).has_base_generation());
  EXPECT_EQ(report.providers(0).inventories().at("MEMORY_MB").total(), 65536);
  EXPECT_THAT(report.providers(0).traits_present(), Contains("COMPUTE_NODE"));
  EXPECT_FALSE(report.observation().has_memory_used_mib());  // T-80
  EXPECT_TRUE(Settles());
  EXPECT_EQ(uplink->status().state, Uplink::State::kConnected);
}

TEST_F(UplinkTest, SendsNothingInTenPassesOverAnUnchangedHost) {  // T-227, T-393
  FakePlacement placement;
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  ASSERT_TRUE(Settles());
  Pass(std::chrono::seconds(6));  // the orphans are confirmed, and withheld
  uplink->Notify();
  ASSERT_TRUE(placement.WaitForReports(2));
  ASSERT_TRUE(Settles());
  for (int pass = 1; pass <= 10; ++pass) {
    EXPECT_FALSE(Pass(std::chrono::seconds(60 * pass)).changed);
    uplink->Notify();
  }
  const int64_t beats = uplink->status().heartbeats;
  ASSERT_TRUE(Eventually([&] { return uplink->status().heartbeats > beats + 2; }));
  EXPECT_EQ(placement.reports().size(), 2u);  // T-227, T-365
  EXPECT_EQ(node_->view().reports_sent, 2);
}

TEST_F(UplinkTest, SendsDeltasOnTheGenerationsItWasTold) {
  FakePlacement placement;
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  ASSERT_TRUE(Settles());
  Pass(std::chrono::seconds(6));
  uplink->Notify();
  ASSERT_TRUE(placement.WaitForReports(2));
  const v1::Report delta = placement.reports()[1];
  EXPECT_EQ(delta.kind(), v1::REPORT_KIND_DELTA);
  EXPECT_EQ(delta.sequence(), 2);
  EXPECT_FALSE(delta.has_facts());
  ASSERT_EQ(delta.providers_size(), 1);
  EXPECT_EQ(delta.providers(0).base_generation(), 10);  // T-187
  EXPECT_EQ(delta.providers(0).inventories().at("MEMORY_MB").reserved(), 512 + 2048 + 4096);
}

TEST_F(UplinkTest, MergesAConflictAndSendsAgain) {  // T-229, T-205
  FakePlacement placement;
  placement.fate = [](const v1::Report& report) {
    return report.providers(0).base_generation() == 77 ? Fate::kAck : Fate::kConflict;
  };
  placement.conflict = [this](FakePlacement::Response* response) {
    v1::Provider* const provider = response->mutable_reject()->add_providers();
    provider->set_uuid(uuid_);
    provider->set_name("n1");
    provider->set_generation(77);
    (*provider->mutable_inventories())["VCPU"].set_total(3);
    (*provider->mutable_inventories())["VCPU"].set_allocation_ratio(2.5);
  };
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(2));
  EXPECT_TRUE(Settles());
  const v1::Report second = placement.reports()[1];
  EXPECT_EQ(second.providers(0).inventories().at("VCPU").allocation_ratio(), 2.5);
  EXPECT_EQ(uplink->status().conflicts, 1);
}

TEST_F(UplinkTest, GivesUpAfterFourConflictsUntilTheNextPass) {  // T-229
  FakePlacement placement;
  placement.fate = [](const v1::Report&) { return Fate::kConflict; };
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(4));
  const int64_t beats = uplink->status().heartbeats;
  ASSERT_TRUE(Eventually([&] { return uplink->status().heartbeats > beats + 2; }));
  EXPECT_EQ(placement.reports().size(), 4u);  // T-192, T-229
  Pass();
  uplink->Notify();
  EXPECT_TRUE(placement.WaitForReports(5));  // T-55
}

TEST_F(UplinkTest, SendsASnapshotAfterAGap) {
  FakePlacement placement;
  std::atomic<int> seen = 0;
  placement.fate = [&seen](const v1::Report&) { return ++seen == 2 ? Fate::kGap : Fate::kAck; };
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  ASSERT_TRUE(Settles());
  Pass(std::chrono::seconds(6));
  uplink->Notify();
  ASSERT_TRUE(placement.WaitForReports(3));
  EXPECT_EQ(placement.reports()[2].kind(), v1::REPORT_KIND_SNAPSHOT);
}

TEST_F(UplinkTest, WaitsForTheRecordsOfAKnownNode) {
  FakePlacement placement;
  placement.recorded.emplace_back();
  placement.recorded[0].set_node_uuid(uuid_);
  placement.recorded[0].set_node_name("n1");
  placement.recorded[0].set_host("h");
  const auto uplink = Connect(placement);
  ASSERT_TRUE(Eventually([&] { return uplink->status().heartbeats > 2; }));
  EXPECT_TRUE(placement.reports().empty());
  KnownProvider known;
  known.uuid = ShortUuid(uuid_);
  known.name = "n1";
  known.generation = 5;
  FakePlacement::Response push = PushWithProvider(known);
  v1::Consumer* const consumer = push.mutable_push()->add_consumers();
  consumer->set_uuid("11111111-1111-4111-8111-111111111111");
  v1::ProviderAllocation* const held = consumer->add_allocations();
  held->set_provider_uuid(uuid_);
  (*held->mutable_resources())["MEMORY_MB"] = 2048;
  placement.Say(push);
  ASSERT_TRUE(placement.WaitForReports(1));
  const v1::Report report = placement.reports()[0];
  EXPECT_EQ(report.providers(0).base_generation(), 5);
  ASSERT_EQ(report.orphans().orphans_size(), 1);  // the other one is claimed
  EXPECT_EQ(report.orphans().orphans(0).name(), "db");
  EXPECT_EQ(report.account().allocations().memory_mib(), 2048);
}

TEST_F(UplinkTest, PutsBackWhatAnOperatorRemoved) {  // T-211, T-228
  FakePlacement placement;
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  ASSERT_TRUE(Settles());
  KnownProvider changed = node_->records()->tree[0];
  changed.traits.erase("COMPUTE_NODE");
  changed.traits.insert("CUSTOM_MINE");
  changed.generation = 99;
  placement.Say(PushWithProvider(changed));
  ASSERT_TRUE(placement.WaitForReports(2));
  const v1::WantedProvider wanted = placement.reports()[1].providers(0);
  EXPECT_EQ(wanted.base_generation(), 99);
  EXPECT_THAT(wanted.traits_present(), Contains("COMPUTE_NODE"));
  EXPECT_THAT(wanted.traits_absent(), testing::Not(Contains("CUSTOM_MINE")));
}

TEST_F(UplinkTest, DoesNotInsistOnATraitThatPlacementDoesNotKnow) {
  FakePlacement placement;
  placement.unknown_traits = {"COMPUTE_NODE"};
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  ASSERT_TRUE(Settles());
  const KnownProvider known = node_->records()->tree[0];
  EXPECT_EQ(known.traits.count("COMPUTE_NODE"), 0u);  // T-213
  ASSERT_NO_FATAL_FAILURE(PassAfterPush(placement, *uplink, known));
  EXPECT_EQ(placement.reports().size(), 1u);  // T-213
}

TEST_F(UplinkTest, HoldsBackWhatOnlyAllocationsChanged) {
  FakePlacement placement;
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  ASSERT_TRUE(Settles());
  FakePlacement::Response push;
  push.mutable_push()->set_node_uuid(uuid_);
  v1::Consumer* const consumer = push.mutable_push()->add_consumers();
  consumer->set_uuid(Uuid::Random().ToString());
  v1::ProviderAllocation* const held = consumer->add_allocations();
  held->set_provider_uuid(uuid_);
  (*held->mutable_resources())["VCPU"] = 1;
  placement.Say(push);
  ASSERT_TRUE(
      Eventually([&] { return node_->view().audit->report.accounting.allocated.vcpus == 1; }));
  EXPECT_EQ(placement.reports().size(), 1u);
  Pass();
  uplink->Notify();
  ASSERT_TRUE(placement.WaitForReports(2));
  EXPECT_EQ(placement.reports()[1].account().allocations().vcpus(), 1);
}

TEST_F(UplinkTest, ComesBackWithItsDigest) {  // T-226, T-230
  auto placement = std::make_unique<FakePlacement>();
  const int port = placement->port();
  const auto uplink = Connect(*placement);
  ASSERT_TRUE(placement->WaitForReports(1));
  ASSERT_TRUE(Settles());
  const std::string digest = node_->view().acknowledged_digest;
  placement.reset();
  ASSERT_TRUE(Eventually([&] { return uplink->status().state == Uplink::State::kConnecting; }));
  placement = std::make_unique<FakePlacement>(port, [](FakePlacement* known) {
    known->standing = v1::NODE_STANDING_KNOWN;
    known->last_sequence = 1;
  });
  ASSERT_TRUE(placement->Wait([](const Requests& all) { return !all.empty(); }));
  EXPECT_EQ(placement->requests()[0].hello().nodes(0).digest(), digest);
  ASSERT_TRUE(Eventually([&] { return uplink->status().state == Uplink::State::kConnected; }));
  const int64_t beats = uplink->status().heartbeats;
  ASSERT_TRUE(Eventually([&] { return uplink->status().heartbeats > beats + 2; }));
  EXPECT_TRUE(placement->reports().empty());
}

// Placement tells a tracker with a certificate nothing of a node that is not of its host.
TEST_F(UplinkTest, ANodeOfWhichPlacementTellsNothingWaits) {  // T-22, T-387
  FakePlacement placement(
      0, [](FakePlacement* withholding) { withholding->standing = v1::NODE_STANDING_STANDBY; });
  const auto uplink = Connect(placement);
  const auto hellos = [&] {
    const Requests all = placement.requests();
    return std::count_if(all.begin(), all.end(), [](const auto& one) { return one.has_hello(); });
  };
  ASSERT_TRUE(Eventually([&] { return hellos() > 2; }));  // it asks again, and is told the same
  EXPECT_TRUE(placement.reports().empty());
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(Logged("placement has node n1 on another host, or has a provider tree with its uuid: "
                   "the node waits until an operator gives it to this host, by `berth node adopt` "
                   "or `berth node create`"),
            1);
}

TEST_F(UplinkTest, SaysUpToWhatItHasHeard) {  // T-226, T-228
  auto placement = std::make_unique<FakePlacement>();
  const int port = placement->port();
  placement->recorded.emplace_back();
  placement->recorded[0].set_node_uuid(uuid_);
  placement->recorded[0].set_node_name("n1");
  placement->recorded[0].set_host("h");
  const auto uplink = Connect(*placement);
  ASSERT_TRUE(Eventually([&] { return uplink->status().state == Uplink::State::kConnected; }));
  EXPECT_FALSE(placement->requests()[0].hello().nodes(0).has_pushed_revision());
  KnownProvider known;
  known.uuid = ShortUuid(uuid_);
  known.name = "n1";
  known.generation = 5;
  FakePlacement::Response everything = PushWithProvider(known);
  const auto claim = [&](FakePlacement::Response* push, const char* consumer, int64_t amount) {
    v1::Consumer* const told = push->mutable_push()->add_consumers();
    told->set_uuid(consumer);
    told->add_allocations()->set_provider_uuid(uuid_);
    (*told->mutable_allocations(0)->mutable_resources())["VCPU"] = amount;
  };
  claim(&everything, kFirst, 1);
  claim(&everything, kSecond, 2);
  everything.mutable_revision()->set_epoch(3);
  everything.mutable_revision()->set_number(40);
  everything.mutable_revision()->set_batch(77);
  placement->Say(everything);
  const auto allocated = [&] {
    const auto audit = node_->view().audit;
    return audit->report.accounting.allocated.vcpus;
  };
  ASSERT_TRUE(Eventually([&] { return allocated() == 3; }));
  ASSERT_TRUE(Settles());
  const int64_t sequence = node_->view().acknowledged_sequence;

  placement.reset();
  ASSERT_TRUE(Eventually([&] { return uplink->status().state == Uplink::State::kConnecting; }));
  placement = std::make_unique<FakePlacement>(port, [sequence](FakePlacement* known) {
    known->standing = v1::NODE_STANDING_KNOWN;
    known->last_sequence = sequence;
  });
  ASSERT_TRUE(placement->Wait([](const Requests& all) { return !all.empty(); }));
  const v1::NodeDigest again = placement->requests()[0].hello().nodes(0);
  EXPECT_EQ(again.pushed_revision().epoch(), 3);
  EXPECT_EQ(again.pushed_revision().number(), 40);
  EXPECT_EQ(again.pushed_revision().batch(), 77U);
  ASSERT_TRUE(Eventually([&] { return uplink->status().state == Uplink::State::kConnected; }));
  // What changed meanwhile: one let go, one came, one stays unsaid.
  FakePlacement::Response changed;
  changed.mutable_push()->set_node_uuid(uuid_);
  changed.mutable_push()->add_removed_consumer_uuids(kFirst);
  claim(&changed, kThird, 4);
  changed.mutable_revision()->set_epoch(3);
  changed.mutable_revision()->set_number(44);
  placement->Say(changed);
  ASSERT_TRUE(Eventually([&] { return allocated() == 6; }));
  EXPECT_EQ(node_->view().told_up_to, (LedgerRevision{3, 44}));
  // A database that went back in time: the next session has to tell everything.
  changed.mutable_revision()->set_recovery_required(true);
  placement->Say(changed);
  ASSERT_TRUE(Eventually([&] { return !node_->view().told_up_to.has_value(); }));
  changed.mutable_revision()->set_recovery_required(false);
  claim(&changed, kFirst, 1);
  placement->Say(changed);
  ASSERT_TRUE(Eventually([&] { return allocated() == 7; }));
  EXPECT_FALSE(node_->view().told_up_to.has_value());  // changes alone do not mend it
}

TEST_F(UplinkTest, RefusesAnIdentityThatContradicts) {  // T-12, T-20
  FakePlacement placement;
  placement.recorded.emplace_back();
  placement.recorded[0].set_node_uuid("99999999-9999-4999-8999-999999999999");
  placement.recorded[0].set_node_name("n1");
  placement.recorded[0].set_host("other");
  const auto uplink = Connect(placement);
  ASSERT_TRUE(Eventually([&] { return !refusal().empty(); }));
  EXPECT_THAT(refusal(), testing::HasSubstr("name conflict"));
  EXPECT_THAT(refusal(), testing::HasSubstr("first"));
  Pass();
  uplink->Notify();
  ASSERT_TRUE(Eventually([&] { return uplink->status().heartbeats > 2; }));
  EXPECT_TRUE(placement.reports().empty());  // T-53
}

TEST_F(UplinkTest, NeverComesBackOnceFenced) {  // T-14
  FakePlacement placement;
  placement.end = FakePlacement::Refusal(grpc::StatusCode::ABORTED, "TRACKER_FENCED", "taken over");
  const auto uplink = Connect(placement);
  ASSERT_TRUE(Eventually([&] { return uplink->status().state == Uplink::State::kFenced; }));
  EXPECT_EQ(placement.requests().size(), 1u);
}

TEST_F(UplinkTest, AnswersAnOrderedAudit) {
  FakePlacement placement;
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  FakePlacement::Response order;
  order.mutable_audit_order()->set_order_id("o1");
  placement.Say(order);
  ASSERT_TRUE(Eventually([&] { return last_order() == "o1"; }));
  Pass();
  uplink->AuditDone("o1");
  ASSERT_TRUE(placement.Wait([&](const Requests& all) {
    for (const auto& request : all) {
      if (request.has_audit_done() && request.audit_done().order_id() == "o1") {
        return request.audit_done().audits().at(uuid_).result() == v1::AUDIT_RESULT_COMPLETE;
      }
    }
    return false;
  }));
}

TEST_F(UplinkTest, NeverHoldsUpAPass) {  // T-231
  FakePlacement placement;
  placement.fate = [](const v1::Report&) { return Fate::kSilence; };
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  for (int pass = 1; pass <= 20; ++pass) {
    EXPECT_EQ(Pass(std::chrono::seconds(6 * pass)).result, PassOutcome::Result::kComplete);
    uplink->Notify();
  }
  EXPECT_EQ(placement.reports().size(), 1u);  // T-227: one in flight
  EXPECT_TRUE(node_->view().unsettled_since.has_value());
  EXPECT_TRUE(placement.Wait([](const Requests& all) {  // T-56
    return all.back().has_heartbeat() && all.back().heartbeat().nodes(0).has_placement_lag();
  }));
}

}  // namespace
}  // namespace berth::tracker
