// How much one report may bring, and how much many reports may leave.
#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/rules/rules.h"
#include "placement/values/faults.h"
#include "placement/values/refusal.h"
#include "tests/worlds/fleet_world.h"

namespace berth::placement {
namespace {

class RulesReportBounds : public testing::Test {
 protected:
  RulesReportBounds() { fleet_.Register("h1", 1, "machine-a"); }

  FleetWorld fleet_;
};

TEST_F(RulesReportBounds, TooMuchAtOnce) {
  using Report = ApplyReport;
  const auto bring = [](int count, ReportedProvider& provider) {
    for (int i = 0; i < count; ++i) provider.traits_present.push_back(absl::StrCat("CUSTOM_", i));
  };
  const std::pair<const char*, std::function<void(Report&)>> cases[] = {
      {"INVALID_FIELD", [](Report& r) { r.providers.resize(2001); }},
      {"INVALID_FIELD", [](Report& r) { r.removed.resize(2001); }},
      {"INVALID_FIELD", [](Report& r) { r.providers[1].traits_present.resize(1025, "HW_A"); }},
      {"INVALID_FIELD", [](Report& r) { r.providers[1].traits_absent.resize(1025, "HW_A"); }},
      {"INVALID_FIELD", [](Report& r) { r.providers[1].inventories.resize(257); }},
      {"INVALID_FIELD", [](Report& r) { r.providers[1].aggregates.emplace(1025); }},
      {"INVALID_FIELD", [&](Report& r) { bring(257, r.providers[1]); }},
      {"OK", [&](Report& r) { bring(256, r.providers[0]), bring(256, r.providers[1]); }},
  };
  for (size_t i = 0; i < std::size(cases); ++i) {
    ApplyReport report = fleet_.MakeReport("h1", 1, "cn1{VCPU:8}\n  pf1", 1);
    cases[i].second(report);
    const absl::StatusOr<Outcome> outcome = fleet_.world.Do(report);
    const auto refusal = RefusalOf(outcome.status());
    EXPECT_EQ(refusal ? refusal->reason : "OK", cases[i].first) << i;
    if (refusal) {
      EXPECT_EQ(refusal->items.size(), 1u) << i;
    }
  }
}

TEST_F(RulesReportBounds, ManyReportsGiveAProviderNoMoreTraitsThanOneMayHave) {
  const auto answer = [&](int64_t sequence, int from, int to) {
    ApplyReport report = fleet_.MakeReport("h1", 1, "cn1{VCPU:8}", sequence);
    for (int i = from; i < to; ++i) {
      report.providers[0].traits_present.push_back(absl::StrCat("CUSTOM_", i));
    }
    return fleet_.Send(report);
  };
  constexpr int kEach = 256;                               // new names in one report
  constexpr int kMany = static_cast<int>(kTraitsMax) - 1;  // beside OWNER_NOVA
  int64_t sequence = 1;
  for (int from = 0; from < kMany; from += kEach) {
    ASSERT_EQ(answer(sequence++, from, std::min(from + kEach, kMany)), "OK");
  }
  EXPECT_EQ(answer(sequence, kMany, kMany + 1), "INVALID_FIELD");
  EXPECT_FALSE(fleet_.HasTrait("cn1", absl::StrCat("CUSTOM_", kMany)));
  EXPECT_EQ(answer(sequence, 0, 1), "OK");
}

}  // namespace
}  // namespace berth::placement
