#include "tests/oracle/recorded_world.h"

#include <optional>
#include <set>
#include <vector>

namespace berth::oracle {
namespace {

using placement::ConsumerAllocations;
using placement::SetAllocations;

std::vector<CommandBody> NamesIn(const Json& line) {
  std::set<std::string> classes;
  std::set<std::string> traits;
  for (const Json& provider : line.at("setup").at("providers")) {
    for (const auto& [name, inventory] : provider.at("inventories").items()) classes.insert(name);
    traits.merge(StringsOf(provider.at("traits")));
  }
  for (const Json& each : line.at("queries")) {
    if (each.at("expect").contains("error")) continue;  // it may be about an unknown name
    const CandidateRequest request = RequestOf(each.at("query"));
    for (const placement::RequestGroup& group : request.groups) {
      for (const placement::NamedAmount& wanted : group.resources) {
        classes.insert(wanted.resource_class);
      }
      for (const auto& set : group.required) traits.insert(set.begin(), set.end());
      traits.insert(group.forbidden.begin(), group.forbidden.end());
    }
    for (const auto& set : request.root_required) traits.insert(set.begin(), set.end());
    traits.insert(request.root_forbidden.begin(), request.root_forbidden.end());
  }
  return MakeNames(classes, traits);
}

// Writes in order; the first refusal ends it.
class Writer {
 public:
  explicit Writer(Subject& subject) : subject_(subject) {}
  void Write(const CommandBody& command) {
    if (status_.ok()) status_ = subject_.Write(command);
  }
  const absl::Status& status() const { return status_; }

 private:
  Subject& subject_;
  absl::Status status_;
};

void BuildProvider(Subject& subject, const Json& from, const Ids& ids, Writer& writer) {
  const ProviderId id = ids.at(from.at("name"));
  std::optional<ProviderId> parent;
  if (!from.at("parent").is_null()) parent = ids.at(from.at("parent"));
  writer.Write(placement::CreateProvider{id, from.at("name"), parent});
  const auto generation = [&] {
    const std::optional<ProviderView> view = subject.Provider(id);
    return view ? view->generation : Generation{};
  };
  if (!from.at("inventories").empty()) {
    writer.Write(placement::SetInventories{id, generation(), InventoriesOf(from["inventories"])});
  }
  if (!from.at("traits").empty()) {
    writer.Write(placement::SetProviderTraits{id, generation(), from["traits"]});
  }
  if (!from.at("aggregates").empty()) {
    writer.Write(
        placement::SetProviderAggregates{id, generation(), AggregatesOf(from["aggregates"])});
  }
}

}  // namespace

Ids IdsOf(const Json& setup) {
  Ids ids;
  for (const Json& provider : setup.at("providers")) {
    ids[provider.at("name")] = *ProviderId::Parse(std::string(provider.at("uuid")));
  }
  return ids;
}

absl::Status Build(Subject& subject, const Json& line) {
  Writer writer(subject);
  for (const CommandBody& command : NamesIn(line)) writer.Write(command);
  const Json& setup = line.at("setup");
  const Ids ids = IdsOf(setup);
  for (const Json& provider : setup.at("providers")) {
    BuildProvider(subject, provider, ids, writer);
  }
  for (const Json& from : setup.at("allocations")) {
    ConsumerAllocations claim{ConsumerOf(from.at("consumer")),
                              std::nullopt,
                              from.at("project"),
                              from.at("user"),
                              from.at("type"),
                              {}};
    for (const auto& [name, classes] : from.at("allocations").items()) {
      claim.allocations.push_back({ids.at(name), NamedAmountsOf(classes)});
    }
    writer.Write(SetAllocations{{claim}, false});
  }
  return writer.status();
}

absl::Status TakeAway(Subject& subject, const Json& line) {
  Writer writer(subject);
  const Json& setup = line.at("setup");
  const Ids ids = IdsOf(setup);
  for (const Json& from : setup.at("allocations")) {
    writer.Write(placement::DeleteAllocations{ConsumerOf(from.at("consumer")), std::nullopt});
  }
  const Json& providers = setup.at("providers");
  for (auto it = providers.rbegin(); it != providers.rend(); ++it) {
    writer.Write(placement::DeleteProvider{ids.at(it->at("name"))});
  }
  return writer.status();
}

}  // namespace berth::oracle
