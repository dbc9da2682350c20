// Malformed candidate requests: the reason of each refusal, and which refusal comes first.
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/search/search.h"
#include "placement/values/refusal.h"
#include "tests/worlds/request_notation.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

using Edit = std::function<void(CandidateRequest&)>;

World HostWorld() { return World("cn1[CUSTOM_A,CUSTOM_B]{VCPU:8, MEMORY_MB:1024}(agg1)"); }

// A correct request that reaches every check: two suffixed groups, one of them without resources.
CandidateRequest Lawful(World& world) {
  return ParseRequest(world,
                      "r VCPU:1; r._A MEMORY_MB:1 q._A CUSTOM_A; m._B agg1; none; ss _A,_B; "
                      "root CUSTOM_A");
}

std::string ReasonOf(const absl::Status& status) {
  if (status.ok()) return "OK";
  const std::optional<Refusal> refusal = RefusalOf(status);
  return refusal ? refusal->reason : status.ToString();
}

struct Fault {
  const char* name;
  const char* reason;
  absl::StatusCode code;
  Edit edit;
};

// Faults in the order of P-175: a request with two of them is refused for the one listed first.
std::vector<Fault> Faults() {
  using R = CandidateRequest;
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  constexpr auto kMissing = absl::StatusCode::kNotFound;
  return {
      {"LimitBelowOne", "INVALID_FIELD", kBad, [](R& r) { r.limit = 0; }},  // P-208
      {"RootTraitConflict", "CONFLICTING_TRAITS", kBad,                     // P-171
       [](R& r) { r.root_forbidden.push_back("CUSTOM_A"); }},
      {"EmptySubtreeSet", "UNKNOWN_SUFFIX", kBad,  // P-169
       [](R& r) { r.same_subtree.push_back({}); }},
      {"AmountZero", "INVALID_FIELD", kBad,  // P-7
       [](R& r) {
         r.groups[1].resources.push_back({"VCPU", 0});
       }},
      {"NothingAskedFor", "NO_RESOURCES_REQUESTED", kBad,  // P-166
       [](R& r) {
         for (RequestGroup& group : r.groups) group.resources.clear();
       }},
      {"ResourcelessUnsuffixed", "RESOURCELESS_GROUP", kBad,  // P-168
       [](R& r) { r.groups[0].resources.clear(); }},
      {"UnknownSuffix", "UNKNOWN_SUFFIX", kBad,  // P-169
       [](R& r) {
         r.same_subtree.push_back({"_A", "_Z"});
       }},
      {"GroupTraitConflict", "CONFLICTING_TRAITS", kBad,  // P-171
       [](R& r) { r.groups[1].forbidden.push_back("CUSTOM_A"); }},
      {"PolicyMissing", "GROUP_POLICY_REQUIRED", kBad,  // P-170
       [](R& r) { r.group_policy = GroupPolicy::kUnset; }},
      {"UnknownTrait", "TRAIT_NOT_FOUND", kMissing,  // P-174
       [](R& r) { r.root_forbidden.push_back("CUSTOM_NEVER_MADE"); }},
  };
}

TEST(SearchForm, LawfulRequestIsServed) {
  World world = HostWorld();
  const auto found = FindCandidates(world.state(), Lawful(world), SearchBudget{});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->candidates.size(), 1u);
}

TEST(SearchForm, EachFaultHasItsReason) {
  World world = HostWorld();
  for (const Fault& fault : Faults()) {
    CandidateRequest request = Lawful(world);
    fault.edit(request);
    const absl::Status status = FindCandidates(world.state(), request, SearchBudget{}).status();
    EXPECT_EQ(ReasonOf(status), fault.reason) << fault.name;
    EXPECT_EQ(status.code(), fault.code) << fault.name;
  }
}

TEST(SearchForm, EarlierStagesComeFirst) {
  World world = HostWorld();
  const std::vector<Fault> faults = Faults();
  for (size_t upper = 0; upper < faults.size(); ++upper) {
    for (size_t lower = upper + 1; lower < faults.size(); ++lower) {
      CandidateRequest request = Lawful(world);
      faults[lower].edit(request);
      faults[upper].edit(request);
      const absl::Status status = FindCandidates(world.state(), request, SearchBudget{}).status();
      EXPECT_EQ(ReasonOf(status), faults[upper].reason)  // P-175
          << faults[upper].name << " with " << faults[lower].name;
    }
  }
}

struct Variant {
  const char* name;
  const char* reason;
  Edit edit;
};

void ExpectReasons(const std::vector<Variant>& variants) {
  World world = HostWorld();
  for (const Variant& variant : variants) {
    CandidateRequest request = Lawful(world);
    variant.edit(request);
    EXPECT_EQ(ReasonOf(FindCandidates(world.state(), request, SearchBudget{}).status()),
              variant.reason)
        << variant.name;
  }
}

TEST(SearchForm, OtherFaults) {
  using R = CandidateRequest;
  const std::vector<Variant> variants = {
      {"SuffixTwice", "DUPLICATE_PARAMETER", [](R& r) { r.groups[2].suffix = "_A"; }},  // P-167
      {"ClassTwice", "DUPLICATE_PARAMETER",
       [](R& r) {
         r.groups[0].resources.push_back({"VCPU", 2});
       }},  // P-167
      {"SuffixWithDot", "INVALID_FIELD", [](R& r) { r.groups[2].suffix = "a.b"; }},
      {"SuffixTooLong", "INVALID_FIELD", [](R& r) { r.groups[2].suffix = std::string(65, 'a'); }},
      {"AmountAboveMax", "INVALID_FIELD",
       [](R& r) { r.groups[0].resources[0].amount = kAmountMax + 1; }},  // P-7
      {"EmptyTraitTerm", "INVALID_FIELD", [](R& r) { r.groups[1].required.push_back({}); }},
      {"EmptyAggregateTerm", "INVALID_FIELD", [](R& r) { r.groups[1].member_of.push_back({}); }},
      {"LowerCaseTrait", "INVALID_FIELD", [](R& r) { r.root_required.push_back({"custom_a"}); }},
      {"UnsuffixedInSubtree", "UNKNOWN_SUFFIX",
       [](R& r) { r.same_subtree.push_back({""}); }},  // P-169
      {"ResourcelessWithoutFilter", "RESOURCELESS_GROUP",
       [](R& r) { r.groups[2].member_of.clear(); }},  // P-168
      {"ResourcelessOutsideSubtrees", "RESOURCELESS_GROUP",
       [](R& r) { r.same_subtree.clear(); }},  // P-168
      {"UnknownClass", "RESOURCE_CLASS_NOT_FOUND",
       [](R& r) { r.groups[0].resources[0].resource_class = "CUSTOM_NEVER_MADE"; }},  // P-174
      {"UnknownForbiddenTrait", "TRAIT_NOT_FOUND",
       [](R& r) { r.groups[1].forbidden.push_back("CUSTOM_NEVER_MADE"); }},  // P-174
  };
  ExpectReasons(variants);
}

TEST(SearchForm, FaultsOfSetsTermsAndDividedAmounts) {
  using R = CandidateRequest;
  const std::vector<Variant> variants = {
      {"IsolateUnknownSuffix", "UNKNOWN_SUFFIX",
       [](R& r) {
         r.isolate.push_back({"_A", "_Z"});
       }},
      {"SeparateUnsuffixed", "UNKNOWN_SUFFIX", [](R& r) { r.separate_subtrees.push_back({""}); }},
      {"EmptyRootTerm", "INVALID_FIELD", [](R& r) { r.root_required.push_back({}); }},
      {"EmptyRootAggregateTerm", "INVALID_FIELD", [](R& r) { r.root_member_of.push_back({}); }},
      {"RootTermOfOneTwice", "CONFLICTING_TRAITS",
       [](R& r) {
         r.root_required = {{"CUSTOM_B", "CUSTOM_B"}};
         r.root_forbidden = {"CUSTOM_B"};
       }},  // P-171
      {"TooManyGroups", "INVALID_FIELD",
       [](R& r) {
         for (int i = 0; i < 63; ++i) {
           r.groups.push_back({absl::StrCat("g", i), {{"VCPU", 1}}, {}, {}, {}, {}, {}, {}});
         }
       }},
      {"DividedOfSuffixedGroup", "INVALID_FIELD",
       [](R& r) {
         r.groups[1].max_providers = {{"MEMORY_MB", 2}};
       }},
      {"DividedOfWhatIsNotAskedFor", "INVALID_FIELD",
       [](R& r) {
         r.groups[0].max_providers = {{"MEMORY_MB", 2}};
       }},
      {"DividedTooWide", "INVALID_FIELD",
       [](R& r) {
         r.groups[0].max_providers = {{"VCPU", 17}};
       }},
  };
  ExpectReasons(variants);
}

TEST(SearchForm, IsNoFault) {
  using R = CandidateRequest;
  const std::vector<Variant> variants = {
      {"PartlyForbiddenTerm", "OK",
       [](R& r) {
         r.groups[1].required = {{"CUSTOM_A", "CUSTOM_B"}};
         r.groups[1].forbidden = {"CUSTOM_B"};
       }},  // P-171
      {"GroupAgainstRoot", "OK",
       [](R& r) {
         r.root_required = {{"CUSTOM_B"}};
         r.groups[0].forbidden = {"CUSTOM_B"};
       }},
      {"SubtreeOfOne", "OK", [](R& r) { r.same_subtree.push_back({"_A"}); }},          // P-169
      {"SuffixRepeatedInSet", "OK", [](R& r) { r.same_subtree[0].push_back("_A"); }},  // P-169
      {"PolicyUnsetWithOneSuffix", "OK",
       [](R& r) {
         r.groups.pop_back();
         r.same_subtree.clear();
         r.group_policy = GroupPolicy::kUnset;
       }},  // P-170
      {"RootTermPartlyForbidden", "OK",
       [](R& r) {
         r.root_required = {{"CUSTOM_A", "CUSTOM_B"}};
         r.root_forbidden = {"CUSTOM_B"};
       }},  // P-171, P-172
      {"Divided", "OK",
       [](R& r) {
         r.groups[0].max_providers = {{"VCPU", 16}};
       }},
  };
  ExpectReasons(variants);
}

TEST(SearchForm, UnknownNames) {
  using R = CandidateRequest;
  const std::vector<Variant> variants = {
      {"UnknownTree", "OK",
       [](R& r) {
         r.groups[0].in_tree = ProviderId{{9, 9}};
       }},  // P-193
      {"UnknownAggregate", "OK",
       [](R& r) {
         r.groups[0].member_of = {{AggregateId{{9, 9}}}};
       }},  // P-174
      {"UnknownForbiddenTraitIgnored", "OK",
       [](R& r) {
         r.groups[1].forbidden.push_back("CUSTOM_NEVER_MADE");
         r.root_forbidden.push_back("CUSTOM_NEVER_MADE");
         r.ignore_unknown_forbidden = true;
       }},  // D-24
      {"UnknownRequiredTraitIsNotIgnored", "TRAIT_NOT_FOUND",
       [](R& r) {
         r.root_required.push_back({"CUSTOM_NEVER_MADE"});
         r.ignore_unknown_forbidden = true;
       }},
  };
  ExpectReasons(variants);
}

// Requests so long that one step of the search would take too much time. They are refused before
// any other check.
TEST(SearchForm, TooMuchIsAskedFor) {
  using R = CandidateRequest;
  const std::vector<std::string> trait = {"CUSTOM_A"};
  const std::vector<AggregateId> aggregate = {AggregateId{{9, 9}}};
  const std::vector<std::string> pair = {"_A", "_B"};
  const std::vector<Variant> variants = {
      {"groups", "INVALID_FIELD", [](R& r) { r.groups.resize(66, r.groups[1]); }},
      {"root_required", "INVALID_FIELD", [&](R& r) { r.root_required.resize(65, trait); }},
      {"root_member_of", "INVALID_FIELD", [&](R& r) { r.root_member_of.resize(65, aggregate); }},
      {"required", "INVALID_FIELD", [&](R& r) { r.groups[1].required.resize(65, trait); }},
      {"required, most", "OK", [&](R& r) { r.groups[1].required.resize(64, trait); }},
      {"member_of", "INVALID_FIELD", [&](R& r) { r.groups[1].member_of.resize(65, aggregate); }},
      {"same_subtree", "INVALID_FIELD", [&](R& r) { r.same_subtree.resize(65, pair); }},
      {"isolate", "INVALID_FIELD", [&](R& r) { r.isolate.resize(65, pair); }},
      {"isolate, most", "OK", [&](R& r) { r.isolate.resize(64, pair); }},
      {"separate_subtrees", "INVALID_FIELD", [&](R& r) { r.separate_subtrees.resize(65, pair); }},
      {"names of sets", "INVALID_FIELD", [](R& r) { r.same_subtree[0].resize(4096, "_A"); }},
      {"names of terms", "INVALID_FIELD",
       [](R& r) { r.groups[1].required[0].resize(4096, "CUSTOM_A"); }},
      {"forbidden traits", "INVALID_FIELD",
       [](R& r) { r.groups[0].forbidden.resize(4096, "CUSTOM_B"); }},
      {"forbidden traits, many", "OK",
       [](R& r) { r.groups[2].forbidden.resize(4000, "CUSTOM_B"); }},
      {"forbidden aggregates", "INVALID_FIELD",
       [&](R& r) { r.groups[0].forbidden_aggregates.resize(4096, aggregate[0]); }},
      {"forbidden at the root", "INVALID_FIELD",
       [](R& r) { r.root_forbidden.resize(4096, "CUSTOM_B"); }},
      {"aggregates forbidden at the root", "INVALID_FIELD",
       [&](R& r) { r.root_forbidden_aggregates.resize(4096, aggregate[0]); }},
      {"forbidden roots", "INVALID_FIELD", [](R& r) { r.forbidden_roots.resize(4096); }},
      {"before what is unknown", "INVALID_FIELD", [&](R& r) { r.isolate.resize(65, {"_NOBODY"}); }},
  };
  ExpectReasons(variants);
}

TEST(SearchForm, AllUnknownNamesAreListed) {
  World world = HostWorld();
  CandidateRequest request = Lawful(world);
  request.groups[0].resources.push_back({"CUSTOM_NO_CLASS", 1});
  request.groups[1].forbidden.push_back("CUSTOM_NO_TRAIT");
  request.root_forbidden.push_back("CUSTOM_NEITHER");
  const absl::Status status = FindCandidates(world.state(), request, SearchBudget{}).status();
  const std::optional<Refusal> refusal = RefusalOf(status);
  ASSERT_TRUE(refusal.has_value());
  const std::vector<FaultItem> expected = {{{"resource_class", "CUSTOM_NO_CLASS"}},
                                           {{"trait", "CUSTOM_NO_TRAIT"}},
                                           {{"trait", "CUSTOM_NEITHER"}}};
  EXPECT_EQ(refusal->items, expected);  // P-174
}

}  // namespace
}  // namespace berth::placement
