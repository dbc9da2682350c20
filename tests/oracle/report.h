// Report: the result of a replay: passes, failures, and differences that a rule decides.
#ifndef BERTH_TESTS_ORACLE_REPORT_H_
#define BERTH_TESTS_ORACLE_REPORT_H_

#include <map>
#include <string>
#include <vector>

namespace berth::oracle {

struct Report {
  int passed = 0;
  std::vector<std::string> failures;
  // Differences that a rule of tests/rules/ decides, each with its rule; they count as passed.
  std::vector<std::string> exceptions;
  std::map<std::string, int> exceptions_by_rule;

  void Except(const std::string& rule, const std::string& where, const std::string& what) {
    exceptions.push_back(where + ": " + rule + ": " + what);
    ++exceptions_by_rule[rule];
  }
  void Add(const Report& other) {
    passed += other.passed;
    failures.insert(failures.end(), other.failures.begin(), other.failures.end());
    exceptions.insert(exceptions.end(), other.exceptions.begin(), other.exceptions.end());
    for (const auto& [rule, count] : other.exceptions_by_rule) exceptions_by_rule[rule] += count;
  }
};

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_REPORT_H_
