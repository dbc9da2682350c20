#include "services/api/ledger_messages.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/numbers.h"
#include "services/api/kept_reply.h"
#include "services/api/page.h"
#include "services/watch/messages.h"
#include "services/wire/allocation.h"
#include "services/wire/catalog.h"
#include "services/wire/fleet.h"
#include "services/wire/instance.h"
#include "services/wire/provider.h"

namespace berth::services {
namespace {

using placement::EntityKey;
using placement::EntityKind;
using placement::LedgerHealth;
using placement::ProviderPlace;
using placement::State;

constexpr char kKindSeparator = ':';

pb::LedgerState StateOf(const LedgerHealth& health) {
  if (health.recovery_required) return pb::LEDGER_STATE_RECOVERY_REQUIRED;
  if (health.writing_stopped || health.format_too_new) return pb::LEDGER_STATE_STOPPED;
  return health.writable ? pb::LEDGER_STATE_READY : pb::LEDGER_STATE_STORE_UNAVAILABLE;
}

const char* ReasonOf(const LedgerHealth& health) {
  if (health.recovery_required) return "the database went back in time";
  if (health.format_too_new) return "a newer release has changed the format of the ledger";
  if (health.writing_stopped)
    return "the tables differed twice within a minute from what placement has in memory";
  return health.writable ? "" : "the database does not answer";
}

void FillUsage(const State& state, const ProviderPlace& place, pb::ProviderUsage* to) {
  to->set_provider_uuid(place.config().id.ToString());
  to->set_root_uuid(place.tree->root_id().ToString());
  to->set_allocation_generation(place.allocation_generation().value);
  for (size_t row = 0; row < place.config().inventories.size(); ++row) {
    const std::string* name =
        ClassName(state.catalog(), place.config().inventories[row].resource_class);
    if (name != nullptr) (*to->mutable_used())[*name] = place.used(static_cast<int>(row));
  }
}

// Each function fills `to` with the entity that has `key`. Returns false if there is no such
// entity.

bool FillProviderEntity(const State& state, const EntityKey& key, pb::Entity* to) {
  const auto place = state.FindProvider(*placement::ProviderId::Parse(key.key));
  if (!place) return false;
  if (key.kind == EntityKind::kProviderUsage) {
    FillUsage(state, *place, to->mutable_provider_usage());
  } else {
    FillProvider(state, *place, pb::PROVIDER_VIEW_FULL, to->mutable_provider());
  }
  return true;
}

bool FillConsumerEntity(const State& state, const EntityKey& key, pb::Entity* to) {
  const auto consumer = state.FindConsumer(*placement::ConsumerId::Parse(key.key));
  if (consumer == nullptr) return false;
  FillConsumer(
      state, *consumer, [](placement::ProviderId) { return true; }, to->mutable_consumer());
  return true;
}

bool FillServiceEntity(const State& state, const EntityKey& key, pb::Entity* to) {
  const auto service = FindServiceByUuid(state, key.key);
  if (!service.ok()) return false;
  FillService(**service, nullptr, to->mutable_service());
  return true;
}

bool FillNodeEntity(const State& state, const EntityKey& key, pb::Entity* to) {
  const auto node = FindNodeByUuid(state, key.key);
  if (!node.ok()) return false;
  FillNode(state, **node, pb::NODE_VIEW_FULL, to->mutable_node());
  return true;
}

bool FillAggregateEntity(const State& state, const EntityKey& key, pb::Entity* to) {
  const auto aggregate = state.aggregates().Find(*placement::AggregateId::Parse(key.key));
  if (aggregate == nullptr) return false;
  FillAggregate(*aggregate, to->mutable_aggregate());
  return true;
}

bool FillServerGroupEntity(const State& state, const EntityKey& key, pb::Entity* to) {
  const auto group =
      placement::FindGroup(state.records(), *placement::ServerGroupId::Parse(key.key));
  if (group == nullptr) return false;
  FillServerGroup(*group, to->mutable_server_group());
  return true;
}

bool FillInstanceEntity(const State& state, const EntityKey& key, pb::Entity* to) {
  const auto instance = state.records().FindInstance(*placement::InstanceId::Parse(key.key));
  if (instance == nullptr) return false;
  FillInstance(*instance, to->mutable_instance());
  return true;
}

bool FillMigrationEntity(const State& state, const EntityKey& key, pb::Entity* to) {
  const auto migration = state.records().FindMigration(*placement::MigrationId::Parse(key.key));
  if (migration == nullptr) return false;
  FillMigration(*migration, to->mutable_migration());
  return true;
}

bool FillEntity(const State& state, const EntityKey& key, pb::Entity* to) {
  switch (key.kind) {
    case EntityKind::kProvider:
    case EntityKind::kProviderUsage:
      return FillProviderEntity(state, key, to);
    case EntityKind::kConsumer:
      return FillConsumerEntity(state, key, to);
    case EntityKind::kResourceClass:
      if (!state.catalog().classes.Find(key.key)) return false;
      FillClass(key.key, to->mutable_resource_class());
      return true;
    case EntityKind::kTrait:
      if (!state.catalog().traits.Find(key.key)) return false;
      FillTrait(key.key, to->mutable_trait());
      return true;
    case EntityKind::kService:
      return FillServiceEntity(state, key, to);
    case EntityKind::kNode:
      return FillNodeEntity(state, key, to);
    case EntityKind::kAggregate:
      return FillAggregateEntity(state, key, to);
    case EntityKind::kServerGroup:
      return FillServerGroupEntity(state, key, to);
    case EntityKind::kInstance:
      return FillInstanceEntity(state, key, to);
    case EntityKind::kMigration:
      return FillMigrationEntity(state, key, to);
  }
  return false;
}

// PageKey makes the key of a difference for page tokens; the next function parses it.
std::string PageKey(const EntityKey& key) {
  return absl::StrCat(static_cast<int>(key.kind), std::string(1, kKindSeparator), key.key);
}

EntityKey OfPageKey(const std::string& text) {
  const size_t cut = std::min(text.find(kKindSeparator), text.size());
  int kind = 0;
  if (!absl::SimpleAtoi(text.substr(0, cut), &kind)) return {};
  return {static_cast<EntityKind>(kind), text.substr(std::min(cut + 1, text.size()))};
}

}  // namespace

absl::StatusOr<placement::CommandBody> SetFormatCommand(const pb::SetFormatRequest& request) {
  return placement::SetFormat{request.format()};
}

void FillStanding(const LedgerHealth& health, const State& state,
                  pb::GetRevisionResponse* response) {
  SetRevision(state.position().revision, response->mutable_revision());
  SetTime(state.position().ledger_time, response->mutable_ledger_time());
  response->set_state(StateOf(health));
  response->set_reason(ReasonOf(health));
  SetDuration(health.staleness, response->mutable_staleness());
  response->set_format(state.position().format);
  response->set_highest_known_format(placement::kLogFormat);
  if (health.oldest_watchable) {
    SetRevision(*health.oldest_watchable, response->mutable_oldest_watchable_revision());
  }
  if (health.recovery_required) {
    const placement::Revision& newest = health.database_revision;
    SetRevision({newest.epoch, newest.number}, response->mutable_database_revision());
  }
}

absl::Status FillOutcome(const WriteAnswer& answer, pb::GetRequestResponse* response) {
  const placement::Decision& decision = answer.decision;
  SetRevision(answer.state.position().revision, response->mutable_revision());
  response->set_outcome(pb::REQUEST_OUTCOME_ABSENT);
  if (absl::IsNotFound(decision.status)) return absl::OkStatus();
  const auto refusal = placement::RefusalOf(decision.status);
  response->set_outcome(pb::REQUEST_OUTCOME_CANCELLED);
  if (refusal && refusal->reason == "REQUEST_CANCELLED") return absl::OkStatus();
  BERTH_RETURN_IF_ERROR(decision.status);
  if (!decision.replayed) return absl::OkStatus();  // this look-up cancelled the request id
  response->set_outcome(pb::REQUEST_OUTCOME_APPLIED);
  response->set_method(decision.asked.method);
  SetRevision(decision.revision, response->mutable_applied_revision());
  SetTime(decision.decided_at, response->mutable_applied_at());
  if (!FillKeptReply(answer, response->mutable_response())) response->clear_response();
  return absl::OkStatus();
}

void FillSelfCheck(const placement::SelfCheckReport& report, int limit,
                   pb::SelfCheckResponse* response) {
  SetRevision(report.revision, response->mutable_revision());
  response->set_clean(report.findings.empty());
  response->set_difference_count(static_cast<int64_t>(report.findings.size()));
  response->set_row_count(report.providers + report.consumers + report.log_rows);
  for (const std::string& finding : report.findings) {
    if (response->differences_size() == limit) break;
    response->add_differences()->set_message(finding);
  }
}

absl::Status FillLostChanges(const placement::Loss& loss, const pb::ListLostChangesRequest& request,
                             pb::ListLostChangesResponse* response) {
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  const placement::Revision read_at = loss.last_good->position().revision;
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  SetRevision(loss.database->position().revision, response->mutable_database_revision());
  auto at = loss.differences.begin();
  if (page.after()) {
    at = std::upper_bound(loss.differences.begin(), loss.differences.end(),
                          OfPageKey(*page.after()));
  }
  size_t bytes = 0;
  for (; at != loss.differences.end(); ++at) {
    if (response->changes_size() == page.limit() || bytes > kPageBytesMax) {
      response->set_next_page_token(page.NextToken(PageKey(*std::prev(at)), read_at));
      break;
    }
    pb::LostChange* change = response->add_changes();
    change->mutable_key()->set_kind(WireKind(at->kind));
    change->mutable_key()->set_key(at->key);
    if (!FillEntity(*loss.last_good, *at, change->mutable_last_good())) change->clear_last_good();
    if (!FillEntity(*loss.database, *at, change->mutable_in_database())) {
      change->clear_in_database();
    }
    bytes += change->ByteSizeLong();
  }
  return absl::OkStatus();
}

}  // namespace berth::services
