// The rules by which the self-check tests the tables alone, without the state in memory.
#ifndef BERTH_PLACEMENT_LEDGER_TABLE_RULES_H_
#define BERTH_PLACEMENT_LEDGER_TABLE_RULES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace berth::placement {

struct TableRule {
  absl::string_view breach;  // what is wrong if the rule is broken, in words
  absl::string_view sql;     // a statement that returns a text for each breach, or for one
};

absl::Span<const TableRule> TableRules();

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_TABLE_RULES_H_
