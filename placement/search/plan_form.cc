// CheckRequest: the checks of a request that need no state, in the stages of P-175.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "placement/search/plan.h"
#include "placement/values/catalog.h"
#include "placement/values/faults.h"

namespace berth::placement {
namespace {

constexpr size_t kSuffixLengthMax = 64;
constexpr int kSuffixedMax = 64;     // groups with a suffix
constexpr int kDividedMax = 16;      // providers of one divided amount
constexpr size_t kSetsMax = 64;      // sets of suffixes, in each field
constexpr size_t kWeightsMax = 256;  // the sum of more weighted scores could overflow an int64

bool IsSuffix(absl::string_view text) {
  return text.size() <= kSuffixLengthMax && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
         });
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string FieldOf(const CandidateRequest& request, const RequestGroup& group) {
  return absl::StrCat("groups[", &group - request.groups.data(), "]");
}

std::string NameOf(const RequestGroup& group) {
  return group.suffix.empty() ? "the unsuffixed group" : absl::StrCat("group ", group.suffix);
}

bool IsSuffixed(const RequestGroup& group) { return !group.suffix.empty(); }

void CheckTraitTerms(Faults& faults, const std::string& field,
                     const std::vector<std::vector<std::string>>& terms) {
  for (const std::vector<std::string>& set : terms) {
    if (set.empty()) {
      faults.Add(kInvalidField, field, "has an empty term: each term must name at least one trait");
    }
    for (const std::string& trait : set) faults.UpperName(field, trait);
  }
}

void CheckAggregateTerms(Faults& faults, const std::string& field,
                         const std::vector<std::vector<AggregateId>>& terms) {
  for (const std::vector<AggregateId>& set : terms) {
    if (set.empty()) {
      faults.Add(kInvalidField, field,
                 "has an empty term: each term must name at least one aggregate");
    }
  }
}

// Adds faults for too many weights, malformed names, and weights not from `least` to kWeightMax.
void CheckWeights(Faults& faults, const std::string& field, const std::vector<NamedWeight>& weights,
                  double least) {
  if (weights.size() > kWeightsMax) {
    return faults.Add(
        kInvalidField, field,
        absl::StrCat("must have at most ", kWeightsMax, " weights, but has ", weights.size()));
  }
  for (const NamedWeight& each : weights) {
    faults.UpperName(field, each.name);
    if (each.weight >= least && each.weight <= kWeightMax) continue;  // false for NaN
    faults.Add(kInvalidField, field,
               absl::StrCat("must give ", each.name, " a weight from ", least, " to ", kWeightMax));
  }
}

template <typename Name>
size_t NamesIn(const std::vector<std::vector<Name>>& terms) {
  size_t names = 0;
  for (const std::vector<Name>& term : terms) names += term.size();
  return names;
}

// The fields of a request that contain sets of suffixes, with the fields' names.
using SuffixSets = std::vector<std::vector<std::string>>;
std::vector<std::pair<const char*, const SuffixSets*>> SetFields(const CandidateRequest& request) {
  return {{"same_subtree", &request.same_subtree},
          {"isolate", &request.isolate},
          {"separate_subtrees", &request.separate_subtrees}};
}

// Limits the number of terms and names in the request. The search tests each provider against all
// of them, so the more there are, the longer one step of the search takes.
absl::Status CheckSize(const CandidateRequest& request) {
  Faults faults;
  const bool few_groups = AtMostField(faults, "groups", request.groups.size(), kSuffixedMax + 1);
  size_t names = request.root_forbidden.size() + request.root_forbidden_aggregates.size() +
                 request.forbidden_roots.size() + NamesIn(request.root_required) +
                 NamesIn(request.root_member_of);
  AtMostField(faults, "root_required", request.root_required.size(), kTermsMax);
  AtMostField(faults, "root_member_of", request.root_member_of.size(), kTermsMax);
  for (const auto& [field, sets] : SetFields(request)) {
    AtMostField(faults, field, sets->size(), kSetsMax);
    names += NamesIn(*sets);
  }
  for (const RequestGroup& group : request.groups) {
    if (!few_groups) break;
    const std::string field = FieldOf(request, group);
    AtMostField(faults, field + ".required_traits", group.required.size(), kTermsMax);
    AtMostField(faults, field + ".member_of", group.member_of.size(), kTermsMax);
    names += group.resources.size() + group.max_providers.size() + group.forbidden.size() +
             group.forbidden_aggregates.size() + NamesIn(group.required) + NamesIn(group.member_of);
  }
  AtMostField(faults, "the query", names, kQueryNamesMax);
  return faults.status();
}

absl::Status CheckOuterForm(const CandidateRequest& request) {
  Faults faults;
  if (request.limit && *request.limit < 1) {
    faults.Add(kInvalidField, "limit", absl::StrCat("must be 1 or more, but is ", *request.limit));
  }
  std::set<std::string> seen;
  for (const RequestGroup& group : request.groups) {
    const std::string field = absl::StrCat(FieldOf(request, group), ".suffix");
    if (!IsSuffix(group.suffix)) {
      faults.Add(kInvalidField, field,
                 "must be at most 64 characters, each a letter, a digit, `_` or `-`");
    }
    if (!seen.insert(group.suffix).second) {
      faults.Add(kDuplicateParameter, field,
                 absl::StrCat("is used by two groups: ", NameOf(group)));
    }
  }
  if (std::count_if(request.groups.begin(), request.groups.end(), IsSuffixed) > kSuffixedMax) {
    faults.Add(kInvalidField, "groups",
               absl::StrCat("must hold at most ", kSuffixedMax, " groups with a suffix"));
  }
  CheckTraitTerms(faults, "root_required", request.root_required);
  for (const std::string& trait : request.root_forbidden) faults.UpperName("root_forbidden", trait);
  CheckAggregateTerms(faults, "root_member_of", request.root_member_of);
  CheckWeights(faults, "order.class_weights", request.order.class_weights, 0);
  CheckWeights(faults, "order.trait_weights", request.order.trait_weights, -kWeightMax);
  return faults.status();
}

absl::Status CheckRootTraits(const CandidateRequest& request) {
  Faults faults;
  for (const std::vector<std::string>& set : request.root_required) {
    const bool single = std::equal(set.begin() + 1, set.end(), set.begin());
    if (!single || !Contains(request.root_forbidden, set.front())) continue;
    faults.Add("CONFLICTING_TRAITS", "root_required",
               absl::StrCat("and root_forbidden both name ", set.front()),
               {{"trait", set.front()}});
  }
  return faults.status();
}

absl::Status CheckSetForm(const CandidateRequest& request) {
  Faults faults;
  for (const auto& [field, sets] : SetFields(request)) {
    for (const std::vector<std::string>& set : *sets) {
      if (set.empty()) {
        faults.Add("UNKNOWN_SUFFIX", field,
                   "has an empty set: each set must name at least one suffix");
      }
      if (Contains(set, "")) {
        faults.Add("UNKNOWN_SUFFIX", field, "must not name the group without a suffix");
      }
    }
  }
  return faults.status();
}

void CheckResources(Faults& faults, const std::string& field, const RequestGroup& group) {
  std::set<std::string> seen;
  for (const NamedAmount& wanted : group.resources) {
    faults.UpperName(field, wanted.resource_class);
    if (wanted.amount < 1 || wanted.amount > kAmountMax) {
      faults.Add(
          kInvalidField, field,
          absl::StrCat("must ask for 1 to ", kAmountMax, " of ", wanted.resource_class,
                       ", but asks for ", wanted.amount),
          {{"resource_class", wanted.resource_class}, {"requested", absl::StrCat(wanted.amount)}});
    }
    if (!seen.insert(wanted.resource_class).second) {
      faults.Add(kDuplicateParameter, field,
                 absl::StrCat("names ", wanted.resource_class, " twice"),
                 {{"resource_class", wanted.resource_class}});
    }
  }
}

void CheckMaxProviders(Faults& faults, const std::string& field, const RequestGroup& group) {
  for (const NamedAmount& each : group.max_providers) {
    const auto asked = [&each](const NamedAmount& wanted) {
      return wanted.resource_class == each.resource_class;
    };
    if (!group.suffix.empty()) {
      faults.Add(kInvalidField, field, "is only allowed in the group without a suffix");
    } else if (std::none_of(group.resources.begin(), group.resources.end(), asked)) {
      faults.Add(kInvalidField, field,
                 absl::StrCat("names ", each.resource_class, ", which the group does not ask for"));
    } else if (each.amount < 1 || each.amount > kDividedMax) {
      faults.Add(kInvalidField, field,
                 absl::StrCat("must be 1 to ", kDividedMax, " for ", each.resource_class,
                              ", but is ", each.amount));
    }
  }
}

absl::Status CheckGroupFields(const CandidateRequest& request) {
  Faults faults;
  for (const RequestGroup& group : request.groups) {
    const std::string field = FieldOf(request, group);
    CheckResources(faults, absl::StrCat(field, ".resources"), group);
    CheckMaxProviders(faults, absl::StrCat(field, ".max_providers"), group);
    CheckTraitTerms(faults, absl::StrCat(field, ".required_traits"), group.required);
    for (const std::string& trait : group.forbidden) {
      faults.UpperName(absl::StrCat(field, ".forbidden_traits"), trait);
    }
    CheckAggregateTerms(faults, absl::StrCat(field, ".member_of"), group.member_of);
  }
  return faults.status();
}

absl::Status CheckSomethingIsAskedFor(const CandidateRequest& request) {
  for (const RequestGroup& group : request.groups) {
    if (!group.resources.empty()) return absl::OkStatus();
  }
  Faults faults;
  faults.Add("NO_RESOURCES_REQUESTED", "groups", "must ask for resources in at least one group");
  return faults.status();
}

absl::Status CheckResourceless(const CandidateRequest& request) {
  Faults faults;
  for (const RequestGroup& group : request.groups) {
    if (!group.resources.empty()) continue;
    const bool filters = !group.required.empty() || !group.forbidden.empty() ||
                         !group.member_of.empty() || !group.forbidden_aggregates.empty() ||
                         group.in_tree.has_value();
    const bool placed =
        std::any_of(request.same_subtree.begin(), request.same_subtree.end(),
                    [&group](const auto& set) { return Contains(set, group.suffix); });
    if (!group.suffix.empty() && filters && placed) continue;
    faults.Add("RESOURCELESS_GROUP", FieldOf(request, group),
               absl::StrCat("asks for no resources, so it must have a suffix and a filter, and "
                            "same_subtree must name it (",
                            NameOf(group), ")"));
  }
  return faults.status();
}

absl::Status CheckSuffixesExist(const CandidateRequest& request) {
  Faults faults;
  const auto exists = [&request](const std::string& suffix) {
    return std::any_of(request.groups.begin(), request.groups.end(),
                       [&suffix](const RequestGroup& group) { return group.suffix == suffix; });
  };
  for (const auto& [field, sets] : SetFields(request)) {
    for (const std::vector<std::string>& set : *sets) {
      for (const std::string& suffix : set) {
        if (exists(suffix)) continue;
        faults.Add("UNKNOWN_SUFFIX", field,
                   absl::StrCat("names ", suffix, ", but no group has this suffix"));
      }
    }
  }
  return faults.status();
}

absl::Status CheckGroupTraits(const CandidateRequest& request) {
  Faults faults;
  for (const RequestGroup& group : request.groups) {
    for (const std::vector<std::string>& set : group.required) {
      const bool all_forbidden = std::all_of(
          set.begin(), set.end(),
          [&group](const std::string& trait) { return Contains(group.forbidden, trait); });
      if (!all_forbidden) continue;
      faults.Add(
          "CONFLICTING_TRAITS", absl::StrCat(FieldOf(request, group), ".required_traits"),
          absl::StrCat("requires ", set.front(), ", but ", NameOf(group), " also forbids it"),
          {{"trait", set.front()}});
    }
  }
  return faults.status();
}

absl::Status CheckPolicy(const CandidateRequest& request) {
  const auto suffixed = std::count_if(request.groups.begin(), request.groups.end(), IsSuffixed);
  if (suffixed <= 1 || request.group_policy != GroupPolicy::kUnset) return absl::OkStatus();
  Faults faults;
  faults.Add(
      "GROUP_POLICY_REQUIRED", "group_policy",
      absl::StrCat("is required, because the query has ", suffixed, " groups with a suffix"));
  return faults.status();
}

}  // namespace

absl::Status CheckRequest(const CandidateRequest& request) {
  // The stages, in the order that the interface promises (P-175). CheckSize comes before them, so
  // that no other check has to look at a huge request.
  constexpr absl::Status (*kStages[])(const CandidateRequest&) = {
      CheckSize,         CheckOuterForm,     CheckRootTraits,
      CheckSetForm,      CheckGroupFields,   CheckSomethingIsAskedFor,
      CheckResourceless, CheckSuffixesExist, CheckGroupTraits,
      CheckPolicy};
  for (const auto& stage : kStages) {
    BERTH_RETURN_IF_ERROR(stage(request));
  }
  return absl::OkStatus();
}

}  // namespace berth::placement
