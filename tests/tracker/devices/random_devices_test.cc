// Random lives of random devices: pools, tests and claims are those of a naive search, the table is
// the one that facts and owners give, and no device ever has two owners. BERTH_SEED repeats a run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>

#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/devices/device_fixture.h"
#include "tests/tracker/devices/naive_devices.h"
#include "tests/worlds/seed.h"

namespace berth::tracker {
namespace {

using naive::Texts;

constexpr int kLives = kSanitized ? 400 : 20000;
constexpr int kSteps = 8;

PciDevice ProductOf(const naive::Device& device) {
  PciDevice made;
  made.address = device.address;
  made.vendor_id = device.vendor;
  made.product_id = device.product;
  made.dev_type = device.type;
  if (device.node >= 0) made.numa_node = device.node;
  if (!device.parent.empty()) made.parent_address = device.parent;
  return made;
}

std::string OptionOf(const naive::Spec& spec) {
  std::string text = "{";
  const auto add = [&](const std::string& key, const std::string& value) {
    if (value.empty()) return;
    absl::StrAppend(&text, text.size() > 1 ? ", " : "", "\"", key, "\": \"", value, "\"");
  };
  add("vendor_id", spec.vendor);
  add("product_id", spec.product);
  add("address", spec.address);
  for (const auto& [tag, value] : spec.tags) add(tag, value);
  return text + "}";
}

DeviceRequest ProductOf(const naive::Request& request) {
  DeviceRequest made;
  made.count = request.count;
  made.numa_policy = ParseDeviceNumaPolicy(request.policy).value();
  for (const Texts& wanted : request.wanted) {
    made.alternatives.emplace_back(wanted.begin(), wanted.end());
  }
  return made;
}

class RandomLife {
 public:
  explicit RandomLife(uint64_t seed) : random_(seed) {
    MakeDevices();
    MakeSpecs();
    for (int cell = 0; cell < 4; ++cell) {
      world_.sockets[cell] = cell / 2;
      affinity_.sockets[cell] = cell / 2;
    }
    std::vector<std::string> options;
    for (const naive::Spec& spec : world_.specs) options.push_back(OptionOf(spec));
    table_ = DeviceTable(SpecsOf(options));
    Sync();
  }

  void Step() {
    switch (Pick(9)) {
      case 0:
        return Plug();
      case 1:
        return Change();
      case 2: {
        const Uuid instance = Instance(true);
        table_ = Allocated(table_, Listed(), instance);
        for (auto& [address, owner] : world_.owners) owner.allocated |= owner.instance == instance_;
        return;
      }
      case 3: {
        const Uuid instance = Instance(true);
        table_ = Freed(table_, Listed(), instance);
        return FreeOf([&](const naive::Owner& owner) { return owner.instance == instance_; });
      }
      case 4: {
        const std::set<Uuid> live = {Instance(true), "i1"_uuid};
        std::vector<DeviceRecord> owned = OwnedIn(table_);
        std::erase_if(owned, [&](const auto& one) { return live.count(one.instance_uuid) == 0; });
        table_ = DeviceTable::Rebuild(table_.specs(), Listed(), owned);
        return FreeOf(
            [&](const naive::Owner& o) { return o.instance != instance_ && o.instance != "i1"; });
      }
      default:
        return Claim();
    }
  }

  void Check() {
    std::map<std::pair<Texts, int>, int64_t> wanted, given;
    for (const auto& [address, device] : world_.tracked) {
      if (world_.IsFree(address)) ++wanted[{world_.PropertiesOf(device), device.node}];
    }
    for (const DevicePool& pool : table_.Pools()) {
      Texts texts;
      for (const auto& [key, value] : pool.key.properties)
        texts[key] = std::get<std::string>(value);
      given[{texts, pool.key.numa_node.value_or(-1)}] = pool.count;
    }
    EXPECT_EQ(given, wanted);  // T-242, T-396: exactly the available devices, without empty pools
    EXPECT_EQ(table_.Records().size(), world_.tracked.size());
    for (const DeviceRecord& record : table_.Records()) CheckRecord(record);
  }

  // The table is the one that facts and owners give.
  void CheckRebuilt() {
    const DeviceTable rebuilt = DeviceTable::Rebuild(table_.specs(), Listed(), OwnedIn(table_));
    const std::vector<DeviceRecord> now = table_.Records(), again = rebuilt.Records();
    ASSERT_EQ(now.size(), again.size());
    for (size_t i = 0; i < now.size(); ++i) {
      EXPECT_EQ(now[i].device, again[i].device);
      EXPECT_EQ(now[i].instance_uuid, again[i].instance_uuid);
      EXPECT_EQ(now[i].status, again[i].status) << now[i].device.address;
    }
    EXPECT_EQ(DevicePoolsJson(table_.Pools()), DevicePoolsJson(rebuilt.Pools()));
  }

 private:
  int Pick(int below) { return static_cast<int>(random_() % below); }
  Uuid Instance(bool known) {
    instance_ = absl::StrCat("i", Pick(known ? 4 : 5));
    return ShortUuid(instance_);
  }

  void AddDevice(const std::string& address, const std::string& type, const std::string& product,
                 const std::string& parent, int node) {
    all_[address] = {address, "8086", product, type, parent, node};
    families_[parent.empty() ? address : parent].push_back(address);
  }

  void MakeDevices() {
    const int cards = 1 + Pick(3);
    for (int card = 0; card < cards; ++card) {
      const std::string physical = absl::StrCat("0000:3", card, ":00.0");
      const int node = Pick(5) - 1;
      AddDevice(physical, "type-PF", Pick(3) == 0 ? "154c" : "1583", "", node);
      const int functions = Pick(5);
      for (int i = 0; i < functions; ++i) {
        AddDevice(absl::StrCat("0000:3", card, ":02.", i), Pick(6) == 0 ? "vdpa" : "type-VF",
                  "154c", physical, node);
      }
    }
    const int plain = Pick(4);
    for (int i = 0; i < plain; ++i) {
      AddDevice(absl::StrCat("0000:0", i, ":00.0"), "type-PCI", Pick(2) == 0 ? "0443" : "0444", "",
                Pick(5) - 1);
    }
    world_.listed = all_;
  }

  void MakeSpecs() {
    const int specs = 1 + Pick(3);
    for (int i = 0; i < specs; ++i) {
      naive::Spec spec;
      if (Pick(2) == 0) spec.vendor = "8086";
      if (Pick(2) == 0) spec.product = std::vector<std::string>{"154c", "1583", "0443"}[Pick(3)];
      if (Pick(4) == 0) spec.address = absl::StrCat("0000:3", Pick(3), ":00.0");
      if (Pick(3) == 0) spec.tags["physical_network"] = Pick(2) == 0 ? "Net0" : "net1";
      if (Pick(4) == 0) spec.tags["tier"] = "a";
      world_.specs.push_back(spec);
    }
    if (Pick(2) == 0) world_.specs.push_back({"8086", "", "", {}});
  }

  naive::Request MakeRequest() {
    naive::Request request;
    request.count = 1 + Pick(3);
    request.policy = std::vector<std::string>{"required", "preferred", "legacy", "socket"}[Pick(4)];
    const int alternatives = 1 + Pick(2);
    for (int i = 0; i < alternatives; ++i) {
      Texts& wanted = request.wanted.emplace_back();
      if (Pick(2) == 0) wanted["vendor_id"] = "8086";
      if (Pick(3) == 0) wanted["product_id"] = Pick(2) == 0 ? "154c" : "0443";
      if (Pick(2) == 0) {
        wanted["dev_type"] =
            std::vector<std::string>{"type-PF", "type-VF", "type-PCI", "vdpa"}[Pick(4)];
      }
      if (Pick(4) == 0) wanted["physical_network"] = Pick(2) == 0 ? "net0" : "NET1";
    }
    return request;
  }

  std::vector<PciDevice> Listed() const {
    std::vector<PciDevice> listed;
    for (const auto& [address, device] : world_.listed) listed.push_back(ProductOf(device));
    return listed;
  }

  void Sync() {
    table_.Sync(Listed());
    world_.Sync();
  }

  // A card, or another device, leaves or comes back. A card comes back only if none of it is kept:
  // otherwise a device would be new while a relative is taken.
  void Plug() {
    auto family = families_.begin();
    std::advance(family, Pick(static_cast<int>(families_.size())));
    const std::vector<std::string>& members = family->second;
    if (world_.listed.count(members[0]) != 0) {
      for (const std::string& address : members) world_.listed.erase(address);
    } else if (std::none_of(members.begin(), members.end(), [&](const std::string& address) {
                 return world_.tracked.count(address) != 0;
               })) {
      for (const std::string& address : members) world_.listed[address] = all_[address];
    }
    Sync();
  }

  void Change() {
    for (auto& [address, device] : world_.listed) {
      if (Pick(4) == 0) device.node = all_[address].node = Pick(5) - 1;
    }
    Sync();
  }

  template <typename Condition>
  void FreeOf(Condition condition) {
    std::vector<std::string> freed;
    for (const auto& [address, owner] : world_.owners) {
      if (condition(owner)) freed.push_back(address);
    }
    for (const std::string& address : freed) world_.Free(address);
  }

  void Claim() {
    std::vector<naive::Request> requests;
    std::vector<DeviceRequest> asked;
    const int count = 1 + Pick(2);
    for (int i = 0; i < count; ++i)
      asked.push_back(ProductOf(requests.emplace_back(MakeRequest())));
    affinity_.cells.clear();
    for (int cell = 0; cell < 4; ++cell) {
      if (Pick(3) == 0) affinity_.cells.insert(cell);
    }
    EXPECT_EQ(SupportsRequests(table_.Pools(), asked, affinity_),
              world_.Choose(requests, affinity_.cells, false).has_value());  // T-246, T-248
    const auto wanted = world_.Choose(requests, affinity_.cells, true);
    const auto claimed = table_.Claim(Instance(false), asked, affinity_);
    ASSERT_EQ(claimed.ok(), wanted.has_value()) << claimed.status();  // T-249
    if (!claimed.ok()) return;
    ASSERT_EQ(claimed->size(), wanted->size());
    for (size_t i = 0; i < wanted->size(); ++i) {
      EXPECT_EQ((*claimed)[i].address, (*wanted)[i]);  // T-249
      EXPECT_TRUE(
          world_.owners.emplace((*claimed)[i].address, naive::Owner{instance_, false}).second)
          << "two owners";  // T-395
    }
  }

  void CheckRecord(const DeviceRecord& record) {
    const std::string& address = record.device.address;
    ASSERT_EQ(world_.tracked.count(address), 1u) << address;
    EXPECT_EQ(record.device, ProductOf(world_.tracked.at(address)));  // T-239
    const auto owner = world_.owners.find(address);
    if (owner != world_.owners.end()) {
      EXPECT_EQ(StatusIn(table_, address),
                absl::StrCat(owner->second.allocated ? "allocated " : "claimed ",
                             owner->second.instance));
    } else {
      EXPECT_EQ(record.instance_uuid, ""_uuid);
      EXPECT_EQ(record.status == DeviceStatus::kAvailable, world_.IsFree(address)) << address;
    }
  }

  std::mt19937_64 random_;
  naive::World world_;
  std::map<std::string, naive::Device> all_;
  std::map<std::string, std::vector<std::string>> families_;  // a PF with its VFs; a plain device
  GuestAffinity affinity_;
  DeviceTable table_;
  std::string instance_;
};

TEST(RandomDevices, PoolsAndClaimsAreThoseOfANaiveSearch) {
  const char* const given = std::getenv("BERTH_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("BERTH_SEED=%llu\n", static_cast<unsigned long long>(seed));
  for (uint64_t life = 0; life < kLives; ++life) {
    RandomLife random(seed + life);
    for (int step = 0; step < kSteps; ++step) {
      random.Step();
      random.Check();
      if (step % 4 == 3) random.CheckRebuilt();
      ASSERT_FALSE(testing::Test::HasFailure()) << "life " << life << " step " << step;
    }
  }
}

}  // namespace
}  // namespace berth::tracker
