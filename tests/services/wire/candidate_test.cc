// Answers that are written as bytes parse as the messages that they stand for.
#include "services/wire/candidate.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/search/search.h"
#include "services/wire/bytes.h"
#include "services/wire/candidate_table_writer.h"
#include "services/wire/candidate_writer.h"
#include "tests/worlds/candidate_table.h"
#include "tests/worlds/world.h"

namespace berth::services {
namespace {

using google::protobuf::TextFormat;
using placement::CandidateRequest;

constexpr char kQuery[] = R"(groups { resources { key: "VCPU" value: 2 }
                                      resources { key: "MEMORY_MB" value: 512 } }
                             groups { suffix: "_NIC" resources { key: "SRIOV_NET_VF" value: 1 } }
                             group_policy: GROUP_POLICY_NONE)";

bool ParseView(const WireBytes& bytes, pb::FindCandidatesResponse* response) {
  return response->ParseFromArray(bytes.data.get(), static_cast<int>(bytes.size));
}

// A candidate of a message, and one of the search, as text to be compared.
std::string TextOf(const pb::Candidate& candidate) {
  std::string text = candidate.root_uuid();
  for (const pb::ProviderAllocation& allocation : candidate.allocations()) {
    const std::map<std::string, int64_t> resources(allocation.resources().begin(),
                                                   allocation.resources().end());
    for (const auto& [name, amount] : resources) {
      absl::StrAppend(&text, " ", allocation.provider_uuid(), " ", name, ":", amount);
    }
  }
  for (const pb::GroupMapping& mapping : candidate.mappings()) {
    absl::StrAppend(&text, " [", mapping.suffix());
    for (const std::string& id : mapping.provider_uuids()) absl::StrAppend(&text, " ", id);
    absl::StrAppend(&text, "]");
  }
  return text;
}

std::string TextOf(const placement::Candidate& candidate, const placement::Catalog& catalog) {
  std::string text = candidate.root.ToString();
  std::map<std::pair<std::string, std::string>, int64_t> amounts;
  for (const placement::Allocation& each : candidate.allocations) {
    amounts[{each.provider.ToString(), *ClassName(catalog, each.resource_class)}] = each.amount;
  }
  for (const auto& [what, amount] : amounts) {
    absl::StrAppend(&text, " ", what.first, " ", what.second, ":", amount);
  }
  for (const auto& [suffix, providers] : candidate.mappings) {
    absl::StrAppend(&text, " [", suffix);
    for (const placement::ProviderId id : providers) absl::StrAppend(&text, " ", id.ToString());
    absl::StrAppend(&text, "]");
  }
  return text;
}

template <typename Writer>
pb::FindCandidatesResponse WrittenBy(const placement::State& state,
                                     const placement::SearchResult& found, bool with_summaries) {
  Writer writer(state, 1);
  for (const placement::Candidate& candidate : found.candidates) writer.Add(candidate);
  pb::FindCandidatesResponse response;
  EXPECT_TRUE(ParseView(writer.End(found, with_summaries, 7), &response));
  return response;
}

std::string Differences(const pb::FindCandidatesResponse& expected,
                        const pb::FindCandidatesResponse& response) {
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  return differencer.Compare(expected, response) ? "" : differences;
}

// The answer as messages; the table must say the same.
pb::FindCandidatesResponse Written(const placement::State& state,
                                   const placement::SearchResult& found, bool with_summaries) {
  const auto response = WrittenBy<CandidateWriter>(state, found, with_summaries);
  const auto expanded = Expand(WrittenBy<CandidateTableWriter>(state, found, with_summaries));
  EXPECT_EQ(Differences(response, expanded), "");
  return response;
}

class WireCandidateTest : public testing::Test {
 protected:
  pb::FindCandidatesResponse Answer(const pb::FindCandidatesRequest& request) {
    const auto wanted = CandidateRequestOf(request);
    EXPECT_TRUE(wanted.ok()) << wanted.status();
    const auto found =
        placement::FindCandidates(world_.state(), *wanted, placement::SearchBudget());
    EXPECT_TRUE(found.ok()) << found.status();
    return Written(world_.state(), *found, !request.omit_summaries());
  }

  std::string Id(const char* name) { return world_.provider(name).ToString(); }

  placement::World world_{R"(
    cn1[HW_NUMA_ROOT]{VCPU:8 ratio 2 used 3, MEMORY_MB:4096 used 512}(agg1)
      pf1{SRIOV_NET_VF:8, FPGA:2 used 2}
    cn2{VCPU:1}
  )"};
};

TEST_F(WireCandidateTest, EveryFieldIsThere) {
  pb::FindCandidatesRequest request;
  ASSERT_TRUE(TextFormat::ParseFromString(kQuery, request.mutable_query()));
  const pb::FindCandidatesResponse response = Answer(request);

  pb::FindCandidatesResponse expected;
  ASSERT_TRUE(
      TextFormat::ParseFromString(absl::StrCat(R"(candidates {
        allocations { provider_uuid: ")",
                                               Id("cn1"), R"("
          resources { key: "VCPU" value: 2 } resources { key: "MEMORY_MB" value: 512 } }
        allocations { provider_uuid: ")",
                                               Id("pf1"), R"("
          resources { key: "SRIOV_NET_VF" value: 1 } }
        mappings { provider_uuids: ")",
                                               Id("cn1"), R"(" }
        mappings { suffix: "_NIC" provider_uuids: ")",
                                               Id("pf1"), R"(" }
        root_uuid: ")",
                                               Id("cn1"), R"(" }
      summaries { provider_uuid: ")",
                                               Id("cn1"), R"(" root_uuid: ")", Id("cn1"), R"("
        name: "cn1" traits: "HW_NUMA_ROOT"
        resources { key: "VCPU" value { capacity: 16 used: 3 } }
        resources { key: "MEMORY_MB" value { capacity: 4096 used: 512 } } }
      summaries { provider_uuid: ")",
                                               Id("pf1"), R"(" parent_uuid: ")", Id("cn1"), R"("
        root_uuid: ")",
                                               Id("cn1"), R"(" name: "pf1"
        resources { key: "FPGA" value { capacity: 2 used: 2 } }
        resources { key: "SRIOV_NET_VF" value { capacity: 8 } } })"),
                                  &expected));
  SetRevision(world_.state().position().revision, expected.mutable_revision());
  expected.set_seed(7);
  EXPECT_EQ(Differences(expected, response), "");  // P-202, P-206
}

// Candidates with the shape of the one before, with another shape, and short and long ones in turn.
TEST(CandidateWriterTest, WritesEachCandidateThatWasFound) {
  const placement::World world(R"(
    a1{VCPU:8}
      a1f{SRIOV_NET_VF:8}
      a1g{SRIOV_NET_VF:8}
      a1h{SRIOV_NET_VF:8}
      a1i{SRIOV_NET_VF:8}
    b1{VCPU:8, SRIOV_NET_VF:8}
    a2{VCPU:8}
      a2f{SRIOV_NET_VF:8}
    b2{VCPU:8, SRIOV_NET_VF:8}
      b2f{SRIOV_NET_VF:8}
    b3{VCPU:8, SRIOV_NET_VF:8}
  )");
  for (const int groups : {1, 2, 5}) {
    CandidateRequest request;
    for (int i = 0; i <= groups; ++i) {
      placement::RequestGroup group;
      if (i > 0) group.suffix = absl::StrCat("_", i);
      group.resources.push_back({i == 0 ? "VCPU" : "SRIOV_NET_VF", 1 + i % 2});
      request.groups.push_back(std::move(group));
    }
    request.group_policy = placement::GroupPolicy::kNone;
    const auto found = placement::FindCandidates(world.state(), request, placement::SearchBudget());
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_GE(found->candidates.size(), 6u);
    const pb::FindCandidatesResponse response = Written(world.state(), *found, true);
    ASSERT_EQ(response.candidates_size(), static_cast<int>(found->candidates.size()));
    for (int i = 0; i < response.candidates_size(); ++i) {
      EXPECT_EQ(TextOf(response.candidates(i)),
                TextOf(found->candidates[i], world.state().catalog()));
    }
  }
}

// The only group is served by a provider of another tree, and the root gives nothing.
TEST(CandidateTableWriterTest, NamesARootThatGivesNothing) {
  placement::World world(R"(
    cn1{VCPU:8}(agg1)
    ss1[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:100}(agg1)
  )");
  CandidateRequest request;
  request.groups.emplace_back().resources.push_back({"DISK_GB", 1});
  const auto found = placement::FindCandidates(world.state(), request, placement::SearchBudget());
  ASSERT_TRUE(found.ok()) << found.status();
  const auto expected = WrittenBy<CandidateWriter>(world.state(), *found, true);
  const auto expanded = Expand(WrittenBy<CandidateTableWriter>(world.state(), *found, true));
  ASSERT_EQ(expanded.candidates_size(), expected.candidates_size());
  std::set<std::string> roots, told;
  for (int i = 0; i < expected.candidates_size(); ++i) {
    EXPECT_EQ(TextOf(expanded.candidates(i)), TextOf(expected.candidates(i)));
    roots.insert(expected.candidates(i).root_uuid());
  }
  for (const auto& summary : expanded.summaries()) told.insert(summary.root_uuid());
  EXPECT_THAT(roots, testing::ElementsAre(world.provider("cn1").ToString()));
  EXPECT_THAT(told, testing::UnorderedElementsAre(world.provider("cn1").ToString(),
                                                  world.provider("ss1").ToString()));
}

TEST(CandidateTableWriterTest, NamesWhoSharesFromAnotherTree) {
  const placement::World world(R"(
    cn1{VCPU:8}(agg1)
    cn2{VCPU:8}(agg1)
    ss1[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:100 used 5}(agg1)
  )");
  CandidateRequest request;
  request.groups.emplace_back().resources = {{"VCPU", 1}, {"DISK_GB", 1}};
  const auto found = placement::FindCandidates(world.state(), request, placement::SearchBudget());
  ASSERT_TRUE(found.ok()) << found.status();
  const pb::FindCandidatesResponse response = Written(world.state(), *found, true);
  ASSERT_EQ(response.candidates_size(), 2);
  EXPECT_EQ(response.candidates(1).allocations_size(), 2);
}

TEST(CandidateTableWriterTest, SaysOnceWhatManyHaveInCommon) {
  std::string hosts;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&hosts, "cn", i, "[HW_NUMA_ROOT]{VCPU:8}\n");
  const placement::World world(hosts);
  CandidateRequest request;
  request.groups.emplace_back().resources.push_back({"VCPU", 1});
  const auto found = placement::FindCandidates(world.state(), request, placement::SearchBudget());
  ASSERT_TRUE(found.ok()) << found.status();
  const pb::CandidateTable table =
      WrittenBy<CandidateTableWriter>(world.state(), *found, true).table();
  EXPECT_EQ(table.candidate_shapes_size(), 100);
  EXPECT_EQ(table.shapes_size(), 1);
  EXPECT_EQ(table.provider_kinds_size(), 100);
  EXPECT_EQ(table.kinds_size(), 1);
  EXPECT_LT(table.ByteSizeLong(), 100 * 40u);
}

TEST_F(WireCandidateTest, SummariesAreLeftOutWhereAsked) {
  pb::FindCandidatesRequest request;
  ASSERT_TRUE(TextFormat::ParseFromString(kQuery, request.mutable_query()));
  request.set_omit_summaries(true);
  EXPECT_EQ(Answer(request).candidates_size(), 1);
  EXPECT_EQ(Answer(request).summaries_size(), 0);
}

TEST(WireWriterTest, PacksNumbersAsProtobufDoes) {
  for (const size_t count : {0, 1, 200}) {
    pb::CandidateTable table;
    for (size_t i = 0; i < count; ++i) table.add_used(static_cast<int64_t>(i) << i % 60);
    WireWriter writer;
    writer.Packed(pb::CandidateTable::kUsedFieldNumber,
                  std::vector<int64_t>(table.used().begin(), table.used().end()));
    EXPECT_EQ(writer.Release().view(), table.SerializeAsString()) << count;
  }
}

TEST(WireWriterTest, WritesWhatProtobufWrites) {
  for (const size_t size : {0, 1, 127, 128, 16383, 16384, 3'000'000}) {
    pb::GroupMapping mapping;
    mapping.set_suffix("_A");
    mapping.add_provider_uuids(std::string(size, 'x'));
    pb::Candidate candidate;
    *candidate.add_mappings() = mapping;
    WireWriter writer;
    writer.Message(pb::Candidate::kMappingsFieldNumber, [&] {
      writer.Text(pb::GroupMapping::kSuffixFieldNumber, "_A");
      writer.Text(pb::GroupMapping::kProviderUuidsFieldNumber, mapping.provider_uuids(0));
    });
    EXPECT_TRUE(writer.Release().view() == candidate.SerializeAsString()) << size;
  }
  for (const int64_t number : {int64_t{1}, int64_t{127}, int64_t{128}, INT64_MAX, INT64_MIN}) {
    pb::ResourceSummary summary;
    summary.set_used(number);
    WireWriter writer;
    writer.Number(pb::ResourceSummary::kUsedFieldNumber, number);
    EXPECT_EQ(writer.Release().view(), summary.SerializeAsString()) << number;
  }
  const auto id = placement::ProviderId::Parse("0a1b2c3d-4e5f-4071-8293-a4b5c6d7e8f9");
  pb::ProviderSummary summary;
  summary.set_provider_uuid(id->ToString());
  WireWriter writer;
  writer.Id(pb::ProviderSummary::kProviderUuidFieldNumber, id->uuid);
  EXPECT_EQ(writer.Release().view(), summary.SerializeAsString());
}

}  // namespace
}  // namespace berth::services
