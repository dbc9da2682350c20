#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/placement/v1/association.pb.h"
#include "berth/placement/v1/catalog.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/pages.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/session/retry.h"

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

struct ProviderTraitsArguments {
  std::string provider;
};

struct ChangeTraitsArguments {
  std::string provider;
  std::vector<std::string> traits;
  bool create = false;
};

std::string TraitLines(const google::protobuf::RepeatedPtrField<std::string>& traits) {
  return traits.empty() ? "" : absl::StrJoin(traits, "\n") + "\n";
}

absl::Status ListTraits(Session& session, const ListTraitsArguments& arguments) {
  pb::ListTraitsRequest request;
  request.set_prefix(arguments.prefix);
  if (arguments.used || arguments.unused) request.set_associated(arguments.used);
  pb::ListTraitsResponse answer;
  const auto count = [](const pb::ListTraitsResponse& page) { return page.traits_size(); };
  BERTH_RETURN_IF_ERROR(CallPaged(session, request, kListedNames, count, &answer));
  Table table({{"NAME", Column::Kind::kExact}, {"KIND", Column::Kind::kText}});
  std::vector<std::string> names;
  for (const pb::Trait& trait : answer.traits()) {
    table.Add({trait.name(), trait.standard() ? "standard" : "custom"});
    names.push_back(trait.name());
  }
  return session.Print(answer, std::move(table), names);
}

absl::Status Ensure(Session& session, const std::string& name, pb::EnsureTraitResponse* answer) {
  pb::EnsureTraitRequest request;
  request.set_name(name);
  return session.Call(request, answer);
}

absl::Status CreateTrait(Session& session, const NameArguments& arguments) {
  pb::EnsureTraitResponse answer;
  BERTH_RETURN_IF_ERROR(Ensure(session, arguments.name, &answer));
  const std::string words = answer.created() ? "created " : "exists already: ";
  return session.Print(answer, absl::StrCat(words, arguments.name, "\n"), {arguments.name});
}

absl::Status DeleteTrait(Session& session, const NameArguments& arguments) {
  pb::DeleteTraitRequest request;
  request.set_name(arguments.name);
  pb::DeleteTraitResponse answer;
  BERTH_RETURN_IF_ERROR(session.Call(request, &answer));
  return session.Print(answer, absl::StrCat("deleted ", arguments.name, "\n"), {arguments.name});
}

absl::Status GetTraits(Session& session, const std::string& uuid,
                       pb::GetProviderTraitsResponse* answer) {
  pb::GetProviderTraitsRequest request;
  request.set_provider_uuid(uuid);
  return session.Call(request, answer);
}

absl::Status ShowTraits(Session& session, const ProviderTraitsArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  pb::GetProviderTraitsResponse answer;
  BERTH_RETURN_IF_ERROR(GetTraits(session, uuid, &answer));
  return session.Print(answer, TraitLines(answer.traits()),
                       {answer.traits().begin(), answer.traits().end()});
}

enum class TraitChange { kAdd, kRemove };

absl::Status ChangeTraitsOnce(Session& session, const std::string& uuid, TraitChange change,
                              const std::vector<std::string>& traits,
                              pb::SetProviderTraitsResponse* answer) {
  pb::GetProviderTraitsResponse stored;
  BERTH_RETURN_IF_ERROR(GetTraits(session, uuid, &stored));
  std::set<std::string> wanted(stored.traits().begin(), stored.traits().end());
  for (const std::string& trait : traits) {
    if (change == TraitChange::kAdd) {
      wanted.insert(trait);
    } else {
      wanted.erase(trait);
    }
  }
  pb::SetProviderTraitsRequest write;
  write.set_provider_uuid(uuid);
  write.set_expected_generation(stored.generation());
  for (const std::string& trait : wanted) write.add_traits(trait);
  return session.Call(write, answer);
}

absl::Status ChangeTraits(Session& session, TraitChange change,
                          const ChangeTraitsArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  const std::vector<std::string> traits = Listed(arguments.traits);
  pb::SetProviderTraitsResponse answer;
  BERTH_RETURN_IF_ERROR(
      OnFreshGeneration([&] { return ChangeTraitsOnce(session, uuid, change, traits, &answer); }));
  return session.Print(answer, TraitLines(answer.traits()),
                       {answer.traits().begin(), answer.traits().end()});
}

absl::Status AddTraits(Session& session, const ChangeTraitsArguments& arguments) {
  for (const std::string& trait : Listed(arguments.traits)) {
    if (!arguments.create || !absl::StartsWith(trait, "CUSTOM_")) continue;
    // Creating the trait is a write of its own. The user's request id belongs to the write that
    // changes the provider.
    pb::EnsureTraitRequest request;
    request.set_request_id(RandomUuid());
    request.set_name(trait);
    pb::EnsureTraitResponse answer;
    BERTH_RETURN_IF_ERROR(session.Call(request, &answer));
  }
  return ChangeTraits(session, TraitChange::kAdd, arguments);
}

absl::Status RemoveTraits(Session& session, const ChangeTraitsArguments& arguments) {
  return ChangeTraits(session, TraitChange::kRemove, arguments);
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
  CLI::App* noun = AddNoun(app, "trait", "Traits: properties that a provider has or does not have");
  noun->group("Show and change");
  AddCatalog(noun, session);

  CLI::App* show =
      AddVerb(*noun, "show", "Show the traits of a provider", "berth trait show dc1-h07");
  show->add_option("provider", Does(show, session, ShowTraits).provider,
                   "Name or uuid of the provider")
      ->required();

  CLI::App* add = AddVerb(*noun, "add", "Add traits to a provider",
                          "berth trait add dc1-h07 CUSTOM_A100 --create");
  ChangeTraitsArguments& adding = Does(add, session, AddTraits);
  add->add_option("provider", adding.provider, "Name or uuid of the provider")->required();
  add->add_option("traits", adding.traits, "The names of the traits")->required();
  add->add_flag("--create", adding.create, "Create CUSTOM_ traits that do not exist yet");

  CLI::App* remove = AddVerb(*noun, "remove", "Remove traits from a provider",
                             "berth trait remove dc1-h07 CUSTOM_A100");
  ChangeTraitsArguments& removing = Does(remove, session, RemoveTraits);
  remove->add_option("provider", removing.provider, "Name or uuid of the provider")->required();
  remove->add_option("traits", removing.traits, "The names of the traits")->required();
}

}  // namespace berth::cli
