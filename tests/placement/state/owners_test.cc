// The index of owners against all records, after random commands.
#include <set>
#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "placement/state/state.h"
#include "tests/worlds/random_commands.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

// A host, the name of a part, and an instance that may have the part there.
using PartOwner = std::tuple<std::string, std::string, InstanceId>;

// What each record names, on the hosts of the record and of its moves that may hold resources.
std::set<PartOwner> OwnersIn(const Records& records) {
  std::set<PartOwner> owners;
  records.instances().ForEach([&](InstanceId id, const InstancePtr& instance) {
    if (IsRemovable(*instance)) return true;
    std::set<std::string> hosts = {instance->host};
    for (const MigrationPtr& move : records.MovesOf(id)) {
      hosts.insert(move->source_host);
      hosts.insert(move->destination_host);
    }
    const HeldParts& held = HeldOf(*instance);
    const HeldParts::Context context = held.context.value_or(HeldParts::Context());
    for (const std::string& host : hosts) {
      if (host.empty()) continue;
      for (const HeldParts::Names* names : {&held.own, &context.before, &context.after}) {
        for (const std::string& name : *names) owners.emplace(host, name, id);
      }
    }
    return true;
  });
  return owners;
}

TEST(RecordsOwners, TheIndexSaysWhatTheRecordsSay) {
  const uint64_t seed = Seed();
  RandomCommands commands(seed, 30, 40);
  State state;
  std::set<PartOwner> known;  // every owner that there was
  size_t most = 0;
  for (int i = 0; i < 3000; ++i) {
    state.Apply(commands.Next());
    const std::set<PartOwner> now = OwnersIn(state.records());
    most = std::max(most, now.size());
    known.insert(now.begin(), now.end());
    if (i % 10 != 0) continue;
    std::set<PartOwner> told;
    for (const auto& [host, name, unused] : known) {
      state.records().ForEachOwner(host, name, [&, host = host, name = name](InstanceId id) {
        told.emplace(host, name, id);
      });
    }
    ASSERT_EQ(told, now) << "after " << i << " commands, seed " << seed;
  }
  EXPECT_GT(most, 5u);
}

}  // namespace
}  // namespace berth::placement
