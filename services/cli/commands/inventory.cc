#include "services/cli/commands/inventory.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/inventory.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/provider_set.h"
#include "services/cli/session/failure.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/provider_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

struct SetInventoryArguments {
  std::string provider;
  std::vector<std::string> inventories;
  bool replace = false;
  std::optional<int64_t> generation;
};

struct DeleteInventoryArguments {
  std::string provider;
  std::vector<std::string> classes;
  bool all = false;
};

absl::Status ShowInventory(Session& session, const OneProviderArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  BERTH_ASSIGN_OR_RETURN(const auto answer, InventoriesOf(session, uuid));
  return session.Print(answer, InventoryTable(answer.inventories()),
                       ClassesOf(answer.inventories()));
}

// Overwrites the values of `inventory` for which the user gave new ones.
absl::Status Merge(const InventoryWords& words, pb::Inventory* inventory) {
  if (words.total) inventory->set_total(*words.total);
  if (words.reserved) inventory->set_reserved(*words.reserved);
  if (words.min_unit) inventory->set_min_unit(*words.min_unit);
  if (words.max_unit) inventory->set_max_unit(*words.max_unit);
  if (words.step_size) inventory->set_step_size(*words.step_size);
  if (words.allocation_ratio) inventory->set_allocation_ratio(*words.allocation_ratio);
  if (inventory->total() != 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the provider has no inventory of ", words.resource_class,
      " yet, so its total is needed: write ", words.resource_class, "=TOTAL[:KEY=VALUE]..."));
}

absl::Status SetOnce(Session& session, const std::string& uuid,
                     const std::vector<InventoryWords>& said,
                     const SetInventoryArguments& arguments, pb::SetInventoriesResponse* answer) {
  BERTH_ASSIGN_OR_RETURN(const auto stored, InventoriesOf(session, uuid));
  pb::SetInventoriesRequest write;
  write.set_provider_uuid(uuid);
  write.set_expected_generation(arguments.generation.value_or(stored.generation()));
  if (!arguments.replace) *write.mutable_inventories() = stored.inventories();
  for (const InventoryWords& words : said) {
    BERTH_RETURN_IF_ERROR(Merge(words, &(*write.mutable_inventories())[words.resource_class]));
  }
  return session.Call(write, answer);
}

absl::Status SetInventory(Session& session, const SetInventoryArguments& arguments) {
  std::vector<InventoryWords> said;
  for (const std::string& text : Listed(arguments.inventories)) {
    BERTH_ASSIGN_OR_RETURN(auto words, ParseInventory(text));
    said.push_back(std::move(words));
  }
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  pb::SetInventoriesResponse answer;
  const auto once = [&] { return SetOnce(session, uuid, said, arguments, &answer); };
  BERTH_RETURN_IF_ERROR(arguments.generation ? once() : OnFreshGeneration(once));
  for (const pb::OvercommittedClass& over : answer.overcommitted()) {
    session.Say(absl::StrCat("note: ", over.used(), " ", over.resource_class(),
                             " are allocated, but the capacity is only ", over.capacity(),
                             ": nothing more is allocated until the use falls below it"));
  }
  for (const std::string& name : answer.unallocatable_classes()) {
    session.Say(absl::StrCat("note: no amount of ", name,
                             " can be allocated, because min or step exceeds max"));
  }
  return session.Print(answer, InventoryTable(answer.inventories()),
                       ClassesOf(answer.inventories()));
}

absl::Status DeleteAll(Session& session, const std::string& uuid) {
  pb::DeleteAllInventoriesRequest request;
  request.set_provider_uuid(uuid);
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         session.Call<pb::DeleteAllInventoriesResponse>(request));
  return session.Print(answer, "deleted all inventories\n", {uuid});
}

// Deletes the inventories of all these classes in one write. If one cannot be deleted, none is.
absl::Status DeleteOnce(Session& session, const std::string& uuid,
                        const std::vector<std::string>& classes,
                        pb::SetInventoriesResponse* answer) {
  BERTH_ASSIGN_OR_RETURN(const auto stored, InventoriesOf(session, uuid));
  pb::SetInventoriesRequest write;
  write.set_provider_uuid(uuid);
  write.set_expected_generation(stored.generation());
  *write.mutable_inventories() = stored.inventories();
  for (const std::string& name : classes) {
    if (write.mutable_inventories()->erase(name) > 0) continue;
    return Refused(absl::StatusCode::kNotFound, "INVENTORY_NOT_FOUND",
                   absl::StrCat("provider ", uuid, " has no inventory of ", name),
                   {{{"provider", uuid}, {"resource_class", name}}});
  }
  return session.Call(write, answer);
}

absl::Status DeleteInventory(Session& session, const DeleteInventoryArguments& arguments) {
  const std::vector<std::string> classes = Listed(arguments.classes);
  if (arguments.all != classes.empty()) {
    return absl::InvalidArgumentError("name either the classes to delete or --all");
  }
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  if (arguments.all) return DeleteAll(session, uuid);
  pb::SetInventoriesResponse answer;
  BERTH_RETURN_IF_ERROR(
      OnFreshGeneration([&] { return DeleteOnce(session, uuid, classes, &answer); }));
  return session.Print(answer, InventoryTable(answer.inventories()),
                       ClassesOf(answer.inventories()));
}

}  // namespace

absl::StatusOr<pb::GetInventoriesResponse> InventoriesOf(Session& session,
                                                         const std::string& uuid) {
  pb::GetInventoriesRequest request;
  request.set_provider_uuid(uuid);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::GetInventoriesResponse>(request));
  return answer;
}

void AddInventoryCommands(CLI::App& app, Session& session) {
  CLI::App* noun =
      AddNoun(app, "inventory", "Inventories: how much a provider has of each resource class",
              "Show and change");

  CLI::App* show =
      AddVerb(*noun, "show", "Show the inventories of a provider", "berth inventory show dc1-h07");
  AddProviderName(show, &Does(show, session, ShowInventory).provider);

  CLI::App* set = AddVerb(*noun, "set",
                          "Set inventories; classes and values that are not named stay as they are",
                          "berth inventory set dc1-h07 VCPU=32:ratio=4:reserved=2 MEMORY_MB=256Gi\n"
                          "berth inventory set dc1-h07 VCPU:ratio=8");
  SetInventoryArguments& setting = Does(set, session, SetInventory);
  AddProviderName(set, &setting.provider);
  set->add_option(
         "inventories", setting.inventories,
         "CLASS[=TOTAL][:KEY=VALUE]...; KEY is one of: reserved, ratio, min, max, step; the last "
         "three limit the amount of each single allocation")
      ->required();
  set->add_flag("--replace", setting.replace,
                "Also delete the provider's inventories of all other classes");
  set->add_option("--generation", setting.generation,
                  "Fail if the provider is no longer at this generation");

  CLI::App* remove =
      AddVerb(*noun, "delete", "Delete inventories; fails if any of them is allocated",
              "berth inventory delete dc1-h07 DISK_GB");
  DeleteInventoryArguments& deleting = Does(remove, session, DeleteInventory);
  AddProviderName(remove, &deleting.provider);
  remove->add_option("classes", deleting.classes, "The resource classes");
  remove->add_flag("--all", deleting.all, "Delete the inventories of all classes");
}

}  // namespace berth::cli
