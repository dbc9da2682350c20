// What a tracker was told bit by bit is what it would be told at once.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/log/codec.h"
#include "services/report/push_news.h"
#include "services/report/push_slice.h"
#include "tests/worlds/random_commands.h"
#include "tests/worlds/seed.h"

namespace berth::services {
namespace {

using placement::Changes;
using placement::FeedBatchPtr;
using placement::NodePut;
using placement::NodeRecord;
using placement::NodeRecordPtr;
using placement::NodeRemoved;
using placement::ProviderId;
using placement::State;

using TextByUuid = std::map<std::string, std::string>;

// What a tracker knows of one node: of each thing, what a push must bring up to date.
struct PushMirror {
  TextByUuid providers, consumers, instances, migrations;

  void Apply(const pb::Push& push) {
    if (push.complete()) *this = {};
    for (const auto& uuid : push.removed_provider_uuids()) providers.erase(uuid);
    for (const auto& uuid : push.removed_consumer_uuids()) consumers.erase(uuid);
    for (const auto& uuid : push.removed_instance_uuids()) instances.erase(uuid);
    for (const auto& uuid : push.removed_migration_uuids()) migrations.erase(uuid);
    for (const pb::Provider& one : push.providers()) {
      providers[one.uuid()] =
          absl::StrCat(one.name(), " at ", one.generation(), " below ", one.parent_uuid());
    }
    for (const pb::Consumer& one : push.consumers()) {
      std::string& text = consumers[one.uuid()] = absl::StrCat("at ", one.generation());
      for (const pb::ProviderAllocation& held : one.allocations()) {
        absl::StrAppend(&text, " ", held.provider_uuid());
        std::map<std::string, int64_t> amounts;
        for (const auto& [name, amount] : held.resources()) amounts[name] = amount;
        for (const auto& [name, amount] : amounts) absl::StrAppend(&text, " ", name, ":", amount);
      }
    }
    // The source of an evacuation that is over is not told of each change of the instance.
    for (const pb::Instance& one : push.instances()) instances[one.uuid()] = "is there";
    for (const pb::Migration& one : push.migrations()) {
      migrations[one.uuid()] = absl::StrCat("at ", one.generation());
    }
  }

  // What `name` is about differs; empty: nothing does.
  static std::string Difference(const char* name, const TextByUuid& a, const TextByUuid& b) {
    std::string text;
    for (const auto* from : {&a, &b}) {
      for (const auto& [uuid, value] : *from) {
        const TextByUuid& other = from == &a ? b : a;
        const auto found = other.find(uuid);
        if (found != other.end() && found->second == value) continue;
        absl::StrAppend(&text, from == &a ? "told " : "is ", name, " ", uuid, " ", value, "\n");
      }
    }
    return text;
  }
  std::string DifferencesFrom(const PushMirror& other) const {
    return absl::StrCat(Difference("provider", providers, other.providers),
                        Difference("consumer", consumers, other.consumers),
                        Difference("instance", instances, other.instances),
                        Difference("migration", migrations, other.migrations));
  }
};

// A tracker that knows one node of its host.
struct Listener {
  std::string host;
  ProviderId node;
  PushMirror mirror;
};

void Tell(const State& state, PushScope scope, Listener* listener) {
  if (scope.empty()) return;
  if (scope.complete) NameAll(state, listener->host, listener->node, &scope);
  pb::Push push;
  FillSlice(state, listener->host, listener->node, &scope, &push);
  EXPECT_FALSE(push.more());
  listener->mirror.Apply(push);
}

PushMirror Whole(const State& state, const Listener& listener) {
  Listener fresh{listener.host, listener.node, {}};
  PushScope all;
  all.complete = true;
  Tell(state, std::move(all), &fresh);
  return fresh.mirror;
}

// Random commands over trees in which some providers become nodes, anywhere, and cease to be.
class PushMirrorTest : public ::testing::Test {
 protected:
  int Below(int bound) { return static_cast<int>(random_() % bound); }
  std::string Host() { return absl::StrCat("host ", Below(4)); }

  Changes Next() {
    if (Below(6) == 0) return ChangeNode();
    Changes changes = commands_.Next();
    Changes gone;
    for (const placement::Change& change : changes) {
      const auto* removed = std::get_if<placement::ProviderRemoved>(&change);
      if (removed != nullptr && state_.nodes().Find(removed->id) != nullptr) {
        gone.push_back(NodeRemoved{removed->id});
      }
    }
    changes.insert(changes.end(), gone.begin(), gone.end());
    return changes;
  }
  Changes ChangeNode() {
    const auto& providers = commands_.model().providers;
    if (providers.empty()) return {};
    auto record = std::make_shared<NodeRecord>();
    record->id = std::next(providers.begin(), Below(static_cast<int>(providers.size())))->first;
    record->host = Host();
    const NodeRecordPtr* there = state_.nodes().Find(record->id);
    if (there != nullptr && Below(2) == 0) return {NodeRemoved{record->id}};
    if (there != nullptr && Below(2) == 0) record->host = (*there)->host;
    return {NodePut{std::move(record)}};
  }

  // Applies the changes, and returns the command as another process reads it in the log.
  FeedBatchPtr Commit(const Changes& given) {
    const auto changes = std::make_shared<const Changes>(given);
    placement::ScopeMaker maker(state_, *changes);
    state_.Apply(*changes);
    auto scope = std::make_shared<const placement::Scope>(std::move(maker).Finish(state_));
    const auto logged =
        placement::DecodeBatch(placement::EncodeBatch({{"somebody", "", changes, "", scope}}));
    EXPECT_TRUE(logged.ok()) << logged.status();
    return placement::FeedBatchOf(state_.position(), *logged);
  }

  // Forgets those whose node is gone or on another host, and adds one now and then.
  void ChangeListeners() {
    std::erase_if(listeners_, [this](const Listener& listener) {
      const NodeRecordPtr* record = state_.nodes().Find(listener.node);
      return record == nullptr || (*record)->host != listener.host ||
             !state_.FindProvider(listener.node);
    });
    if (listeners_.size() >= 12 || Below(5) != 0) return;
    std::vector<NodeRecordPtr> nodes;
    state_.nodes().ForEach([&](const auto&, const NodeRecordPtr& node) {
      if (state_.FindProvider(node->id)) nodes.push_back(node);
    });
    if (nodes.empty()) return;
    const NodeRecordPtr& node = nodes[Below(static_cast<int>(nodes.size()))];
    Listener listener{node->host, node->id, {}};
    listener.mirror = Whole(state_, listener);
    listeners_.push_back(std::move(listener));
  }

  const uint64_t seed_ = placement::Seed();
  std::mt19937_64 random_{seed_};
  placement::RandomCommands commands_{seed_, 30, 40};
  State state_;
  std::vector<Listener> listeners_;
};

TEST_F(PushMirrorTest, WhatWasToldInPartsIsWhatIsToldAtOnce) {  // T-228
  int64_t told = 0;
  for (int round = 0; round < (kSanitized ? 400 : 2000); ++round) {
    const FeedBatchPtr batch = Commit(Next());
    ChangeListeners();
    for (Listener& listener : listeners_) {
      PushScopes scopes;
      scopes.try_emplace(listener.node);
      told += AddNews(batch->commands[0], listener.host, false, &scopes);
      Tell(state_, std::move(scopes[listener.node]), &listener);
      ASSERT_EQ(listener.mirror.DifferencesFrom(Whole(state_, listener)), "")
          << "round " << round << ", node " << listener.node.ToString() << " of " << listener.host;
    }
  }
  EXPECT_GT(told, 100);
}

}  // namespace
}  // namespace berth::services
