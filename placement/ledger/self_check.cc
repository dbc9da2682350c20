#include "placement/ledger/self_check.h"

#include <bit>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "placement/ledger/node_texts.h"
#include "placement/ledger/record_check.h"
#include "placement/ledger/table_rules.h"
#include "placement/store/database.h"

namespace berth::placement {
namespace {

constexpr size_t kFindingsMax = 100;
constexpr int kAttempts = 50;
constexpr absl::Duration kAttemptWait = absl::Milliseconds(5);
// Consumers and records are read from the tables in 16 portions, one for each first hexadecimal
// digit of their uuids.
constexpr uint64_t kPortions = 16;

std::string Micros(absl::string_view column) {
  return absl::StrFormat("(extract(epoch FROM %s) * 1000000)::bigint", column);
}

// The text of a row, in which memory and tables are compared.
using RowText = std::string (*)(const QueryRows& rows, int row);
std::string FirstText(const QueryRows& rows, int row) { return std::string(rows.Text(row, 0)); }
template <std::string (*stored_text)(absl::string_view content)>
std::string ContentText(const QueryRows& rows, int row) {
  return stored_text(rows.Bytes(row, 0));
}

class Checker {
 public:
  Checker(Database& database, const State& state, SelfCheckReport* report)
      : database_(database), state_(state), report_(report) {}

  absl::Status Check() {
    for (const TableRule& rule : TableRules()) {
      QueryRows rows;
      BERTH_RETURN_IF_ERROR(database_.Run(rule.sql, &rows));
      for (int row = 0; row < rows.size(); ++row) Find(rule.breach, rows.Text(row, 0));
    }
    absl::Status status;
    ForEachEntityKind([&](EntityKind kind) {
      if (status.ok()) status = Entities(kind);
    });
    for (const std::string& fault : FaultyRecords(state_)) Find("a record", fault);
    return status.ok() ? Head() : status;
  }

 private:
  absl::Status Entities(EntityKind kind) {
    switch (kind) {
      case EntityKind::kResourceClass:
        return Catalog();
      case EntityKind::kTrait:
        return absl::OkStatus();  // compared together with the classes
      case EntityKind::kProvider:
        return Providers();
      case EntityKind::kProviderUsage:
        return absl::OkStatus();  // compared together with the providers
      case EntityKind::kConsumer:
        return Consumers();
      case EntityKind::kService:
        return Services();
      case EntityKind::kNode:
        return Nodes();
      case EntityKind::kAggregate:
        return Records("an aggregate", 4, state_.aggregates().by_id(),
                       ContentText<StoredAggregateText>);
      case EntityKind::kServerGroup:
        return Records("a server group", 3, state_.records().groups(),
                       ContentText<StoredServerGroupText>);
      case EntityKind::kInstance:
        return Records("an instance", 1, state_.records().instances(),
                       ContentText<StoredInstanceText>);
      case EntityKind::kMigration:
        return Records("a migration", 2, state_.records().migrations(),
                       ContentText<StoredMigrationText>);
    }
    return absl::OkStatus();
  }

  void Find(absl::string_view finding, absl::string_view what) {
    if (report_->findings.size() < kFindingsMax) {
      report_->findings.push_back(absl::StrCat(finding, ": ", what));
    }
  }

  // Adds a finding for each text that is only in `memory`, which was made from the state, or only
  // among those that text_of(rows, row) makes of what `sql` returns. The order does not matter.
  // Returns the number of rows.
  absl::StatusOr<int64_t> Compare(absl::string_view kind, const std::string& sql,
                                  absl::flat_hash_set<std::string> memory,
                                  RowText text_of = FirstText) {
    QueryRows rows;
    BERTH_RETURN_IF_ERROR(database_.Run(sql, &rows));
    for (int row = 0; row < rows.size(); ++row) {
      const std::string text = text_of(rows, row);
      if (memory.erase(text) == 0) Find(absl::StrCat(kind, " only in the tables"), text);
    }
    for (const std::string& text : memory) Find(absl::StrCat(kind, " only in memory"), text);
    return rows.size();
  }

  absl::Status Nodes() {
    NodeTexts texts = NodeTextsOf(state_);
    return Compare("a node", texts.sql, std::move(texts.memory)).status();
  }

  // The condition that the uuid `id` is in the portion.
  static std::string IsInPortion(uint64_t portion) {
    const Uuid first{portion << 60, 0};
    const Uuid last{(portion << 60) | (~uint64_t{0} >> 4), ~uint64_t{0}};
    return absl::StrCat("id BETWEEN '", first.ToString(), "' AND '", last.ToString(), "'");
  }

  template <typename Map>
  absl::Status Records(absl::string_view word, int kind, const Map& records, RowText text_of) {
    std::vector<absl::flat_hash_set<std::string>> portions(kPortions);
    records.ForEach([&](const auto& id, const auto& record) {
      portions[id.uuid.high >> 60].insert(TextOf(*record));
      return true;
    });
    for (uint64_t portion = 0; portion < kPortions; ++portion) {
      const std::string sql = absl::StrCat("SELECT content FROM record WHERE kind = ", kind,
                                           " AND ", IsInPortion(portion));
      BERTH_RETURN_IF_ERROR(Compare(word, sql, std::move(portions[portion]), text_of).status());
    }
    return absl::OkStatus();
  }

  absl::Status Catalog() {
    absl::flat_hash_set<std::string> names;
    for (const auto& [name, id] : state_.catalog().classes.by_name()) {
      names.insert(absl::StrCat("class ", static_cast<int>(id), " ", name));
    }
    for (const auto& [name, id] : state_.catalog().traits.by_name()) {
      names.insert(absl::StrCat("trait ", static_cast<int>(id), " ", name));
    }
    return Compare("a name",
                   "SELECT concat_ws(' ', 'class', id, name) FROM resource_class UNION ALL "
                   "SELECT concat_ws(' ', 'trait', id, name) FROM trait",
                   std::move(names))
        .status();
  }

  void AddProvider(const Tree& tree, int position, absl::flat_hash_set<std::string>* providers,
                   absl::flat_hash_set<std::string>* inventories) {
    const ProviderConfig& config = tree.config(position);
    const std::string id = config.id.ToString();
    std::string text = absl::StrCat(
        id, "|", config.name, "|", config.parent ? config.parent->ToString() : "-", "|",
        config.generation.value, "|", tree.allocation_generations[position].value, "|");
    absl::StrAppend(&text, absl::ToUnixMicros(config.created_at), "|",
                    absl::ToUnixMicros(config.updated_at), "|{");
    absl::string_view separator;
    for (const TraitId trait : config.traits) {
      absl::StrAppend(&text, std::exchange(separator, ","), static_cast<int>(trait));
    }
    absl::StrAppend(&text, "}|{");
    separator = "";
    for (const AggregateId& aggregate : config.aggregates) {
      absl::StrAppend(&text, std::exchange(separator, ","), aggregate.ToString());
    }
    providers->insert(absl::StrCat(text, "}"));
    for (size_t i = 0; i < config.inventories.size(); ++i) {
      const InventoryRow& row = config.inventories[i];
      const Inventory& inventory = row.inventory;
      std::string line = absl::StrCat(id, "|", i + 1, "|", static_cast<int>(row.resource_class),
                                      "|", inventory.total, "|", inventory.reserved, "|");
      absl::StrAppend(&line, inventory.min_unit, "|", inventory.max_unit, "|", inventory.step_size,
                      "|");
      absl::StrAppend(
          &line, absl::Hex(std::bit_cast<uint64_t>(inventory.allocation_ratio), absl::kZeroPad16),
          "|", row.capacity, "|", tree.used_of(position, static_cast<int>(i)));
      inventories->insert(std::move(line));
    }
  }

  absl::Status Providers() {
    absl::flat_hash_set<std::string> providers;
    absl::flat_hash_set<std::string> inventories;
    for (const auto& chunk : state_.roots().chunks()) {
      for (int at = 0; at < chunk->trees.size(); ++at) {
        const Tree& tree = *chunk->trees[at];
        for (int position = 0; position < tree.size(); ++position) {
          AddProvider(tree, position, &providers, &inventories);
        }
      }
    }
    BERTH_ASSIGN_OR_RETURN(
        report_->providers,
        Compare(
            "a provider",
            absl::StrCat("SELECT concat_ws('|', id, name, coalesce(parent::text, '-'), generation, "
                         "allocation_generation, ",
                         Micros("created_at"), ", ", Micros("updated_at"),
                         ", trait, aggregate) FROM provider"),
            std::move(providers)));
    return Compare(
               "an inventory",
               "SELECT concat_ws('|', p.id, i.place, i.class, i.total, i.reserved, i.min_unit, "
               "i.max_unit, i.step_size, encode(float8send(i.ratio), 'hex'), i.capacity, "
               "i.used) FROM provider p, unnest(p.class, p.total, p.reserved, p.min_unit, "
               "p.max_unit, p.step_size, p.ratio, p.capacity, p.used) WITH ORDINALITY AS "
               "i(class, total, reserved, min_unit, max_unit, step_size, ratio, capacity, used, "
               "place)",
               std::move(inventories))
        .status();
  }

  absl::Status Consumers() {
    std::vector<absl::flat_hash_set<std::string>> portions(kPortions);
    state_.consumers().ForEach([&](ConsumerId id, const ConsumerPtr& consumer) {
      const Owner& owner = *consumer->owner;
      std::string text = absl::StrCat(id.ToString(), "|", consumer->generation.value, "|",
                                      owner.project, "|", owner.user, "|");
      absl::StrAppend(&text, owner.type, "|", absl::ToUnixMicros(consumer->created_at), "|",
                      absl::ToUnixMicros(consumer->updated_at), "|",
                      consumer->lease_expires_at
                          ? absl::StrCat(absl::ToUnixMicros(*consumer->lease_expires_at))
                          : "-",
                      "|");
      for (const Allocation& allocation : consumer->allocations) {
        absl::StrAppend(&text, allocation.provider.ToString(), " ",
                        static_cast<int>(allocation.resource_class), " ", allocation.amount, ",");
      }
      portions[id.uuid.high >> 60].insert(std::move(text));
      return true;
    });
    for (uint64_t portion = 0; portion < kPortions; ++portion) {
      BERTH_ASSIGN_OR_RETURN(
          const int64_t count,
          Compare("a consumer",
                  absl::StrCat(
                      "SELECT concat_ws('|', id, generation, project, \"user\", type, ",
                      Micros("created_at"), ", ", Micros("updated_at"), ", coalesce(",
                      Micros("lease_expires_at"),
                      "::text, '-'), (SELECT string_agg(concat(a.provider, ' ', a.class, ' ', "
                      "a.amount, ','), '' "
                      "ORDER BY a.place) FROM unnest(provider, class, amount) WITH ORDINALITY AS "
                      "a(provider, class, amount, place))) FROM consumer WHERE ",
                      IsInPortion(portion)),
                  std::move(portions[portion])));
      report_->consumers += count;
    }
    return absl::OkStatus();
  }

  absl::Status Services() {
    absl::flat_hash_set<std::string> services;
    state_.services().ForEach([&](const auto&, const std::shared_ptr<const ServiceRecord>& s) {
      std::string text = absl::StrCat(s->host, "|", s->binary, "|", s->id.ToString(), "|",
                                      s->incarnation.ToString(), "|", s->machine_id, "|");
      absl::StrAppend(&text, s->version, "|", s->up ? "t" : "f", "|", s->disabled ? "t" : "f", "|",
                      s->disabled_reason);
      services.insert(absl::StrCat(text, "|", s->forced_down ? "t" : "f", "|", s->zone));
      return true;
    });
    return Compare(
               "a service",
               "SELECT concat_ws('|', host, binary_name, id, incarnation, machine_id, version, up, "
               "disabled, disabled_reason, forced_down, zone) FROM service",
               std::move(services))
        .status();
  }

  absl::Status Head() {
    QueryRows rows;
    const absl::Status status = database_.Run(
        "SELECT (SELECT count(revision) FROM log), batch_id, command_count FROM log "
        "ORDER BY revision DESC LIMIT 1",
        &rows);
    if (!status.ok() || rows.size() == 0) return status;
    report_->log_rows = rows.Int(0, 0);
    if (rows.Text(0, 1) != state_.position().batch.ToString()) {
      Find("memory is at another batch than the log", rows.Text(0, 1));
    }
    if (rows.Int(0, 2) != state_.position().command_count) {
      Find("memory has another count of commands than the log", rows.Text(0, 2));
    }
    return absl::OkStatus();
  }

  Database& database_;
  const State& state_;
  SelfCheckReport* const report_;
};

// Begins a snapshot of the tables and returns the published state that has the same revision.
absl::StatusOr<StatePtr> BeginSnapshot(Database& database, const Ledger& ledger) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    QueryRows rows;
    BERTH_RETURN_IF_ERROR(
        database.Run("ROLLBACK; BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; "
                     "SELECT epoch, revision FROM log ORDER BY revision DESC LIMIT 1",
                     &rows));
    const Revision revision =
        rows.size() == 0 ? Revision() : Revision{rows.Int(0, 0), rows.Int(0, 1)};
    for (int wait = 0; wait < 20; ++wait) {
      StatePtr state = ledger.Recent(revision);
      if (state) return state;
      if (ledger.Newest()->position().revision > revision) break;
      absl::SleepFor(kAttemptWait);
    }
  }
  return absl::UnavailableError(
      "the check could not begin, because this process does not yet have the newest changes of the "
      "database: try again");
}

}  // namespace

absl::StatusOr<SelfCheckReport> SelfCheck(Ledger& ledger, const std::string& database_url,
                                          DatabaseWatch* watch) {
  BERTH_ASSIGN_OR_RETURN(const std::shared_ptr<Database> database,
                         Database::Connect(database_url, "berth-placement self-check"));
  if (watch != nullptr) watch->Add(database);
  const absl::StatusOr<StatePtr> state = BeginSnapshot(*database, ledger);
  if (!state.ok()) return absl::UnavailableError(state.status().message());
  SelfCheckReport report;
  report.revision = (*state)->position().revision;
  const absl::Status status = Checker(*database, **state, &report).Check();
  if (!status.ok()) return absl::UnavailableError(status.message());
  return report;
}

}  // namespace berth::placement
