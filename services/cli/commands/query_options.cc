#include "services/cli/commands/query_options.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/terms.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr char kDisabled[] = "COMPUTE_STATUS_DISABLED";
constexpr char kGroupForm[] =
    "write a group as _NET:VCPU=1,MEMORY_MB=1Gi:required=CUSTOM_A:forbidden=CUSTOM_B"
    ":member-of=UUID:in-tree=UUID";

absl::Status Wrong(const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is wrong: ", kGroupForm));
}

absl::Status ReadWeights(const std::vector<std::string>& texts,
                         google::protobuf::Map<std::string, double>* weights) {
  for (const std::string& text : Listed(texts)) {
    const std::vector<std::string> pair = absl::StrSplit(text, absl::MaxSplits('=', 1));
    double weight = 0;
    if (pair.size() != 2 || !absl::SimpleAtod(pair[1], &weight)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' is wrong: write a weight as VCPU=0.5"));
    }
    (*weights)[pair[0]] = weight;
  }
  return absl::OkStatus();
}

absl::Status ReadFilter(const std::string& text, pb::RequestGroup* group) {
  const std::vector<std::string> pair = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (pair.size() != 2 || pair[1].empty()) return Wrong(text);
  if (pair[0] == "required") {
    AddTerms({pair[1]}, group->mutable_required_traits());
  } else if (pair[0] == "forbidden") {
    for (const std::string& trait : Listed({pair[1]})) group->add_forbidden_traits(trait);
  } else if (pair[0] == "member-of") {
    AddTerms({pair[1]}, group->mutable_member_of());
  } else if (pair[0] == "in-tree") {
    group->set_in_tree(pair[1]);
  } else {
    return Wrong(text);
  }
  return absl::OkStatus();
}

absl::Status ReadUnsuffixed(Session& session, const QueryOptions& options,
                            pb::RequestGroup* group) {
  BERTH_ASSIGN_OR_RETURN(const auto amounts, ParseAmounts(options.resources));
  group->mutable_resources()->insert(amounts.begin(), amounts.end());
  AddTerms(options.required, group->mutable_required_traits());
  AddTerms(options.member_of, group->mutable_member_of());
  for (const std::string& trait : Listed(options.forbidden)) group->add_forbidden_traits(trait);
  for (const std::string& uuid : Listed(options.forbidden_aggregates)) {
    group->add_forbidden_aggregate_uuids(uuid);
  }
  BERTH_ASSIGN_OR_RETURN(const auto most, ParseAmounts(options.max_providers));
  for (const auto& [name, count] : most) {
    (*group->mutable_max_providers())[name] = static_cast<int32_t>(count);
  }
  if (options.in_tree.empty()) return absl::OkStatus();
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, options.in_tree));
  group->set_in_tree(uuid);
  return absl::OkStatus();
}

// Adds to `sets` one set of suffixes for each text.
void AddSets(const std::vector<std::string>& texts,
             google::protobuf::RepeatedPtrField<pb::SuffixSet>* sets) {
  for (const std::string& text : texts) {
    pb::SuffixSet* set = sets->Add();
    for (const std::string& suffix : Listed({text})) set->add_suffixes(suffix);
  }
}

void AddRootOptions(CLI::App* command, QueryOptions* options) {
  AddList(command, "--root-required", &options->root_required,
          "The root must have all these traits; in:A,B means A or B");
  AddList(command, "--root-forbidden", &options->root_forbidden,
          "The root must have none of these traits");
  AddList(command, "--root-member-of", &options->root_member_of,
          "The root must be in all these aggregates; in:A,B means A or B");
  AddList(command, "--root-forbidden-aggregate", &options->root_forbidden_aggregates,
          "The root must be in none of these aggregates");
  AddList(command, "--forbidden-root", &options->forbidden_roots,
          "The uuids of roots that must not be used");
}

void AddGroupOptions(CLI::App* command, QueryOptions* options) {
  AddList(
      command, "--group", &options->groups,
      "SUFFIX:CLASS=AMOUNT,...[:required=...][:forbidden=...][:member-of=...]: amounts that one "
      "provider must have; SUFFIX is a name for the group, such as _GPU");
  command
      ->add_option("--group-policy", options->group_policy,
                   "Needed with several groups. isolate: each --group gets a provider of its own; "
                   "none: groups may share a provider")
      ->check(CLI::IsMember({"none", "isolate"}));
  AddList(command, "--same-subtree", &options->same_subtree,
          "The provider of one of these groups is above, or the same as, each of the others: "
          "_NUMA,_GPU");
  command->add_option("--isolate", options->isolate,
                      "Like --group-policy isolate, but only for these groups: _GPU,_NIC");
  command->add_option(
      "--separate-subtrees", options->separate,
      "These groups get different providers, and none of them is above another: _GPU,_NIC");
  AddList(command, "--max-providers", &options->max_providers,
          "A class may be split over this many providers: VCPU=2 means at most two");
}

}  // namespace

void AddQueryOptions(CLI::App* command, QueryOptions* options) {
  AddList(command, "-r,--resources", &options->resources,
          "The amounts that have to fit: VCPU=4,MEMORY_MB=8Gi");
  AddList(command, "--required", &options->required,
          "Each of these traits must be on at least one of the providers from which -r is taken; "
          "in:A,B means A or B");
  AddList(command, "--forbidden", &options->forbidden,
          "No provider from which -r is taken may have one of these traits");
  AddList(
      command, "--member-of", &options->member_of,
      "Each provider from which -r is taken must be in all these aggregates; in:A,B means A or B");
  AddList(command, "--forbidden-aggregate", &options->forbidden_aggregates,
          "No provider from which -r is taken may be in one of these aggregates");
  command->add_option("--in-tree", options->in_tree,
                      "Search only the tree of this provider (name or uuid)");
  AddRootOptions(command, options);
  command->add_flag("--exclude-stale", options->exclude_stale,
                    "Leave out hosts whose tracker is down or has not reported yet");
  command->add_flag("--ignore-unknown-forbidden", options->ignore_unknown_forbidden,
                    "Ignore forbidden traits that do not exist");
  command->add_flag("--include-disabled", options->include_disabled, "Include disabled hosts");
  AddGroupOptions(command, options);
}

void AddOrderOptions(CLI::App* command, OrderOptions* options) {
  command
      ->add_option(
          "--order", options->strategy,
          "Which hosts come first: lowest uuid (default), most free, least free, or at random")
      ->check(CLI::IsMember({"first", "spread", "pack", "random"}));
  AddList(command, "--class-weight", &options->class_weights,
          "With --order spread or pack, how much each class counts: VCPU=2,MEMORY_MB=1");
  AddList(command, "--trait-weight", &options->trait_weights,
          "Prefer hosts with a trait, or avoid them if below 0: CUSTOM_FAST=0.5,CUSTOM_OLD=-1");
  command->add_option("--seed", options->seed,
                      "Repeat the random choices of an earlier answer, which printed this seed");
}

absl::StatusOr<pb::CandidateOrder> OrderOf(const OrderOptions& options) {
  pb::CandidateOrder order;
  if (options.strategy == "first") order.set_strategy(pb::STRATEGY_FIRST);
  if (options.strategy == "spread") order.set_strategy(pb::STRATEGY_SPREAD);
  if (options.strategy == "pack") order.set_strategy(pb::STRATEGY_PACK);
  if (options.strategy == "random") order.set_strategy(pb::STRATEGY_RANDOM);
  BERTH_RETURN_IF_ERROR(ReadWeights(options.class_weights, order.mutable_class_weights()));
  BERTH_RETURN_IF_ERROR(ReadWeights(options.trait_weights, order.mutable_trait_weights()));
  if (options.seed) order.set_seed(*options.seed);
  return order;
}

absl::StatusOr<pb::RequestGroup> ParseGroup(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  if (parts.size() < 2 || parts[0].empty()) return Wrong(text);
  pb::RequestGroup group;
  group.set_suffix(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::vector<std::string> pair = absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
    const bool filter = pair[0] == "required" || pair[0] == "forbidden" || pair[0] == "member-of" ||
                        pair[0] == "in-tree";
    if (filter) {
      BERTH_RETURN_IF_ERROR(ReadFilter(parts[i], &group));
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(const auto amounts, ParseAmounts({parts[i]}));
    group.mutable_resources()->insert(amounts.begin(), amounts.end());
  }
  return group;
}

absl::StatusOr<pb::CandidateQuery> QueryOf(Session& session, const QueryOptions& options) {
  pb::CandidateQuery query;
  pb::RequestGroup unsuffixed;
  BERTH_RETURN_IF_ERROR(ReadUnsuffixed(session, options, &unsuffixed));
  if (unsuffixed.ByteSizeLong() > 0) *query.add_groups() = unsuffixed;
  for (const std::string& text : options.groups) {
    BERTH_ASSIGN_OR_RETURN(const auto group, ParseGroup(text));
    *query.add_groups() = group;
  }
  if (query.groups().empty()) {
    return absl::InvalidArgumentError(
        "the amounts that have to fit are missing: --resources VCPU=4,MEMORY_MB=8Gi");
  }
  AddTerms(options.root_required, query.mutable_root_required_traits());
  for (const std::string& trait : Listed(options.root_forbidden)) {
    query.add_root_forbidden_traits(trait);
  }
  AddTerms(options.root_member_of, query.mutable_root_member_of());
  for (const std::string& uuid : Listed(options.root_forbidden_aggregates)) {
    query.add_root_forbidden_aggregate_uuids(uuid);
  }
  for (const std::string& uuid : Listed(options.forbidden_roots)) {
    query.add_forbidden_root_uuids(uuid);
  }
  const auto& required = query.root_required_traits();
  const bool asked = std::any_of(required.begin(), required.end(), [](const pb::TraitTerm& term) {
    return term.any_of_size() == 1 && term.any_of(0) == kDisabled;
  });
  if (!options.include_disabled && !asked) query.add_root_forbidden_traits(kDisabled);
  AddSets(options.same_subtree, query.mutable_same_subtree());
  AddSets(options.isolate, query.mutable_isolate());
  AddSets(options.separate, query.mutable_separate_subtrees());
  query.set_exclude_stale_roots(options.exclude_stale);
  query.set_ignore_unknown_forbidden_traits(options.ignore_unknown_forbidden);
  if (options.group_policy == "none") query.set_group_policy(pb::GROUP_POLICY_NONE);
  if (options.group_policy == "isolate") query.set_group_policy(pb::GROUP_POLICY_ISOLATE);
  return query;
}

}  // namespace berth::cli
