// What placement's reads answer, over real sockets: the catalog, providers, inventories,
// allocations and usages.
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_join.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/catalog.pb.h"
#include "berth/placement/v1/usage.pb.h"
#include "tests/e2e/calls.h"

namespace berth::e2e {
namespace {

constexpr char kBadUuid[] = "{0a1b2c3d-0000-4000-8000-00000000000f}";

class Reads : public CallsTest {
 protected:
  // Code and reason of a call, "OK" where it is answered.
  template <typename Response>
  static std::string Word(const std::string& method, const Message& request) {
    Response response;
    const grpc::Status status = Invoke(method, request, &response);
    if (status.ok()) return "OK";
    return absl::StrCat(status.error_code() == grpc::StatusCode::NOT_FOUND ? "NOT_FOUND "
                        : status.error_code() == grpc::StatusCode::INVALID_ARGUMENT
                            ? "INVALID_ARGUMENT "
                            : "another code ",
                        ReasonOf(status));
  }

  static void Claim(pb::SetAllocationsRequest* claim) {
    pb::SetAllocationsResponse claimed;
    Do("AllocationService/SetAllocations", *claim, &claimed);
    for (pb::ConsumerAllocations& consumer : *claim->mutable_consumers()) {
      consumer.set_generation(claimed.consumer_generations().at(consumer.consumer_uuid()));
    }
  }

  static pb::GetAllocationsResponse Allocations(const std::string& consumer) {
    pb::GetAllocationsRequest get;
    get.set_consumer_uuid(consumer);
    pb::GetAllocationsResponse got;
    Do("AllocationService/GetAllocations", get, &got);
    return got;
  }

  static pb::ListProviderAllocationsResponse Holders(const std::string& host, int page_size = 0,
                                                     const std::string& token = "") {
    pb::ListProviderAllocationsRequest list;
    list.set_provider_uuid(host);
    list.set_page_size(page_size);
    list.set_page_token(token);
    pb::ListProviderAllocationsResponse held;
    Do("AllocationService/ListProviderAllocations", list, &held);
    return held;
  }
};

TEST_F(Reads, Classes) {
  const auto get = [](const std::string& name) {
    pb::GetClassRequest request;
    request.set_name(name);
    return Word<pb::GetClassResponse>("CatalogService/GetClass", request);
  };
  EXPECT_EQ(get("VCPU"), "OK");
  EXPECT_EQ(get("CUSTOM_NEVER_MADE"), "NOT_FOUND RESOURCE_CLASS_NOT_FOUND");  // P-36
  for (const char* name : {"CUSTOM_ZZ", "CUSTOM_AA"}) {
    pb::CreateClassRequest create;
    create.set_name(name);
    pb::CreateClassResponse created;
    Do("CatalogService/CreateClass", create, &created);
  }
  pb::ListClassesResponse listed;
  Do("CatalogService/ListClasses", pb::ListClassesRequest(), &listed);
  std::vector<std::string> names;
  for (const auto& each : listed.resource_classes()) names.push_back(each.name());
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));  // P-36
  for (const char* name : {"CUSTOM_AA", "CUSTOM_ZZ", "MEMORY_MB", "VCPU"}) {
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), name)) << name;  // P-36: both kinds
  }
}

TEST_F(Reads, Traits) {
  for (const char* name : {"CUSTOM_READ_A", "CUSTOM_READ_B", "CUSTOM_READXB"}) {
    pb::EnsureTraitRequest ensure;
    ensure.set_name(name);
    pb::EnsureTraitResponse ensured;
    Do("CatalogService/EnsureTrait", ensure, &ensured);
  }
  const auto [host, generation] = NewHost();
  pb::SetProviderTraitsRequest set;
  set.set_provider_uuid(host);
  set.set_expected_generation(generation);
  set.add_traits("CUSTOM_READ_A");
  pb::SetProviderTraitsResponse done;
  Do("AssociationService/SetProviderTraits", set, &done);
  const auto get = [](const std::string& name) {
    pb::GetTraitRequest request;
    request.set_name(name);
    return Word<pb::GetTraitResponse>("CatalogService/GetTrait", request);
  };
  EXPECT_EQ(get("CUSTOM_READ_A"), "OK");                       // P-43
  EXPECT_EQ(get("HW_CPU_X86_AVX"), "OK");                      // P-43: standard ones too
  EXPECT_EQ(get("CUSTOM_READ"), "NOT_FOUND TRAIT_NOT_FOUND");  // P-43
  const auto list = [](std::vector<std::string> names, const char* prefix,
                       std::optional<bool> associated) {
    pb::ListTraitsRequest request;
    for (const std::string& name : names) request.add_names(name);
    request.set_prefix(prefix);
    if (associated) request.set_associated(*associated);
    pb::ListTraitsResponse listed;
    Do("CatalogService/ListTraits", request, &listed);
    return absl::StrJoin(listed.traits(), " ", [](std::string* out, const pb::Trait& trait) {
      absl::StrAppend(out, trait.name());
    });
  };
  EXPECT_EQ(list({}, "CUSTOM_READ_", {}), "CUSTOM_READ_A CUSTOM_READ_B");  // P-45, D-15: literal
  EXPECT_EQ(list({}, "CUSTOM%", {}), "");                                  // P-45, D-15
  EXPECT_EQ(list({"CUSTOM_READXB", "CUSTOM_NONE"}, "", {}), "CUSTOM_READXB");  // P-45
  EXPECT_EQ(list({"CUSTOM_NONE"}, "", {}), "");                                // P-45
  EXPECT_EQ(list({}, "CUSTOM_READ", true), "CUSTOM_READ_A");                   // P-45
  EXPECT_EQ(list({}, "CUSTOM_READ", false), "CUSTOM_READXB CUSTOM_READ_B");    // P-45
  EXPECT_EQ(list({"CUSTOM_READ_A", "CUSTOM_READXB"}, "CUSTOM_READ_", true),
            "CUSTOM_READ_A");                         // P-45: ANDed
  EXPECT_EQ(list({"CUSTOM_READ_A"}, "", false), "");  // P-45
}

TEST_F(Reads, WhatIsNotThereAndWhatIsNoUuid) {
  struct Case {
    const char* method;
    std::function<std::string(const std::string&)> word;
  };
  const auto of = [](const char* method, auto request, auto response) {
    return Case{method, [=](const std::string& uuid) mutable {
                  request.set_provider_uuid(uuid);
                  return Word<decltype(response)>(method, request);
                }};
  };
  pb::GetInventoryRequest of_class;
  of_class.set_resource_class("VCPU");
  const Case cases[] = {
      of("ProviderService/GetProvider", pb::GetProviderRequest(), pb::GetProviderResponse()),
      of("InventoryService/GetInventories", pb::GetInventoriesRequest(),
         pb::GetInventoriesResponse()),
      of("InventoryService/GetInventory", of_class, pb::GetInventoryResponse()),
      of("AllocationService/ListProviderAllocations", pb::ListProviderAllocationsRequest(),
         pb::ListProviderAllocationsResponse()),
      of("UsageService/GetProviderUsages", pb::GetProviderUsagesRequest(),
         pb::GetProviderUsagesResponse()),
  };
  const std::string host = NewHost().first;
  for (const Case& each : cases) {
    EXPECT_EQ(each.word(host), "OK") << each.method;
    EXPECT_EQ(each.word(Random()), "NOT_FOUND PROVIDER_NOT_FOUND")
        << each.method;  // P-65, P-81, P-155, P-157
    EXPECT_EQ(each.word(kBadUuid), "INVALID_ARGUMENT INVALID_FIELD") << each.method;  // P-65
  }
  pb::GetAllocationsRequest get;
  get.set_consumer_uuid(kBadUuid);
  EXPECT_EQ(Word<pb::GetAllocationsResponse>("AllocationService/GetAllocations", get),
            "INVALID_ARGUMENT INVALID_FIELD");  // P-154
  of_class.set_provider_uuid(host);
  for (const char* name : {"DISK_GB", "CUSTOM_NEVER_MADE"}) {
    of_class.set_resource_class(name);
    EXPECT_EQ(Word<pb::GetInventoryResponse>("InventoryService/GetInventory", of_class),
              "NOT_FOUND INVENTORY_NOT_FOUND")
        << name;  // P-81
  }
}

TEST_F(Reads, InventoriesAndUsages) {
  const auto [host, generation] = NewHost();
  pb::GetInventoriesRequest get;
  get.set_provider_uuid(host);
  pb::GetInventoriesResponse got;
  Do("InventoryService/GetInventories", get, &got);
  EXPECT_EQ(got.generation(), generation);  // P-81
  ASSERT_EQ(got.inventories_size(), 1);     // P-81
  EXPECT_EQ(got.inventories().at("VCPU").total(), 8);
  pb::GetProviderUsagesRequest ask;
  ask.set_provider_uuid(host);
  const auto used = [&ask] {
    pb::GetProviderUsagesResponse answer;
    Do("UsageService/GetProviderUsages", ask, &answer);
    return answer;
  };
  EXPECT_EQ(used().used().at("VCPU"), 0);      // P-157: zeros too
  EXPECT_EQ(used().generation(), generation);  // P-157
  pb::SetAllocationsRequest claim = ClaimOn(host, 3);
  Claim(&claim);
  EXPECT_EQ(used().used().at("VCPU"), 3);  // P-157
  EXPECT_EQ(used().used_size(), 1);        // P-157: classes with inventory, no others
  ask.set_provider_uuid(NewProvider().uuid());
  EXPECT_EQ(used().used_size(), 0);  // P-157
}

TEST_F(Reads, Allocations) {
  const auto [host, generation] = NewHost();
  pb::SetAllocationsRequest claim = ClaimOn(host, 3);
  const std::string consumer = claim.consumers(0).consumer_uuid();
  EXPECT_FALSE(Allocations(consumer).has_consumer());  // P-126: never seen
  // What a read tells of the provider may stand in a write, whatever it says.
  claim.mutable_consumers(0)->mutable_allocations(0)->set_provider_generation(generation + 77);
  claim.mutable_consumers(0)->mutable_allocations(0)->set_provider_allocation_generation(-1);
  Claim(&claim);  // P-116
  const pb::Consumer held = Allocations(consumer).consumer();
  EXPECT_EQ(held.uuid(), consumer);
  EXPECT_EQ(held.generation(), claim.consumers(0).generation());     // P-154
  EXPECT_EQ(held.project_id(), "p");                                 // P-154
  EXPECT_EQ(held.user_id(), "u");                                    // P-154
  EXPECT_EQ(held.consumer_type(), "INSTANCE");                       // P-154
  ASSERT_EQ(held.allocations_size(), 1);                             // P-154
  EXPECT_EQ(held.allocations(0).provider_uuid(), host);              // P-154
  EXPECT_EQ(held.allocations(0).provider_generation(), generation);  // P-154
  EXPECT_EQ(held.allocations(0).resources().at("VCPU"), 3);          // P-154
  for (int i = 0; i < 4; ++i) {
    pb::SetAllocationsRequest more = ClaimOn(host, 1);
    Claim(&more);
  }
  const std::string now = Allocations(consumer).consumer().SerializeAsString();
  pb::ListProviderAllocationsResponse page = Holders(host, 2);
  EXPECT_EQ(page.generation(), generation);  // P-155
  std::vector<std::string> seen;
  while (true) {
    EXPECT_LE(page.consumers_size(), 2);  // P-155
    for (const pb::Consumer& each : page.consumers()) {
      seen.push_back(each.uuid());
      if (each.uuid() == consumer) {
        EXPECT_EQ(each.SerializeAsString(), now);  // P-155: owner and all
      }
    }
    if (page.next_page_token().empty()) break;
    page = Holders(host, 2, page.next_page_token());
  }
  EXPECT_EQ(seen.size(), 5u);                             // P-155
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));  // P-155
  claim.mutable_consumers(0)->clear_allocations();
  pb::SetAllocationsResponse released;
  Do("AllocationService/SetAllocations", claim, &released);
  EXPECT_FALSE(Allocations(consumer).has_consumer());  // P-126
}

// A newer client may say what this release does not know.
TEST_F(Reads, UnknownFieldsArePassedOver) {
  pb::EnsureTraitRequest ensure;
  ensure.set_name("CUSTOM_OF_TOMORROW");
  ensure.GetReflection()->MutableUnknownFields(&ensure)->AddVarint(9999, 1);
  EXPECT_EQ(Word<pb::EnsureTraitResponse>("CatalogService/EnsureTrait", ensure), "OK");  // P-9
  pb::GetTraitRequest get;
  get.set_name("CUSTOM_OF_TOMORROW");
  get.GetReflection()->MutableUnknownFields(&get)->AddLengthDelimited(9999, "x");
  EXPECT_EQ(Word<pb::GetTraitResponse>("CatalogService/GetTrait", get), "OK");  // P-9
}

// While one writer moves a unit to and fro between two consumers, no answer shows it twice or not at
// all, and none shows the counter of one moment with the rows of another.
TEST_F(Reads, AnAnswerIsOfOneMoment) {
  const auto [host, generation] = NewHost();
  pb::SetAllocationsRequest both = ClaimOn(host, 1);
  *both.add_consumers() = ClaimOn(host, 2).consumers(0);
  Claim(&both);
  std::atomic<bool> ending{false};
  std::thread writer([&] {
    for (int i = 0; i < 300; ++i) {
      for (const int side : {0, 1}) {
        auto* resources = both.mutable_consumers(side)->mutable_allocations(0)->mutable_resources();
        (*resources)["VCPU"] = 3 - resources->at("VCPU");
      }
      Claim(&both);
    }
    ending = true;
  });
  std::map<int64_t, std::string> rows_by_generation;
  while (!ending) {
    const pb::ListProviderAllocationsResponse held = Holders(host);
    int64_t sum = 0;
    std::string rows;
    for (const pb::Consumer& consumer : held.consumers()) {
      sum += consumer.allocations(0).resources().at("VCPU");
      EXPECT_EQ(consumer.allocations(0).provider_allocation_generation(),
                held.allocation_generation());  // P-156
      absl::StrAppend(&rows, consumer.generation(), ":",
                      consumer.allocations(0).resources().at("VCPU"), " ");
    }
    EXPECT_EQ(sum, 3);  // P-156
    const auto [at, is_new] = rows_by_generation.emplace(held.allocation_generation(), rows);
    EXPECT_EQ(at->second, rows);  // P-156
  }
  writer.join();
}

}  // namespace
}  // namespace berth::e2e
