// CountedCase: a line of cases.txt, which says what counts on a node. The comment of that file
// explains the columns.
//
// Plain values, and a function without state. It includes nothing of placement/ and tracker/, since
// tests of both use it.
#ifndef BERTH_TESTS_COUNTED_COUNTED_CASES_H_
#define BERTH_TESTS_COUNTED_COUNTED_CASES_H_

#include <string>
#include <vector>

namespace berth {

// In each text, empty stands for the `-` of the file.
struct CountedCase {
  std::string name;
  std::string vm_state, task_state;
  std::string move, status, context;
  std::string instance, flavor, node, beside;
  std::string counts, owners;

  bool has_move() const { return !move.empty(); }
  bool has_context() const { return !context.empty(); }
  // Whether the context has the flavor of before (`old`) or after (`new`) the migration.
  bool has_flavor(const std::string& which) const {
    return has_context() && context != "no-" + which;
  }

  // In seconds after some time: the migration was created at 0 and last changed at kChangedAt, and
  // the one beside it at these.
  static constexpr int kChangedAt = 5;
  int beside_created_at() const { return beside == "created-earlier" ? -1 : 0; }
  int beside_changed_at() const {
    const bool is_of_one_time = beside == "same-time" || beside == "created-earlier";
    return beside == "older" ? kChangedAt - 1 : is_of_one_time ? kChangedAt : kChangedAt + 1;
  }
};

// The cases of the file that the environment variable BERTH_COUNTED_CASES names, else those of
// cases.txt. The test fails if a line has another number of columns, or a word that the file's
// comment does not explain.
std::vector<CountedCase> ReadCountedCases();

}  // namespace berth

#endif  // BERTH_TESTS_COUNTED_COUNTED_CASES_H_
