#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/provider.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/provider_set.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/pages.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/provider_tree.h"
#include "services/cli/text/provider_view.h"
#include "services/cli/text/terms.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kTreesMax = 50;

struct ListProvidersArguments {
  std::vector<std::string> resources, required, forbidden, member_of, forbidden_aggregates;
  std::string name, in_tree;
  bool roots = false;
  int limit = kListed;
};

struct TreeArguments {
  std::string provider;
  bool all_traits = false;
  int limit = kTreesMax;
};

struct CreateProviderArguments {
  std::string name, uuid, parent;
};

struct SetProviderArguments {
  std::string provider, name, parent;
  bool no_parent = false;
  std::optional<int64_t> generation;
};

absl::Status ListProviders(Session& session, const ListProvidersArguments& arguments) {
  pb::ListProvidersRequest request;
  if (!arguments.name.empty()) request.set_name(arguments.name);
  if (!arguments.in_tree.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.in_tree));
    request.set_in_tree(uuid);
  }
  BERTH_ASSIGN_OR_RETURN(const auto amounts, ParseAmounts(arguments.resources));
  request.mutable_resources()->insert(amounts.begin(), amounts.end());
  AddTerms(arguments.required, request.mutable_required_traits());
  AddTerms(arguments.member_of, request.mutable_member_of());
  for (const std::string& trait : Listed(arguments.forbidden)) request.add_forbidden_traits(trait);
  for (const std::string& uuid : Listed(arguments.forbidden_aggregates)) {
    request.add_forbidden_aggregate_uuids(uuid);
  }
  request.set_roots_only(arguments.roots);
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         CallPaged<pb::ListProvidersResponse>(session, request, arguments.limit));
  SayIfCut(session, answer, arguments.limit);
  return session.Print(answer, ProviderTable(answer.providers()), UuidsOf(answer.providers()));
}

absl::Status AddTree(Session& session, const std::string& uuid, pb::ListProvidersResponse* all) {
  pb::ListProvidersRequest request;
  request.set_in_tree(uuid);
  request.set_view(pb::PROVIDER_VIEW_FULL);
  BERTH_ASSIGN_OR_RETURN(auto tree,
                         CallPaged<pb::ListProvidersResponse>(session, request, 100 * kListed));
  if (all->has_revision()) tree.clear_revision();
  all->MergeFrom(tree);
  return absl::OkStatus();
}

// Fills `all` with all providers or, if they are many, with the trees of the first `limit` roots.
absl::Status AddTrees(Session& session, int limit, pb::ListProvidersResponse* all) {
  pb::ListProvidersRequest everything;
  everything.set_view(pb::PROVIDER_VIEW_FULL);
  BERTH_ASSIGN_OR_RETURN(auto first,
                         CallPaged<pb::ListProvidersResponse>(session, everything, kListed));
  if (first.next_page_token().empty()) {
    *all = std::move(first);
    return absl::OkStatus();
  }
  pb::ListProvidersRequest request;
  request.set_roots_only(true);
  BERTH_ASSIGN_OR_RETURN(const auto roots,
                         CallPaged<pb::ListProvidersResponse>(session, request, limit));
  for (const pb::Provider& root : roots.providers()) {
    BERTH_RETURN_IF_ERROR(AddTree(session, root.uuid(), all));
  }
  if (!roots.next_page_token().empty()) {
    session.Say(absl::StrCat("only the first ", limit,
                             " trees are shown; name a provider, or use a larger --limit"));
  }
  return absl::OkStatus();
}

// Finds the providers that share their resources with members of these trees through an aggregate.
absl::StatusOr<pb::ListProvidersResponse> FindSharing(Session& session, const Providers& members) {
  std::set<std::string> aggregates;
  for (const pb::Provider& member : members) {
    aggregates.insert(member.aggregate_uuids().begin(), member.aggregate_uuids().end());
  }
  if (aggregates.empty()) return pb::ListProvidersResponse();
  pb::ListProvidersRequest request;
  request.set_view(pb::PROVIDER_VIEW_FULL);
  request.add_required_traits()->add_any_of("MISC_SHARES_VIA_AGGREGATE");
  pb::AggregateTerm* term = request.add_member_of();
  for (const std::string& uuid : aggregates) term->add_any_of(uuid);
  return CallPaged<pb::ListProvidersResponse>(session, request, kListed);
}

absl::Status Tree(Session& session, const TreeArguments& arguments) {
  pb::ListProvidersResponse all;
  if (arguments.provider.empty()) {
    BERTH_RETURN_IF_ERROR(AddTrees(session, arguments.limit, &all));
  } else {
    BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
    BERTH_RETURN_IF_ERROR(AddTree(session, uuid, &all));
    if (all.providers().empty()) {
      return Refused(absl::StatusCode::kNotFound, "PROVIDER_NOT_FOUND",
                     absl::StrCat("there is no provider ", uuid), {{{"provider", uuid}}});
    }
  }
  BERTH_ASSIGN_OR_RETURN(const auto sharing, FindSharing(session, all.providers()));
  if (all.providers().empty()) session.Say("there are no providers");
  const TreeOptions options{.all_traits = arguments.all_traits, .now = absl::Now()};
  return session.Print(all,
                       ProviderTree(all.providers(), sharing.providers(), options, session.screen),
                       UuidsOf(all.providers()));
}

absl::Status ShowProvider(Session& session, const OneProviderArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  pb::GetProviderRequest request;
  request.set_provider_uuid(uuid);
  request.set_view(pb::PROVIDER_VIEW_FULL);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::GetProviderResponse>(request));
  return session.Print(answer, ProviderPage(answer.provider(), session.screen), {uuid});
}

absl::Status CreateProvider(Session& session, const CreateProviderArguments& arguments) {
  pb::CreateProviderRequest request;
  request.set_name(arguments.name);
  request.set_uuid(arguments.uuid);
  if (!arguments.parent.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto parent, ProviderUuid(session, arguments.parent));
    request.set_parent_uuid(parent);
  }
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::CreateProviderResponse>(request));
  return session.Print(answer, ProviderPage(answer.provider(), session.screen),
                       {answer.provider().uuid()});
}

absl::Status SetProvider(Session& session, const SetProviderArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  pb::UpdateProviderRequest request;
  request.set_provider_uuid(uuid);
  if (arguments.generation) request.set_expected_generation(*arguments.generation);
  if (!arguments.name.empty()) request.set_name(arguments.name);
  if (arguments.no_parent) request.mutable_no_parent();
  if (!arguments.parent.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto parent, ProviderUuid(session, arguments.parent));
    request.set_parent_uuid(parent);
  }
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::UpdateProviderResponse>(request));
  return session.Print(answer, ProviderPage(answer.provider(), session.screen), {uuid});
}

absl::Status DeleteProvider(Session& session, const OneProviderArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  pb::DeleteProviderRequest request;
  request.set_provider_uuid(uuid);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::DeleteProviderResponse>(request));
  return session.Print(answer, absl::StrCat("deleted ", uuid, "\n"), {uuid});
}

void AddReading(CLI::App* noun, Session& session) {
  CLI::App* list = AddVerb(*noun, "list", "List the providers that pass all given filters",
                           "berth provider list --required CUSTOM_A100 --resources VCPU=4");
  ListProvidersArguments& listing = Does(list, session, ListProviders);
  list->add_option("--name", listing.name, "Only the provider with exactly this name");
  list->add_option("--in-tree", listing.in_tree,
                   "Only providers in the tree of this provider (name or uuid)");
  list->add_flag("--roots", listing.roots, "Only roots");
  AddList(list, "--resources", &listing.resources,
          "Only providers with this much free: VCPU=4,MEMORY_MB=8Gi");
  AddList(list, "--required", &listing.required,
          "Only providers with all these traits; in:A,B means A or B");
  AddList(list, "--forbidden", &listing.forbidden, "Only providers with none of these traits");
  AddList(list, "--member-of", &listing.member_of,
          "Only providers in all these aggregates; in:A,B means A or B");
  AddList(list, "--forbidden-aggregate", &listing.forbidden_aggregates,
          "Only providers in none of these aggregates");
  AddLimit(list, &listing.limit, "List at most this many providers");

  CLI::App* tree = AddVerb(*noun, "tree", "Draw provider trees and how full they are",
                           "berth provider tree\nberth provider tree dc1-h07 --all-traits");
  TreeArguments& drawing = Does(tree, session, Tree);
  tree->add_option("provider", drawing.provider,
                   "Name or uuid of any provider of the tree; left out: all trees");
  tree->add_flag("--all-traits", drawing.all_traits, "Show all traits of each provider");
  AddLimit(tree, &drawing.limit, "Draw at most this many trees");

  CLI::App* show =
      AddVerb(*noun, "show", "Show everything about one provider", "berth provider show dc1-h07");
  AddProviderName(show, &Does(show, session, ShowProvider).provider);
}

}  // namespace

void AddProviderCommands(CLI::App& app, Session& session) {
  CLI::App* noun =
      AddNoun(app, "provider", "Providers: anything that has resources to give, in trees",
              "Show and change");
  AddReading(noun, session);

  CLI::App* create = AddVerb(*noun, "create", "Create a provider, as a root or as a child",
                             "berth provider create dc1-h07_numa0 --parent dc1-h07");
  CreateProviderArguments& creating = Does(create, session, CreateProvider);
  create->add_option("name", creating.name, "The name of the new provider")->required();
  create->add_option("--uuid", creating.uuid,
                     "The uuid of the new provider; left out: a random one");
  create->add_option("--parent", creating.parent, "Name or uuid of the parent; left out: a root");

  CLI::App* set = AddVerb(*noun, "set", "Rename or move a provider with its subtree",
                          "berth provider set dc1-h07 --name dc1-h08");
  SetProviderArguments& setting = Does(set, session, SetProvider);
  AddProviderName(set, &setting.provider);
  set->add_option("--name", setting.name, "The new name");
  auto* parent = set->add_option("--parent", setting.parent, "Name or uuid of the new parent");
  set->add_flag("--no-parent", setting.no_parent, "Make the provider a root")->excludes(parent);
  set->add_option("--generation", setting.generation,
                  "Fail if the provider is no longer at this generation");

  CLI::App* remove =
      AddVerb(*noun, "delete", "Delete a provider that has no children and no allocations",
              "berth provider delete dc1-h07_numa0");
  AddProviderName(remove, &Does(remove, session, DeleteProvider).provider);
}

}  // namespace berth::cli
