// The operator's file of what identities may do: what it says, and each fault with its line.
#include "services/access/rules_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"

namespace berth::services {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(RulesFileTest, SaysWhatIdentitiesMayDo) {
  const auto rules = ParseRules(R"(# who left
denied = ["scheduler/old", "admin/eve"]

[scheduler.nova]
projects = ["p1", "Projekt Zürich"]
[scheduler."cloud.a"]
projects = []

[rates]
scheduler = {calls_per_second = 200, burst = 400}
"scheduler/nova" = {calls_per_second = 0.5, burst = 1}

[daily]
tracker = {facts_mib = 256, names = 100, providers = 2000, nodes = 16}
"tracker/compute-1" = {facts_mib = 64, services = 0}
)",
                                "access.toml");
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(rules->denied.size(), 2U);
  EXPECT_FALSE(rules->Admit("scheduler/old").ok());
  EXPECT_FALSE(rules->Admit("admin/eve").ok());
  EXPECT_TRUE(rules->Admit("scheduler/olde").ok());
  EXPECT_TRUE(rules->Admit("reader/old").ok());
  EXPECT_EQ(*rules->ProjectsOf("scheduler/nova"), (placement::ProjectSet{"Projekt Zürich", "p1"}));
  EXPECT_TRUE(rules->ProjectsOf("scheduler/cloud.a")->empty());
  EXPECT_EQ(rules->ProjectsOf("scheduler/other"), nullptr);
  EXPECT_EQ(rules->ProjectsOf("operator/nova"), nullptr);
  EXPECT_EQ(*rules->RateOf("scheduler/other"), (CallRate{200, 400}));
  EXPECT_EQ(*rules->RateOf("scheduler/nova"), (CallRate{0.5, 1}));
  EXPECT_EQ(rules->RateOf("reader/nova"), nullptr);
  EXPECT_EQ(rules->DailyLimitsOf("tracker/other"),
            (DailyAmounts{256 << 20, 100, 2000, 16, kNoDailyLimit}));
  EXPECT_EQ(rules->DailyLimitsOf("tracker/compute-1"), (DailyAmounts{64 << 20, 100, 2000, 16, 0}));
  EXPECT_EQ(rules->DailyLimitsOf("scheduler/other"), std::nullopt);
}

TEST(RulesFileTest, ATrackerMayHaveTheOnlyDailyLimit) {
  const auto rules = ParseRules("[daily.\"tracker/a\"]\nnodes = 1000000000\n", "f");
  ASSERT_TRUE(rules.ok()) << rules.status();
  DailyAmounts limits = kNoDailyLimits;
  limits.nodes = 1'000'000'000;
  EXPECT_EQ(rules->DailyLimitsOf("tracker/a"), limits);
  EXPECT_EQ(rules->DailyLimitsOf("tracker/b"), std::nullopt);
}

TEST(RulesFileTest, LimitsTrackers) {
  const auto rules = ParseRules(R"([ceilings]
tracker = {VCPU = 512, DISK_GB = 4000}
"tracker/compute-1" = {VCPU = 64, MEMORY_MB = 2147483647}

[withheld]
traits = ["CUSTOM_LICENSED", "HW_CPU_X86_AVX"]
resource_classes = ["CUSTOM_GOLD"]
)",
                                "access.toml");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const placement::TrackerLimitsPtr one = rules->LimitsOf("tracker/compute-1");
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->ceilings,
            (placement::Ceilings{{"VCPU", 64}, {"MEMORY_MB", 2147483647}, {"DISK_GB", 4000}}));
  ASSERT_NE(one->withheld, nullptr);
  EXPECT_THAT(one->withheld->traits, ElementsAre("CUSTOM_LICENSED", "HW_CPU_X86_AVX"));
  EXPECT_THAT(one->withheld->resource_classes, ElementsAre("CUSTOM_GOLD"));
  const placement::TrackerLimitsPtr other = rules->LimitsOf("tracker/compute-10");
  EXPECT_EQ(other->ceilings, (placement::Ceilings{{"VCPU", 512}, {"DISK_GB", 4000}}));
  EXPECT_EQ(other->withheld, one->withheld);
  for (const char* no_tracker : {"operator/compute-1", "tracker", "", "tracker (unverified)"}) {
    EXPECT_EQ(rules->LimitsOf(no_tracker), nullptr) << no_tracker;
  }
}

TEST(RulesFileTest, LimitsNoTrackerThatItDoesNotName) {
  const auto rules = ParseRules("[ceilings]\n\"tracker/a\" = {VCPU = 1}\n[withheld]\n", "f");
  ASSERT_TRUE(rules.ok()) << rules.status();
  ASSERT_NE(rules->LimitsOf("tracker/a"), nullptr);
  EXPECT_EQ(rules->LimitsOf("tracker/a")->withheld, nullptr);
  EXPECT_EQ(rules->LimitsOf("tracker/b"), nullptr);
}

TEST(RulesFileTest, ADenialHasItsReason) {
  const auto rules = ParseRules(
      "[[denied]]\nidentity = \"reader/ann\"\nreason = \"her key was copied\"\n"
      "[[denied]]\nidentity = \"reader/bob\"\n",
      "f");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const absl::Status ann = rules->Admit("reader/ann");
  EXPECT_EQ(ann.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(placement::RefusalOf(ann)->reason, "IDENTITY_DENIED");
  EXPECT_EQ(placement::RefusalOf(ann)->items.at(0).at("identity"), "reader/ann");
  EXPECT_THAT(ann.message(), HasSubstr("her key was copied"));
  EXPECT_FALSE(rules->Admit("reader/bob").ok());
}

TEST(RulesFileTest, AReasonIsShort) {
  const auto of = [](int characters) {
    std::string text = "[[denied]]\nidentity = \"reader/ann\"\nreason = \"";
    for (int i = 0; i < characters; ++i) text += "ü";
    return ParseRules(text + "\"\n", "f").status();
  };
  EXPECT_TRUE(of(255).ok()) << of(255);
  EXPECT_THAT(std::string(of(256).message()), StartsWith("f:1: a reason is one line of 255"));
}

TEST(RulesFileTest, CommentsAloneLimitNothing) {
  const auto rules = ParseRules("# denied = [\"admin/eve\"]\n", "f");
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_TRUE(rules->Admit("admin/eve").ok());
  EXPECT_TRUE(rules->projects.empty());
  EXPECT_TRUE(rules->rates.empty());
  EXPECT_EQ(rules->LimitsOf("tracker/a"), nullptr);
  EXPECT_TRUE(rules->daily.empty());
}

struct FaultCase {
  const char* text;
  int line;
  const char* words;
};
constexpr FaultCase kFaultCases[] = {
    {"", 1, "is empty"},
    // Half written.
    {"denied = [\"reader/a\",\n", 2, "array"},
    {"denied = [\"reader/a\n", 1, "array"},
    {"\n[scheduler.nova\n", 2, "key"},
    {"denied = []\ndenied = []\n", 2, "already exists"},
    {"[scheduler.a]\nprojects = []\n[scheduler.a]\nprojects = []\n", 3, "already exists"},
    // Keys.
    {"\n\nallowed = []\n", 3,
     "unknown key 'allowed': known are denied, scheduler, rates, withheld"},
    {"[tracker.a]\nx = 1\n", 1, "unknown key 'tracker'"},
    {"[scheduler.a]\nprojects = []\nproject = []\n", 3, "unknown key 'project' of a scheduler"},
    {"[[denied]]\nidentity = \"reader/a\"\nwhy = \"\"\n", 3, "unknown key 'why' in [[denied]]"},
    {"[rates]\nreader = {calls_per_second = 1, burst = 1, b = 1}", 2, "unknown key 'b' of a rate"},
    // Identities.
    {"denied = [\n\"reader/a\",\n\"old\"]\n", 3, "'old' is no identity: write ROLE/NAME"},
    {"denied = [\"boss/a\"]\n", 1, "'boss' in 'boss/a' is no role: tracker, reader, scheduler"},
    {"denied = [\"Reader/a\"]\n", 1, "is no role"},
    {"denied = [\"*/a\"]\n", 1, "is no role"},
    {"denied = [\"admin\"]\n", 1, "is no identity"},
    {"denied = [\"admin/*\"]\n", 1, "'*' is a pattern"},
    {"denied = [\"admin/[a-z]\"]\n", 1, "is a pattern"},
    {"denied = [\"reader/\"]\n", 1, "is no name"},
    {"denied = [\"reader/a/b\"]\n", 1, "is no name"},
    {"denied = [\"reader/a b\"]\n", 1, "is no name"},
    {"denied = [\"reader/..\"]\n", 1, "is no name"},
    {"denied = [\"reader/a\",\n \"reader/b\",\n \"reader/a\"]\n", 3, "'reader/a' is denied twice"},
    {"[[denied]]\nidentity = \"reader/a\"\n[[denied]]\nidentity = \"reader/a\"\n", 3, "twice"},
    {"[[denied]]\nreason = \"\"\n", 1, "needs an identity"},
    {"[[denied]]\nidentity = \"reader/a\"\nreason = \"a\\nb\"\n", 1, "a reason is one line"},
    {"denied = \"reader/a\"\n", 1, "must be a list"},
    {"denied = [1]\n", 1, "must be a text"},
    // Schedulers.
    {"scheduler = 1\n", 1, "write sections [scheduler.NAME]"},
    {"scheduler.a = 1\n", 1, "write a section [scheduler.NAME]"},
    {"[scheduler]\nprojects = []\n", 2, "write a section [scheduler.NAME]"},
    {"[scheduler.\"*\"]\nprojects = []\n", 1, "is a pattern"},
    {"[scheduler.a]\n", 1, "[scheduler.a] says nothing"},
    {"[scheduler.a]\nprojects = \"p\"\n", 2, "must be a list of texts"},
    {"[scheduler.a]\nprojects = [1]\n", 2, "a project must be a text"},
    {"[scheduler.a]\nprojects = [\"\"]\n", 2, "1 to 255 characters"},
    {"[scheduler.a]\nprojects = [\n\"p\",\n\"p\"]\n", 4, "'p' is named twice"},
    // Rates.
    {"rates = 1\n", 1, "write a section [rates]"},
    {"[rates]\nboss = {calls_per_second = 1, burst = 1}\n", 2, "'boss' is no identity"},
    {"[rates]\n\"admin/*\" = {calls_per_second = 1, burst = 1}\n", 2, "is a pattern"},
    {"[rates]\nreader = 5\n", 2, "write {calls_per_second = NUMBER, burst = NUMBER}"},
    {"[rates]\nreader = {burst = 1}\n", 2, "write {calls_per_second"},
    {"[rates]\nreader = {calls_per_second = 1}\n", 2, "write {calls_per_second"},
    {"[rates]\nadmin = {calls_per_second = 0, burst = 1}\n", 2, "must be a number from 0.001"},
    {"[rates]\nadmin = {calls_per_second = -1, burst = 1}\n", 2, "must be a number"},
    {"[rates]\nadmin = {calls_per_second = nan, burst = 1}\n", 2, "must be a number"},
    {"[rates]\nadmin = {calls_per_second = inf, burst = 1}\n", 2, "must be a number"},
    {"[rates]\nadmin = {calls_per_second = 1, burst = 0}\n", 2, "burst must be a number from 1"},
    {"[rates]\nadmin = {calls_per_second = 1, burst = 1.5}\n", 2, "must be a whole number"},
    {"[rates]\nadmin = {calls_per_second = 1, burst = 99999999999999999999}\n", 2, "burst must"},
    {"[rates]\nadmin = {calls_per_second = 1, burst = 1}\nadmin = 1\n", 3, "already exists"},
    // Withheld names.
    {"withheld = 1\n", 1, "write a section [withheld]"},
    {"[withheld]\ntrait = []\n", 2, "unknown key 'trait' in [withheld]: known are traits and"},
    {"[withheld]\ntraits = \"A\"\n", 2, "traits must be a list of texts"},
    {"[withheld]\nresource_classes = [1]\n", 2, "a name must be a text"},
    {"[withheld]\ntraits = [\n\"A\",\n\"custom_a\"]\n", 4, "'custom_a' is no name"},
    {"[withheld]\ntraits = [\"\"]\n", 2, "'' is no name: write 1 to 255 capital letters"},
    {"[withheld]\nresource_classes = [\"A*\"]\n", 2, "'A*' is no name"},
    {"[withheld]\ntraits = [\n\"A\",\n\"A\"]\n", 4, "'A' is named twice"},
    {"[withheld]\ntraits = [\"OWNER_NOVA\"]\n", 2, "'OWNER_NOVA' cannot be withheld"},
    {"[withheld]\ntraits = [\"COMPUTE_STATUS_DISABLED\"]\n", 2, "cannot be withheld"},
    // Ceilings.
    {"ceilings = 1\n", 1, "write a section [ceilings]"},
    {"[ceilings]\nscheduler = {VCPU = 1}\n", 2, "'scheduler' is no tracker: write tracker, or"},
    {"[ceilings]\n\"operator/a\" = {VCPU = 1}\n", 2, "'operator/a' is no tracker"},
    {"[ceilings]\nboss = {VCPU = 1}\n", 2, "'boss' is no tracker"},
    {"[ceilings]\n\"tracker/*\" = {VCPU = 1}\n", 2, "'*' is a pattern"},
    {"[ceilings]\n\"tracker/\" = {VCPU = 1}\n", 2, "is no name of an identity"},
    {"[ceilings]\ntracker = 5\n", 2, "write {RESOURCE_CLASS = TOTAL, ...}"},
    {"[ceilings]\ntracker = {}\n", 2, "write {RESOURCE_CLASS = TOTAL, ...}"},
    {"[ceilings]\ntracker = {vcpu = 1}\n", 2, "'vcpu' is no name"},
    {"[ceilings]\ntracker = {VCPU = 0}\n", 2, "VCPU must be a whole number from 1 to 2147483647"},
    {"[ceilings]\ntracker = {VCPU = -1}\n", 2, "VCPU must be a whole number"},
    {"[ceilings]\ntracker = {VCPU = 1.5}\n", 2, "VCPU must be a whole number"},
    {"[ceilings]\ntracker = {VCPU = 2147483648}\n", 2, "VCPU must be a whole number"},
    {"[ceilings]\ntracker = {VCPU = 1, VCPU = 2}\n", 2, "already exists"},
    {"[ceilings.tracker]\nVCPU = 1\nMEMORY_MB = \"9\"\n", 3, "MEMORY_MB must be a whole number"},
    // Days.
    {"daily = 1\n", 1, "write a section [daily]"},
    {"[daily]\n\nscheduler = {names = 1}\n", 3, "'scheduler' is no tracker: write tracker, or"},
    {"[daily]\n\"reader/a\" = {names = 1}\n", 2, "'reader/a' is no tracker"},
    {"[daily]\ncompute-1 = {names = 1}\n", 2, "'compute-1' is no tracker"},
    {"[daily]\n\"tracker/*\" = {names = 1}\n", 2, "is a pattern"},
    {"[daily]\n\"tracker/\" = {names = 1}\n", 2, "is no name"},
    {"[daily]\ntracker = 1\n", 2, "write {facts_mib = NUMBER, names = NUMBER}"},
    {"[daily]\ntracker = {}\n", 2, "write {facts_mib = NUMBER, names = NUMBER}"},
    {"[daily]\ntracker = {facts = 1}\n", 2,
     "unknown key 'facts' of a day: known are facts_mib, names"},
    {"[daily]\ntracker = {names = -1}\n", 2, "names must be a whole number from 0 to 1000000000"},
    {"[daily]\ntracker = {nodes = 1000000001}\n", 2, "nodes must be a whole number"},
    {"[daily]\ntracker = {nodes = 99999999999999999999}\n", 2, "nodes must be a whole number"},
    {"[daily]\ntracker = {facts_mib = 0.5}\n", 2, "facts_mib must be a whole number"},
    {"[daily]\ntracker = {services = \"4\"}\n", 2, "services must be a whole number"},
    {"[daily]\ntracker = {names = 1, names = 2}\n", 2, "names"},
    {"[daily]\ntracker = {names = 1}\ntracker = {names = 2}\n", 3, "already exists"},
};

TEST(RulesFileTest, EachFaultIsToldWithItsLine) {
  for (const FaultCase& c : kFaultCases) {
    const auto rules = ParseRules(c.text, "a.toml");
    ASSERT_FALSE(rules.ok()) << c.text;
    EXPECT_EQ(rules.status().code(), absl::StatusCode::kInvalidArgument) << c.text;
    EXPECT_THAT(std::string(rules.status().message()),
                AllOf(StartsWith(absl::StrCat("a.toml:", c.line, ": ")), HasSubstr(c.words)))
        << c.text;
  }
}

// toml11 calls itself for each bracket and for each part of a key.
TEST(RulesFileTest, WhatIsNestedTooDeeplyIsRefused) {
  const std::string most(kRulesFileBytesMax - 20, '[');
  for (const std::string& text : {"\ndenied = " + most, "\ndenied = {a=" + std::string(33, '{'),
                                  "\n" + std::string(kRulesFileBytesMax / 2, '.')}) {
    const auto rules = ParseRules(text, "f");
    EXPECT_THAT(std::string(rules.status().message()), StartsWith("f:2: ")) << text.substr(0, 30);
  }
  // Texts and comments may have what they like.
  const std::string brackets(100, '[');
  EXPECT_TRUE(ParseRules("# " + brackets + "\n[[denied]]\nidentity = \"reader/a\"\nreason = \"" +
                             brackets + "\\\"" + brackets + "\"\n",
                         "f")
                  .ok());
}

TEST(RulesFileTest, ManyEntriesAreReadInTheirOrder) {
  std::string text = "[rates]\n";
  for (int i = 0; i < 300; ++i) {
    absl::StrAppend(&text, "\"reader/r", i, "\" = {calls_per_second = 1, burst = 1}\n");
  }
  const auto good = ParseRules(text, "f");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->rates.size(), 300u);
  const auto bad = ParseRules(text + "\"boss/a\" = {calls_per_second = 1, burst = 1}\n", "f");
  EXPECT_THAT(std::string(bad.status().message()), StartsWith("f:302: "));
}

TEST(RulesFileTest, OfSeveralFaultsTheFirstInTheFileIsTold) {
  const auto rules =
      ParseRules("[scheduler.b]\nx = 1\n[scheduler.a]\ny = 1\n[rates]\nz = 1\n", "f");
  EXPECT_THAT(std::string(rules.status().message()), StartsWith("f:2: "));
}

class RulesTextTest : public ::testing::Test {
 protected:
  RulesTextTest() {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  std::string Write(const std::string& text) const {
    std::ofstream(file_) << text;
    return file_;
  }

  const std::string directory_ = ::testing::TempDir() + "/berth-rules-text";
  const std::string file_ = directory_ + "/access.toml";
};

TEST_F(RulesTextTest, AFileIsReadOrAbsent) {
  EXPECT_EQ(*ReadRulesText(file_), std::nullopt);
  EXPECT_EQ(*ReadRulesText(directory_ + "/none/access.toml"), std::nullopt);
  EXPECT_EQ(*ReadRulesText(Write("denied = []\n")), "denied = []\n");
  EXPECT_EQ(*ReadRulesText(Write("")), "");
  const std::string largest(kRulesFileBytesMax, '#');
  EXPECT_EQ(*ReadRulesText(Write(largest)), largest);
}

TEST_F(RulesTextTest, WhatIsNoReadableFileIsToldByName) {
  const std::string link = directory_ + "/link";
  std::filesystem::create_symlink(Write("denied = []\n"), link);
  const std::string pipe = directory_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string large = directory_ + "/large";
  std::ofstream(large) << std::string(kRulesFileBytesMax + 1, '#');
  const std::vector<std::pair<std::string, const char*>> cases = {
      {link, "is a link"},
      {directory_, "is a directory"},
      {pipe, "is no regular file"},
      {large, "is larger than 128 KiB"},
      {file_ + "/below", "Not a directory"},
  };
  for (const auto& [file, words] : cases) {
    const auto text = ReadRulesText(file);
    ASSERT_FALSE(text.ok()) << file;
    EXPECT_THAT(std::string(text.status().message()),
                AllOf(StartsWith(file + ": "), HasSubstr(words)));
  }
}

}  // namespace
}  // namespace berth::services
