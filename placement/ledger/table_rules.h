// The rules that the tables alone must obey, whatever is in memory, as the self-check asks them.
#ifndef BERTH_PLACEMENT_LEDGER_TABLE_RULES_H_
#define BERTH_PLACEMENT_LEDGER_TABLE_RULES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace berth::placement {

struct TableRule {
  absl::string_view breach;  // what a breach of the rule is, in words
  absl::string_view sql;     // a statement that returns a text for each breach
};

absl::Span<const TableRule> TableRules();

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_TABLE_RULES_H_
