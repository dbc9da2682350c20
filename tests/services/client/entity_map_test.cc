// EntityMap against std::map, with copies that are kept while the original changes.
#include "services/client/cpp/entity_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/worlds/seed.h"

namespace berth::client {
namespace {

using placement::v1::Provider;
using Model = std::map<std::string, std::string>;

std::shared_ptr<const Provider> Named(const std::string& uuid, const std::string& name) {
  Provider provider;
  provider.set_uuid(uuid);
  provider.set_name(name);
  return std::make_shared<const Provider>(std::move(provider));
}

Model Listed(const EntityMap<Provider>& map) {
  Model model;
  map.ForEach([&](const std::shared_ptr<const Provider>& provider) {
    EXPECT_TRUE(model.emplace(provider->uuid(), provider->name()).second);
    EXPECT_EQ(map.Find(provider->uuid()), provider);
  });
  EXPECT_EQ(map.size(), model.size());
  return model;
}

TEST(EntityMapTest, CopiesStayAsTheyWereWhileTheOriginalChanges) {
  std::mt19937_64 random(placement::Seed());
  EntityMap<Provider> map;
  Model model;
  uint64_t edition = 1;
  std::vector<std::pair<EntityMap<Provider>, Model>> copies;
  for (int step = 0; step < 20'000; ++step) {
    const std::string key = std::to_string(random() % 3000);
    if (random() % 3 == 0) {
      EXPECT_EQ(map.Erase(key, edition), model.erase(key) > 0);
    } else {
      const std::string name = std::to_string(step);
      map.Put(Named(key, name), edition);
      model[key] = name;
    }
    if (step % 1000 == 0) {
      copies.emplace_back(map, model);
      ++edition;
    }
  }
  copies.emplace_back(map, model);
  for (const auto& [copy, expected] : copies) EXPECT_EQ(Listed(copy), expected);
  EXPECT_EQ(map.Find("nobody"), nullptr);
}

}  // namespace
}  // namespace berth::client
