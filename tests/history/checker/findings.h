// Findings: what a check of a history found, rule by rule.
//
// Rules: 1 generations rise by one; 2 each command has the effect of its request, and the ledger
// ends every lease, but none before its time; 3 real time; 4 reads; 5 refusals; 6 one order over all
// providers and records; 7 each request takes effect once or not at all; 8 watchers; 9 the tables
// at the end; 10 the pushes to trackers.
#ifndef BERTH_TESTS_HISTORY_CHECKER_FINDINGS_H_
#define BERTH_TESTS_HISTORY_CHECKER_FINDINGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace berth::history {

struct Finding {
  int rule = 0;
  std::string text;
};

class Findings {
 public:
  // Keeps the first few findings of each rule and counts the others.
  void Add(int rule, std::string text) {
    ++count_;
    if (++by_rule_[rule] <= kKept) all_.push_back({rule, std::move(text)});
  }
  bool empty() const { return count_ == 0; }
  const std::vector<Finding>& all() const { return all_; }
  std::string ToString() const {
    std::string text = absl::StrCat(count_, " findings\n");
    for (const Finding& finding : all_) {
      absl::StrAppend(&text, "rule ", finding.rule, ": ", finding.text, "\n");
    }
    return text;
  }

 private:
  static constexpr int kKept = 3;
  std::vector<Finding> all_;
  std::map<int, int> by_rule_;
  int64_t count_ = 0;
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_CHECKER_FINDINGS_H_
