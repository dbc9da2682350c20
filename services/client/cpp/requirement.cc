#include "services/client/cpp/requirement.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace berth::client {
namespace {

using Words = std::vector<std::string>;

using CompareNumbers = std::function<bool(double, double)>;
using CompareTexts = std::function<bool(const std::string&, const std::string&)>;

bool IsNumeric(const std::string& op, const CompareNumbers** compare) {
  static const auto* const comparisons = new std::map<std::string, CompareNumbers>{
      {"=", std::greater_equal<>()},  {"==", std::equal_to<>()},   {"!=", std::not_equal_to<>()},
      {">=", std::greater_equal<>()}, {"<=", std::less_equal<>()},
  };
  const auto found = comparisons->find(op);
  if (found == comparisons->end()) return false;
  *compare = &found->second;
  return true;
}

bool IsTextual(const std::string& op, const CompareTexts** compare) {
  static const auto* const comparisons = new std::map<std::string, CompareTexts>{
      {"s==", std::equal_to<>()},
      {"s!=", std::not_equal_to<>()},
      {"s<", std::less<>()},
      {"s<=", std::less_equal<>()},
      {"s>", std::greater<>()},
      {"s>=", std::greater_equal<>()},
      {"<in>", [](const std::string& value,
                  const std::string& part) { return absl::StrContains(value, part); }},
  };
  const auto found = comparisons->find(op);
  if (found == comparisons->end()) return false;
  *compare = &found->second;
  return true;
}

// `words`: <or>, a value, <or>, a value and so on.
bool IsAlternative(const std::string& value, const Words& words) {
  for (size_t i = 1; i < words.size(); i += 2) {
    if (words[i] == value) return true;
  }
  return false;
}

bool HasAll(const std::string& value, const Words& words) {
  return words.size() > 1 && std::all_of(words.begin() + 1, words.end(), [&](const auto& part) {
           return absl::StrContains(value, part);
         });
}

}  // namespace

bool Meets(const std::string& value, const std::string& requirement) {
  const Words words =
      absl::StrSplit(requirement, absl::ByAnyChar(" \t\r\n\v\f"), absl::SkipEmpty());
  if (words.empty()) return value == requirement;
  const std::string& op = words[0];
  if (op == "<or>") return IsAlternative(value, words);
  if (op == "<all-in>") return HasAll(value, words);
  const CompareNumbers* numbers = nullptr;
  if (IsNumeric(op, &numbers)) {
    double have = 0, want = 0;
    return words.size() > 1 && absl::SimpleAtod(value, &have) &&
           absl::SimpleAtod(words[1], &want) && (*numbers)(have, want);
  }
  const CompareTexts* texts = nullptr;
  if (IsTextual(op, &texts)) return words.size() > 1 && (*texts)(value, words[1]);
  return value == requirement;
}

}  // namespace berth::client
