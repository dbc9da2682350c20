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
#include "placement/ledger/record_texts.h"
#include "placement/store/database.h"

namespace berth::placement {
namespace {

constexpr size_t kFindingsMax = 100;
constexpr int kAttempts = 50;
constexpr absl::Duration kAttemptWait = absl::Milliseconds(5);
// Consumers are read from the table in 16 portions, one for each first hexadecimal digit of their
// uuids.
constexpr uint64_t kPortions = 16;

struct Question {
  absl::string_view finding;
  absl::string_view sql;  // each row it returns is a finding
};

// Queries for breaches of rules that the tables alone must obey, whatever is in memory.
constexpr Question kQuestions[] = {
    {"used is not what the consumers hold",
     "WITH held AS (SELECT a.provider, a.class, sum(a.amount) AS amount FROM consumer k, "
     "unnest(k.provider, k.class, k.amount) AS a(provider, class, amount) GROUP BY 1, 2), "
     "offered AS (SELECT p.id AS provider, i.class, i.used FROM provider p, "
     "unnest(p.class, p.used) AS i(class, used)) "
     "SELECT concat_ws(' ', coalesce(h.provider, o.provider), 'class', coalesce(h.class, o.class), "
     "'used', o.used, 'held', h.amount) FROM held h FULL JOIN offered o "
     "ON h.provider = o.provider AND h.class = o.class "
     "WHERE o.provider IS NULL OR o.used <> coalesce(h.amount, 0)"},
    {"used is above capacity without the flag",
     "SELECT concat_ws(' ', p.id, p.name, 'class', i.class, i.used, 'of', i.capacity) "
     "FROM provider p, unnest(p.class, p.used, p.capacity) AS i(class, used, capacity) "
     "WHERE i.used > i.capacity AND NOT p.overcommitted"},
    {"flagged as over-committed without reason",
     "SELECT concat_ws(' ', p.id, p.name) FROM provider p WHERE p.overcommitted AND NOT EXISTS "
     "(SELECT 1 FROM unnest(p.used, p.capacity) AS i(used, capacity) WHERE i.used > i.capacity)"},
    {"capacity is not what total, reserved and ratio give",
     "SELECT concat_ws(' ', p.id, p.name, 'class', i.class, 'capacity', i.capacity) "
     "FROM provider p, unnest(p.class, p.total, p.reserved, p.ratio, p.capacity) "
     "AS i(class, total, reserved, ratio, capacity) WHERE i.capacity <> "
     "least(trunc((i.total - i.reserved)::float8 * i.ratio)::numeric, 9223372036854775807)"},
    {"the arrays of a provider do not match",
     "SELECT concat_ws(' ', id, name) FROM provider WHERE (cardinality(class) <> ANY (ARRAY["
     "cardinality(total), cardinality(reserved), cardinality(min_unit), cardinality(max_unit), "
     "cardinality(step_size), cardinality(ratio), cardinality(capacity), cardinality(used)]))"},
    {"no such parent",
     "SELECT concat_ws(' ', p.id, p.name) FROM provider p WHERE p.parent IS NOT NULL AND NOT "
     "EXISTS "
     "(SELECT 1 FROM provider q WHERE q.id = p.parent)"},
    {"not below any root",
     "WITH RECURSIVE rooted AS (SELECT id FROM provider WHERE parent IS NULL UNION "
     "SELECT p.id FROM provider p JOIN rooted r ON p.parent = r.id) "
     "SELECT concat_ws(' ', p.id, p.name) FROM provider p WHERE NOT EXISTS "
     "(SELECT 1 FROM rooted r WHERE r.id = p.id)"},
    {"a name is used twice", "SELECT name FROM provider GROUP BY name HAVING count(id) > 1"},
    {"no such resource class",
     "SELECT concat_ws(' ', p.id, c) FROM provider p, unnest(p.class) AS u(c) "
     "WHERE c NOT IN (SELECT id FROM resource_class)"},
    {"no such trait",
     "SELECT concat_ws(' ', p.id, t) FROM provider p, unnest(p.trait) AS u(t) "
     "WHERE t NOT IN (SELECT id FROM trait)"},
    {"a consumer without allocations, or with arrays that do not match",
     "SELECT id::text FROM consumer WHERE cardinality(provider) = 0 OR cardinality(provider) <> "
     "cardinality(class) OR cardinality(provider) <> cardinality(amount)"},
    {"a consumer holds a class of a provider twice, or less than 1",
     "SELECT concat_ws(' ', k.id, a.provider, a.class) FROM consumer k, "
     "unnest(k.provider, k.class, k.amount) AS a(provider, class, amount) "
     "GROUP BY k.id, a.provider, a.class HAVING count(a.class) > 1 OR min(a.amount) < 1"},
    {"an id that was not given yet",
     "SELECT concat_ws(' ', n.kind, n.id) FROM (SELECT 'class' AS kind, id FROM resource_class "
     "UNION ALL SELECT 'trait', id FROM trait) n, (SELECT next_class_id, next_trait_id FROM log "
     "ORDER BY revision DESC LIMIT 1) h WHERE n.id >= CASE n.kind WHEN 'class' "
     "THEN h.next_class_id ELSE h.next_trait_id END"},
    {"a migration of an instance that has no record",
     "SELECT id FROM migration WHERE instance NOT IN (SELECT id FROM instance)"},
    {"the log has a gap",
     "SELECT concat_ws(' ', 'before revision', revision) FROM (SELECT revision, epoch, "
     "previous_batch_id, ledger_time, command_count, lag(revision) OVER w AS last_revision, "
     "lag(epoch) OVER w AS last_epoch, lag(batch_id) OVER w AS last_batch, "
     "lag(ledger_time) OVER w AS last_time, lag(command_count) OVER w AS last_count FROM log "
     "WINDOW w AS (ORDER BY revision)) l WHERE last_revision IS NOT NULL AND "
     "(revision <> last_revision + 1 OR previous_batch_id <> last_batch OR epoch < last_epoch OR "
     "ledger_time < last_time OR command_count < last_count)"},
    {"an epoch that the table of epochs has otherwise",
     "SELECT concat_ws(' ', l.epoch, l.revision) FROM log l LEFT JOIN epoch e ON e.number = "
     "l.epoch "
     "WHERE e.began_at IS DISTINCT FROM greatest(l.epoch_began_at, 1) ORDER BY l.revision LIMIT 1"},
};

std::string Micros(absl::string_view column) {
  return absl::StrFormat("(extract(epoch FROM %s) * 1000000)::bigint", column);
}

class Checker {
 public:
  Checker(Database& database, const State& state, SelfCheckReport* report)
      : database_(database), state_(state), report_(report) {}

  absl::Status Check() {
    for (const Question& question : kQuestions) {
      QueryRows rows;
      BERTH_RETURN_IF_ERROR(database_.Run(question.sql, &rows));
      for (int row = 0; row < rows.size(); ++row) Find(question.finding, rows.Text(row, 0));
    }
    absl::Status status;
    ForEachEntityKind([&](EntityKind kind) {
      if (status.ok()) status = Entities(kind);
    });
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
        return Compare(NodeTexts(state_));
      case EntityKind::kInstance:
        return Compare(InstanceTexts(state_.records()));
      case EntityKind::kMigration:
        return Compare(MigrationTexts(state_.records()));
    }
    return absl::OkStatus();
  }

  void Find(absl::string_view finding, absl::string_view what) {
    if (report_->findings.size() < kFindingsMax) {
      report_->findings.push_back(absl::StrCat(finding, ": ", what));
    }
  }

  // Adds a finding for each text that is only in `memory`, which was made from the state, or only
  // among those that `sql` returns. The order does not matter. Returns the number of rows.
  absl::StatusOr<int64_t> Compare(absl::string_view kind, const std::string& sql,
                                  absl::flat_hash_set<std::string> memory) {
    QueryRows rows;
    BERTH_RETURN_IF_ERROR(database_.Run(sql, &rows));
    for (int row = 0; row < rows.size(); ++row) {
      const std::string text(rows.Text(row, 0));
      if (memory.erase(text) == 0) Find(absl::StrCat(kind, " only in the tables"), text);
    }
    for (const std::string& text : memory) Find(absl::StrCat(kind, " only in memory"), text);
    return rows.size();
  }

  absl::Status Compare(RecordTexts texts) {
    return Compare(texts.kind, texts.sql, std::move(texts.memory)).status();
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
      const std::string from = Uuid{portion << 60, 0}.ToString();
      const std::string to = Uuid{(portion << 60) | (~uint64_t{0} >> 4), ~uint64_t{0}}.ToString();
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
                      "a(provider, class, amount, place))) FROM consumer WHERE id BETWEEN '",
                      from, "' AND '", to, "'"),
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
