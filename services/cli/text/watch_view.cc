#include "services/cli/text/watch_view.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/node_view.h"
#include "services/cli/text/record_view.h"
#include "services/cli/text/time_text.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

// Columns: revision, time, what happened, kind, key, details.
constexpr char kLine[] = "%10s  %-20s  %-7s  %-9s  %-36s  %s";

std::string ProviderWords(const pb::Provider& provider) {
  Amounts totals;
  for (const auto& [name, inventory] : provider.inventories()) totals[name] = inventory.total();
  std::string words = absl::StrCat(provider.name(), ", generation ", provider.generation());
  if (!totals.empty()) absl::StrAppend(&words, ", ", InWords(totals));
  return words;
}

std::string ConsumerWords(const pb::Consumer& consumer) {
  Amounts held;
  for (const pb::ProviderAllocation& allocation : consumer.allocations()) {
    for (const auto& [name, amount] : allocation.resources()) held[name] += amount;
  }
  std::string words = absl::StrCat(consumer.consumer_type(), " of ", consumer.project_id(), ", ",
                                   InWords(held), " of ");
  if (consumer.allocations_size() == 1) {
    return words + consumer.allocations(0).provider_uuid();
  }
  return absl::StrCat(words, consumer.allocations_size(), " providers");
}

std::string GroupWords(const pb::ServerGroup& group) {
  return absl::StrCat(group.name(), group.name().empty() ? "" : " ", "of ", group.project_id(),
                      ", ", PolicyWord(group));
}

std::string InstanceWords(const pb::Instance& instance) {
  std::string words = absl::StrCat(instance.name(), instance.name().empty() ? "" : " ", "of ",
                                   instance.project_id(), ", ", StateOf(instance));
  if (!instance.host().empty()) absl::StrAppend(&words, ", on ", instance.host());
  return words;
}

std::string MigrationWords(const pb::Migration& migration) {
  std::string words = absl::StrCat(TypeWord(migration), ", ", migration.status(), ", from ",
                                   migration.source_host());
  if (!migration.destination_host().empty()) {
    absl::StrAppend(&words, " to ", migration.destination_host());
  }
  return absl::StrCat(words, ", of instance ", migration.instance_uuid());
}

// Who asked for the change, and why, for example "by alice: its disk is lost".
std::string AuthorWords(const pb::Change& change) {
  if (change.actor().empty()) return change.reason();
  return absl::StrCat("by ", change.actor(), change.reason().empty() ? "" : ": ", change.reason());
}

std::string Line(const std::string& revision, const std::string& time, const std::string& what,
                 const EntityText& words, const std::string& author) {
  std::string details = words.details;
  if (!author.empty()) absl::StrAppend(&details, details.empty() ? "" : "  ", author);
  std::string line = absl::StrFormat(kLine, revision, time, what, words.kind, words.key, details);
  absl::StripTrailingAsciiWhitespace(&line);
  return line + "\n";
}

}  // namespace

std::string KindWords(pb::EntityKind kind) {
  switch (kind) {
    case pb::ENTITY_KIND_PROVIDER_USAGE:
      return "usage";
    case pb::ENTITY_KIND_RESOURCE_CLASS:
      return "class";
    default:
      return absl::AsciiStrToLower(ShortName(pb::EntityKind_Name(kind), "ENTITY_KIND_"));
  }
}

EntityText TextOf(const pb::Entity& entity) {
  switch (entity.entity_case()) {
    case pb::Entity::kProvider:
      return {"provider", entity.provider().uuid(), ProviderWords(entity.provider())};
    case pb::Entity::kProviderUsage: {
      const auto& used = entity.provider_usage().used();
      return {"usage", entity.provider_usage().provider_uuid(),
              InWords(Amounts(used.begin(), used.end()))};
    }
    case pb::Entity::kConsumer:
      return {"consumer", entity.consumer().uuid(), ConsumerWords(entity.consumer())};
    case pb::Entity::kResourceClass:
      return {"class", entity.resource_class().name(), ""};
    case pb::Entity::kTrait:
      return {"trait", entity.trait().name(), ""};
    case pb::Entity::kService:
      return {"service", entity.service().uuid(),
              absl::StrCat(
                  entity.service().binary(), " on ", entity.service().host(), ", ",
                  ShortName(pb::ServiceState_Name(entity.service().state()), "SERVICE_STATE_"))};
    case pb::Entity::kNode:
      return {"node", entity.node().uuid(), entity.node().name()};
    case pb::Entity::kAggregate:
      return {"aggregate", entity.aggregate().uuid(), entity.aggregate().name()};
    case pb::Entity::kServerGroup:
      return {"group", entity.server_group().uuid(), GroupWords(entity.server_group())};
    case pb::Entity::kInstance:
      return {"instance", entity.instance().uuid(), InstanceWords(entity.instance())};
    case pb::Entity::kMigration:
      return {"migration", entity.migration().uuid(), MigrationWords(entity.migration())};
    case pb::Entity::ENTITY_NOT_SET:
      break;
  }
  return {"other", "", "of a kind that this version of berth does not know"};
}

std::string WatchHeader() {
  return Line("REVISION", "TIME", "WHAT", {"KIND", "KEY", "DETAILS"}, "");
}

std::string WatchLines(const pb::WatchResponse& response) {
  const std::string revision = absl::StrCat(response.revision().number());
  const std::string time = response.has_committed_at() ? TimeText(response.committed_at()) : "";
  std::string lines;
  for (const pb::Change& change : response.changes()) {
    if (change.has_present()) {
      lines += Line(revision, time, response.snapshot() ? "is" : "changed",
                    TextOf(change.present()), AuthorWords(change));
    } else {
      lines += Line(revision, time, "removed",
                    {KindWords(change.removed().kind()), change.removed().key(), ""},
                    AuthorWords(change));
    }
  }
  return lines;
}

}  // namespace berth::cli
