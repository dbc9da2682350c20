// NodeViews: what placement has to push to the tracker of each host, after each command of a ledger.
// It shares no code with the product. Built by one thread, then read by anybody.
#ifndef BERTH_TESTS_HISTORY_CHECKER_NODE_VIEWS_H_
#define BERTH_TESTS_HISTORY_CHECKER_NODE_VIEWS_H_

#include <array>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tests/history/checker/timeline.h"
#include "tests/history/history.h"

namespace berth::history {

// A consumer or record as a tracker sees it: a consumer has only its rows in the node's tree.
struct Sight {
  int64_t generation = 0;  // 0: it does not concern the node
  std::vector<Row> rows;
  // The node is only the source of an evacuation that is done. Its tracker knows that the instance
  // exists, and is not told of changes that concern the instance alone.
  bool may_be_old = false;
};

class NodeViews {
 public:
  // Both must outlive it.
  NodeViews(const Story& story, const Timeline& timeline);

  Sight At(uint16_t host, uint64_t number, uint32_t step) const;
  // What may have changed for the host between the two steps, which may come in either order.
  std::set<uint64_t> Changed(uint16_t host, uint32_t one, uint32_t other) const;
  // Whether `seen` is how the host sees `number` after `step`, or after a later one up to `last`.
  bool Shows(uint16_t host, uint64_t number, const Sight& seen, uint32_t step, uint32_t last) const;

 private:
  void Note(uint32_t step, uint64_t number);
  Sight ConsumerAt(uint16_t host, uint64_t number, uint32_t step) const;
  Sight RecordAt(uint16_t host, uint64_t number, uint32_t step) const;
  // The rows of a consumer or record; empty if it holds nothing or does not exist.
  std::vector<Row> RowsAt(uint64_t number, uint32_t step) const;

  const Timeline& timeline_;
  // The steps that changed something for the host, with what they changed.
  std::array<std::vector<std::pair<uint32_t, uint64_t>>, kHosts> changes_;
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_CHECKER_NODE_VIEWS_H_
