// The records of nodes, instances and migrations as texts, with which the self-check compares memory and
// tables. There is one text for each record in memory, and a statement that makes the same texts
// from the tables. Of the long parts of a record, a text has only a digest or the length. Pure.
#ifndef BERTH_PLACEMENT_LEDGER_RECORD_TEXTS_H_
#define BERTH_PLACEMENT_LEDGER_RECORD_TEXTS_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "placement/state/records.h"
#include "placement/state/state.h"

namespace berth::placement {

struct RecordTexts {
  absl::string_view kind;  // the word for a record in the findings
  std::string sql;         // the statement that makes the texts from the tables
  absl::flat_hash_set<std::string> memory;
};

RecordTexts NodeTexts(const State& state);
RecordTexts InstanceTexts(const Records& records);
RecordTexts MigrationTexts(const Records& records);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_RECORD_TEXTS_H_
