// A hostile peer beside honest trackers whose schedulers claim and abort all the time. It has good
// certificates: trackers of hosts of its own send placement half-valid messages of sessions, and
// schedulers call the tracker of one honest host. Both services stay up and small, the honest
// schedulers and trackers notice nothing, and nothing of theirs is changed or left over.
//
// Real programs over libvirt's test driver, with certificates. BERTH_HOSTILE_SECONDS says how long
// (default 10).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/audit.grpc.pb.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "tests/fault/certified_site.h"
#include "tests/fault/honest_builder.h"
#include "tests/fault/hostile_knowledge.h"
#include "tests/fault/hostile_plan.h"
#include "tests/fault/hostile_scheduler.h"
#include "tests/fault/hostile_tracker.h"
#include "tests/fleet/process_figures.h"
#include "tests/worlds/seed.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;

constexpr int kHosts = 4;
constexpr double kMessagesPerSecond = 1000;
constexpr int kHostileTrackers = 6;
constexpr int kHostileSchedulers = 4;
constexpr absl::Duration kLookEvery = absl::Milliseconds(200);  // between two looks at the memory
constexpr absl::Duration kSettleMax = absl::Seconds(30);
// Memory. After two minutes placement has 75 MiB and a tracker 52 MiB; after ten seconds they have 60
// and 50 MiB. What the peer can make a service keep is bounded: a thousand classes, some twenty
// records and the log's newest rows. On top of this come messages of at most 4 MiB on each of ten
// streams, and what the allocator keeps. A sanitizer takes several times as much.
constexpr int64_t kPlacementKibMax = (kSanitized ? 2048 : 160) << 10;
constexpr int64_t kTrackerKibMax = (kSanitized ? 2048 : 128) << 10;

absl::Duration Length() {
  const char* const text = std::getenv("BERTH_HOSTILE_SECONDS");
  return absl::Seconds(text == nullptr ? 10 : std::atoi(text));
}

class Hostile : public ::testing::Test {
 protected:
  Hostile() {
    for (const auto& host : site_.hosts()) {
      builders_.push_back(
          std::make_unique<HonestBuilder>(site_, *host, host.get() == site_.hosts()[0].get()));
      anchors_.push_back(builders_.back()->BuildToStay());
      EXPECT_THAT(builders_.back()->complaints(), ::testing::IsEmpty());
      held_.push_back(HeldBy(anchors_.back().uuid()));
    }
    for (const auto& host : site_.hosts()) accounts_.push_back(AccountOf(*host));
    knowledge_ = std::make_unique<HostileKnowledge>(site_, *site_.hosts()[0], anchors_);
    plan_ = {&site_, site_.hosts()[0].get(), knowledge_.get(), &pace_, &tally_};
    for (int i = 1; i <= kHostileTrackers; ++i) {
      trackers_.push_back(std::make_unique<HostileTracker>(plan_, i, random_()));
      trackers_.back()->Appear();
    }
    for (int i = 0; i < kHostileSchedulers; ++i) {
      schedulers_.push_back(std::make_unique<HostileScheduler>(plan_, random_()));
    }
  }

  // Lets all of them run.
  void Run(absl::Duration length) {
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (auto& one : builders_)
      threads.emplace_back([&stop, builder = one.get()] { builder->Run(stop); });
    for (auto& one : trackers_) threads.emplace_back([tracker = one.get()] { tracker->Run(); });
    for (auto& one : schedulers_)
      threads.emplace_back([scheduler = one.get()] { scheduler->Run(); });
    const absl::Time begun = absl::Now();
    while (absl::Now() < begun + length && AllRun()) {
      std::this_thread::sleep_for(absl::ToChronoNanoseconds(kLookEvery));
      NoteMemory();
    }
    per_second_ = static_cast<double>(tally_.sent()) / absl::ToDoubleSeconds(absl::Now() - begun);
    pace_.Stop();
    stop = true;
    for (std::thread& thread : threads) thread.join();
  }
  bool AllRun() {
    bool all = site_.placement().AwaitEnd(absl::ZeroDuration()) == -1;
    for (const auto& host : site_.hosts()) {
      all = all && host->tracker->AwaitEnd(absl::ZeroDuration()) == -1;
    }
    return all;
  }
  void NoteMemory() {
    placement_kib_ = std::max(placement_kib_, fleet::ResidentKib(site_.placement().pid()));
    for (const auto& host : site_.hosts()) {
      tracker_kib_ = std::max(tracker_kib_, fleet::ResidentKib(host->tracker->pid()));
    }
  }

  // Without the number that changes with each claim of others on the same provider.
  std::string HeldBy(const std::string& consumer) {
    pb::GetAllocationsRequest request;
    request.set_consumer_uuid(consumer);
    pb::GetAllocationsResponse response;
    EXPECT_TRUE(
        allocations_->GetAllocations(CallWithin(kAnswerMax).get(), request, &response).ok());
    for (pb::ProviderAllocation& one : *response.mutable_consumer()->mutable_allocations()) {
      one.clear_provider_allocation_generation();
    }
    return response.consumer().DebugString();
  }
  // What is promised on the host. A builder's claim ends in the account when its record has come.
  static std::string AccountOf(const CertifiedSite::Host& host) {
    const pb::NodeAccount account = CertifiedSite::ViewOf(host).account();
    return absl::StrCat("used: ", account.used().ShortDebugString(),
                        " instances: ", account.instances().ShortDebugString(),
                        " migrations: ", account.migrations().ShortDebugString(),
                        " claims: ", account.claims().ShortDebugString());
  }

  // Ends what the peer has claimed on the honest host, as its scheduler would. A move ends with the
  // record of its instance: it cannot go back to a host that does not exist.
  void GiveUpHostileClaims() {
    HonestBuilder scheduler(site_, *site_.hosts()[0], true);
    for (const std::string& uuid : knowledge_->own()) {
      const pb::Instance record = scheduler.Get(uuid);
      const bool moves = record.has_migration_context();
      if (!moves && record.node_uuid() == site_.hosts()[0]->node) {
        scheduler.Abort(HonestBuilder::ClaimIdOf(record));
      }
      scheduler.Delete(uuid);
    }
    for (const std::string& words : scheduler.complaints()) {
      std::printf("at the end: %s\n", words.c_str());
    }
  }

  void ExpectServicesUp() {
    EXPECT_TRUE(AllRun());
    EXPECT_LT(placement_kib_, kPlacementKibMax);
    EXPECT_LT(tracker_kib_, kTrackerKibMax);
    for (const auto& host : site_.hosts()) {
      EXPECT_FALSE(absl::StrContains(host->tracker->Log(), "there is no session with placement"))
          << host->name << ": " << host->tracker->Log();
    }
    pb::ListServicesResponse response;
    pb::ListServicesRequest request;
    request.set_page_size(1000);
    fleet_->ListServices(CallWithin(kAnswerMax).get(), request, &response);
    int honest = 0;
    for (const pb::Service& service : response.services()) {
      if (!absl::StartsWith(service.host(), "host-")) continue;
      ++honest;
      EXPECT_EQ(service.state(), pb::SERVICE_STATE_UP) << service.ShortDebugString();
      EXPECT_FALSE(service.disabled()) << service.ShortDebugString();
    }
    EXPECT_EQ(honest, kHosts);
  }
  // Each honest scheduler had only lawful answers, and gets on.
  void ExpectHonestWorkDone() {
    for (const auto& builder : builders_) {
      EXPECT_GT(builder->built(), 1);
      EXPECT_THAT(builder->complaints(), ::testing::IsEmpty());
    }
  }
  // What honest hosts had before the peer came, they have now.
  void ExpectNothingChanged() {
    for (size_t i = 0; i < anchors_.size(); ++i) {
      EXPECT_EQ(builders_[i]->Get(anchors_[i].uuid()).DebugString(), anchors_[i].DebugString());
      EXPECT_EQ(HeldBy(anchors_[i].uuid()), held_[i]);
      const CertifiedSite::Host& host = *site_.hosts()[i];
      const absl::Time until = absl::Now() + kSettleMax;
      while (AccountOf(host) != accounts_[i] && absl::Now() < until) {
        std::this_thread::sleep_for(absl::ToChronoNanoseconds(kLookEvery));
      }
      EXPECT_EQ(AccountOf(host), accounts_[i]) << host.name;
    }
  }
  void ExpectCleanLedger() {
    pb::SelfCheckResponse check;
    const grpc::Status checked = ledger_->SelfCheck(CallWithin(kAnswerMax).get(), {}, &check);
    EXPECT_TRUE(checked.ok() && check.clean()) << checked.error_message() << check.DebugString();
    pb::AuditAllocationsRequest request;
    request.set_page_size(1000);
    pb::AuditAllocationsResponse audit;
    EXPECT_TRUE(audits_->AuditAllocations(CallWithin(kAnswerMax).get(), request, &audit).ok());
    for (const pb::AllocationFinding& finding : audit.findings()) {
      for (const auto& host : site_.hosts()) {
        EXPECT_FALSE(absl::StrContains(finding.ShortDebugString(), host->node))
            << finding.ShortDebugString();
      }
    }
  }

  std::mt19937_64 random_{placement::Seed()};
  CertifiedSite site_{kHosts};
  const std::shared_ptr<grpc::Channel> admin_ = site_.ConnectToPlacement("admin/test");
  const std::unique_ptr<pb::AllocationService::Stub> allocations_ =
      pb::AllocationService::NewStub(admin_);
  const std::unique_ptr<pb::AuditService::Stub> audits_ = pb::AuditService::NewStub(admin_);
  const std::unique_ptr<pb::FleetService::Stub> fleet_ = pb::FleetService::NewStub(admin_);
  const std::unique_ptr<pb::LedgerService::Stub> ledger_ = pb::LedgerService::NewStub(admin_);

  // One of each for each host.
  std::vector<std::unique_ptr<HonestBuilder>> builders_;
  std::vector<pb::Instance> anchors_;
  std::vector<std::string> held_;
  std::vector<std::string> accounts_;

  Pace pace_{kMessagesPerSecond};
  HostileTally tally_;
  std::unique_ptr<HostileKnowledge> knowledge_;
  HostilePlan plan_ = {};
  std::vector<std::unique_ptr<HostileTracker>> trackers_;
  std::vector<std::unique_ptr<HostileScheduler>> schedulers_;
  double per_second_ = 0;
  int64_t placement_kib_ = 0;
  int64_t tracker_kib_ = 0;
};

TEST_F(Hostile, NobodyNoticesIt) {
  ASSERT_FALSE(HasFailure());
  Run(Length());
  int64_t built = 0;
  int64_t refused = 0;
  for (const auto& builder : builders_) built += builder->built();
  for (const auto& builder : builders_) refused += builder->refused();
  std::printf("%.0f hostile messages a second, %lld honest claims and %lld lawful refusals\n%s",
              per_second_, static_cast<long long>(built), static_cast<long long>(refused),
              tally_.Text().c_str());
  std::printf("at most %lld MiB in placement and %lld MiB in a tracker\n",
              static_cast<long long>(placement_kib_ >> 10),
              static_cast<long long>(tracker_kib_ >> 10));
  ASSERT_TRUE(AllRun()) << site_.placement().Log();
  GiveUpHostileClaims();
  ExpectServicesUp();
  ExpectHonestWorkDone();
  ExpectNothingChanged();
  ExpectCleanLedger();
  for (const char* kind : {"hello", "report", "record_write"}) {
    EXPECT_EQ(tally_.Count(kind, kNoAnswer), 0) << kind;
  }
  const double per_second_min = kSanitized ? 0 : kMessagesPerSecond / 2;
  EXPECT_GT(per_second_, per_second_min) << "the peer was too slow to be hostile";
}

}  // namespace
}  // namespace berth::fault
