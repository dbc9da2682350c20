// Random calls against an ordinary map; older copies must stay as they were.
#include "placement/state/persistent_map.h"

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "placement/ground/uuid.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

using Model = absl::btree_map<int, std::string>;
using Map = PersistentMap<int, std::string>;

void ExpectSame(const Map& map, const Model& model) {
  ASSERT_EQ(map.size(), static_cast<int64_t>(model.size()));
  auto expected = model.begin();
  map.ForEach([&](int key, const std::string& value) {
    ASSERT_NE(expected, model.end());
    ASSERT_EQ(key, expected->first);
    ASSERT_EQ(value, expected->second);
    ++expected;
  });
  ASSERT_EQ(expected, model.end());
}

// Runs `steps` random calls on keys below `keys`; `erase_share` of 100 are erasures.
void RunSteps(std::mt19937_64& random, int steps, int keys, int erase_share, Map& map,
              Model& model) {
  for (int step = 0; step < steps; ++step) {
    const int key = static_cast<int>(random() % keys);
    if (static_cast<int>(random() % 100) < erase_share) {
      ASSERT_EQ(map.Erase(key), model.erase(key) == 1);
    } else if (random() % 4 == 0) {
      std::string* value = map.Edit(key);
      ASSERT_EQ(value != nullptr, model.contains(key));
      if (value != nullptr) *value = model[key] = absl::StrCat("edited in step ", step);
    } else {
      map.Put(key, absl::StrCat("a value that is allocated, of step ", step));
      model[key] = absl::StrCat("a value that is allocated, of step ", step);
    }
    const std::string* found = map.Find(key);
    ASSERT_EQ(found != nullptr, model.contains(key));
    if (found != nullptr) {
      ASSERT_EQ(*found, model[key]);
    }
  }
}

TEST(PersistentMap, AgreesWithAnOrdinaryMapAndLeavesCopiesAlone) {
  std::mt19937_64 random(Seed());
  for (const int keys : {10, 300, kSanitized ? 3000 : 20000}) {
    Map map;
    Model model;
    std::vector<std::pair<Map, Model>> older;
    for (const int erase_share : {10, 50, 95, 30, 100, 20}) {
      for (int round = 0; round < 5; ++round) {
        RunSteps(random, keys / 4 + 10, keys, erase_share, map, model);
        if (HasFatalFailure()) return;
        older.emplace_back(map, model);
      }
    }
    for (const auto& [map_then, model_then] : older) ExpectSame(map_then, model_then);
    while (!model.empty()) {
      ASSERT_TRUE(map.Erase(model.begin()->first));
      model.erase(model.begin());
    }
    EXPECT_TRUE(map.empty());
    ExpectSame(map, model);
  }
}

TEST(PersistentMap, TakesRisingAndFallingKeys) {
  for (const int direction : {1, -1}) {
    Map map;
    Model model;
    for (int i = 0; i < 5000; ++i) {
      map.Put(i * direction, absl::StrCat(i));
      model[i * direction] = absl::StrCat(i);
    }
    ExpectSame(map, model);
    for (int i = 0; i < 5000; i += 2) {
      ASSERT_TRUE(map.Erase(i * direction));
      model.erase(i * direction);
    }
    ExpectSame(map, model);
  }
}

TEST(PersistentMap, VisitsFromAKeyAndStopsWhenTold) {
  Map map;
  for (int key = 0; key < 1000; key += 2) map.Put(key, "");
  for (const int after : {-5, 0, 1, 2, 499, 500, 997, 998, 2000}) {
    std::vector<int> expected;
    for (int key = 0; key < 1000; key += 2) {
      if (key > after && expected.size() < 3) expected.push_back(key);
    }
    std::vector<int> seen;
    map.ForEachFrom(after, [&seen](int key, const std::string&) {
      seen.push_back(key);
      return seen.size() < 3;
    });
    EXPECT_EQ(seen, expected) << after;
  }
}

TEST(PersistentMap, FindsStringsByView) {
  PersistentMap<std::string, std::shared_ptr<const int>> map;
  for (int i = 0; i < 100; ++i) map.Put(absl::StrCat("name ", i), std::make_shared<int>(i));
  ASSERT_NE(map.Find(absl::string_view("name 42")), nullptr);
  EXPECT_EQ(**map.Find(absl::string_view("name 42")), 42);
  EXPECT_EQ(map.Find(absl::string_view("name 421")), nullptr);
  EXPECT_TRUE(map.Erase(absl::string_view("name 42")));
  EXPECT_EQ(map.Find("name 42"), nullptr);
}

TEST(PersistentMap, KeepsSetsWithoutValues) {
  PersistentMap<Uuid, std::monostate> set;
  absl::btree_map<Uuid, std::monostate> model;
  for (int i = 0; i < 2000; ++i) {
    const Uuid uuid = Uuid::Random();
    set.Put(uuid, {});
    set.Put(uuid, {});
    model[uuid] = {};
  }
  auto expected = model.begin();
  set.ForEach([&](const Uuid& uuid, std::monostate) { EXPECT_EQ(uuid, (expected++)->first); });
  EXPECT_EQ(set.size(), 2000);
}

// The thread sanitizer watches: readers hold and drop copies while the owner of another changes it.
TEST(PersistentMap, CopiesServeOtherThreads) {
  Map map;
  for (int key = 0; key < 3000; ++key) map.Put(key, absl::StrCat(key));
  for (int round = 0; round < 50; ++round) {
    std::thread reader([copy = map, round]() mutable {
      int64_t seen = 0;
      copy.ForEach([&seen](int, const std::string& value) { seen += value.empty() ? 0 : 1; });
      EXPECT_EQ(seen, 3000);
      EXPECT_NE(copy.Find(round), nullptr);
      copy = Map();
    });
    for (int key = round; key < 3000; key += 7) map.Put(key, absl::StrCat("in round ", round));
    reader.join();
  }
}

}  // namespace
}  // namespace berth::placement
