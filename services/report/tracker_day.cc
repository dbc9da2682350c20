#include "services/report/tracker_day.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "placement/commands/node_providers.h"
#include "placement/ground/boot_clock.h"
#include "placement/values/catalog.h"
#include "placement/values/refusal.h"
#include "services/log/log.h"
#include "services/report/messages.h"

namespace berth::services {

using placement::ApplyReport;
using placement::Decision;
using placement::ReportedProvider;
using placement::State;

namespace {

constexpr char kReached[] = "DAILY_LIMIT_REACHED";
// About what the ledger writes for a report without content, for a trait, for an aggregate, and for
// a provider in NodeRecord::reported.
constexpr size_t kReportBytes = 256;
constexpr size_t kTraitBytes = 4;
constexpr size_t kAggregateBytes = 16;
constexpr size_t kReportedBytes = 24;

// `refused`, a DAILY_LIMIT_REACHED. If it asks for more than `limits`, those of a whole day, the
// message says so, because no later try helps.
absl::Status WithWholeDay(const absl::Status& refused, const DailyAmounts& limits) {
  const std::vector<placement::FaultItem> items = placement::RefusalOf(refused)->items;
  std::vector<std::string> exceeded;
  for (const placement::FaultItem& item : items) {
    int64_t requested = 0;
    if (!absl::SimpleAtoi(item.at("requested"), &requested)) continue;
    for (const DailyKind& kind : kDailyKinds) {
      if (item.at("limit") != kind.key || requested <= limits.*kind.amount) continue;
      exceeded.emplace_back(kind.key);
    }
  }
  if (exceeded.empty()) return refused;
  return placement::Refuse(
      refused.code(), kReached,
      absl::StrCat(
          refused.message(), "; it will be refused until an operator raises the limit, ",
          "since it alone needs more than a whole day has, of: ", placement::ListOf(exceeded)),
      items);
}

// A tracker that tries again and again has one line a minute, which says how often it tried.
void TellReached(const TrackerIdentity& identity, const absl::Status& status) {
  static auto& pace = *new LinePace(absl::Minutes(1));
  int64_t omitted = 0;
  if (!pace.Lets(identity.Actor(), placement::BootNow(), &omitted)) return;
  Log(LogLevel::kWarning, "a tracker has reached a daily limit of the access file",
      {{"tracker", identity.Actor()},
       {"why", std::string(status.message())},
       {"omitted", omitted}});
}

// About as many bytes as the ledger writes for the report. The account counts whole, since it is
// written whole with each report, and so does the list of the node's reported providers. What a named
// provider keeps of traits and aggregates counts, too. Of other nodes and their providers nothing
// counts: the report will be refused, and the tracker could read from the bytes what there is.
int64_t BytesOf(const State& state, const HelloFacts& hello, const placement::v1::Report& report,
                const ApplyReport& command) {
  size_t bytes = kReportBytes + command.node_name.size() + command.digest.size() +
                 command.sums.storage_id.size() + command.account.size();
  if (command.facts != nullptr) bytes += command.facts->size();
  for (const auto& provider : report.providers()) bytes += provider.ByteSizeLong();
  for (const auto& held : report.allocations()) bytes += held.ByteSizeLong();
  bytes += kReportedBytes * command.providers.size();
  if (!MayReport(state, hello, command.node)) return static_cast<int64_t>(bytes);
  placement::NodeProviders own(state, command.node);
  for (const ReportedProvider& provider : command.providers) {
    if (!own.Contains(provider.id)) continue;
    const placement::ProviderConfig& config = state.FindProvider(provider.id)->config();
    bytes += kTraitBytes * config.traits.size();
    if (!provider.aggregates) bytes += kAggregateBytes * config.aggregates.size();
  }
  const auto* const node = state.nodes().Find(command.node);
  if (!command.complete && node != nullptr) bytes += kReportedBytes * (*node)->reported.size();
  return static_cast<int64_t>(bytes);
}

// How many names of the report the catalog does not have; a name that occurs twice counts twice.
int64_t NewNamesOf(const State& state, const ApplyReport& command) {
  const placement::Catalog& catalog = state.catalog();
  int64_t count = 0;
  for (const ReportedProvider& provider : command.providers) {
    for (const placement::NamedInventory& named : provider.inventories) {
      if (!catalog.classes.Find(named.resource_class)) ++count;
    }
    for (const std::string& trait : provider.traits_present) {
      if (placement::IsCustomName(trait) && !catalog.traits.Find(trait)) ++count;
    }
  }
  return count;
}

// The most that the command may bring.
DailyAmounts NeedOf(const State& state, const HelloFacts& hello,
                    const placement::v1::Report& report, const ApplyReport& command) {
  DailyAmounts need;
  need.fact_bytes = BytesOf(state, hello, report, command);
  need.names = NewNamesOf(state, command);
  // The ledger refuses a report that gives a generation to a new provider, or none to another.
  need.providers = std::count_if(
      command.providers.begin(), command.providers.end(),
      [](const ReportedProvider& provider) { return !provider.base_generation.has_value(); });
  need.nodes = state.nodes().Find(command.node) == nullptr ? 1 : 0;
  return need;
}

// What the decided command has brought, of what was taken for it.
DailyAmounts BroughtBy(const Decision& decision, const DailyAmounts& taken) {
  const absl::Status& status = decision.status;
  const bool is_refused = placement::RefusalOf(status).has_value();
  if (absl::IsDeadlineExceeded(status) && !is_refused) return taken;
  DailyAmounts brought;
  const bool is_judged = is_refused && !absl::IsUnavailable(status) && !HasReason(status, kReached);
  if (status.ok() || is_judged) brought.fact_bytes = taken.fact_bytes;
  if (!status.ok()) return brought;
  for (const placement::Change& change : *decision.changes) {
    const bool is_name = std::holds_alternative<placement::ClassPut>(change) ||
                         std::holds_alternative<placement::TraitPut>(change);
    if (is_name) ++brought.names;
    if (!std::holds_alternative<placement::NodePut>(change)) continue;
    brought.providers = taken.providers;  // the report was applied, not only known
    brought.nodes = decision.result.created ? 1 : 0;
  }
  const bool is_service = taken.services > 0;
  brought.services = is_service && decision.result.created ? 1 : 0;
  return brought;
}

}  // namespace

bool TrackerDay::IsLimited(const TrackerIdentity& identity) const {
  return policy_ != nullptr && identity.identified() && policy_->IsDailyLimited(identity.Actor());
}

void TrackerDay::Begin(const TrackerIdentity& identity, placement::RegisterService* service) {
  grant_.reset();
  if (!IsLimited(identity)) return;
  DailyAmounts need;
  need.services = 1;
  grant_ = policy_->TakeDaily(identity.Actor(), need, placement::BootNow());
  service->may_be_new = !grant_ || grant_->left.services > 0;
}

absl::Status TrackerDay::Begin(const TrackerIdentity& identity, const State& state,
                               const HelloFacts& hello, const placement::v1::Report& report,
                               ApplyReport* command) {
  grant_.reset();
  if (!IsLimited(identity)) return absl::OkStatus();
  const DailyAmounts need = NeedOf(state, hello, report, *command);
  grant_ = policy_->TakeDaily(identity.Actor(), need, placement::BootNow());
  if (!grant_) return absl::OkStatus();
  const DailyAmounts& left = grant_->left;
  const absl::Status lacks =
      placement::CheckDaily({{"facts_mib", "report", need.fact_bytes, left.fact_bytes}});
  if (!lacks.ok()) {
    const absl::Status status = WithWholeDay(lacks, grant_->limits);
    policy_->GiveBackDaily(identity.Actor(), grant_->taken, grant_->at);
    grant_.reset();
    TellReached(identity, status);
    return status;
  }
  command->left = {left.names, left.providers, left.nodes};
  return absl::OkStatus();
}

absl::Status TrackerDay::Settle(const TrackerIdentity& identity, const Decision& decision) {
  if (!grant_) return decision.status;
  absl::Status told = decision.status;
  if (HasReason(told, kReached)) {
    told = WithWholeDay(told, grant_->limits);
    TellReached(identity, told);
  }
  DailyAmounts unused = grant_->taken;
  const DailyAmounts brought = BroughtBy(decision, grant_->taken);
  for (const DailyKind& kind : kDailyKinds) {
    unused.*kind.amount = std::max<int64_t>(0, unused.*kind.amount - brought.*kind.amount);
  }
  policy_->GiveBackDaily(identity.Actor(), unused, grant_->at);
  grant_.reset();
  return told;
}

}  // namespace berth::services
