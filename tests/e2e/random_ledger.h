// RandomLedger: a random ledger as an export may hold it, with entities that are lawful only
// because they were lawful when they were written.
#ifndef BERTH_TESTS_E2E_RANDOM_LEDGER_H_
#define BERTH_TESTS_E2E_RANDOM_LEDGER_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "berth/placement/v1/entity.pb.h"

namespace berth::e2e {

class RandomLedger {
 public:
  explicit RandomLedger(uint64_t seed) : random_(seed) {}

  // In the order of an export: 3 classes, 5 traits, the given number of providers, at most the
  // given number of consumers, 4 each of services, nodes, aggregates, instances and migrations.
  // REQUIRES: 4 providers or more.
  std::vector<placement::v1::Entity> Make(int providers, int consumers);

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  placement::v1::Entity* New() { return &entities_.emplace_back(); }
  std::string Class();
  const placement::v1::Provider& SomeProvider();
  void AddProvider(int number);
  void AddConsumer();
  void AddServices();
  void AddNodes();
  void AddAggregates();
  void AddInstances();

  std::mt19937_64 random_;
  std::vector<placement::v1::Entity> entities_;
  std::vector<placement::v1::Provider> providers_;
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_E2E_RANDOM_LEDGER_H_
