#include "placement/reads/usage_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/worlds/script.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

class UsageReport : public ::testing::Test {
 protected:
  UsageReport()
      : world_(
            "cn1[HW_CPU_X86_AVX]{VCPU:8 ratio 2}(agg1)\n"
            "  pf1{SRIOV_NET_VF:8}(agg2)\n"
            "cn2{VCPU:4, DISK_GB:100 reserved 10}(agg1,agg2)") {
    RunScript(world_, R"(
      claim c1 new cn1{VCPU:6} pf1{SRIOV_NET_VF:1} for p1/u1/INSTANCE   OK
      claim c2 new cn1{VCPU:4} for p2/u1/INSTANCE                       OK
      claim c3 new cn2{DISK_GB:20} for p1/u1/VOLUME                     OK
    )");
    for (const char* name : {"cn1", "cn2"}) names_[world_.provider(name).ToString()] = name;
    for (const char* name : {"agg1", "agg2"}) names_[world_.aggregate(name).ToString()] = name;
  }

  // A line for each row: "KEY providers consumers CLASS=used/capacity,total,reserved,free ...".
  std::string Report(const UsageReportFilter& filter, int limit = 100) {
    std::vector<std::string> lines;
    std::optional<std::string> after;
    while (true) {
      const UsageReportPage page = ReportUsages(world_.state(), filter, after, limit);
      for (const auto& [key, row] : page.rows) {
        after = key;
        const auto name = names_.find(key);
        std::string line = absl::StrCat(name == names_.end() ? key : name->second, " ",
                                        row.provider_count, " ", row.consumer_count);
        if (!row.name.empty()) {
          EXPECT_EQ(row.name, name->second);
        }
        for (const auto& [resource_class, sum] : row.classes) {
          absl::StrAppend(&line, " ", resource_class, "=", sum.used, "/", sum.capacity, ",",
                          sum.total, ",", sum.reserved, ",", sum.free);
        }
        lines.push_back(line);
      }
      if (!page.more) break;
    }
    return absl::StrJoin(lines, "; ");
  }

  World world_;
  std::map<std::string, std::string> names_;
};

TEST_F(UsageReport, SumsUpInGroups) {  // D-36
  EXPECT_EQ(Report({}), " 3 3 DISK_GB=20/90,100,10,70 SRIOV_NET_VF=1/8,8,0,7 VCPU=10/20,12,0,10");
  EXPECT_EQ(Report({.grouping = UsageGrouping::kRoot}),
            "cn1 2 2 SRIOV_NET_VF=1/8,8,0,7 VCPU=10/16,8,0,6; "
            "cn2 1 1 DISK_GB=20/90,100,10,70 VCPU=0/4,4,0,4");
  EXPECT_EQ(Report({.grouping = UsageGrouping::kAggregate}),
            "agg1 2 3 DISK_GB=20/90,100,10,70 VCPU=10/20,12,0,10; "
            "agg2 2 2 DISK_GB=20/90,100,10,70 SRIOV_NET_VF=1/8,8,0,7 VCPU=0/4,4,0,4");
  EXPECT_EQ(Report({.grouping = UsageGrouping::kTrait}), "HW_CPU_X86_AVX 1 2 VCPU=10/16,8,0,6");
  EXPECT_EQ(Report({.grouping = UsageGrouping::kProject}),
            "p1 3 2 DISK_GB=20/0,0,0,0 SRIOV_NET_VF=1/0,0,0,0 VCPU=6/0,0,0,0; "
            "p2 1 1 VCPU=4/0,0,0,0");
  EXPECT_EQ(Report({.grouping = UsageGrouping::kConsumerType}),
            "INSTANCE 2 2 SRIOV_NET_VF=1/0,0,0,0 VCPU=10/0,0,0,0; VOLUME 1 1 DISK_GB=20/0,0,0,0");
}

TEST_F(UsageReport, FiltersNarrowWhatIsSummedUp) {  // D-36
  EXPECT_EQ(Report({.classes = {"DISK_GB", "CUSTOM_ABSENT"}}), " 3 1 DISK_GB=20/90,100,10,70");
  EXPECT_EQ(Report({.classes = {"CUSTOM_ABSENT"}}), " 3 0");
  EXPECT_EQ(Report({.aggregates = {world_.aggregate("agg2")}}),
            " 2 2 DISK_GB=20/90,100,10,70 SRIOV_NET_VF=1/8,8,0,7 VCPU=0/4,4,0,4");
  EXPECT_EQ(Report({.traits = {"HW_CPU_X86_AVX"}}), " 1 2 VCPU=10/16,8,0,6");
  EXPECT_EQ(Report({.traits = {"CUSTOM_ABSENT"}}), " 0 0");
  EXPECT_EQ(Report({.grouping = UsageGrouping::kRoot, .traits = {"CUSTOM_ABSENT"}}), "");
  EXPECT_EQ(Report({.grouping = UsageGrouping::kProject, .traits = {"HW_CPU_X86_AVX"}}),
            "p1 1 1 VCPU=6/0,0,0,0; p2 1 1 VCPU=4/0,0,0,0");
  // What a project holds; what can still be given is what nobody holds.
  EXPECT_EQ(Report({.classes = {"VCPU"}, .project = "p1"}), " 3 1 VCPU=6/20,12,0,10");
  EXPECT_EQ(Report({.grouping = UsageGrouping::kConsumerType, .project = "p2"}),
            "INSTANCE 1 1 VCPU=4/0,0,0,0");
}

TEST_F(UsageReport, PagesMissNothing) {
  for (const UsageGrouping grouping :
       {UsageGrouping::kRoot, UsageGrouping::kAggregate, UsageGrouping::kProject}) {
    EXPECT_EQ(Report({.grouping = grouping}, 1), Report({.grouping = grouping}));
  }
}

}  // namespace
}  // namespace berth::placement
