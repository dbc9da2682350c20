// Report: the result of a replay: passes, failures, and differences that a rule decides.
#ifndef BERTH_TESTS_ORACLE_REPORT_H_
#define BERTH_TESTS_ORACLE_REPORT_H_

#include <cstdio>
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

// Prints what a replay of the file came to. `quiet`: exceptions are counted, not listed.
inline void Print(const std::string& path, const Report& report, bool quiet) {
  for (const std::string& exception : report.exceptions) {
    if (!quiet) std::printf("except  %s\n", exception.c_str());
  }
  for (const std::string& failure : report.failures) std::printf("FAILED  %s\n", failure.c_str());
  for (const auto& [rule, count] : report.exceptions_by_rule) {
    std::printf("%s: %d decided otherwise by %s\n", path.c_str(), count, rule.c_str());
  }
  std::printf("%s: %d passed, %zu failed\n", path.c_str(), report.passed, report.failures.size());
  std::fflush(stdout);
}

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_REPORT_H_
