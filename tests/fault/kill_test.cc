// Kills of placement and of PostgreSQL, at random moments, under load: no acknowledged claim is
// lost, nothing is over capacity, and every client knows at its end what it holds.
//
// BERTH_KILLS says how often each of the two is killed (default 2). The rate that is asked for is that
// of acknowledged claims over the time that the service is up: from the first write that is
// acknowledged after a kill to the next kill. Clients that still wait for a lost call's deadline are
// in it.
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "tests/fault/claim_client.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/private_cluster.h"
#include "tests/worlds/seed.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kClients = 16;
constexpr int kHosts = 60;
constexpr int64_t kCapacity = 64;  // of each: more than all clients ever hold, so that claims go on
constexpr int kTinyHosts = 8;
constexpr int64_t kTinyCapacity = 6;  // mostly full, so that claims meet the end of capacity
constexpr int64_t kClaimsBetweenKills = 1500;  // at the least; at the most twice as many
constexpr double kClaimsPerSecondMin = 500;
constexpr absl::Duration kProgressMax = absl::Seconds(60);

int Kills() {
  const char* kills = std::getenv("BERTH_KILLS");
  return kills == nullptr ? 2 : std::max(1, std::atoi(kills));
}

// Clients in threads, and one more in the hand of the test.
class Load {
 public:
  Load(const std::vector<std::string>& providers, const std::vector<Endpoint*>& endpoints,
       uint64_t seed) {
    for (int i = 0; i <= kClients; ++i) {
      clients_.push_back(std::make_unique<ClaimClient>(seed + static_cast<uint64_t>(i), providers,
                                                       endpoints[i % endpoints.size()], &tally_));
    }
    for (int i = 0; i < kClients; ++i) {
      threads_.emplace_back([client = clients_[i].get()] { client->Run(); });
    }
  }
  ~Load() { Stop(); }

  void Stop() {
    tally_.stop = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  // Waits until `more` further claims were acknowledged.
  testing::AssertionResult AwaitClaims(int64_t more) {
    const int64_t goal = tally_.claims.value() + more;
    if (tally_.claims.Await(goal, absl::Now() + kProgressMax)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "only " << tally_.claims.value() << " of " << goal;
  }
  // Claims with the client in hand until that is done.
  testing::AssertionResult AwaitOneClaim() {
    const absl::Time until = absl::Now() + kProgressMax;
    while (absl::Now() < until) {
      if (clients_.back()->ClaimOne()) return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "no claim is taken";
  }
  // Has every client look up all that it holds.
  testing::AssertionResult AwaitLookUp() {
    const int64_t goal = ++tally_.inquests * kClients;
    if (tally_.looked_up.Await(goal, absl::Now() + kProgressMax)) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "not every client could look up what it holds";
  }

  const Tally& tally() const { return tally_; }
  const std::vector<std::unique_ptr<ClaimClient>>& clients() const { return clients_; }

 private:
  Tally tally_;
  std::vector<std::unique_ptr<ClaimClient>> clients_;
  std::vector<std::thread> threads_;
};

// When the service was up, and what it took then.
class Uptime {
 public:
  explicit Uptime(const Load& load) : load_(load) {}

  void Up() {
    up_since_ = absl::Now();
    claims_before_ = load_.tally().claims.value();
    if (down_since_ != absl::InfinitePast()) recoveries_.push_back(up_since_ - down_since_);
  }
  void Down() {
    down_since_ = absl::Now();
    up_ += down_since_ - up_since_;
    claims_ += load_.tally().claims.value() - claims_before_;
  }
  double claims_per_second() const {
    return static_cast<double>(claims_) / absl::ToDoubleSeconds(up_);
  }
  absl::Duration longest_recovery() const {
    return *std::max_element(recoveries_.begin(), recoveries_.end());
  }
  void Print() {
    std::printf("%lld claims in %s of service: %.0f/s\n", static_cast<long long>(claims_),
                absl::FormatDuration(absl::Trunc(up_, absl::Milliseconds(1))).c_str(),
                claims_per_second());
    if (recoveries_.empty()) return;
    std::sort(recoveries_.begin(), recoveries_.end());
    std::printf(
        "%zu kills; from a kill to the next acknowledged write: median %.2f s, at most %.2f s\n",
        recoveries_.size(), absl::ToDoubleSeconds(recoveries_[recoveries_.size() / 2]),
        absl::ToDoubleSeconds(recoveries_.back()));
  }

 private:
  const Load& load_;
  absl::Time up_since_;
  absl::Time down_since_ = absl::InfinitePast();
  int64_t claims_before_ = 0;
  int64_t claims_ = 0;
  absl::Duration up_;
  std::vector<absl::Duration> recoveries_;
};

std::vector<std::string> MakeProviders(const std::string& address) {
  const auto channel = ConnectTo(address);
  const auto providers = pb::ProviderService::NewStub(channel);
  const auto inventories = pb::InventoryService::NewStub(channel);
  std::vector<std::string> uuids;
  for (int i = 0; i < kHosts + kTinyHosts; ++i) {
    pb::CreateProviderRequest create;
    create.set_name(absl::StrCat("host", i));
    pb::CreateProviderResponse created;
    grpc::ClientContext create_context;
    EXPECT_TRUE(providers->CreateProvider(&create_context, create, &created).ok());
    pb::SetInventoriesRequest set;
    set.set_provider_uuid(created.provider().uuid());
    set.set_expected_generation(created.provider().generation());
    (*set.mutable_inventories())["VCPU"].set_total(i < kHosts ? kCapacity : kTinyCapacity);
    pb::SetInventoriesResponse answer;
    grpc::ClientContext set_context;
    const grpc::Status status = inventories->SetInventories(&set_context, set, &answer);
    EXPECT_TRUE(status.ok()) << status.error_message();
    uuids.push_back(created.provider().uuid());
  }
  return uuids;
}

// P-4, in the tables' own words.
void ExpectNothingOverCapacity(const std::string& database_url) {
  const auto database = placement::ConnectOrDie(database_url);
  EXPECT_EQ(placement::QueryOne(*database,
                                "SELECT count(*) FROM inventories i WHERE i.used > i.capacity OR "
                                "i.used <> (SELECT coalesce(sum(a.amount), 0) FROM allocations a "
                                "WHERE a.provider = i.provider)"),
            "0");
}

// Asks until placement answers: right after a kill the database may still be coming up.
void ExpectClean(const Endpoint& endpoint) {
  const absl::Time until = absl::Now() + kProgressMax;
  grpc::Status status;
  pb::SelfCheckResponse response;
  while (absl::Now() < until) {
    const auto ledger = pb::LedgerService::NewStub(ConnectTo(endpoint.Get()));
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    response.Clear();
    status = ledger->SelfCheck(&context, {}, &response);
    if (status.ok()) break;
  }
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(response.clean());
  for (const pb::Difference& difference : response.differences()) {
    ADD_FAILURE() << difference.message();
  }
}

// What placement holds is what the clients believe, no more and no less.
void ExpectWhatClientsBelieve(const std::string& database_url, const Load& load) {
  const auto database = placement::ConnectOrDie(database_url);
  int64_t believed = 0;
  for (const auto& client : load.clients()) {
    for (const std::string& complaint : client->complaints()) ADD_FAILURE() << complaint;
    for (const auto& [consumer, holding] : client->holdings()) {
      ++believed;
      const std::string held = placement::QueryOne(
          *database, absl::StrCat("SELECT provider::text || ' ' || amount FROM allocations WHERE "
                                  "resource_class = 'VCPU' AND consumer = '",
                                  consumer, "'"));
      EXPECT_EQ(held, absl::StrCat(holding.provider, " ", holding.amount)) << consumer;
    }
  }
  EXPECT_EQ(placement::QueryOne(*database, "SELECT count(*) FROM consumer"),
            absl::StrCat(believed));
  ExpectNothingOverCapacity(database_url);
}

void Print(const Tally& tally) {
  std::printf(
      "refused: %lld for want of room, %lld while the service was away, %lld else; %lld outcomes "
      "unknown, %lld of them done; %lld holdings looked up\n",
      static_cast<long long>(tally.full), static_cast<long long>(tally.away),
      static_cast<long long>(tally.refused), static_cast<long long>(tally.unknown),
      static_cast<long long>(tally.found), static_cast<long long>(tally.holdings));
}

std::unique_ptr<e2e::PlacementServer> StartOn(const std::string& url, const std::string& directory,
                                              Endpoint* endpoint) {
  auto server = std::make_unique<e2e::PlacementServer>(
      directory, std::vector<std::string>{"--database=" + url});
  const absl::Status started = server->AwaitAddress();
  EXPECT_TRUE(started.ok()) << started.message();
  endpoint->Set(server->address());
  return server;
}

// Ends one of the two as a crash would, and starts it again.
void KillAndRestart(bool placement_itself, const std::string& url, const std::string& directory,
                    std::unique_ptr<e2e::PlacementServer>* server, Endpoint* endpoint) {
  if (placement_itself) {
    (*server)->Signal(SIGKILL);
    EXPECT_EQ((*server)->AwaitEnd(absl::Seconds(30)), 128 + SIGKILL);
    *server = StartOn(url, directory, endpoint);
  } else {
    placement::KillServer(placement::PrivateCluster());
    placement::RestartServer(placement::PrivateCluster());
  }
}

TEST(Kill, NoAcknowledgedClaimIsLost) {
  const uint64_t seed = placement::Seed();
  std::mt19937_64 random(seed);
  const std::string url = placement::NewDatabase();
  const placement::ScratchDirectory directory;
  Endpoint endpoint;
  std::unique_ptr<e2e::PlacementServer> server = StartOn(url, directory.path(), &endpoint);
  Load load(MakeProviders(server->address()), {&endpoint}, seed);
  Uptime uptime(load);
  uptime.Up();
  for (int kill = 0; kill < 2 * Kills(); ++kill) {
    const int64_t claims =
        kClaimsBetweenKills + static_cast<int64_t>(random() % kClaimsBetweenKills);
    ASSERT_TRUE(load.AwaitClaims(claims)) << "before kill " << kill;
    uptime.Down();
    KillAndRestart(kill % 2 == 0, url, directory.path(), &server, &endpoint);
    ASSERT_TRUE(load.AwaitOneClaim()) << "after kill " << kill;
    uptime.Up();
    ExpectClean(endpoint);
    ASSERT_TRUE(load.AwaitLookUp()) << "after kill " << kill;
    ExpectNothingOverCapacity(url);
  }
  ASSERT_TRUE(load.AwaitClaims(kClaimsBetweenKills));
  uptime.Down();
  load.Stop();
  uptime.Print();
  Print(load.tally());
  EXPECT_GT(load.tally().unknown, 0) << "the kills met no call: they prove nothing";
  EXPECT_GT(load.tally().full, 0) << "no claim met the end of capacity";
  EXPECT_EQ(load.tally().refused, 0);
  EXPECT_GE(uptime.claims_per_second(), kClaimsPerSecondMin);
  ExpectClean(endpoint);
  ExpectWhatClientsBelieve(url, load);
}

// Placement starts its private PostgreSQL again by itself. Only the postmaster is killed: backends
// without a postmaster are Placement's to deal with, too.
TEST(Kill, PlacementKeepsItsPrivatePostgresRunning) {
  const uint64_t seed = placement::Seed();
  const placement::ScratchDirectory directory;
  const std::string state = directory.path() + "/state";
  e2e::PlacementServer server(directory.path(), {"--state-dir=" + state});
  ASSERT_TRUE(server.AwaitAddress().ok()) << server.Log();
  Endpoint endpoint;
  endpoint.Set(server.address());
  Load load(MakeProviders(server.address()), {&endpoint}, seed);
  Uptime uptime(load);
  uptime.Up();
  for (int kill_count = 0; kill_count < Kills(); ++kill_count) {
    ASSERT_TRUE(load.AwaitClaims(kClaimsBetweenKills)) << "before kill " << kill_count;
    pid_t postmaster = 0;
    ASSERT_TRUE(std::ifstream(state + "/data/postmaster.pid") >> postmaster);
    uptime.Down();
    ASSERT_EQ(kill(postmaster, SIGKILL), 0);
    ASSERT_TRUE(load.AwaitOneClaim()) << server.Log();
    uptime.Up();
    ExpectClean(endpoint);
    ASSERT_TRUE(load.AwaitLookUp()) << "after kill " << kill_count;
  }
  ASSERT_TRUE(load.AwaitClaims(kClaimsBetweenKills));
  uptime.Down();
  load.Stop();
  uptime.Print();
  Print(load.tally());
  EXPECT_LT(uptime.longest_recovery(), absl::Seconds(10));
  EXPECT_EQ(load.tally().refused, 0);
  ExpectClean(endpoint);
  ExpectWhatClientsBelieve("postgresql:///berth?host=" + state + "/run&user=berth", load);
}

TEST(TwoProcesses, TakeClaimsOnTheSameHostsAtTheSameTime) {
  const uint64_t seed = placement::Seed();
  const std::string url = placement::NewDatabase();
  const placement::ScratchDirectory first_directory;
  const placement::ScratchDirectory second_directory;
  Endpoint first;
  Endpoint second;
  const auto first_server = StartOn(url, first_directory.path(), &first);
  const auto second_server = StartOn(url, second_directory.path(), &second);
  Load load(MakeProviders(first_server->address()), {&first, &second}, seed);
  Uptime uptime(load);
  uptime.Up();
  ASSERT_TRUE(load.AwaitClaims(2 * kClaimsBetweenKills));
  uptime.Down();
  load.Stop();
  uptime.Print();
  Print(load.tally());
  ExpectClean(first);
  ExpectClean(second);
  ExpectWhatClientsBelieve(url, load);
}

}  // namespace
}  // namespace berth::fault
