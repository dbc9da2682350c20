#include "tracker/settings/cpu_set.h"

#include <algorithm>
#include <utility>

#include "absl/numeric/bits.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tracker/ground/check.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {
namespace {

absl::Status BadItem(absl::string_view item, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("CPU set item '", item, "': ", why));
}

absl::StatusOr<int> ParseNumber(absl::string_view item, absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isdigit(c);
  });
  int number = 0;
  if (!digits) return BadItem(item, "must be a CPU number such as 3, or a range such as 0-3");
  if (!absl::SimpleAtoi(text, &number) || number > CpuSet::kMaxCpu) {
    return BadItem(item, absl::StrCat("a CPU number must be at most ", CpuSet::kMaxCpu));
  }
  return number;
}

absl::StatusOr<CpuSet> ParseItem(absl::string_view item, absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, absl::MaxSplits('-', 1));
  BERTH_ASSIGN_OR_RETURN(const int first, ParseNumber(item, ends.first));
  if (!absl::StrContains(text, "-")) return CpuSet::Range(first, first);
  BERTH_ASSIGN_OR_RETURN(const int last, ParseNumber(item, ends.second));
  if (first > last) return BadItem(item, "the range must begin with its smaller number");
  return CpuSet::Range(first, last);
}

}  // namespace

CpuSet::CpuSet(std::initializer_list<int> cpus) {
  for (const int cpu : cpus) Insert(cpu);
}

absl::StatusOr<CpuSet> CpuSet::Parse(absl::string_view text) {
  absl::StatusOr<CpuSet> result = ParseMaybeEmpty(text);
  if (result.ok() && result->empty()) {
    return absl::InvalidArgumentError(absl::StrCat("CPU set '", text, "' contains no CPU"));
  }
  return result;
}

absl::StatusOr<CpuSet> CpuSet::ParseMaybeEmpty(absl::string_view text) {
  if (std::count(text.begin(), text.end(), ',') >= kItemsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a CPU set must have at most ", kItemsMax, " items"));
  }
  CpuSet included;
  CpuSet excluded;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    item = absl::StripAsciiWhitespace(item);
    if (item.empty()) continue;
    const bool exclusion = item[0] == '^';
    BERTH_ASSIGN_OR_RETURN(const CpuSet cpus, ParseItem(item, exclusion ? item.substr(1) : item));
    CpuSet& target = exclusion ? excluded : included;
    target = target.Or(cpus);
  }
  return included.Without(excluded);
}

CpuSet CpuSet::Range(int first, int last) {
  CpuSet result;
  if (first > last) return result;
  BERTH_CHECK(first >= 0 && last <= kMaxCpu);
  constexpr uint64_t kAll = ~uint64_t{0};
  result.words_.resize(static_cast<size_t>(last) / 64 + 1);
  std::fill(result.words_.begin() + first / 64, result.words_.end(), kAll);
  result.words_[static_cast<size_t>(first) / 64] &= kAll << (first % 64);
  result.words_.back() &= kAll >> (63 - last % 64);
  return result;
}

void CpuSet::Insert(int cpu) {
  BERTH_CHECK(cpu >= 0 && cpu <= kMaxCpu);  // whoever reads a number from a text or a message looks
  const size_t word = static_cast<size_t>(cpu) / 64;
  if (words_.size() <= word) words_.resize(word + 1);
  words_[word] |= uint64_t{1} << (cpu % 64);
}

bool CpuSet::Contains(int cpu) const {
  if (cpu < 0) return false;
  const size_t word = static_cast<size_t>(cpu) / 64;
  return word < words_.size() && (words_[word] >> (cpu % 64) & 1) != 0;
}

int CpuSet::Count() const {
  int count = 0;
  for (const uint64_t word : words_) count += absl::popcount(word);
  return count;
}

std::vector<int> CpuSet::Cpus() const {
  std::vector<int> cpus;
  for (size_t i = 0; i < words_.size(); ++i) {
    for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
      cpus.push_back(static_cast<int>(i * 64) + absl::countr_zero(word));
    }
  }
  return cpus;
}

int CpuSet::First() const {
  for (size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] != 0) return static_cast<int>(i * 64) + absl::countr_zero(words_[i]);
  }
  return -1;
}

bool CpuSet::IsSubsetOf(const CpuSet& other) const { return Without(other).empty(); }

CpuSet CpuSet::And(const CpuSet& other) const {
  CpuSet result;
  result.words_.resize(std::min(words_.size(), other.words_.size()));
  for (size_t i = 0; i < result.words_.size(); ++i) result.words_[i] = words_[i] & other.words_[i];
  result.Trim();
  return result;
}

CpuSet CpuSet::Or(const CpuSet& other) const {
  CpuSet result = words_.size() < other.words_.size() ? other : *this;
  const CpuSet& smaller = words_.size() < other.words_.size() ? *this : other;
  for (size_t i = 0; i < smaller.words_.size(); ++i) result.words_[i] |= smaller.words_[i];
  return result;
}

CpuSet CpuSet::Without(const CpuSet& other) const {
  CpuSet result = *this;
  const size_t shared = std::min(words_.size(), other.words_.size());
  for (size_t i = 0; i < shared; ++i) result.words_[i] &= ~other.words_[i];
  result.Trim();
  return result;
}

std::string CpuSet::ToString() const {
  const std::vector<int> cpus = Cpus();
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", cpus[i]);
    if (last > i) absl::StrAppend(&text, "-", cpus[last]);
    i = last + 1;
  }
  return text;
}

void CpuSet::Trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace berth::tracker
