// A snapshot of a large fleet: every message can be sent, and together they are the state.
#include "services/watch/snapshot.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace berth::services {
namespace {

using placement::ProviderId;
using placement::Uuid;

constexpr int kMembers = 5000;
constexpr int kNodes = 300;
constexpr int kNames = 3000;
constexpr size_t kFactsBytes = 64 << 10;

placement::StatePtr LargeState() {
  auto state = std::make_shared<placement::State>();
  placement::Changes changes;
  for (uint32_t i = 1; i <= kNames; ++i) {
    const std::string name = absl::StrCat("CUSTOM_", std::string(200, 'N'), i);
    changes.push_back(placement::ClassPut{placement::ClassId{i}, name});
  }
  for (uint64_t i = 1; i <= kMembers; ++i) {
    auto config = std::make_shared<placement::ProviderConfig>();
    config->id = ProviderId{Uuid{1, i}};
    config->name = absl::StrCat("member", i);
    if (i > 1) config->parent = ProviderId{Uuid{1, 1}};
    changes.push_back(placement::ProviderPut{std::move(config)});
  }
  placement::Changes fleet;  // it comes after the providers
  const auto facts = std::make_shared<const std::string>(kFactsBytes, 'f');
  for (uint64_t i = 1; i <= kNodes; ++i) {
    auto service = std::make_shared<placement::ServiceRecord>();
    service->host = absl::StrCat("host", i);
    service->binary = "berth-tracker";
    service->id = Uuid{3, i};
    service->disabled_reason = std::string(250, 'r');
    fleet.push_back(placement::ServicePut{std::move(service)});
    auto config = std::make_shared<placement::ProviderConfig>();
    config->id = ProviderId{Uuid{2, i}};
    config->name = absl::StrCat("node", i);
    changes.push_back(placement::ProviderPut{std::move(config)});
    auto node = std::make_shared<placement::NodeRecord>();
    node->id = ProviderId{Uuid{2, i}};
    node->name = absl::StrCat("node", i);
    node->host = absl::StrCat("host", i);
    node->facts = facts;
    fleet.push_back(placement::NodePut{std::move(node)});
  }
  state->Apply(changes);
  state->Apply(fleet);
  return state;
}

TEST(WatchSnapshot, OfALargeFleetComesInPieces) {
  WatchSnapshot snapshot(LargeState(), WatchFilter());
  std::set<std::string> names, providers, used, services, nodes;
  bool complete = false;
  while (!snapshot.done()) {
    EXPECT_FALSE(complete);
    const WatchMessage message = snapshot.Next();
    // And one more, which is a node at the most.
    EXPECT_LE(message->size(), kWatchMessageBytesMax + kFactsBytes + 1000);
    pb::WatchResponse response;
    ASSERT_TRUE(response.ParseFromString(*message));
    complete = response.complete();
    for (const pb::Change& change : response.changes()) {
      const pb::Entity& entity = change.present();
      bool is_new = false;  // each once
      if (entity.has_resource_class()) is_new = names.insert(entity.resource_class().name()).second;
      if (entity.has_provider()) is_new = providers.insert(entity.provider().uuid()).second;
      if (entity.has_provider_usage()) {
        is_new = used.insert(entity.provider_usage().provider_uuid()).second;
      }
      if (entity.has_service()) is_new = services.insert(entity.service().uuid()).second;
      if (entity.has_node()) is_new = nodes.insert(entity.node().uuid()).second;
      EXPECT_TRUE(is_new) << entity.ShortDebugString().substr(0, 200);
    }
  }
  EXPECT_TRUE(complete);
  EXPECT_EQ(names.size(), size_t{kNames});
  EXPECT_EQ(providers.size(), size_t{kMembers + kNodes});
  EXPECT_EQ(used.size(), size_t{kMembers + kNodes});
  EXPECT_EQ(services.size(), size_t{kNodes});
  EXPECT_EQ(nodes.size(), size_t{kNodes});
}

}  // namespace
}  // namespace berth::services
