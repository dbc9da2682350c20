// Records that contradict each other: who gets what, and what a change costs meanwhile.
#include <ctime>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/worlds/seed.h"

namespace berth::tracker {
namespace {

NodeResources EightCpus() {
  NodeResources resources;
  resources.topology = MakeTopology();
  return resources;
}

// An instance with up to two of 8 CPUs, two of 3 devices and one of 2 units. So many of them
// contradict each other.
Instance RandomOwner(const std::string& name, std::mt19937_64* random) {
  const auto below = [random](uint64_t count) { return static_cast<int>((*random)() % count); };
  Instance instance = MakeInstance(name, kHere, MakeFlavor("f", 2, 512, 1));
  if (below(3) > 0) instance.assigned.topology = MakePinned({below(8), below(8)});
  for (int i = below(3); i > 0; --i) {
    instance.assigned.devices.push_back(absl::StrCat("0000:81:0", below(3), ".0"));
  }
  if (below(2) > 0) {
    instance.assigned.units.push_back({"p"_uuid, "PMEM", absl::StrCat("ns", below(2))});
  }
  return instance;
}

// The account must be what taking the parts of the records in the order of the uuids gives.
void ExpectInOrder(const NodeAccount& account, const std::map<Uuid, Instance>& records) {
  Owners owners(account.resources().topology);
  std::vector<AccountFault> faults;
  for (const auto& [uuid, instance] : records) {
    for (const std::string& text : owners.Take(uuid, instance.assigned)) {
      faults.push_back({uuid, text});
    }
  }
  EXPECT_TRUE(account.owners() == owners);    // T-284, T-395
  EXPECT_EQ(account.faults(), faults);        // T-61
  EXPECT_TRUE(account == account.Rebuilt());  // T-394
}

TEST(Conflicts, TheUuidsDecideWhateverComesFirst) {
  const uint64_t seed = placement::Seed();
  const int rounds = kSanitized ? 200 : 5000;
  for (int round = 0; round < rounds; ++round) {
    std::mt19937_64 random(seed + static_cast<uint64_t>(round));
    NodeAccount account(kHere, EightCpus());
    std::map<Uuid, Instance> records;
    for (int step = 0; step < 12; ++step) {
      const Instance instance = RandomOwner(std::string(1, "abcde"[random() % 5]), &random);
      if (random() % 4 == 0) {
        account.DropInstance(instance.uuid);
        records.erase(instance.uuid);
      } else {
        account.PutInstance(instance);
        records.insert_or_assign(instance.uuid, instance);
      }
      if (random() % 2 == 0) ExpectInOrder(account, records);  // else several changes come together
    }
    ExpectInOrder(account, records);
    ASSERT_FALSE(testing::Test::HasFailure()) << "BERTH_SEED=" << seed + round;
  }
}

double SecondsOf(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// Replaces all records, and then changes each of them, where `faults` of them contradict others.
void ReplaceAndChange(std::vector<Instance> records, size_t faults) {
  NodeAccount account(kHere, EightCpus());
  account.ReplaceRecords(records, {});
  EXPECT_EQ(account.faults().size(), faults);  // T-61
  for (Instance& record : records) {
    record.vm_state = "stopped";
    account.PutInstance(record);
  }
  EXPECT_EQ(account.faults().size(), faults);
}

// Counting all records for each record would be four million times, which takes seconds.
TEST(Conflicts, AllRecordsAreCountedOnceHoweverManyContradictEachOther) {
  constexpr int kRecords = 2000;
  std::vector<Instance> apart;
  std::vector<Instance> together;
  for (int i = 0; i < kRecords; ++i) {
    Instance instance = MakeInstance(absl::StrCat("i", i), kHere, MakeFlavor("f", 2, 512, 1));
    instance.assigned.devices = {absl::StrCat("device ", i)};
    apart.push_back(instance);
    instance.assigned.topology = MakePinned({0, 1});
    together.push_back(instance);
  }
  const double clean = SecondsOf([&] { ReplaceAndChange(apart, 0); });
  const double seconds = SecondsOf([&] { ReplaceAndChange(together, kRecords - 1); });
  EXPECT_LT(seconds, 10 * clean + 0.2);  // T-62
}

// Gives each of the records, which are those of `account`, another device.
void ChangeDevices(std::vector<Instance>* records, const std::string& name, size_t devices,
                   NodeAccount* account) {
  for (size_t i = 0; i < records->size(); ++i) {
    (*records)[i].assigned.devices = {absl::StrCat(name, " ", i)};
    account->PutInstance((*records)[i]);
    ASSERT_EQ(account->owners().by_device().size(), devices);
  }
}

TEST(Conflicts, AChangeElsewhereCountsNothingAnew) {
  constexpr size_t kRecords = 4000;
  NodeAccount account(kHere, EightCpus());
  std::vector<Instance> records;
  for (size_t i = 0; i < kRecords; ++i) {
    Instance instance = MakeInstance(absl::StrCat("i", i), kHere, MakeFlavor("f", 2, 512, 1));
    instance.assigned.devices = {absl::StrCat("device ", i)};
    records.push_back(instance);
    account.PutInstance(instance);
  }
  const double clean =
      SecondsOf([&] { ChangeDevices(&records, "another device", kRecords, &account); });
  for (const char* const name : {"x", "y"}) {
    Instance instance = MakeInstance(name, kHere, MakeFlavor("f", 2, 512, 1));
    instance.assigned.devices = {"the device of both"};
    account.PutInstance(instance);
  }
  ASSERT_EQ(account.faults().size(), 1u);
  const double seconds =
      SecondsOf([&] { ChangeDevices(&records, "a third device", kRecords + 1, &account); });
  EXPECT_LT(seconds, 10 * clean + 0.2);  // T-62
  EXPECT_EQ(account.faults().size(), 1u);
  EXPECT_TRUE(account == account.Rebuilt());  // T-394
}

}  // namespace
}  // namespace berth::tracker
