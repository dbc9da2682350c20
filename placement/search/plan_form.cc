// CheckRequest: the stages of P-175 that need no state.
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
constexpr int kProvidersMax = 16;    // of one divided amount
constexpr size_t kSetsMax = 64;      // of suffixes, in each field
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

void CheckTraitTerms(Form& form, const std::string& field,
                     const std::vector<std::vector<std::string>>& terms) {
  for (const std::vector<std::string>& set : terms) {
    if (set.empty()) {
      form.Fault(kInvalidField, field, "has an empty term: each term must name at least one");
    }
    for (const std::string& trait : set) form.UpperName(field, trait);
  }
}

void CheckAggregateTerms(Form& form, const std::string& field,
                         const std::vector<std::vector<AggregateId>>& terms) {
  for (const std::vector<AggregateId>& set : terms) {
    if (set.empty()) {
      form.Fault(kInvalidField, field, "has an empty term: each term must name at least one");
    }
  }
}

// Each weight must be from `least` to kWeightMax.
void CheckWeights(Form& form, const std::string& field, const std::vector<NamedWeight>& weights,
                  double least) {
  if (weights.size() > kWeightsMax) {
    return form.Fault(kInvalidField, field,
                      absl::StrCat("must not have more weights than ", kWeightsMax));
  }
  for (const NamedWeight& each : weights) {
    form.UpperName(field, each.name);
    if (each.weight >= least && each.weight <= kWeightMax) continue;  // false for NaN
    form.Fault(kInvalidField, field,
               absl::StrCat("must give ", each.name, " a weight from ", least, " to ", kWeightMax));
  }
}

template <typename Name>
size_t NamesIn(const std::vector<std::vector<Name>>& terms) {
  size_t names = 0;
  for (const std::vector<Name>& term : terms) names += term.size();
  return names;
}

// The fields that hold sets of suffixes, with their names.
using SuffixSets = std::vector<std::vector<std::string>>;
std::vector<std::pair<const char*, const SuffixSets*>> SetFields(const CandidateRequest& request) {
  return {{"same_subtree", &request.same_subtree},
          {"isolate", &request.isolate},
          {"separate_subtrees", &request.separate_subtrees}};
}

// Limits the number of terms and names in the request. The search tries all of them on each
// provider, so that one step of its budget takes the longer the more there are.
absl::Status CheckSize(const CandidateRequest& request) {
  Form form;
  const bool few_groups = AtMostField(form, "groups", request.groups.size(), kSuffixedMax + 1);
  size_t names = request.root_forbidden.size() + request.root_forbidden_aggregates.size() +
                 NamesIn(request.root_required) + NamesIn(request.root_member_of);
  AtMostField(form, "root_required", request.root_required.size(), kTermsMax);
  AtMostField(form, "root_member_of", request.root_member_of.size(), kTermsMax);
  for (const auto& [field, sets] : SetFields(request)) {
    AtMostField(form, field, sets->size(), kSetsMax);
    names += NamesIn(*sets);
  }
  for (const RequestGroup& group : request.groups) {
    if (!few_groups) break;
    const std::string field = FieldOf(request, group);
    AtMostField(form, field + ".required_traits", group.required.size(), kTermsMax);
    AtMostField(form, field + ".member_of", group.member_of.size(), kTermsMax);
    names += group.resources.size() + group.max_providers.size() + group.forbidden.size() +
             group.forbidden_aggregates.size() + NamesIn(group.required) + NamesIn(group.member_of);
  }
  AtMostField(form, "the query", names, kQueryNamesMax);
  return form.status();
}

absl::Status CheckOuterForm(const CandidateRequest& request) {
  Form form;
  if (request.limit && *request.limit < 1) {
    form.Fault(kInvalidField, "limit", absl::StrCat("must be 1 or more, but is ", *request.limit));
  }
  std::set<std::string> seen;
  for (const RequestGroup& group : request.groups) {
    const std::string field = absl::StrCat(FieldOf(request, group), ".suffix");
    if (!IsSuffix(group.suffix)) {
      form.Fault(kInvalidField, field,
                 "must be at most 64 characters, each a letter, a digit, `_` or `-`");
    }
    if (!seen.insert(group.suffix).second) {
      form.Fault(kDuplicateParameter, field,
                 absl::StrCat("is used by two groups: ", NameOf(group)));
    }
  }
  if (std::count_if(request.groups.begin(), request.groups.end(), IsSuffixed) > kSuffixedMax) {
    form.Fault(kInvalidField, "groups",
               absl::StrCat("must hold at most ", kSuffixedMax, " groups with a suffix"));
  }
  CheckTraitTerms(form, "root_required", request.root_required);
  for (const std::string& trait : request.root_forbidden) form.UpperName("root_forbidden", trait);
  CheckAggregateTerms(form, "root_member_of", request.root_member_of);
  CheckWeights(form, "order.class_weights", request.order.class_weights, 0);
  CheckWeights(form, "order.trait_weights", request.order.trait_weights, -kWeightMax);
  return form.status();
}

absl::Status CheckRootTraits(const CandidateRequest& request) {
  Form form;
  for (const std::vector<std::string>& set : request.root_required) {
    const bool single = std::equal(set.begin() + 1, set.end(), set.begin());
    if (!single || !Contains(request.root_forbidden, set.front())) continue;
    form.Fault("CONFLICTING_TRAITS", "root_required",
               absl::StrCat("and root_forbidden both name ", set.front()),
               {{"trait", set.front()}});
  }
  return form.status();
}

absl::Status CheckSetForm(const CandidateRequest& request) {
  Form form;
  for (const auto& [field, sets] : SetFields(request)) {
    for (const std::vector<std::string>& set : *sets) {
      if (set.empty()) {
        form.Fault("UNKNOWN_SUFFIX", field,
                   "has an empty set: each set must name at least one suffix");
      }
      if (Contains(set, "")) {
        form.Fault("UNKNOWN_SUFFIX", field, "cannot name the unsuffixed group");
      }
    }
  }
  return form.status();
}

void CheckResources(Form& form, const std::string& field, const RequestGroup& group) {
  std::set<std::string> seen;
  for (const NamedAmount& wanted : group.resources) {
    form.UpperName(field, wanted.resource_class);
    if (wanted.amount < 1 || wanted.amount > kAmountMax) {
      form.Fault(
          kInvalidField, field,
          absl::StrCat("must ask for 1 to ", kAmountMax, " of ", wanted.resource_class,
                       ", but asks for ", wanted.amount),
          {{"resource_class", wanted.resource_class}, {"requested", absl::StrCat(wanted.amount)}});
    }
    if (!seen.insert(wanted.resource_class).second) {
      form.Fault(kDuplicateParameter, field,
                 absl::StrCat("names ", wanted.resource_class, " twice"),
                 {{"resource_class", wanted.resource_class}});
    }
  }
}

void CheckMaxProviders(Form& form, const std::string& field, const RequestGroup& group) {
  for (const NamedAmount& each : group.max_providers) {
    const auto asked = [&each](const NamedAmount& wanted) {
      return wanted.resource_class == each.resource_class;
    };
    if (!group.suffix.empty()) {
      form.Fault(kInvalidField, field, "is only allowed in the unsuffixed group");
    } else if (std::none_of(group.resources.begin(), group.resources.end(), asked)) {
      form.Fault(kInvalidField, field,
                 absl::StrCat("names ", each.resource_class, ", which the group does not ask for"));
    } else if (each.amount < 1 || each.amount > kProvidersMax) {
      form.Fault(kInvalidField, field,
                 absl::StrCat("must be 1 to ", kProvidersMax, ", but is ", each.amount));
    }
  }
}

absl::Status CheckGroupFields(const CandidateRequest& request) {
  Form form;
  for (const RequestGroup& group : request.groups) {
    const std::string field = FieldOf(request, group);
    CheckResources(form, absl::StrCat(field, ".resources"), group);
    CheckMaxProviders(form, absl::StrCat(field, ".max_providers"), group);
    CheckTraitTerms(form, absl::StrCat(field, ".required_traits"), group.required);
    for (const std::string& trait : group.forbidden) {
      form.UpperName(absl::StrCat(field, ".forbidden_traits"), trait);
    }
    CheckAggregateTerms(form, absl::StrCat(field, ".member_of"), group.member_of);
  }
  return form.status();
}

absl::Status CheckSomethingIsAskedFor(const CandidateRequest& request) {
  for (const RequestGroup& group : request.groups) {
    if (!group.resources.empty()) return absl::OkStatus();
  }
  Form form;
  form.Fault("NO_RESOURCES_REQUESTED", "groups", "must ask for resources in at least one group");
  return form.status();
}

absl::Status CheckResourceless(const CandidateRequest& request) {
  Form form;
  for (const RequestGroup& group : request.groups) {
    if (!group.resources.empty()) continue;
    const bool filters = !group.required.empty() || !group.forbidden.empty() ||
                         !group.member_of.empty() || !group.forbidden_aggregates.empty() ||
                         group.in_tree.has_value();
    const bool placed =
        std::any_of(request.same_subtree.begin(), request.same_subtree.end(),
                    [&group](const auto& set) { return Contains(set, group.suffix); });
    if (!group.suffix.empty() && filters && placed) continue;
    form.Fault("RESOURCELESS_GROUP", FieldOf(request, group),
               absl::StrCat("asks for no resources, so it needs a suffix, another filter and a "
                            "place in same_subtree (",
                            NameOf(group), ")"));
  }
  return form.status();
}

absl::Status CheckSuffixesExist(const CandidateRequest& request) {
  Form form;
  const auto exists = [&request](const std::string& suffix) {
    return std::any_of(request.groups.begin(), request.groups.end(),
                       [&suffix](const RequestGroup& group) { return group.suffix == suffix; });
  };
  for (const auto& [field, sets] : SetFields(request)) {
    for (const std::vector<std::string>& set : *sets) {
      for (const std::string& suffix : set) {
        if (exists(suffix)) continue;
        form.Fault("UNKNOWN_SUFFIX", field,
                   absl::StrCat("names ", suffix, ", but no group has this suffix"));
      }
    }
  }
  return form.status();
}

absl::Status CheckGroupTraits(const CandidateRequest& request) {
  Form form;
  for (const RequestGroup& group : request.groups) {
    for (const std::vector<std::string>& set : group.required) {
      const bool all_forbidden = std::all_of(
          set.begin(), set.end(),
          [&group](const std::string& trait) { return Contains(group.forbidden, trait); });
      if (!all_forbidden) continue;
      form.Fault(
          "CONFLICTING_TRAITS", absl::StrCat(FieldOf(request, group), ".required_traits"),
          absl::StrCat("requires ", set.front(), ", but ", NameOf(group), " also forbids it"),
          {{"trait", set.front()}});
    }
  }
  return form.status();
}

absl::Status CheckPolicy(const CandidateRequest& request) {
  const auto suffixed = std::count_if(request.groups.begin(), request.groups.end(), IsSuffixed);
  if (suffixed <= 1 || request.group_policy != GroupPolicy::kUnset) return absl::OkStatus();
  Form form;
  form.Fault("GROUP_POLICY_REQUIRED", "group_policy",
             absl::StrCat("is required, because the query has ", suffixed, " suffixed groups"));
  return form.status();
}

}  // namespace

absl::Status CheckRequest(const CandidateRequest& request) {
  // The order of the stages is part of the interface (P-175). CheckSize precedes them, so that no
  // other check has to look at a huge request.
  constexpr absl::Status (*kStages[])(const CandidateRequest&) = {
      CheckSize,         CheckOuterForm,     CheckRootTraits,
      CheckSetForm,      CheckGroupFields,   CheckSomethingIsAskedFor,
      CheckResourceless, CheckSuffixesExist, CheckGroupTraits,
      CheckPolicy};
  for (const auto& stage : kStages) {
    if (absl::Status status = stage(request); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace berth::placement
