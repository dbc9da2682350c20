// Mirror: with a server that plays a script, what it survives; with real placement processes over a
// real PostgreSQL, that it has what a fresh snapshot has, whatever happens to the processes.
#include "services/client/cpp/mirror.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/catalog.grpc.pb.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "berth/placement/v1/watch.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "services/client/cpp/call.h"
#include "tests/processes/identity.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/taken_port.h"
#include "tests/services/client/played_watch.h"
#include "tests/worlds/seed.h"

namespace berth::client {
namespace {

namespace pb = ::berth::placement::v1;

constexpr absl::Duration kWait = absl::Seconds(60);

TEST(MirrorTest, AStreamThatFallsSilentLagsOrMakesNoSenseIsLeft) {
  PlayedWatch server({
      [](const auto& request, auto* context, auto* writer) {
        EXPECT_TRUE(request.has_snapshot());
        writer->Write(PlayedWatch::Complete(5, true));
        return PlayedWatch::Silence(context);
      },
      [](const auto& request, auto* context, auto* writer) {
        EXPECT_EQ(request.after_revision().number(), 5);
        writer->Write(PlayedWatch::Complete(7, true));  // was not asked for
        return PlayedWatch::Silence(context);
      },
      [](const auto& request, auto* context, auto* writer) {
        EXPECT_TRUE(request.has_snapshot());
        writer->Write(PlayedWatch::Complete(4, true));  // is older than the view
        return PlayedWatch::Silence(context);
      },
      [](const auto& request, auto* context, auto* writer) {
        EXPECT_TRUE(request.has_snapshot());
        writer->Write(PlayedWatch::Complete(9, true));
        return PlayedWatch::Silence(context);
      },
  });
  MirrorOptions options;
  options.silence_max = absl::Milliseconds(300);
  std::vector<absl::StatusCode> interrupted;
  std::vector<absl::StatusCode> anew;
  std::vector<int64_t> views;
  MirrorListener listener;
  listener.changed = [&](const ViewChange& change) {
    views.push_back(change.after->revision.number());
  };
  listener.interrupted = [&](const Failure& failure) { interrupted.push_back(failure.code); };
  listener.begins_anew = [&](const Failure& failure) { anew.push_back(failure.code); };
  {
    Mirror mirror(server.endpoints(), options, listener);
    const auto view = mirror.Await(At(9), kWait);
    ASSERT_NE(view, nullptr);
    EXPECT_EQ(view->revision.number(), 9);
    EXPECT_EQ(mirror.status().begun_anew, 1);
    EXPECT_LT(mirror.status().age, kWait);
  }
  EXPECT_EQ(views, (std::vector<int64_t>{5, 9}));
  ASSERT_GE(interrupted.size(), 3U);
  EXPECT_EQ(interrupted[0], absl::StatusCode::kUnavailable);
  EXPECT_EQ(interrupted[1], absl::StatusCode::kDataLoss);
  EXPECT_EQ(interrupted[2], absl::StatusCode::kUnavailable);
  EXPECT_EQ(anew, std::vector<absl::StatusCode>{absl::StatusCode::kDataLoss});
}

// Whatever it waits for: a process that says nothing, a connection, or the next attempt.
TEST(MirrorTest, EndsAtOnce) {
  PlayedWatch server({});
  const TakenPort taken;  // connects, and then says nothing
  const std::vector<std::shared_ptr<Endpoints>> all = {
      server.endpoints(),
      std::make_shared<Endpoints>(std::vector<std::string>{"unix:/nowhere/at/all"}),
      std::make_shared<Endpoints>(std::vector<std::string>{taken.address()}),
      std::make_shared<Endpoints>(std::vector<std::string>{}),
  };
  for (size_t i = 0; i < all.size(); ++i) {
    auto mirror = std::make_unique<Mirror>(all[i]);
    const absl::Time until = absl::Now() + kWait;
    while (absl::Now() < until &&
           (i == 0 ? server.streams() == 0 : mirror->status().streams == 0)) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_EQ(mirror->Await(At(0), absl::Milliseconds(1)), nullptr);
    EXPECT_EQ(mirror->status().age, absl::InfiniteDuration());
    const absl::Time began = absl::Now();
    mirror.reset();
    EXPECT_LT(absl::Now() - began, absl::Seconds(1)) << i;
  }
}

TEST(MirrorTest, ARenewedCertificateMakesANewConnectionAndLosesNothing) {
  std::vector<std::string> peers;
  const auto part = [&](const pb::WatchRequest& request, auto* context, auto* writer) {
    peers.push_back(context->peer());
    const int64_t after = request.after_revision().number();
    writer->Write(PlayedWatch::Complete(after + 1, request.has_snapshot()));
    return PlayedWatch::Silence(context);
  };
  PlayedWatch server({part, part});
  const auto endpoints = server.endpoints();
  bool lost = false;
  MirrorListener listener;
  listener.begins_anew = [&](const Failure&) { lost = true; };
  listener.interrupted = listener.begins_anew;
  {
    Mirror mirror(endpoints, {}, listener);
    ASSERT_NE(mirror.Await(At(1), kWait), nullptr);
    endpoints->Renew(grpc::InsecureChannelCredentials(), absl::Milliseconds(10));
    ASSERT_NE(mirror.Await(At(2), kWait), nullptr);
  }
  EXPECT_FALSE(lost);
  ASSERT_EQ(peers.size(), 2U);
  EXPECT_NE(peers[0], peers[1]);
}

TEST(MirrorTest, AwaitReturnsWhatTheListenerHasHad) {
  std::promise<void> send, called, go_on;
  PlayedWatch server({[&](const auto& /*request*/, auto* context, auto* writer) {
    writer->Write(PlayedWatch::Complete(1, true));
    send.get_future().wait();
    writer->Write(PlayedWatch::Complete(2, false));
    return PlayedWatch::Silence(context);
  }});
  std::atomic<int64_t> had{0};
  MirrorListener listener;
  listener.changed = [&](const ViewChange& change) {
    const int64_t number = change.after->revision.number();
    if (number == 2) {
      called.set_value();
      go_on.get_future().wait();
    }
    had = number;
  };
  Mirror mirror(server.endpoints(), {}, listener);
  const auto first = mirror.Await(At(1), kWait);
  EXPECT_EQ(had, 1);
  send.set_value();
  called.get_future().wait();
  // The listener has not returned yet.
  const auto view = mirror.view();
  const auto early = mirror.Await(At(2), absl::Milliseconds(50));
  go_on.set_value();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(view, first);
  EXPECT_EQ(early, nullptr);
  const auto second = mirror.Await(At(2), kWait);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->revision.number(), 2);
  EXPECT_EQ(had, 2);
}

// All entities as text, by kind and key.
using Entities = std::map<EntityName, std::string>;

Entities Listed(const View& view) {
  Entities all;
  const auto add = [&](pb::EntityKind kind, const auto& map) {
    map.ForEach([&](const auto& one) { all[{kind, KeyOf(*one)}] = one->DebugString(); });
  };
  add(pb::ENTITY_KIND_PROVIDER, view.providers);
  add(pb::ENTITY_KIND_PROVIDER_USAGE, view.usages);
  add(pb::ENTITY_KIND_CONSUMER, view.consumers);
  add(pb::ENTITY_KIND_RESOURCE_CLASS, view.classes);
  add(pb::ENTITY_KIND_TRAIT, view.traits);
  return all;
}

class MirrorOfPlacementTest : public ::testing::Test {
 protected:
  MirrorOfPlacementTest() : random_(placement::Seed()) {
    for (int i = 0; i < 2; ++i) Start(i);
    endpoints_ = std::make_shared<Endpoints>(
        std::vector<std::string>{servers_[0]->address(), servers_[1]->address()},
        e2e::CredentialsOf());
  }

  // A process on a socket of its own, which stays the same.
  void Start(int i) {
    const std::string listen = absl::StrCat("--listen=unix:", scratch_[i].path(), "/socket");
    servers_[i] = e2e::StartAt(scratch_[i].path(), database_, {listen});
    ASSERT_EQ(servers_[i]->address(), absl::StrCat("unix:", scratch_[i].path(), "/socket"));
  }
  void Kill(int i) {
    servers_[i]->Signal(SIGKILL);
    servers_[i]->AwaitEnd(kWait);
  }

  template <typename Stub, typename Request, typename Response>
  void Do(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
          const Request& request, Response* response) {
    CallOptions options;
    options.timeout = kWait;
    const Failure failure = Write(endpoints_.get(), method, request, response, options);
    EXPECT_TRUE(failure.ok()) << InWords(failure);
    newest_ = response->revision();
  }

  void RandomWrite() {
    const uint64_t what = hosts_.empty() ? 0 : random_() % 6;
    if (what < 2) {
      NewHost();
    } else if (what < 5) {
      Claim();
    } else if (!consumers_.empty()) {
      pb::DeleteAllocationsRequest release;
      release.set_consumer_uuid(consumers_.back());
      consumers_.pop_back();
      pb::DeleteAllocationsResponse released;
      Do(&pb::AllocationService::Stub::DeleteAllocations, release, &released);
    }
  }
  void NewHost() {
    pb::CreateProviderRequest create;
    create.set_name(absl::StrCat("host-", random_()));
    pb::CreateProviderResponse created;
    Do(&pb::ProviderService::Stub::CreateProvider, create, &created);
    pb::SetInventoriesRequest set;
    set.set_provider_uuid(created.provider().uuid());
    set.set_expected_generation(created.provider().generation());
    (*set.mutable_inventories())["VCPU"].set_total(10'000);
    pb::SetInventoriesResponse done;
    Do(&pb::InventoryService::Stub::SetInventories, set, &done);
    hosts_.push_back(created.provider().uuid());
    pb::EnsureTraitRequest trait;
    trait.set_name(absl::StrCat("CUSTOM_", random_() % 1000));
    pb::EnsureTraitResponse ensured;
    Do(&pb::CatalogService::Stub::EnsureTrait, trait, &ensured);
  }
  void Claim() {
    pb::SetAllocationsRequest request;
    pb::ConsumerAllocations* wanted = request.add_consumers();
    wanted->set_consumer_uuid(placement::Uuid::Random().ToString());
    wanted->mutable_new_consumer();
    wanted->set_project_id("p");
    wanted->set_user_id("u");
    wanted->set_consumer_type("INSTANCE");
    wanted->add_allocations()->set_provider_uuid(hosts_[random_() % hosts_.size()]);
    (*wanted->mutable_allocations(0)->mutable_resources())["VCPU"] = 1 + random_() % 3;
    pb::SetAllocationsResponse response;
    Do(&pb::AllocationService::Stub::SetAllocations, request, &response);
    consumers_.push_back(wanted->consumer_uuid());
  }

  // What a new mirror has, at the newest revision.
  Entities Fresh() {
    Mirror mirror(endpoints_);
    const auto view = mirror.Await(newest_, kWait);
    return view == nullptr ? Entities() : Listed(*view);
  }

  std::mt19937_64 random_;
  const placement::ScratchDirectory scratch_[2];
  const std::string database_ = placement::NewDatabase();
  std::unique_ptr<e2e::PlacementServer> servers_[2];
  std::shared_ptr<Endpoints> endpoints_;
  std::vector<std::string> hosts_;
  std::vector<std::string> consumers_;
  pb::Revision newest_;
};

TEST_F(MirrorOfPlacementTest, HasWhatASnapshotHasWhileProcessesAreKilled) {
  Entities derived;  // kept by the names of what has changed
  MirrorListener listener;
  listener.changed = [&](const ViewChange& change) {
    const Entities now = Listed(*change.after);
    if (change.from_snapshot) derived = now;
    for (const EntityName& name : change.changed) {
      const auto found = now.find(name);
      derived.erase(name);
      if (found != now.end()) derived.insert(*found);
    }
    EXPECT_EQ(derived, now);
  };
  Mirror mirror(endpoints_, {}, listener);
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 15; ++i) RandomWrite();
    Kill(round % 2);
    for (int i = 0; i < 15; ++i) RandomWrite();
    const auto view = mirror.Await(newest_, kWait);
    ASSERT_NE(view, nullptr) << InWords(mirror.status().failure);
    EXPECT_EQ(Listed(*view), Fresh());
    Start(round % 2);
  }
  EXPECT_GT(mirror.status().streams, 1);
  EXPECT_EQ(mirror.status().begun_anew, 0);
  EXPECT_GT(hosts_.size(), 5U);
}

TEST_F(MirrorOfPlacementTest, BeginsAnewWhenTheLogHasForgottenTheRevision) {
  while (hosts_.size() < 3) RandomWrite();
  std::vector<std::string> anew;
  MirrorListener listener;
  listener.begins_anew = [&](const Failure& failure) { anew.push_back(failure.reason); };
  {
    Mirror mirror(endpoints_, {}, listener);
    ASSERT_NE(mirror.Await(newest_, kWait), nullptr);
    Kill(0);
    Kill(1);
    const auto old = mirror.view();
    // Another process, to which the mirror is not connected, goes on and forgets.
    const placement::ScratchDirectory scratch;
    const auto hidden = e2e::StartAt(scratch.path(), database_);
    const auto before = std::exchange(
        endpoints_, std::make_shared<Endpoints>(std::vector<std::string>{hidden->address()},
                                                e2e::CredentialsOf()));
    for (int i = 0; i < 20; ++i) RandomWrite();
    EXPECT_EQ(Compare(mirror.view()->revision, old->revision), 0);
    placement::QueryOne(*placement::ConnectOrDie(database_),
                        "DELETE FROM log WHERE revision < (SELECT max(revision) FROM log)");
    endpoints_ = before;
    Start(0);
    const auto view = mirror.Await(newest_, kWait);
    ASSERT_NE(view, nullptr) << InWords(mirror.status().failure);
    EXPECT_EQ(Listed(*view), Fresh());
    EXPECT_EQ(mirror.status().begun_anew, 1);
  }
  EXPECT_EQ(anew, std::vector<std::string>{"REVISION_COMPACTED"});
}

}  // namespace
}  // namespace berth::client
