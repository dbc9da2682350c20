// Kills of placement and of PostgreSQL, at random moments, under load: no acknowledged claim is
// lost, nothing is over capacity, and every client knows at its end what it holds.
//
// BERTH_KILLS says how often each of the two is killed (default 3).
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "tests/e2e/placement_server.h"
#include "tests/fault/claim_client.h"
#include "tests/placement/private_cluster.h"
#include "tests/placement/seed.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kClients = 16;
constexpr int kProviders = 60;
constexpr int64_t kCapacity = 24;  // of each: small, so that claims meet its end
constexpr int64_t kClaimsBetweenKills = 300;
constexpr absl::Duration kProgressMax = absl::Seconds(60);

int Kills() {
  const char* kills = std::getenv("BERTH_KILLS");
  return kills == nullptr ? 3 : std::max(1, std::atoi(kills));
}

// Clients in threads, over one endpoint each.
class Load {
 public:
  Load(const std::vector<std::string>& providers, const std::vector<Endpoint*>& endpoints,
       uint64_t seed) {
    for (int i = 0; i < kClients; ++i) {
      clients_.push_back(std::make_unique<ClaimClient>(seed + static_cast<uint64_t>(i), providers,
                                                       endpoints[i % endpoints.size()], &tally_));
    }
    for (const auto& client : clients_) threads_.emplace_back([&client] { client->Run(); });
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
    const int64_t goal = tally_.claims + more;
    const absl::Time until = absl::Now() + kProgressMax;
    while (tally_.claims < goal) {
      if (absl::Now() > until) {
        return testing::AssertionFailure() << "only " << tally_.claims << " of " << goal;
      }
      std::this_thread::yield();
      absl::SleepFor(absl::Milliseconds(1));
    }
    return testing::AssertionSuccess();
  }

  const Tally& tally() const { return tally_; }
  const std::vector<std::unique_ptr<ClaimClient>>& clients() const { return clients_; }

 private:
  Tally tally_;
  std::vector<std::unique_ptr<ClaimClient>> clients_;
  std::vector<std::thread> threads_;
};

std::vector<std::string> MakeProviders(const std::string& address) {
  const auto channel = ConnectTo(address);
  const auto providers = pb::ProviderService::NewStub(channel);
  const auto inventories = pb::InventoryService::NewStub(channel);
  std::vector<std::string> uuids;
  for (int i = 0; i < kProviders; ++i) {
    pb::CreateProviderRequest create;
    create.set_name(absl::StrCat("host", i));
    pb::CreateProviderResponse created;
    grpc::ClientContext create_context;
    EXPECT_TRUE(providers->CreateProvider(&create_context, create, &created).ok());
    pb::SetInventoriesRequest set;
    set.set_provider_uuid(created.provider().uuid());
    set.set_expected_generation(created.provider().generation());
    (*set.mutable_inventories())["VCPU"].set_total(kCapacity);
    pb::SetInventoriesResponse answer;
    grpc::ClientContext set_context;
    const grpc::Status status = inventories->SetInventories(&set_context, set, &answer);
    EXPECT_TRUE(status.ok()) << status.error_message();
    uuids.push_back(created.provider().uuid());
  }
  return uuids;
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
    absl::SleepFor(absl::Milliseconds(50));
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
  // P-4, in the tables' own words.
  EXPECT_EQ(placement::QueryOne(*database,
                                "SELECT count(*) FROM inventories i WHERE i.used > i.capacity OR "
                                "i.used <> (SELECT coalesce(sum(a.amount), 0) FROM allocations a "
                                "WHERE a.provider = i.provider)"),
            "0");
}

void Report(const Load& load, absl::Duration elapsed) {
  const Tally& tally = load.tally();
  std::printf(
      "%lld claims in %s (%.0f/s), %lld refused, %lld outcomes unknown, %lld of them done\n",
      static_cast<long long>(tally.claims), absl::FormatDuration(elapsed).c_str(),
      static_cast<double>(tally.claims) / absl::ToDoubleSeconds(elapsed),
      static_cast<long long>(tally.refused), static_cast<long long>(tally.unknown),
      static_cast<long long>(tally.found));
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

TEST(Kill, NoAcknowledgedClaimIsLost) {
  const uint64_t seed = placement::Seed();
  const std::string url = placement::NewDatabase();
  const placement::ScratchDirectory directory;
  Endpoint endpoint;
  std::unique_ptr<e2e::PlacementServer> server = StartOn(url, directory.path(), &endpoint);
  const std::vector<std::string> providers = MakeProviders(server->address());
  const absl::Time began = absl::Now();
  Load load(providers, {&endpoint}, seed);
  for (int kill = 0; kill < 2 * Kills(); ++kill) {
    ASSERT_TRUE(load.AwaitClaims(kClaimsBetweenKills)) << "before kill " << kill;
    if (kill % 2 == 0) {
      server->Signal(SIGKILL);
      EXPECT_EQ(server->AwaitEnd(absl::Seconds(30)), 128 + SIGKILL);
      server = StartOn(url, directory.path(), &endpoint);
    } else {
      ASSERT_TRUE(placement::PrivateCluster().Kill().ok());
      ASSERT_TRUE(placement::PrivateCluster().Restart().ok());
    }
    ExpectClean(endpoint);
  }
  ASSERT_TRUE(load.AwaitClaims(kClaimsBetweenKills));
  load.Stop();
  Report(load, absl::Now() - began);
  EXPECT_GT(load.tally().unknown, 0) << "the kills met no call: they prove nothing";
  ExpectClean(endpoint);
  ExpectWhatClientsBelieve(url, load);
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
  const std::vector<std::string> providers = MakeProviders(first_server->address());
  const absl::Time began = absl::Now();
  Load load(providers, {&first, &second}, seed);
  ASSERT_TRUE(load.AwaitClaims(10 * kClaimsBetweenKills));
  load.Stop();
  Report(load, absl::Now() - began);
  ExpectClean(first);
  ExpectClean(second);
  ExpectWhatClientsBelieve(url, load);
}

}  // namespace
}  // namespace berth::fault
