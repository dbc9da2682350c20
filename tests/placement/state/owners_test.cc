// The index of owners against all records, after random commands.
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "placement/state/state.h"
#include "tests/worlds/random_commands.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

// A host, the name of a part, and an instance that may have the part there.
using PartOwner = std::tuple<std::string, std::string, InstanceId>;

// The part with whose owners those of `name` are told: eight CPUs are one.
std::string PlaceIn(const std::string& name) {
  const std::vector<std::string> cpu = absl::StrSplit(name, '/');
  if (name[0] != 'c' || cpu.size() != 2) return name;
  return absl::StrCat(cpu[0], " ", std::stoi(cpu[1]) / 8);
}

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
    const HeldParts::Context context = held.context ? *held.context : HeldParts::Context();
    for (const std::string& host : hosts) {
      if (host.empty()) continue;
      for (const PartNames* names : {&held.own, &context.before, &context.after}) {
        for (const auto name : names->List()) owners.emplace(host, name, id);
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
    std::set<PartOwner> told, wanted;
    for (const auto& [host, name, id] : now) wanted.emplace(host, PlaceIn(name), id);
    for (const auto& [host, name, unused] : known) {
      state.records().ForEachOwner(host, name, [&, host = host, name = name](InstanceId id) {
        told.emplace(host, PlaceIn(name), id);
      });
    }
    ASSERT_EQ(told, wanted) << "after " << i << " commands, seed " << seed;
  }
  EXPECT_GT(most, 5u);
}

}  // namespace
}  // namespace berth::placement
