// QueryOf: asks for what a flavor needs. Candidates: reads a table as its proto says, and refuses one that contradicts itself.
#include "services/client/cpp/candidates.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "berth/placement/v1/candidate.pb.h"
#include "tests/worlds/candidate_table.h"

namespace berth::client {
namespace {

namespace pb = ::berth::placement::v1;

pb::Flavor FlavorWith(const std::map<std::string, std::string>& extra_specs) {
  pb::Flavor flavor;
  flavor.set_vcpus(2);
  flavor.set_memory_mib(512);
  flavor.set_root_disk_gib(3);
  flavor.set_ephemeral_disk_gib(1);
  flavor.set_swap_mib(1025);
  flavor.mutable_extra_specs()->insert(extra_specs.begin(), extra_specs.end());
  return flavor;
}

std::map<std::string, int64_t> AmountsIn(const pb::CandidateQuery& query) {
  const auto& resources = query.groups(0).resources();
  return {resources.begin(), resources.end()};
}

using Amounts = std::map<std::string, int64_t>;

TEST(QueryOfTest, AsksForWhatTheFlavorNeeds) {
  const auto plain = QueryOf(FlavorWith({}));
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(AmountsIn(*plain), (Amounts{{"VCPU", 2}, {"MEMORY_MB", 512}, {"DISK_GB", 6}}));
  EXPECT_TRUE(plain->exclude_stale_roots());
  ASSERT_EQ(plain->groups(0).forbidden_traits_size(), 1);
  EXPECT_EQ(plain->groups(0).forbidden_traits(0), "COMPUTE_STATUS_DISABLED");  // T-340
  const auto rich = QueryOf(FlavorWith({{"hw:cpu_policy", "dedicated"},
                                        {"resources:MEMORY_MB", "0"},
                                        {"resources:CUSTOM_LICENSE", "7"},
                                        {"trait:HW_CPU_X86_AVX2", "required"},
                                        {"trait:CUSTOM_OLD", "forbidden"},
                                        {"hw:mem_page_size", "large"}}));
  ASSERT_TRUE(rich.ok()) << rich.status();
  EXPECT_EQ(AmountsIn(*rich), (Amounts{{"PCPU", 2}, {"DISK_GB", 6}, {"CUSTOM_LICENSE", 7}}));
  ASSERT_EQ(rich->groups(0).required_traits_size(), 1);
  EXPECT_EQ(rich->groups(0).required_traits(0).any_of(0), "HW_CPU_X86_AVX2");
  ASSERT_EQ(rich->groups(0).forbidden_traits_size(), 2);
  EXPECT_EQ(rich->groups(0).forbidden_traits(1), "CUSTOM_OLD");
}

TEST(QueryOfTest, RefusesSpecsThatItWouldMisunderstand) {
  for (const auto& spec : std::map<std::string, std::string>{{"resources:VCPU", "many"},
                                                             {"resources:DISK_GB", "-1"},
                                                             {"trait:HW_CPU_X86_AVX2", "maybe"},
                                                             {"resources1:VGPU", "1"},
                                                             {"trait1:HW_GPU", "required"}}) {
    const auto query = QueryOf(FlavorWith({spec}));
    EXPECT_EQ(query.status().code(), absl::StatusCode::kInvalidArgument) << spec.first;
    EXPECT_NE(query.status().message().find(spec.first), std::string::npos);
  }
}

// Three providers and two roots: the root 0 has its child 1, and 2 is a root. Candidates: 0 and 1
// together, 0 alone, 2.
pb::CandidateTable Table() {
  pb::CandidateTable table;
  for (char digit = 1; digit <= 3; ++digit) {
    table.mutable_provider_uuids()->append(std::string(16, static_cast<char>(17 * digit)));
  }
  pb::CandidateShape& pair = *table.add_shapes();
  (*pair.add_allocations()->mutable_resources())["VCPU"] = 2;
  (*pair.add_allocations()->mutable_resources())["PGPU"] = 1;
  pair.add_mappings()->set_provider_count(1);
  pb::ShapeMapping& both = *pair.add_mappings();
  both.set_suffix("_gpu");
  both.set_provider_count(2);
  pb::CandidateShape& single = *table.add_shapes();
  (*single.add_allocations()->mutable_resources())["VCPU"] = 2;
  single.add_mappings()->set_provider_count(1);
  for (const uint32_t shape : {0, 1, 1}) table.add_candidate_shapes(shape);
  for (const uint32_t provider : {0, 1, 0, 1, 0, 0}) table.add_candidate_providers(provider);
  for (const uint32_t provider : {0, 0, 0, 2, 2, 2}) table.add_candidate_providers(provider);
  return table;
}

TEST(CandidatesTest, TheBestOfEachRootIsWhatTheTableSays) {
  const auto candidates = Candidates::Of(Table());
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  const std::vector<absl::string_view> roots = {"11111111-1111-1111-1111-111111111111",
                                                "33333333-3333-3333-3333-333333333333"};
  EXPECT_EQ(candidates->roots(), roots);
  pb::FindCandidatesResponse all;
  services::ExpandCandidates(Table(), &all);
  EXPECT_EQ(candidates->BestOf(roots[0])->DebugString(), all.candidates(0).DebugString());
  EXPECT_EQ(candidates->BestOf(roots[1])->DebugString(), all.candidates(2).DebugString());
  for (const absl::string_view none : {"22222222-2222-2222-2222-222222222222", ""}) {
    EXPECT_FALSE(candidates->BestOf(none).has_value()) << none;
  }
}

TEST(CandidatesTest, NothingIsNoRoot) {
  const auto candidates = Candidates::Of(pb::CandidateTable());
  ASSERT_TRUE(candidates.ok()) << candidates.status();
  EXPECT_TRUE(candidates->roots().empty());
}

TEST(CandidatesTest, ATableThatContradictsItselfIsRefused) {
  std::vector<pb::CandidateTable> wrong(7, Table());
  wrong[0].mutable_provider_uuids()->resize(47);
  wrong[1].set_candidate_providers(4, 3);
  wrong[2].set_candidate_shapes(2, 2);
  wrong[3].mutable_candidate_providers()->RemoveLast();
  wrong[4].mutable_shapes(0)->mutable_mappings(0)->set_provider_count(4'000'000'000);
  wrong[5].mutable_provider_uuids()->push_back('x');
  wrong[6].add_candidate_providers(0);
  for (size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_EQ(Candidates::Of(wrong[i]).status().code(), absl::StatusCode::kDataLoss) << i;
  }
}

}  // namespace
}  // namespace berth::client
