#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/catalog.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/pages.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

struct CreateClassArguments {
  std::string name;
  bool if_absent = false;
};

struct DeleteClassArguments {
  std::string name;
};

absl::Status ListClasses(Session& session, const NoArguments&) {
  BERTH_ASSIGN_OR_RETURN(const auto answer, CallPaged<pb::ListClassesResponse>(
                                                session, pb::ListClassesRequest(), kListedNames));
  Table table({{"NAME", Column::Kind::kExact}, {"KIND", Column::Kind::kText}});
  std::vector<std::string> names;
  for (const pb::ResourceClass& one : answer.resource_classes()) {
    table.Add({one.name(), one.standard() ? "standard" : "custom"});
    names.push_back(one.name());
  }
  return session.Print(answer, std::move(table), names);
}

absl::Status CreateClass(Session& session, const CreateClassArguments& arguments) {
  if (arguments.if_absent) {
    pb::EnsureClassRequest request;
    request.set_name(arguments.name);
    BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::EnsureClassResponse>(request));
    const std::string words = answer.created() ? "created " : "exists already: ";
    return session.Print(answer, absl::StrCat(words, arguments.name, "\n"), {arguments.name});
  }
  pb::CreateClassRequest request;
  request.set_name(arguments.name);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::CreateClassResponse>(request));
  return session.Print(answer, absl::StrCat("created ", arguments.name, "\n"), {arguments.name});
}

absl::Status DeleteClass(Session& session, const DeleteClassArguments& arguments) {
  pb::DeleteClassRequest request;
  request.set_name(arguments.name);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::DeleteClassResponse>(request));
  return session.Print(answer, absl::StrCat("deleted ", arguments.name, "\n"), {arguments.name});
}

}  // namespace

void AddClassCommands(CLI::App& app, Session& session) {
  CLI::App* noun = AddNoun(app, "class", "Resource classes: kinds of resources that are counted",
                           "Show and change");

  CLI::App* list = AddVerb(*noun, "list", "List the resource classes", "berth class list -o name");
  Does(list, session, ListClasses);

  CLI::App* create =
      AddVerb(*noun, "create", "Create a custom class", "berth class create CUSTOM_LICENSE");
  CreateClassArguments& creating = Does(create, session, CreateClass);
  create->add_option("name", creating.name, "The name of the class: CUSTOM_...")->required();
  create->add_flag("--if-absent", creating.if_absent, "Succeed if the class exists already");

  CLI::App* remove =
      AddVerb(*noun, "delete", "Delete a custom class of which no provider has an inventory",
              "berth class delete CUSTOM_LICENSE");
  remove
      ->add_option("name", Does(remove, session, DeleteClass).name,
                   "The name of the class: CUSTOM_...")
      ->required();
}

}  // namespace berth::cli
