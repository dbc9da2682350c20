// Namespaces of persistent memory. The output of ndctl is written after its manual: no machine with
// persistent memory was at hand.
#include "tracker/facts/pmem.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Pmem, IsConfiguredByLabel) {  // T-200
  EXPECT_EQ(*ParsePmemNamespaces({"128G:ns0|ns1,medium:ns2", "x_1: ns3 "}),
            (PmemNamespaces{{"CUSTOM_PMEM_NAMESPACE_128G", {"ns0", "ns1"}},
                            {"CUSTOM_PMEM_NAMESPACE_MEDIUM", {"ns2"}},
                            {"CUSTOM_PMEM_NAMESPACE_X_1", {"ns3"}}}));
  EXPECT_TRUE(ParsePmemNamespaces({})->empty());
  const std::pair<const char*, const char*> kCases[] = {
      {"128G", "must be LABEL:NAMESPACE|NAMESPACE"},
      {"128G:", "must be LABEL:NAMESPACE|NAMESPACE"},
      {":ns0", "must be LABEL:NAMESPACE|NAMESPACE"},
      {"a-b:ns0", "a label has letters, digits and underscores"},
      {"a:ns0,A:ns1", "the label of 'A:ns1' is there twice"},
      {"a:ns0,b:ns0", "namespace ns0 is there twice"},
  };
  for (const auto& [text, said] : kCases) {
    EXPECT_THAT(std::string(ParsePmemNamespaces({text}).status().message()), HasSubstr(said));
  }
}

constexpr char kNamespace[] =
    R"({"dev":"namespace0.0","mode":"devdax","map":"mem","size":4225761280,"name":"ns0",)"
    R"("daxregion":{"id":0,"size":4225761280,"align":2097152,)"
    R"("devices":[{"chardev":"dax0.0","size":4225761280}]},"align":2097152})";

TEST(Pmem, IsReadFromNdctl) {
  EXPECT_THAT(*ParseNdctlList(""), IsEmpty());
  EXPECT_THAT(*ParseNdctlList(kNamespace), ElementsAre("ns0"));  // one is printed without a list
  // Neither a block device nor a namespace without a name can be given to a guest.
  EXPECT_THAT(*ParseNdctlList(std::string("[") + kNamespace +
                              R"(,{"dev":"namespace0.1","mode":"fsdax","name":"ns1",)"
                              R"("blockdev":"pmem0.1"},{"dev":"namespace0.2"}])"),
              ElementsAre("ns0"));
  EXPECT_EQ(ParseNdctlList("no JSON").status().code(), absl::StatusCode::kInvalidArgument);
  const std::string fits(79, 'x');
  EXPECT_EQ(ParseNdctlList(fits + "\u20ac").status().message(),
            "the output of ndctl cannot be understood: '" + fits + "'");
}

TEST(Pmem, IsOfferedIfItExists) {
  const PmemNamespaces configured = {{"A", {"ns0", "ns1"}}, {"B", {"ns2"}}};
  EXPECT_EQ(OfferedNamespaces(configured, std::nullopt), configured);
  EXPECT_EQ(OfferedNamespaces(configured, {{"ns0", "ns9"}}), (PmemNamespaces{{"A", {"ns0"}}}));
  EXPECT_THAT(MissingNamespaces(configured, {"ns0", "ns9"}), ElementsAre("ns1", "ns2"));
}

}  // namespace
}  // namespace berth::tracker
