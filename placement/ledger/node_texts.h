// The nodes as texts, by which the self-check compares the state in memory with the table `node`:
// one text for each node in memory, and a statement that makes the same texts from the table. Of
// facts and account, a text has only the lengths. A text has neither the times nor the reported
// providers of the record. Pure.
#ifndef BERTH_PLACEMENT_LEDGER_NODE_TEXTS_H_
#define BERTH_PLACEMENT_LEDGER_NODE_TEXTS_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "placement/state/state.h"

namespace berth::placement {

struct NodeTexts {
  std::string sql;                          // the statement that makes the texts from the table
  absl::flat_hash_set<std::string> memory;  // the texts of the nodes in memory
};

NodeTexts NodeTextsOf(const State& state);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_NODE_TEXTS_H_
