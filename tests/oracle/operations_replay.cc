#include "tests/oracle/operations_replay.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/oracle/outcome_kinds.h"

namespace berth::oracle {
namespace {

using placement::ConsumerAllocations;

// Far from any generation that a life of 45 steps comes to.
constexpr int64_t kWrongBy = 1'000'000;

class Life {
 public:
  Life(Subject& subject, const Json& line)
      : subject_(subject), line_(line), name_(line.at("case")) {}

  Report Replay() {
    for (const CommandBody& command : NamesThatWereThere()) subject_.Write(command).IgnoreError();
    int number = 0;
    for (const Json& step : line_.at("steps")) Take(step, number++);
    CompareProviders();
    CompareConsumers();
    TakeAway();
    if (report_.failures.empty()) report_.passed = 1;
    return std::move(report_);
  }

 private:
  void Fail(const std::string& what) { report_.failures.push_back(name_ + ": " + what); }

  std::vector<CommandBody> NamesThatWereThere() const;
  void Take(const Json& step, int number);
  CommandBody CommandOf(const Json& step);
  CommandBody ProviderCommand(const std::string& op, const Json& step);
  ConsumerAllocations ClaimOf(const Json& set, bool leak_conflict);
  Generation GuardOf(const Json& step, ProviderId id);
  bool IsLeakConflict(const Json& step) const;
  void NoteLeaks(const Json& step);

  void CompareProviders();
  void CompareProvider(const std::string& name, const Json& recorded);
  void CompareConsumers();
  void TakeAway();

  Subject& subject_;
  const Json& line_;
  std::string name_;
  Report report_;
  std::set<std::string> made_;    // providers, by name
  std::set<std::string> served_;  // consumers that were named
  // Consumers that the recorded placement kept without allocations: it refuses `new` for them ever
  // after, and tells nobody their generation (D-3).
  std::set<std::string> leaked_;
};

Json SetsOf(const Json& step) { return step.contains("sets") ? step["sets"] : Json::array({step}); }

bool Succeeded(const Json& step) { return step.at("expect").at("status") < 300; }

bool IsConflict(const Json& step) {
  return step.at("expect").value("code", "") == "placement.concurrent_update";
}

// All custom names that the recorded placement knew: every one that a step could use. The others
// occur only in steps that were refused with 400.
std::vector<CommandBody> Life::NamesThatWereThere() const {
  std::set<std::string> classes;
  std::set<std::string> traits;
  for (const Json& step : line_.at("steps")) {
    if (step.at("expect").at("status") == 400) continue;
    const Json inventories = step.value("inventories", Json::object());
    for (const auto& [name, row] : inventories.items()) classes.insert(name);
    if (Succeeded(step)) traits.merge(StringsOf(step.value("traits", Json::array())));
    for (const Json& set : SetsOf(step)) {
      const Json allocations = set.value("allocations", Json::object());
      for (const auto& [provider, amounts] : allocations.items()) {
        for (const auto& [name, amount] : amounts.items()) classes.insert(name);
      }
    }
  }
  return MakeNames(classes, traits);
}

Generation Life::GuardOf(const Json& step, ProviderId id) {
  const std::optional<ProviderView> view = subject_.Provider(id);
  const Generation present = view ? view->generation : Generation{};
  return step.at("guard") == "current" ? present : Generation{present.value + kWrongBy};
}

// Whether a step was refused for a leaked consumer, which holds nothing with us: what its author
// took for the present was not, so it is sent as something wrong.
bool Life::IsLeakConflict(const Json& step) const {
  if (!IsConflict(step) || step.at("op") == "delete_allocations") return false;
  bool leaked = false;
  for (const Json& set : SetsOf(step)) {
    if (!set.contains("consumer") || set.value("guard", "") != "current") return false;
    leaked |= leaked_.contains(set["consumer"]);
  }
  return leaked;
}

// D-3: an empty map for a consumer that holds nothing leaves one behind; so does a claim on a
// provider that is not there.
void Life::NoteLeaks(const Json& step) {
  const std::string op = step.at("op");
  if (!op.starts_with("replace_allocations")) return;
  const bool refused = step.at("expect").at("status") == 400;
  for (const Json& set : SetsOf(step)) {
    const std::string consumer = set.at("consumer");
    served_.insert(consumer);
    if (subject_.Consumer(ConsumerOf(consumer))) continue;
    if (refused || (Succeeded(step) && set.at("allocations").empty())) leaked_.insert(consumer);
  }
}

ConsumerAllocations Life::ClaimOf(const Json& set, bool leak_conflict) {
  const std::string name = set.at("consumer");
  ConsumerAllocations claim{ConsumerOf(name), std::nullopt,   set.at("project"),
                            set.at("user"),   set.at("type"), {}};
  const std::optional<ConsumerView> view = subject_.Consumer(claim.consumer);
  if (view) claim.expected_generation = view->generation;
  if (set.at("guard") == "new") claim.expected_generation.reset();
  if (set.at("guard") == "wrong" || (leak_conflict && leaked_.contains(name))) {
    claim.expected_generation = Generation{(view ? view->generation.value : 0) + kWrongBy};
  }
  for (const auto& [provider, amounts] : set.at("allocations").items()) {
    claim.allocations.push_back({ProviderOf(provider), NamedAmountsOf(amounts)});
  }
  return claim;
}

CommandBody Life::ProviderCommand(const std::string& op, const Json& step) {
  const std::string name = step.at("provider");
  const ProviderId id = ProviderOf(name);
  const auto parent = [&]() -> std::optional<ProviderId> {
    if (step.at("parent").is_null()) return std::nullopt;
    return ProviderOf(step["parent"]);
  };
  if (op == "create_provider") return placement::CreateProvider{id, name, parent()};
  if (op == "update_provider") {
    return placement::UpdateProvider{id, step.at("name"), parent(), std::nullopt};
  }
  if (op == "delete_provider") return placement::DeleteProvider{id};
  if (op == "delete_inventories") return placement::DeleteInventory{id, std::nullopt, std::nullopt};
  const Generation guard = GuardOf(step, id);
  if (op == "replace_inventories") {
    return placement::SetInventories{id, guard, InventoriesOf(step.at("inventories"))};
  }
  if (op == "replace_traits") return placement::SetProviderTraits{id, guard, step.at("traits")};
  if (op == "replace_aggregates") {
    return placement::SetProviderAggregates{id, guard, AggregatesOf(step.at("aggregates"))};
  }
  Fail(absl::StrCat("unknown operation ", op));
  return placement::DeleteProvider{id};
}

CommandBody Life::CommandOf(const Json& step) {
  const std::string op = step.at("op");
  if (op == "delete_allocations") {
    return placement::DeleteAllocations{ConsumerOf(step.at("consumer")), std::nullopt};
  }
  if (!op.starts_with("replace_allocations")) return ProviderCommand(op, step);
  placement::SetAllocations write;
  const bool leak_conflict = IsLeakConflict(step);
  for (const Json& set : SetsOf(step)) write.consumers.push_back(ClaimOf(set, leak_conflict));
  return write;
}

void Life::Take(const Json& step, int number) {
  const std::string op = step.at("op");
  const std::string where = absl::StrCat("step ", number, " ", op);
  if (op == "create_provider") made_.insert(step.at("provider"));
  const CommandBody command = CommandOf(step);
  if (op.starts_with("replace_allocations") && IsLeakConflict(step)) {
    report_.Except("P-131 (D-3)", absl::StrCat(name_, " ", where),
                   "a consumer without allocations stood in the way");
  }
  NoteLeaks(step);
  const absl::Status status = subject_.Write(command);
  const Json& expect = step.at("expect");
  if (IsSameKind(op, expect.at("status"), expect.value("code", ""), status)) return;
  Fail(absl::StrCat(where, ": recorded ", expect.dump(), ", got ", status.ToString()));
}

void Life::CompareProviders() {
  const Json& recorded = line_.at("state").at("providers");
  for (const std::string& name : made_) {
    if (recorded.contains(name)) {
      CompareProvider(name, recorded[name]);
    } else if (subject_.Provider(ProviderOf(name))) {
      Fail(absl::StrCat("in the end ", name, " is there, and was not recorded"));
    }
  }
  for (const auto& [name, provider] : recorded.items()) {
    if (!made_.contains(name)) Fail(absl::StrCat(name, " was recorded and never made"));
  }
}

void Life::CompareProvider(const std::string& name, const Json& recorded) {
  const std::optional<ProviderView> view = subject_.Provider(ProviderOf(name));
  if (!view) {
    Fail(absl::StrCat("in the end ", name, " is missing"));
    return;
  }
  const auto expect = [&](const char* what, bool equal) {
    if (!equal) Fail(absl::StrCat("in the end ", what, " of ", name, " differs"));
  };
  std::optional<ProviderId> parent;
  if (!recorded.at("parent").is_null()) parent = ProviderOf(recorded["parent"]);
  std::map<std::string, Inventory> inventories;
  for (const auto& each : InventoriesOf(recorded.at("inventories"))) {
    inventories[each.resource_class] = each.inventory;
  }
  const std::vector<AggregateId> aggregates = AggregatesOf(recorded.at("aggregates"));
  expect("the name", view->name == recorded.at("name"));
  expect("the parent", view->parent == parent);
  expect("the root", view->root == ProviderOf(recorded.at("root")));
  expect("the inventory", view->inventories == inventories);
  expect("the traits", view->traits == StringsOf(recorded.at("traits")));
  expect("the aggregates",
         view->aggregates == std::set<AggregateId>(aggregates.begin(), aggregates.end()));
  expect("the usage", view->used == AmountsOf(recorded.at("usages")));
}

void Life::CompareConsumers() {
  for (const auto& [name, recorded] : line_.at("state").at("consumers").items()) {
    served_.insert(name);
    const std::optional<ConsumerView> view = subject_.Consumer(ConsumerOf(name));
    std::map<ProviderId, Amounts> allocations;
    for (const auto& [provider, amounts] : recorded.at("allocations").items()) {
      allocations[ProviderOf(provider)] = AmountsOf(amounts);
    }
    const bool equal = allocations.empty() ? !view
                                           : view && view->allocations == allocations &&
                                                 view->project == recorded.at("project") &&
                                                 view->user == recorded.at("user") &&
                                                 view->type == recorded.at("type");
    if (!equal) Fail(absl::StrCat("in the end consumer ", name, " differs"));
  }
}

void Life::TakeAway() {
  for (const std::string& name : served_) {
    if (!subject_.Consumer(ConsumerOf(name))) continue;
    subject_.Write(placement::DeleteAllocations{ConsumerOf(name), std::nullopt}).IgnoreError();
  }
  // Children go before their parents, whatever their names: each round removes all leaves.
  for (size_t round = 0; round < made_.size(); ++round) {
    for (const std::string& name : made_) {
      if (!subject_.Provider(ProviderOf(name))) continue;
      subject_.Write(placement::DeleteProvider{ProviderOf(name)}).IgnoreError();
    }
  }
  for (const std::string& name : made_) {
    if (subject_.Provider(ProviderOf(name))) Fail(absl::StrCat(name, " could not be removed"));
  }
}

}  // namespace

Report ReplayOperations(Subject& subject, const Json& line) { return Life(subject, line).Replay(); }

}  // namespace berth::oracle
