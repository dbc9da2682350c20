#include "services/cli/text/provider_view.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/time_text.h"
#include "services/cli/text/titled_lines.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int64_t kUnitMax = 2147483647;

std::string Number(bool known, int64_t number) { return known ? absl::StrCat(number) : "-"; }

}  // namespace

Table ProviderTable(const Providers& providers) {
  Table table({{"NAME", Column::Kind::kText},
               {"UUID", Column::Kind::kExact},
               {"PARENT", Column::Kind::kExact},
               {"GENERATION", Column::Kind::kNumber},
               {"TRACKER", Column::Kind::kText}});
  for (const pb::Provider& provider : providers) {
    table.Add({provider.name(), provider.uuid(),
               provider.parent_uuid().empty() ? "-" : provider.parent_uuid(),
               absl::StrCat(provider.generation()),
               provider.has_owner() ? provider.owner().host() : "-"});
  }
  return table;
}

Table InventoryTable(const Inventories& inventories) {
  Table table({{"CLASS", Column::Kind::kExact},
               {"USED", Column::Kind::kNumber},
               {"CAPACITY", Column::Kind::kNumber},
               {"TOTAL", Column::Kind::kNumber},
               {"SIZE", Column::Kind::kNumber},
               {"RESERVED", Column::Kind::kNumber},
               {"RATIO", Column::Kind::kNumber},
               {"MIN", Column::Kind::kNumber},
               {"MAX", Column::Kind::kNumber},
               {"STEP", Column::Kind::kNumber}});
  for (const std::string& name : ClassesOf(inventories)) {
    const pb::Inventory& inventory = inventories.at(name);
    const bool bounded = inventory.has_max_unit() && inventory.max_unit() != kUnitMax;
    table.Add({name, Number(inventory.has_used(), inventory.used()),
               absl::StrCat(inventory.capacity()), absl::StrCat(inventory.total()),
               SizeOf(name, inventory.total()), absl::StrCat(inventory.reserved()),
               absl::StrCat(inventory.has_allocation_ratio() ? inventory.allocation_ratio() : 1),
               absl::StrCat(inventory.has_min_unit() ? inventory.min_unit() : 1),
               Number(bounded, inventory.max_unit()),
               absl::StrCat(inventory.has_step_size() ? inventory.step_size() : 1)});
  }
  return table;
}

std::string ProviderPage(const pb::Provider& provider, const Screen& screen) {
  TitledLines lines = {
      {"name", provider.name()},
      {"uuid", provider.uuid()},
      {"parent", provider.parent_uuid().empty() ? "none: it is a root" : provider.parent_uuid()},
      {"root", provider.root_uuid()},
      {"generation", provider.has_allocation_generation()
                         ? absl::StrCat(provider.generation(), ", of allocations ",
                                        provider.allocation_generation())
                         : absl::StrCat(provider.generation())}};
  if (provider.has_owner()) {
    const pb::ProviderOwner& owner = provider.owner();
    lines.emplace_back("tracker",
                       absl::StrCat(owner.host(), ", last report ", TimeText(owner.reported_at())));
  }
  lines.emplace_back("traits",
                     provider.traits().empty() ? "none" : absl::StrJoin(provider.traits(), " "));
  lines.emplace_back("aggregates", provider.aggregate_uuids().empty()
                                       ? "none"
                                       : absl::StrJoin(provider.aggregate_uuids(), " "));
  const std::string page = Render(lines);
  if (provider.inventories().empty()) return page + "inventories none\n";
  return absl::StrCat(page, "\n", InventoryTable(provider.inventories()).Render(screen));
}

std::vector<std::string> OvercommitNotes(
    const google::protobuf::RepeatedPtrField<pb::ProviderOvercommit>& overcommitted) {
  std::vector<std::string> notes;
  for (const pb::ProviderOvercommit& provider : overcommitted) {
    for (const pb::OvercommittedClass& one : provider.classes()) {
      notes.push_back(absl::StrCat("note: of provider ", provider.provider_uuid(), " ", one.used(),
                                   " ", one.resource_class(),
                                   " are allocated, but the capacity is only ", one.capacity(),
                                   ": nothing more is allocated until the use falls below it"));
    }
  }
  return notes;
}

}  // namespace berth::cli
