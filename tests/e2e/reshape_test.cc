// Calls that change many things at once, over real sockets and a real PostgreSQL.
#include "berth/placement/v1/consumer.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "berth/placement/v1/reshape.pb.h"
#include "tests/e2e/calls.h"

namespace berth::e2e {
namespace {

class ReshapeTest : public CallsTest {
 protected:
  static pb::ProviderInventories* AddProvider(const std::string& uuid, int64_t vcpu,
                                              pb::ReshapeRequest* reshape) {
    const pb::Provider now = Read(uuid);
    pb::ProviderInventories* provider = reshape->add_providers();
    provider->set_provider_uuid(uuid);
    provider->set_expected_generation(now.generation());
    provider->set_expected_allocation_generation(now.allocation_generation());
    if (vcpu > 0) (*provider->mutable_inventories())["VCPU"].set_total(vcpu);
    return provider;
  }
};

TEST_F(ReshapeTest, MovesInventoryUnderAnInstance) {
  const auto [host, generation] = NewHost();
  const pb::Provider numa = NewProvider(host);
  pb::SetAllocationsRequest claim = ClaimOn(host, 2);
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", claim, &claimed);
  const std::string consumer = claim.consumers(0).consumer_uuid();

  pb::ReshapeRequest reshape;
  AddProvider(host, 0, &reshape);
  AddProvider(numa.uuid(), 8, &reshape);
  pb::ReshapeResponse done;
  EXPECT_EQ(ReasonOf(Invoke("ReshapeService/Reshape", reshape, &done)),
            "INVENTORY_IN_USE");  // P-223
  pb::ConsumerAllocations* moved = reshape.add_consumers();
  *moved = claim.consumers(0);
  moved->set_generation(claimed.consumer_generations().at(consumer));
  moved->mutable_allocations(0)->set_provider_uuid(numa.uuid());

  const std::string id = Random();
  reshape.set_request_id(id);
  reshape.set_validate_only(true);
  Do("ReshapeService/Reshape", reshape, &done);
  ASSERT_EQ(done.providers_size(), 2);
  EXPECT_EQ(done.providers(1).inventories().at("VCPU").total(), 8);
  EXPECT_EQ(Read(host).generation(), generation);  // only validated

  reshape.set_validate_only(false);
  Do("ReshapeService/Reshape", reshape, &done);
  EXPECT_EQ(done.providers(0).generation(), generation + 1);  // P-231
  EXPECT_EQ(done.providers(1).root_uuid(), host);
  EXPECT_NE(done.consumer_generations().at(consumer),
            claimed.consumer_generations().at(consumer));  // P-231
  pb::ReshapeResponse again;
  Do("ReshapeService/Reshape", reshape, &again);
  EXPECT_EQ(again.SerializeAsString(), done.SerializeAsString());
  reshape.clear_request_id();
  EXPECT_EQ(ReasonOf(Invoke("ReshapeService/Reshape", reshape, &again)),
            "PROVIDER_GENERATION_CONFLICT");  // P-232

  pb::SelfCheckResponse checked;
  Do("LedgerService/SelfCheck", pb::SelfCheckRequest(), &checked);
  EXPECT_TRUE(checked.clean()) << checked.ShortDebugString();
}

TEST_F(ReshapeTest, SaysWhatIsOverCapacityAndSaysItAgain) {
  const auto [host, generation] = NewHost();
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", ClaimOn(host, 2), &claimed);
  pb::ReshapeRequest reshape;
  reshape.set_request_id(Random());
  AddProvider(host, 1, &reshape);
  pb::ReshapeResponse done;
  Do("ReshapeService/Reshape", reshape, &done);
  ASSERT_EQ(done.overcommitted_size(), 1);  // P-227, P-89
  EXPECT_EQ(done.overcommitted(0).provider_uuid(), host);
  EXPECT_EQ(done.overcommitted(0).classes(0).resource_class(), "VCPU");
  EXPECT_EQ(done.overcommitted(0).classes(0).used(), 2);
  EXPECT_EQ(done.overcommitted(0).classes(0).capacity(), 1);
  pb::ReshapeResponse again;
  Do("ReshapeService/Reshape", reshape, &again);
  EXPECT_EQ(again.SerializeAsString(), done.SerializeAsString());

  pb::ApplyTopologyRequest apply;
  pb::ProviderTopology* provider = apply.add_providers();
  provider->set_provider_uuid(host);
  provider->set_expected_generation(done.providers(0).generation());
  provider->set_expected_allocation_generation(Read(host).allocation_generation());
  (*provider->mutable_inventories()->mutable_inventories())["VCPU"].set_total(2);
  apply.set_validate_only(true);
  pb::ApplyTopologyResponse applied;
  Do("ReshapeService/ApplyTopology", apply, &applied);
  EXPECT_EQ(applied.overcommitted_size(), 0);
  apply.clear_providers();
  provider = apply.add_providers();
  provider->set_provider_uuid(host);
  provider->set_expected_generation(done.providers(0).generation());
  Do("ReshapeService/ApplyTopology", apply, &applied);
  ASSERT_EQ(applied.overcommitted_size(), 1);  // P-89
  EXPECT_EQ(applied.overcommitted(0).classes(0).used(), 2);
}

TEST_F(ReshapeTest, AllocationsAreAdjusted) {
  const auto [host, generation] = NewHost();
  pb::SetAllocationsRequest claim = ClaimOn(host, 2);
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", claim, &claimed);
  pb::AdjustAllocationsRequest adjust;
  adjust.set_consumer_uuid(claim.consumers(0).consumer_uuid());
  pb::AllocationAdjustment* adjustment = adjust.add_adjustments();
  adjustment->set_provider_uuid(host);
  (*adjustment->mutable_amounts())["VCPU"] = 3;
  pb::AdjustAllocationsResponse adjusted;
  Do("AllocationService/AdjustAllocations", adjust, &adjusted);
  EXPECT_EQ(adjusted.consumer().allocations(0).resources().at("VCPU"), 5);
  EXPECT_EQ(adjusted.consumer().project_id(), "p");
  (*adjustment->mutable_amounts())["VCPU"] = -6;
  EXPECT_EQ(ReasonOf(Invoke("AllocationService/AdjustAllocations", adjust, &adjusted)),
            "NEGATIVE_ALLOCATION");
  (*adjustment->mutable_amounts())["VCPU"] = -5;
  Do("AllocationService/AdjustAllocations", adjust, &adjusted);
  EXPECT_FALSE(adjusted.has_consumer());  // P-125
}

TEST_F(ReshapeTest, ATopologyComesInOneStep) {
  const auto [host, generation] = NewHost();
  pb::SetAllocationsRequest claim = ClaimOn(host, 2);
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", claim, &claimed);
  const std::string consumer = claim.consumers(0).consumer_uuid();
  const pb::Provider spare = NewProvider(host);

  pb::ApplyTopologyRequest apply;
  pb::ProviderTopology* child = apply.add_providers();
  child->set_provider_uuid(Random());
  child->set_name("numa-" + child->provider_uuid());
  child->set_parent_uuid(host);
  (*child->mutable_inventories()->mutable_inventories())["VCPU"].set_total(8);
  child->mutable_traits()->add_names("HW_NUMA_ROOT");
  child->mutable_aggregate_uuids()->add_names(Random());
  pb::ProviderTopology* parent = apply.add_providers();
  parent->set_provider_uuid(host);
  parent->set_expected_generation(generation);
  parent->set_expected_allocation_generation(Read(host).allocation_generation());
  parent->set_name("renamed-" + host);
  parent->mutable_inventories();
  apply.add_removed_providers()->set_provider_uuid(spare.uuid());
  pb::ConsumerAllocations* moved = apply.add_consumers();
  *moved = claim.consumers(0);
  moved->set_generation(claimed.consumer_generations().at(consumer));
  moved->mutable_allocations(0)->set_provider_uuid(child->provider_uuid());

  apply.set_validate_only(true);
  pb::ApplyTopologyResponse done;
  Do("ReshapeService/ApplyTopology", apply, &done);
  EXPECT_EQ(Read(spare.uuid()).uuid(), spare.uuid());  // only validated
  apply.set_validate_only(false);
  Do("ReshapeService/ApplyTopology", apply, &done);
  ASSERT_EQ(done.providers_size(), 2);
  EXPECT_EQ(done.providers(0).root_uuid(), host);
  EXPECT_EQ(done.providers(0).traits(0), "HW_NUMA_ROOT");
  EXPECT_EQ(done.providers(0).aggregate_uuids_size(), 1);
  EXPECT_EQ(done.providers(1).name(), "renamed-" + host);
  EXPECT_TRUE(done.providers(1).inventories().empty());
  pb::GetProviderRequest get;
  get.set_provider_uuid(spare.uuid());
  pb::GetProviderResponse got;
  EXPECT_EQ(ReasonOf(Invoke("ProviderService/GetProvider", get, &got)), "PROVIDER_NOT_FOUND");
  EXPECT_EQ(ReasonOf(Invoke("ReshapeService/ApplyTopology", apply, &done)), "DUPLICATE_PROVIDER");
  pb::SelfCheckResponse checked;
  Do("LedgerService/SelfCheck", pb::SelfCheckRequest(), &checked);
  EXPECT_TRUE(checked.clean()) << checked.ShortDebugString();
}

TEST_F(ReshapeTest, LeasesAreSetRenewedAndConfirmed) {
  const auto [host, generation] = NewHost();
  pb::SetAllocationsRequest claim = ClaimOn(host, 2);
  claim.mutable_consumers(0)->mutable_lease()->set_seconds(3600);
  pb::SetAllocationsResponse claimed;
  Do("AllocationService/SetAllocations", claim, &claimed);
  pb::GetAllocationsRequest get;
  get.set_consumer_uuid(claim.consumers(0).consumer_uuid());
  const auto read = [&get] {
    pb::GetAllocationsResponse got;
    Do("AllocationService/GetAllocations", get, &got);
    return got.consumer();
  };
  const int64_t end = read().lease_expires_at().seconds();
  EXPECT_GT(end, 0);
  pb::SetLeaseRequest set;
  set.set_consumer_uuid(get.consumer_uuid());
  pb::SetLeaseResponse leased;
  EXPECT_EQ(ReasonOf(Invoke("ConsumerService/SetLease", set, &leased)), "INVALID_FIELD");
  set.mutable_lease()->set_seconds(86401);
  EXPECT_EQ(ReasonOf(Invoke("ConsumerService/SetLease", set, &leased)), "INVALID_FIELD");
  set.mutable_lease()->set_seconds(7200);
  Do("ConsumerService/SetLease", set, &leased);
  EXPECT_GE(leased.lease_expires_at().seconds(), end + 3600);
  EXPECT_EQ(leased.lease_expires_at().seconds(), read().lease_expires_at().seconds());
  EXPECT_EQ(leased.generation(), read().generation());
  set.mutable_confirmed();
  Do("ConsumerService/SetLease", set, &leased);
  EXPECT_FALSE(leased.has_lease_expires_at());
  EXPECT_FALSE(read().has_lease_expires_at());

  set.mutable_lease()->set_seconds(1);
  Do("ConsumerService/SetLease", set, &leased);
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  bool holds = true;
  while (holds && absl::Now() < deadline) holds = !read().uuid().empty();
  EXPECT_FALSE(holds) << "the lease is over and it holds on";
}

TEST_F(ReshapeTest, ManyConsumersAreReleasedAtOnce) {
  const auto [host, generation] = NewHost();
  pb::ReleaseConsumersRequest release;
  pb::SetAllocationsResponse claimed;
  for (int i = 0; i < 3; ++i) {
    const pb::SetAllocationsRequest claim = ClaimOn(host, 1);
    Do("AllocationService/SetAllocations", claim, &claimed);
    release.add_consumers()->set_consumer_uuid(claim.consumers(0).consumer_uuid());
  }
  const std::string nobody = Random();
  release.add_consumers()->set_consumer_uuid(nobody);
  release.mutable_consumers(1)->set_expected_generation(1);
  pb::ReleaseConsumersResponse released;
  EXPECT_EQ(ReasonOf(Invoke("ConsumerService/ReleaseConsumers", release, &released)),
            "CONSUMER_GENERATION_CONFLICT");
  release.mutable_consumers(1)->clear_expected_generation();
  Do("ConsumerService/ReleaseConsumers", release, &released);
  EXPECT_EQ(released.released_count(), 3);
  ASSERT_EQ(released.absent_consumer_uuids_size(), 1);
  EXPECT_EQ(released.absent_consumer_uuids(0), nobody);
  Do("ConsumerService/ReleaseConsumers", release, &released);
  EXPECT_EQ(released.released_count(), 0);
  EXPECT_EQ(released.absent_consumer_uuids_size(), 4);
}

}  // namespace
}  // namespace berth::e2e
