#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/catalog.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/provider_set.h"
#include "services/cli/session/pages.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

struct ListTraitsArguments {
  std::string prefix;
  bool used = false;
  bool unused = false;
};

struct NameArguments {
  std::string name;
};

struct Traits {
  using Read = pb::GetProviderTraitsRequest;
  using Stored = pb::GetProviderTraitsResponse;
  using Write = pb::SetProviderTraitsRequest;
  using Written = pb::SetProviderTraitsResponse;
  static auto* Of(auto& message) { return message.mutable_traits(); }
};

absl::Status ListTraits(Session& session, const ListTraitsArguments& arguments) {
  pb::ListTraitsRequest request;
  request.set_prefix(arguments.prefix);
  if (arguments.used || arguments.unused) request.set_associated(arguments.used);
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         CallPaged<pb::ListTraitsResponse>(session, request, kListedNames));
  Table table({{"NAME", Column::Kind::kExact}, {"KIND", Column::Kind::kText}});
  std::vector<std::string> names;
  for (const pb::Trait& trait : answer.traits()) {
    table.Add({trait.name(), trait.standard() ? "standard" : "custom"});
    names.push_back(trait.name());
  }
  return session.Print(answer, std::move(table), names);
}

absl::Status CreateTrait(Session& session, const NameArguments& arguments) {
  pb::EnsureTraitRequest request;
  request.set_name(arguments.name);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::EnsureTraitResponse>(request));
  const std::string words = answer.created() ? "created " : "exists already: ";
  return session.Print(answer, absl::StrCat(words, arguments.name, "\n"), {arguments.name});
}

absl::Status DeleteTrait(Session& session, const NameArguments& arguments) {
  pb::DeleteTraitRequest request;
  request.set_name(arguments.name);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::DeleteTraitResponse>(request));
  return session.Print(answer, absl::StrCat("deleted ", arguments.name, "\n"), {arguments.name});
}

absl::Status AddTraits(Session& session, const ChangeSetArguments& arguments) {
  for (const std::string& trait : Listed(arguments.names)) {
    if (!arguments.create || !absl::StartsWith(trait, "CUSTOM_")) continue;
    // Creating the trait is a write of its own. The user's request id belongs to the write that
    // changes the provider.
    pb::EnsureTraitRequest request;
    request.set_request_id(RandomUuid());
    request.set_name(trait);
    BERTH_RETURN_IF_ERROR(session.Call<pb::EnsureTraitResponse>(request).status());
  }
  return ChangeSet<Traits, SetChange::kAdd>(session, arguments);
}

void AddCatalog(CLI::App* noun, Session& session) {
  CLI::App* list = AddVerb(*noun, "list", "List all traits, or those that pass the filters",
                           "berth trait list --prefix HW_CPU_X86_ --used");
  ListTraitsArguments& listing = Does(list, session, ListTraits);
  list->add_option("--prefix", listing.prefix, "Only traits whose name begins with this text");
  auto* used = list->add_flag("--used", listing.used, "Only traits that at least one provider has");
  list->add_flag("--unused", listing.unused, "Only traits that no provider has")->excludes(used);

  CLI::App* create =
      AddVerb(*noun, "create", "Create a custom trait", "berth trait create CUSTOM_A100");
  create
      ->add_option("name", Does(create, session, CreateTrait).name,
                   "The name of the trait: CUSTOM_...")
      ->required();

  CLI::App* remove = AddVerb(*noun, "delete", "Delete a custom trait that no provider has",
                             "berth trait delete CUSTOM_A100");
  remove
      ->add_option("name", Does(remove, session, DeleteTrait).name,
                   "The name of the trait: CUSTOM_...")
      ->required();
}

}  // namespace

void AddTraitCommands(CLI::App& app, Session& session) {
  CLI::App* noun = AddNoun(app, "trait", "Traits: properties that a provider has or does not have",
                           "Show and change");
  AddCatalog(noun, session);

  CLI::App* show =
      AddVerb(*noun, "show", "Show the traits of a provider", "berth trait show dc1-h07");
  AddProviderName(show, &Does(show, session, ShowSet<Traits>).provider);

  CLI::App* add = AddVerb(*noun, "add", "Add traits to a provider",
                          "berth trait add dc1-h07 CUSTOM_A100 --create");
  ChangeSetArguments& adding = Does(add, session, AddTraits);
  AddProviderName(add, &adding.provider);
  add->add_option("traits", adding.names, "The names of the traits")->required();
  add->add_flag("--create", adding.create, "Create CUSTOM_ traits that do not exist yet");

  CLI::App* remove = AddVerb(*noun, "remove", "Remove traits from a provider",
                             "berth trait remove dc1-h07 CUSTOM_A100");
  ChangeSetArguments& removing = Does(remove, session, ChangeSet<Traits, SetChange::kRemove>);
  AddProviderName(remove, &removing.provider);
  remove->add_option("traits", removing.names, "The names of the traits")->required();
}

}  // namespace berth::cli
