#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/text_format.h"
#include "services/cli/text/bar.h"
#include "services/cli/text/display_width.h"
#include "services/cli/text/provider_tree.h"
#include "services/cli/text/provider_view.h"
#include "services/cli/text/table.h"
#include "tests/services/cli/cli_golden.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int64_t kNow = 1'800'000'000;

pb::ListProvidersResponse Host() {
  pb::ListProvidersResponse answer;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        providers {
          uuid: "n1"
          name: "dc1-h07_numa1"
          parent_uuid: "h"
          root_uuid: "h"
          inventories {
            key: "VCPU"
            value { total: 16 capacity: 16 used: 10 }
          }
          inventories {
            key: "MEMORY_MB"
            value { total: 131072 capacity: 131072 used: 49152 }
          }
        }
        providers {
          uuid: "p"
          name: "dc1-h07_pci_0000:3b:00"
          parent_uuid: "n0"
          root_uuid: "h"
          inventories {
            key: "PGPU"
            value { total: 1 capacity: 1 used: 1 }
          }
          traits: "CUSTOM_A100"
        }
        providers {
          uuid: "n0"
          name: "dc1-h07_numa0"
          parent_uuid: "h"
          root_uuid: "h"
          inventories {
            key: "MEMORY_MB"
            value { total: 131072 capacity: 131072 used: 81920 }
          }
          inventories {
            key: "VCPU"
            value { total: 16 capacity: 16 used: 12 }
          }
          traits: "HW_CPU_X86_AVX"
          traits: "HW_CPU_X86_AVX2"
          traits: "HW_CPU_X86_SSE"
        }
        providers {
          uuid: "h"
          name: "dc1-h07"
          root_uuid: "h"
          aggregate_uuids: "rack1"
          owner {
            host: "dc1-h07"
            reported_at { seconds: 1799999996 }
          }
          inventories {
            key: "VCPU"
            value { total: 32 capacity: 32 used: 22 }
          }
          inventories {
            key: "MEMORY_MB"
            value { total: 262144 capacity: 262144 used: 131072 }
          }
        })pb",
      &answer));
  return answer;
}

pb::ListProvidersResponse Shared() {
  pb::ListProvidersResponse answer;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        providers {
          uuid: "s"
          name: "nfs-a"
          root_uuid: "s"
          aggregate_uuids: "rack1"
          inventories {
            key: "DISK_GB"
            value { total: 100000 capacity: 100000 used: 30000 }
          }
          traits: "MISC_SHARES_VIA_AGGREGATE"
        })pb",
      &answer));
  return answer;
}

TEST(ProviderTree, LooksLikeThis) {
  const pb::ListProvidersResponse host = Host();
  const pb::ListProvidersResponse shared = Shared();
  const TreeOptions options{.now = absl::FromUnixSeconds(kNow)};
  for (const int width : {80, 120, 200}) {
    const Screen screen{.width = width, .bars = true};
    const std::string tree = ProviderTree(host.providers(), shared.providers(), options, screen);
    ExpectGolden(absl::StrCat("tree_", width, ".txt"), tree);
    for (const auto line : absl::StrSplit(tree, '\n')) EXPECT_LE(DisplayWidth(line), width) << line;
  }
  const std::string piped = ProviderTree(host.providers(), shared.providers(), options, Screen());
  ExpectGolden("tree_piped.txt", piped);
}

TEST(ProviderTree, AMemberWithoutItsParentStandsAsARoot) {
  pb::ListProvidersResponse answer;
  answer.add_providers()->set_name("left");
  answer.mutable_providers(0)->set_uuid("l");
  answer.mutable_providers(0)->set_parent_uuid("gone");
  EXPECT_EQ(ProviderTree(answer.providers(), Providers(), TreeOptions(), Screen()), "left\n");
}

TEST(ProviderPage, LooksLikeThis) {
  const pb::ListProvidersResponse host = Host();
  for (const int width : {80, 120}) {
    ExpectGolden(absl::StrCat("provider_", width, ".txt"),
                 ProviderPage(host.providers(3), Screen{.width = width}));
    ExpectGolden(absl::StrCat("providers_", width, ".txt"),
                 ProviderTable(host.providers()).Render(Screen{.width = width}));
  }
}

TEST(Bar, ShowsSomethingUsedAndSomethingFree) {
  const struct {
    int64_t used, capacity;
    std::string bar;
  } cases[] = {
      {0, 32, "░░░░░░░░░░"},  {22, 32, "███████░░░"},    {1, 1000, "█░░░░░░░░░"},
      {32, 32, "██████████"}, {999, 1000, "█████████░"}, {40, 32, "██████████"},
      {1, 0, "██████████"},   {0, 0, "░░░░░░░░░░"},
  };
  for (const auto& c : cases) EXPECT_EQ(Bar(c.used, c.capacity, 10, Screen()), c.bar) << c.used;
  EXPECT_EQ(Bar(1, 2, 2, Screen{.colour = true}), "\x1b[32m█░\x1b[0m");
  EXPECT_EQ(Bar(9, 10, 1, Screen{.colour = true}).substr(0, 5), "\x1b[33m");
  EXPECT_EQ(Bar(2, 2, 1, Screen{.colour = true}).substr(0, 5), "\x1b[31m");
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  const struct {
    std::string text;
    int width;
  } cases[] = {{"", 0},     {"abc", 3},     {"├─ é", 4},
               {"主机", 4}, {"e\u0301", 1}, {"\x1b[31mred\x1b[0m", 3},
               {"\xff", 1}};
  for (const auto& c : cases) EXPECT_EQ(DisplayWidth(c.text), c.width) << c.text;
  EXPECT_EQ(Fitted("主机名", 4), "主…");
  EXPECT_EQ(Fitted("name", 4), "name");
  EXPECT_EQ(PaddedRight("主", 3) + "|", "主 |");
  EXPECT_EQ(PaddedLeft("7", 3), "  7");
}

TEST(DisplayWidth, NamesCannotSteerTheTerminal) {
  EXPECT_EQ(Printable("a\x1b[2Jb\nc\u202Ed\xff"), "a?[2Jb?c?d?");
  EXPECT_EQ(Printable("主机-é"), "主机-é");
}

Table Numbers() {
  Table table({{"NAME", Column::Kind::kText},
               {"UUID", Column::Kind::kExact},
               {"COUNT", Column::Kind::kNumber}});
  table.Add({"a rather long name of a host", "8d3c0c4e", "9"});
  table.Add({"主机", "11111111", "10"});
  return table;
}

TEST(Table, AlignsByColumnsAndCutsTextsOnly) {
  EXPECT_EQ(Numbers().Render(Screen()),
            "NAME                          UUID      COUNT\n"
            "a rather long name of a host  8d3c0c4e      9\n"
            "主机                          11111111     10\n");
  EXPECT_EQ(Numbers().Render(Screen{.width = 30}),
            "NAME           UUID      COUNT\n"
            "a rather lon…  8d3c0c4e      9\n"
            "主机           11111111     10\n");
  EXPECT_EQ(Numbers().Render(Screen{.width = 5}),
            "NAME      UUID      COUNT\n"
            "a rathe…  8d3c0c4e      9\n"
            "主机      11111111     10\n");
}

TEST(Table, SelectsAndSorts) {
  Table table = Numbers();
  ASSERT_TRUE(table.Select({"count", "Name"}).ok());
  ASSERT_TRUE(table.SortBy("-count").ok());
  EXPECT_EQ(table.Render(Screen()),
            "COUNT  NAME\n   10  主机\n    9  a rather long name of a host\n");
  EXPECT_EQ(table.SortBy("bogus").message(),
            "there is no column 'bogus'; the columns are count, name");
  EXPECT_FALSE(table.Select({"uuid"}).ok());
}

}  // namespace
}  // namespace berth::cli
