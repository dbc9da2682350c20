// The history of many clients on two placement processes that are killed, paused and cut off holds all
// that placement promises.
//
// BERTH_HISTORY_SECONDS says for how long they run (default 12). BERTH_SEED repeats what the clients
// ask for and what goes wrong, not how they interleave.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "tests/history/checker/checker.h"
#include "tests/history/client.h"
#include "tests/history/nemesis.h"
#include "tests/history/servers.h"
#include "tests/history/story_recorder.h"
#include "tests/history/tracker.h"
#include "tests/history/tracker_stream.h"
#include "tests/history/tracker_wire.h"
#include "tests/history/watch_recorder.h"
#include "tests/history/wire.h"
#include "tests/processes/restorable.h"
#include "tests/worlds/seed.h"

namespace berth::history {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kClients = 16;
constexpr int kProviders = kFirstChild + kHosts;
constexpr int kHotProviders = 6;
constexpr int64_t kCapacity = 56;
constexpr int32_t kNodeCapacity = 40;
constexpr int64_t kHotCapacity = 6;
constexpr int kWatchers = 3;
constexpr absl::Duration kCallMax = absl::Seconds(20);
constexpr std::chrono::seconds kAnswerMax{20};
constexpr absl::Duration kProgressMax = absl::Seconds(60);

absl::Duration RunTime() {
  const char* seconds = std::getenv("BERTH_HISTORY_SECONDS");
  return absl::Seconds(seconds == nullptr ? 12 : std::max(1, std::atoi(seconds)));
}

// Makes the node of a host and the child of its root, as the first report of the host's tracker.
void MakeNode(const Servers& servers, uint16_t host, pb::Revision* made) {
  ClientLog log;
  Operation operation;
  operation.provider = host;
  for (const uint16_t provider : {host, ChildOf(host)}) {
    ++operation.parts;
    log.parts.push_back(
        {kProviderBit | provider, kNew, 0, static_cast<uint32_t>(log.rows.size()), kClasses});
    for (uint8_t c = 0; c < kClasses; ++c) log.rows.push_back({provider, c, kNodeCapacity});
  }
  pb::SessionRequest report = ReportOf(log, operation, 1, pb::REPORT_KIND_SNAPSHOT);
  report.mutable_report()->set_digest("made");
  TrackerStream stream(servers.Find(0).address);
  stream.Send(HelloOf({host, placement::Uuid::Random().ToString()}, "", nullptr));
  const auto welcome = stream.Next(kAnswerMax);
  ASSERT_TRUE(welcome && welcome->has_welcome());
  stream.Send(report);
  auto answer = stream.Next(kAnswerMax);
  while (answer && answer->has_push()) answer = stream.Next(kAnswerMax);
  ASSERT_TRUE(answer && answer->has_ack()) << (answer ? answer->ShortDebugString() : "no answer");
  *made = answer->revision();
}

// Makes a provider that belongs to no node.
void MakeProvider(grpc::Channel* channel, uint16_t p, pb::Revision* made) {
  pb::CreateProviderRequest create;
  create.set_uuid(ProviderUuid(p));
  create.set_name(absl::StrCat("host", p));
  pb::CreateProviderResponse created;
  grpc::Status status =
      Invoke(channel, "ProviderService/CreateProvider", create, &created, absl::Now() + kCallMax);
  ASSERT_TRUE(status.ok()) << status.error_message();
  pb::SetInventoriesRequest set;
  set.set_provider_uuid(ProviderUuid(p));
  set.set_expected_generation(created.provider().generation());
  const bool is_hot = p < kHosts + kHotProviders;
  for (int c = 0; c < kClasses; ++c) {
    (*set.mutable_inventories())[ClassName(c)].set_total(is_hot ? kHotCapacity : kCapacity);
  }
  pb::SetInventoriesResponse answer;
  status = Invoke(channel, "InventoryService/SetInventories", set, &answer, absl::Now() + kCallMax);
  ASSERT_TRUE(status.ok()) << status.error_message();
  *made = answer.revision();
}

void MakeProviders(const Servers& servers) {
  Channels channels(&servers);
  grpc::Channel* const channel = channels.To(0).channel;
  pb::GetRevisionRequest begun;
  for (uint16_t p = 0; p < kFirstChild; ++p) {
    if (p < kHosts) {
      ASSERT_NO_FATAL_FAILURE(MakeNode(servers, p, begun.mutable_minimum_revision()));
    } else {
      ASSERT_NO_FATAL_FAILURE(MakeProvider(channel, p, begun.mutable_minimum_revision()));
    }
  }
  // A read may show a state that is up to a second old. A history has no state from before its
  // begin, so it may begin only when both processes have the providers.
  for (int which = 0; which < kServers; ++which) {
    pb::GetRevisionResponse reached;
    const grpc::Status status = Invoke(channels.To(which).channel, "LedgerService/GetRevision",
                                       begun, &reached, absl::Now() + kCallMax);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
}

// Clients, watchers, trackers and who follows the log, in threads of their own.
class Workload {
 public:
  Workload(uint64_t seed, const std::string& url, Servers* servers, int watchers, int trackers)
      : recorder_(url, &history_.story) {
    EXPECT_EQ(recorder_.Read(kProviders, &history_.begin), absl::OkStatus());
    run_.servers = servers;
    run_.providers = kProviders;
    run_.hot_providers = kHotProviders;
    run_.repeats = watchers > 0;
    history_.clients.resize(static_cast<size_t>(kClients + trackers));
    history_.pushes.resize(static_cast<size_t>(trackers));
    history_.watches.resize(static_cast<size_t>(watchers));
    for (int w = 0; w < watchers; ++w) {
      watchers_.push_back(std::make_unique<WatchRecorder>(
          seed + 1000 + static_cast<uint64_t>(w), history_.begin.revision, servers,
          &history_.watches[static_cast<size_t>(w)]));
      threads_.emplace_back([watcher = watchers_.back().get()] { watcher->Work(); });
    }
    for (uint16_t c = 0; c < kClients; ++c) {
      threads_.emplace_back(
          [this, seed, c] { Client(seed + c, c, &run_, &history_.clients[c]).Work(); });
    }
    for (uint16_t t = 0; t < trackers; ++t) {
      const auto index = static_cast<uint16_t>(kClients + t);
      threads_.emplace_back([this, seed, t, index] {
        Tracker(seed + 2000 + t, t, index, &run_, &history_.clients[index], &history_.pushes[t])
            .Work();
      });
    }
  }
  ~Workload() { Stop(); }

  Run* run() { return &run_; }
  History* history() { return &history_; }
  // The newest rows of the log; what the database does not tell now is read later.
  void Follow() { (void)recorder_.Follow(); }

  testing::AssertionResult AwaitDone(int64_t more) {
    const int64_t goal = run_.done + more;
    const absl::Time until = absl::Now() + kProgressMax;
    while (run_.done < goal && absl::Now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (run_.done >= goal) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "only " << run_.done << " of " << goal;
  }

  void Stop() {
    run_.stop = true;
    for (const auto& watcher : watchers_) watcher->Stop();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

  // Reads what exists in the end, then checks everything.
  void ExpectLawful() {
    Stop();
    EXPECT_EQ(run_.unsettled, 0) << "nobody could tell what became of some requests";
    Follow();  // a connection that was lost shows only now
    ASSERT_EQ(recorder_.Follow(), absl::OkStatus());
    ReadEnd();
    Print();
    const Findings findings = Check(history_);
    EXPECT_TRUE(findings.empty()) << findings.ToString();
  }

 private:
  // Reads the tables again and again until the ledger has ended all leases, the longest of which
  // lasts 3 s, and until the log ends where the tables were read. If a lease does not end in time,
  // the checker finds that lease.
  void ReadEnd() {
    const absl::Time until = absl::Now() + kProgressMax;
    while (true) {
      const size_t revisions = history_.story.revisions.size();
      history_.end = Dump();
      ASSERT_EQ(recorder_.Read(kProviders, &history_.end), absl::OkStatus());
      ASSERT_EQ(recorder_.Follow(), absl::OkStatus());
      const auto& consumers = history_.end.consumers;
      const bool leased = std::any_of(consumers.begin(), consumers.end(),
                                      [](const auto& held) { return held.lease_end_us != 0; });
      const bool writes = history_.story.revisions.size() != revisions;
      if (!leased && !writes) return;
      if (absl::Now() > until) {
        EXPECT_FALSE(writes) << "the ledger does not stop writing";
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  void Print() const {
    size_t operations = 0, told = 0, pushes = 0, reports = 0, moves = 0;
    for (const ClientLog& log : history_.clients) {
      operations += log.operations.size();
      for (const Operation& operation : log.operations) {
        if (operation.outcome != Outcome::kDone) continue;
        if (operation.kind == Kind::kReport) ++reports;
        if (operation.kind == Kind::kEndMove) ++moves;
      }
    }
    for (const PushLog& log : history_.pushes) pushes += log.pushes.size();
    for (const WatchLog& log : history_.watches) told += log.told.size();
    std::printf(
        "%zu operations (%zu moves ended, %zu reports applied), %zu commands in %zu revisions, "
        "%lld outcomes asked for, %zu revisions told to watchers, %zu pushes\n",
        operations, moves, reports, history_.story.steps.size(), history_.story.revisions.size(),
        static_cast<long long>(run_.unknown), told, pushes);
  }

  History history_;
  StoryRecorder recorder_;
  Run run_;
  std::vector<std::unique_ptr<WatchRecorder>> watchers_;
  std::vector<std::thread> threads_;
};

// Asks both until `wanted` says that it has what it waits for.
testing::AssertionResult AwaitStanding(
    const Servers& servers, const std::function<bool(const pb::GetRevisionResponse&)>& wanted,
    absl::Duration limit) {
  Channels channels(&servers);
  const absl::Time until = absl::Now() + limit;
  for (int which = 0; which < kServers; ++which) {
    pb::GetRevisionResponse standing;
    while (!Invoke(channels.To(which).channel, "LedgerService/GetRevision",
                   pb::GetRevisionRequest(), &standing, absl::Now() + kCallMax)
                .ok() ||
           !wanted(standing)) {
      if (absl::Now() > until) {
        return testing::AssertionFailure()
               << "process " << which << " stands at " << standing.ShortDebugString();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  return testing::AssertionSuccess();
}

bool IsReady(const pb::GetRevisionResponse& standing) {
  return standing.state() == pb::LEDGER_STATE_READY;
}

void ExpectClean(const Servers& servers) {
  Channels channels(&servers);
  for (int which = 0; which < kServers; ++which) {
    pb::SelfCheckResponse response;
    const grpc::Status status = Invoke(channels.To(which).channel, "LedgerService/SelfCheck",
                                       pb::SelfCheckRequest(), &response, absl::Now() + kCallMax);
    EXPECT_TRUE(status.ok()) << status.error_message();
    for (const pb::Difference& difference : response.differences()) {
      ADD_FAILURE() << difference.message();
    }
  }
}

TEST(History, HoldsThroughKillsPausesAndCuts) {
  const uint64_t seed = placement::Seed();
  const std::string url = placement::NewDatabase();
  Servers servers(url);
  MakeProviders(servers);
  ASSERT_FALSE(HasFatalFailure());
  Workload workload(seed, url, &servers, kWatchers, kHosts);
  Nemesis nemesis(seed, &servers, workload.run());
  const absl::Time until = absl::Now() + RunTime();
  while (absl::Now() < until) {
    nemesis.Act(until);
    workload.Follow();
  }
  workload.Stop();
  std::printf("%s\n", nemesis.Count().c_str());
  EXPECT_TRUE(AwaitStanding(servers, IsReady, kProgressMax));
  ExpectClean(servers);
  workload.ExpectLawful();
}

// A database that was put back to what it was: placement finds out, acknowledges nothing until an
// operator says that this is the truth, and goes on from there.
TEST(History, HoldsAfterThePastWasLost) {
  const uint64_t seed = placement::Seed();
  placement::Restorable database;
  Servers servers(database.url());
  MakeProviders(servers);
  ASSERT_FALSE(HasFatalFailure());
  Workload workload(seed, database.url(), &servers, 0, 0);
  EXPECT_TRUE(workload.AwaitDone(500));
  database.Save();
  EXPECT_TRUE(workload.AwaitDone(500));
  database.Restore();
  pb::StartEpochRequest start;
  start.set_reason("put back on purpose");
  const auto in_recovery = [&start](const pb::GetRevisionResponse& standing) {
    *start.mutable_expected_database_revision() = standing.database_revision();
    return standing.state() == pb::LEDGER_STATE_RECOVERY_REQUIRED;
  };
  const testing::AssertionResult found = AwaitStanding(servers, in_recovery, absl::Seconds(10));
  EXPECT_TRUE(found) << found.message();
  if (found) {
    Channels channels(&servers);
    pb::StartEpochResponse started;
    const grpc::Status status = Invoke(channels.To(0).channel, "LedgerService/StartEpoch", start,
                                       &started, absl::Now() + kCallMax);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(AwaitStanding(servers, IsReady, kProgressMax));
    workload.history()->epoch_began_ns = NowNs();
  }
  EXPECT_TRUE(workload.AwaitDone(500));
  workload.ExpectLawful();
}

}  // namespace
}  // namespace berth::history
