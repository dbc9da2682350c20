// Answers that are written as bytes are what their messages would be.
#include "services/wire_candidate.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "placement/search.h"
#include "services/wire_writer.h"
#include "tests/placement/world.h"

namespace berth::services {
namespace {

using google::protobuf::TextFormat;

constexpr char kQuery[] = R"(groups { resources { key: "VCPU" value: 2 }
                                      resources { key: "MEMORY_MB" value: 512 } }
                             groups { suffix: "_NIC" resources { key: "SRIOV_NET_VF" value: 1 } }
                             group_policy: GROUP_POLICY_NONE)";

class WireCandidateTest : public testing::Test {
 protected:
  pb::FindCandidatesResponse Answer(const pb::FindCandidatesRequest& request) {
    const auto wanted = CandidateRequestOf(request);
    EXPECT_TRUE(wanted.ok()) << wanted.status();
    const auto found =
        placement::FindCandidates(world_.state(), *wanted, placement::SearchBudget());
    EXPECT_TRUE(found.ok()) << found.status();
    pb::FindCandidatesResponse response;
    EXPECT_TRUE(response.ParseFromString(EncodeCandidates(world_.state(), request, *found)));
    return response;
  }

  std::string Id(const char* name) { return world_.provider(name).ToString(); }

  placement::World world_{R"(
    cn1[HW_NUMA_ROOT]{VCPU:8 ratio 2 used 3, MEMORY_MB:4096 used 512}(agg1)
      pf1{SRIOV_NET_VF:8}
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
        resources { key: "SRIOV_NET_VF" value { capacity: 8 } } })"),
                                  &expected));
  SetRevision(world_.state().position().revision, expected.mutable_revision());
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  EXPECT_TRUE(differencer.Compare(expected, response)) << differences;
}

TEST_F(WireCandidateTest, SummariesAreLeftOutWhereAsked) {
  pb::FindCandidatesRequest request;
  ASSERT_TRUE(TextFormat::ParseFromString(kQuery, request.mutable_query()));
  request.set_omit_summaries(true);
  EXPECT_EQ(Answer(request).candidates_size(), 1);
  EXPECT_EQ(Answer(request).summaries_size(), 0);
}

TEST(WireWriterTest, WritesWhatProtobufWrites) {
  for (const size_t size : {0, 1, 127, 128, 16383, 16384, 3'000'000}) {
    pb::GroupMapping mapping;
    mapping.set_suffix("_A");
    mapping.add_provider_uuids(std::string(size, 'x'));
    pb::Candidate candidate;
    *candidate.add_mappings() = mapping;
    std::string bytes;
    WireWriter writer(&bytes);
    writer.Message(pb::Candidate::kMappingsFieldNumber, [&] {
      writer.Text(pb::GroupMapping::kSuffixFieldNumber, "_A");
      writer.Text(pb::GroupMapping::kProviderUuidsFieldNumber, mapping.provider_uuids(0));
    });
    EXPECT_TRUE(bytes == candidate.SerializeAsString()) << size;
  }
  for (const int64_t number : {int64_t{1}, int64_t{127}, int64_t{128}, INT64_MAX, INT64_MIN}) {
    pb::ResourceSummary summary;
    summary.set_used(number);
    std::string bytes;
    WireWriter(&bytes).Number(pb::ResourceSummary::kUsedFieldNumber, number);
    EXPECT_EQ(bytes, summary.SerializeAsString()) << number;
  }
  const auto id = placement::ProviderId::Parse("0a1b2c3d-4e5f-4071-8293-a4b5c6d7e8f9");
  pb::ProviderSummary summary;
  summary.set_provider_uuid(id->ToString());
  std::string bytes;
  WireWriter(&bytes).Id(pb::ProviderSummary::kProviderUuidFieldNumber, id->uuid);
  EXPECT_EQ(bytes, summary.SerializeAsString());
}

}  // namespace
}  // namespace berth::services
