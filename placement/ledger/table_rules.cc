#include "placement/ledger/table_rules.h"

namespace berth::placement {
namespace {

constexpr TableRule kRules[] = {
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
     "SELECT id FROM record WHERE kind = 2 AND NOT EXISTS (SELECT 1 FROM record i "
     "WHERE i.id = record.part_of AND i.kind = 1)"},
    {"a member of a server group that does not exist",
     "SELECT id FROM record WHERE kind = 1 AND part_of IS NOT NULL AND NOT EXISTS "
     "(SELECT 1 FROM record g WHERE g.id = record.part_of AND g.kind = 3)"},
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

}  // namespace

absl::Span<const TableRule> TableRules() { return kRules; }

}  // namespace berth::placement
