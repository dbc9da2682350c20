#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/catalog.pb.h"
#include "services/cli/command.h"
#include "services/cli/pages.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kListed = 10'000;

struct NoArguments {};

struct CreateArguments {
  std::string name;
  bool if_absent = false;
};

struct DeleteArguments {
  std::string name;
};

absl::Status List(Session& session, const NoArguments&) {
  pb::ListClassesResponse answer;
  const auto count = [](const pb::ListClassesResponse& page) {
    return page.resource_classes_size();
  };
  const absl::Status listed = CallPaged(session, pb::ListClassesRequest(), kListed, count, &answer);
  if (!listed.ok()) return listed;
  Table table({{"NAME", Column::Kind::kExact}, {"KIND", Column::Kind::kText}});
  std::vector<std::string> names;
  for (const pb::ResourceClass& one : answer.resource_classes()) {
    table.Add({one.name(), one.standard() ? "standard" : "custom"});
    names.push_back(one.name());
  }
  return session.Print(answer, std::move(table), names);
}

absl::Status Create(Session& session, const CreateArguments& arguments) {
  if (arguments.if_absent) {
    pb::EnsureClassRequest request;
    request.set_name(arguments.name);
    pb::EnsureClassResponse answer;
    const absl::Status called = session.Call(request, &answer);
    if (!called.ok()) return called;
    const std::string words = answer.created() ? "created " : "already there: ";
    return session.Print(answer, absl::StrCat(words, arguments.name, "\n"), {arguments.name});
  }
  pb::CreateClassRequest request;
  request.set_name(arguments.name);
  pb::CreateClassResponse answer;
  const absl::Status called = session.Call(request, &answer);
  if (!called.ok()) return called;
  return session.Print(answer, absl::StrCat("created ", arguments.name, "\n"), {arguments.name});
}

absl::Status Delete(Session& session, const DeleteArguments& arguments) {
  pb::DeleteClassRequest request;
  request.set_name(arguments.name);
  pb::DeleteClassResponse answer;
  const absl::Status called = session.Call(request, &answer);
  if (!called.ok()) return called;
  return session.Print(answer, absl::StrCat("deleted ", arguments.name, "\n"), {arguments.name});
}

}  // namespace

void AddClassCommands(CLI::App& app, Session& session) {
  CLI::App* noun = AddNoun(app, "class", "Kinds of resources that are counted");
  noun->group("See and change");

  CLI::App* list = AddVerb(*noun, "list", "List the resource classes", "berth class list -o name");
  Does(list, session, List);

  CLI::App* create =
      AddVerb(*noun, "create", "Create a custom class", "berth class create CUSTOM_LICENSE");
  CreateArguments& creating = Does(create, session, Create);
  create->add_option("name", creating.name, "CUSTOM_...")->required();
  create->add_flag("--if-absent", creating.if_absent, "Succeed where it is there already");

  CLI::App* remove = AddVerb(*noun, "delete", "Delete a custom class that no provider has",
                             "berth class delete CUSTOM_LICENSE");
  remove->add_option("name", Does(remove, session, Delete).name, "CUSTOM_...")->required();
}

}  // namespace berth::cli
