// Watching over real sockets and a real PostgreSQL: every change once, in order, whatever happens
// to the watcher.
#include <grpcpp/create_channel.h>

#include <atomic>
#include <random>
#include <thread>

#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"
#include "placement/ground/uuid.h"
#include "tests/e2e/calls.h"
#include "tests/processes/identity.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/watch_mirror.h"
#include "tests/worlds/seed.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;

class WatchTest : public ::testing::Test {
 protected:
  WatchTest() { Start(&server_, scratch_.path(), &channel_); }

  void Start(std::unique_ptr<PlacementServer>* server, const std::string& directory,
             std::shared_ptr<grpc::Channel>* channel) {
    *server = std::make_unique<PlacementServer>(
        directory, std::vector<std::string>{"--database=" + database_});
    ASSERT_EQ((*server)->AwaitAddress(), absl::OkStatus());
    // Little is under way: a watcher that does not read holds the server up soon.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 65'536);
    *channel = grpc::CreateCustomChannel((*server)->address(), CredentialsOf(), arguments);
  }

  std::string NewHost(const std::string& parent = "") {
    pb::CreateProviderRequest create;
    create.set_name("host-" + Random());
    create.set_parent_uuid(parent);
    pb::CreateProviderResponse created;
    grpc::ClientContext first, second;
    EXPECT_TRUE(
        pb::ProviderService::NewStub(channel_)->CreateProvider(&first, create, &created).ok());
    pb::SetInventoriesRequest set;
    set.set_provider_uuid(created.provider().uuid());
    set.set_expected_generation(created.provider().generation());
    (*set.mutable_inventories())["VCPU"].set_total(1000);
    pb::SetInventoriesResponse done;
    EXPECT_TRUE(pb::InventoryService::NewStub(channel_)->SetInventories(&second, set, &done).ok());
    return created.provider().uuid();
  }

  // A new consumer that holds one VCPU of `host`; the revision.
  pb::Revision Claim(const std::string& host, const std::string& consumer) {
    pb::SetAllocationsRequest request;
    pb::ConsumerAllocations* wanted = request.add_consumers();
    wanted->set_consumer_uuid(consumer);
    wanted->mutable_new_consumer();
    wanted->set_project_id("p");
    wanted->set_user_id("u");
    wanted->set_consumer_type("INSTANCE");
    wanted->add_allocations()->set_provider_uuid(host);
    (*wanted->mutable_allocations(0)->mutable_resources())["VCPU"] = 1;
    pb::SetAllocationsResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        pb::AllocationService::NewStub(channel_)->SetAllocations(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.revision();
  }

  pb::Revision Release(const std::string& consumer) {
    pb::DeleteAllocationsRequest request;
    request.set_consumer_uuid(consumer);
    pb::DeleteAllocationsResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        pb::AllocationService::NewStub(channel_)->DeleteAllocations(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.revision();
  }

  // Claims and releases from `writers` threads, `rounds` each; the newest revision they made.
  pb::Revision Churn(const std::vector<std::string>& hosts, int writers, int rounds) {
    std::vector<std::thread> threads;
    std::vector<pb::Revision> last(writers);
    for (int w = 0; w < writers; ++w) {
      threads.emplace_back([&, w] {
        for (int i = 0; i < rounds; ++i) {
          const std::string consumer = Random();
          last[w] = Claim(hosts[(w + i) % hosts.size()], consumer);
          if (i % 3 == 0) last[w] = Release(consumer);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    pb::Revision newest;
    for (const pb::Revision& revision : last) {
      if (revision.number() > newest.number()) newest = revision;
    }
    return newest;
  }

  // Takes what comes until the mirror is at `until`.
  static void Follow(Watch* watch, const pb::Revision& until, Mirror* mirror) {
    pb::WatchResponse response;
    while (mirror->position.number() < until.number() && watch->Next(&response)) {
      mirror->Take(response);
    }
    EXPECT_GE(mirror->position.number(), until.number());
  }

  Mirror FreshSnapshot(const std::shared_ptr<grpc::Channel>& channel) {
    Mirror mirror;
    Watch watch(channel, FromSnapshot());
    pb::WatchResponse response;
    do {
      if (!watch.Next(&response)) break;
      EXPECT_TRUE(response.snapshot());
      mirror.Take(response);
    } while (!response.complete());
    watch.Cancel();
    watch.End();
    return mirror;
  }

  const placement::ScratchDirectory scratch_;
  const std::string database_ = placement::NewDatabase();
  std::unique_ptr<PlacementServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

// One goes on all the time; another is killed and resumes, again and again.
TEST_F(WatchTest, AWatcherThatIsKilledAndResumesSeesEveryChangeOnce) {  // R-12, D-28
  std::mt19937_64 random(placement::Seed());
  const std::vector<std::string> hosts = {NewHost(), NewHost(), NewHost()};
  Watch steady(channel_, FromSnapshot());
  Mirror whole;
  pb::WatchResponse response;
  while (whole.position.number() == 0 && steady.Next(&response)) whole.Take(response);
  Mirror torn = whole;
  whole.told.clear();
  torn.told.clear();
  std::atomic<bool> churning{true};
  pb::Revision newest;
  std::thread churn([&] {
    newest = Churn(hosts, 8, 60);
    churning = false;
  });
  int resumed = 0;
  while (churning || torn.position.number() < newest.number()) {
    Watch watch(channel_, After(torn.position));
    ++resumed;
    for (uint64_t left = random() % 30; left > 0 && watch.Next(&response); --left) {
      torn.Take(response);
      if (!churning && torn.position.number() >= newest.number()) break;
    }
    torn.open.clear();  // what was not complete comes again
    watch.Cancel();
    watch.End();
  }
  churn.join();
  Follow(&steady, newest, &whole);
  EXPECT_EQ(torn.told, whole.told) << "resumed " << resumed << " times";
  EXPECT_TRUE(Same(torn, whole));
  EXPECT_TRUE(Same(torn, FreshSnapshot(channel_)));
  EXPECT_GT(resumed, 3);
  steady.Cancel();
  steady.End();
}

TEST_F(WatchTest, ASnapshotIsFollowedWithoutAGap) {
  const std::vector<std::string> hosts = {NewHost(), NewHost()};
  std::atomic<bool> started{false};
  pb::Revision newest;
  std::thread churn([&] {
    started = true;
    newest = Churn(hosts, 6, 50);
  });
  while (!started) std::this_thread::yield();
  std::vector<std::unique_ptr<Watch>> watches;
  std::vector<Mirror> mirrors(6);
  for (size_t i = 0; i < mirrors.size(); ++i) {
    watches.push_back(std::make_unique<Watch>(channel_, FromSnapshot()));
    pb::WatchResponse response;
    while (mirrors[i].position.number() == 0 && watches[i]->Next(&response)) {
      mirrors[i].Take(response);
    }
  }
  churn.join();
  const Mirror fresh = FreshSnapshot(channel_);
  for (size_t i = 0; i < mirrors.size(); ++i) {
    Follow(watches[i].get(), newest, &mirrors[i]);
    EXPECT_TRUE(Same(mirrors[i], fresh)) << i;
    watches[i]->Cancel();
    watches[i]->End();
  }
}

// The log serves what no process remembers; other processes' writes are seen, too.
TEST_F(WatchTest, AnotherProcessServesWhatThisOneToldBefore) {
  const std::vector<std::string> hosts = {NewHost(), NewHost()};
  Mirror mirror = FreshSnapshot(channel_);
  Churn(hosts, 4, 20);
  const placement::ScratchDirectory scratch;
  std::unique_ptr<PlacementServer> other;
  std::shared_ptr<grpc::Channel> other_channel;
  Start(&other, scratch.path(), &other_channel);
  Watch watch(other_channel, After(mirror.position));
  Follow(&watch, Churn(hosts, 4, 20), &mirror);
  EXPECT_TRUE(Same(mirror, FreshSnapshot(channel_)));
  watch.Cancel();
  watch.End();
}

TEST_F(WatchTest, AFilterTellsWhatEntersAndLeaves) {
  const std::string root = NewHost(), elsewhere = NewHost(), child = NewHost(root);
  const std::string consumer = Random();
  Claim(child, consumer);
  pb::WatchRequest request = FromSnapshot();
  request.add_in_trees(child);
  request.add_kinds(pb::ENTITY_KIND_PROVIDER);
  request.add_kinds(pb::ENTITY_KIND_CONSUMER);
  Watch watch(channel_, request);
  Mirror mirror;
  pb::WatchResponse response;
  while (mirror.position.number() == 0 && watch.Next(&response)) mirror.Take(response);
  EXPECT_EQ(mirror.things.size(), 3U);
  Claim(elsewhere, Random());  // out of sight
  pb::UpdateProviderRequest move;
  move.set_provider_uuid(child);
  move.set_parent_uuid(elsewhere);
  pb::UpdateProviderResponse moved;
  grpc::ClientContext context;
  const grpc::Status status =
      pb::ProviderService::NewStub(channel_)->UpdateProvider(&context, move, &moved);
  ASSERT_TRUE(status.ok()) << status.error_message();
  mirror.told.clear();
  Follow(&watch, moved.revision(), &mirror);
  EXPECT_EQ(mirror.told.size(), 2U);
  EXPECT_EQ(mirror.things.size(), 1U);
  EXPECT_TRUE(mirror.things.contains({1, root}));
  watch.Cancel();
  watch.End();
}

TEST_F(WatchTest, WhoDoesNotReadIsCutOffAndResumes) {
  const std::vector<std::string> hosts = {NewHost()};
  const Mirror before = FreshSnapshot(channel_);
  pb::WatchResponse response;
  Watch slow(channel_, After(before.position));
  pb::SetInventoriesRequest set;
  set.set_provider_uuid(hosts[0]);
  for (const char* name : {"VCPU", "MEMORY_MB", "DISK_GB", "PCPU", "VGPU", "NUMA_CORE"}) {
    (*set.mutable_inventories())[name].set_total(10);
  }
  const auto inventories = pb::InventoryService::NewStub(channel_);
  const auto set_once = [&](int total) {
    (*set.mutable_inventories())["VCPU"].set_total(total);
    pb::SetInventoriesResponse done;
    grpc::ClientContext context;
    const grpc::Status status = inventories->SetInventories(&context, set, &done);
    ASSERT_TRUE(status.ok()) << status.error_message();
    set.set_expected_generation(done.generation());
  };
  {
    pb::GetInventoriesRequest get;
    get.set_provider_uuid(hosts[0]);
    pb::GetInventoriesResponse got;
    grpc::ClientContext context;
    ASSERT_TRUE(inventories->GetInventories(&context, get, &got).ok());
    set.set_expected_generation(got.generation());
  }
  for (int i = 0; i < 3000 && !HasFatalFailure(); ++i) set_once(1000 + i);
  Mirror mirror = before;
  while (slow.Next(&response)) mirror.Take(response);
  mirror.open.clear();
  const grpc::Status cut = slow.End();
  EXPECT_EQ(cut.error_code(), grpc::StatusCode::ABORTED) << cut.error_message();
  EXPECT_EQ(ReasonOf(cut), "WATCHER_TOO_SLOW");
  const Mirror fresh = FreshSnapshot(channel_);
  EXPECT_LT(mirror.position.number(), fresh.position.number());
  Watch resumed(channel_, After(mirror.position));
  Follow(&resumed, fresh.position, &mirror);
  EXPECT_TRUE(Same(mirror, fresh));
  resumed.Cancel();
  resumed.End();
}

TEST_F(WatchTest, WhatCannotBeWatchedIsRefused) {
  NewHost();
  const Mirror now = FreshSnapshot(channel_);
  const auto refused = [this](const pb::WatchRequest& request) {
    return Watch(channel_, request).End();
  };
  pb::Revision revision = now.position;
  revision.set_epoch(9);
  grpc::Status status = refused(After(revision));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(ReasonOf(status), "EPOCH_UNKNOWN");
  revision.set_epoch(-1);
  EXPECT_EQ(refused(After(revision)).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  pb::WatchRequest request;
  request.add_in_trees("no uuid");
  EXPECT_EQ(ReasonOf(refused(request)), "INVALID_FIELD");

  // A process that remembers nothing, over a log that is short.
  const auto database = placement::ConnectOrDie(database_);
  placement::QueryOne(*database,
                      "DELETE FROM log WHERE revision < (SELECT max(revision) FROM log)");
  const placement::ScratchDirectory scratch;
  std::unique_ptr<PlacementServer> other;
  std::shared_ptr<grpc::Channel> other_channel;
  Start(&other, scratch.path(), &other_channel);
  revision = now.position;
  revision.set_number(1);
  status = Watch(other_channel, After(revision)).End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE) << status.error_message();
  EXPECT_EQ(ReasonOf(status), "REVISION_COMPACTED");
}

TEST_F(WatchTest, AQuietLedgerSaysSo) {
  const Mirror now = FreshSnapshot(channel_);
  Watch watch(channel_, After(now.position));
  const absl::Time begun = absl::Now();
  pb::WatchResponse response;
  ASSERT_TRUE(watch.Next(&response));
  EXPECT_LT(absl::Now() - begun, absl::Seconds(20));
  EXPECT_EQ(response.revision().number(), now.position.number());
  EXPECT_TRUE(response.complete());
  EXPECT_EQ(response.changes_size(), 0);
  EXPECT_FALSE(response.has_committed_at());
  server_->Signal(SIGTERM);
  const grpc::Status ended = watch.End();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAVAILABLE) << ended.error_message();
  EXPECT_EQ(ReasonOf(ended), "NOT_SERVING");
}

}  // namespace
}  // namespace berth::e2e
