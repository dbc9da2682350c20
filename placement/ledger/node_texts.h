// The records of nodes as texts, with which the self-check compares memory and tables. There is one
// text for each node in memory, and a statement that makes the same texts from the table. Of the long
// parts of a record, a text has only a digest or the length. Pure.
#ifndef BERTH_PLACEMENT_LEDGER_NODE_TEXTS_H_
#define BERTH_PLACEMENT_LEDGER_NODE_TEXTS_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "placement/state/state.h"

namespace berth::placement {

struct NodeTexts {
  std::string sql;  // the statement that makes the texts from the table
  absl::flat_hash_set<std::string> memory;
};

NodeTexts NodeTextsOf(const State& state);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_NODE_TEXTS_H_
