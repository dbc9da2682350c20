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
  for (int at = first / 64; at <= last / 64; ++at) {
    const uint64_t from = at == first / 64 ? kAll << (first % 64) : kAll;
    const uint64_t to = at == last / 64 ? kAll >> (63 - last % 64) : kAll;
    result.Append(at, from & to);
  }
  return result;
}

void CpuSet::Insert(int cpu) {
  BERTH_CHECK(cpu >= 0 && cpu <= kMaxCpu);  // whoever reads a number from a text or a message looks
  auto word = std::lower_bound(words_.begin(), words_.end(), cpu / 64,
                               [](const Word& a, int at) { return a.at < at; });
  if (word == words_.end() || word->at != cpu / 64) word = words_.insert(word, {cpu / 64, 0});
  word->bits |= uint64_t{1} << (cpu % 64);
}

bool CpuSet::Contains(int cpu) const {
  if (cpu < 0) return false;
  const auto word = std::lower_bound(words_.begin(), words_.end(), cpu / 64,
                                     [](const Word& a, int at) { return a.at < at; });
  return word != words_.end() && word->at == cpu / 64 && (word->bits >> (cpu % 64) & 1) != 0;
}

int CpuSet::Count() const {
  int count = 0;
  for (const Word& word : words_) count += absl::popcount(word.bits);
  return count;
}

std::vector<int> CpuSet::Cpus() const {
  std::vector<int> cpus;
  for (const Word& word : words_) {
    for (uint64_t bits = word.bits; bits != 0; bits &= bits - 1) {
      cpus.push_back(word.at * 64 + absl::countr_zero(bits));
    }
  }
  return cpus;
}

int CpuSet::First() const {
  if (words_.empty()) return -1;
  return words_.front().at * 64 + absl::countr_zero(words_.front().bits);
}

bool CpuSet::IsSubsetOf(const CpuSet& other) const { return Without(other).empty(); }

CpuSet CpuSet::And(const CpuSet& other) const { return Without(Without(other)); }

CpuSet CpuSet::Or(const CpuSet& other) const {
  CpuSet result;
  auto theirs = other.words_.begin();
  for (const Word& word : words_) {
    while (theirs != other.words_.end() && theirs->at < word.at) result.words_.push_back(*theirs++);
    const bool both = theirs != other.words_.end() && theirs->at == word.at;
    result.Append(word.at, word.bits | (both ? (theirs++)->bits : 0));
  }
  result.words_.insert(result.words_.end(), theirs, other.words_.end());
  return result;
}

CpuSet CpuSet::Without(const CpuSet& other) const {
  CpuSet result;
  auto theirs = other.words_.begin();
  for (const Word& word : words_) {
    while (theirs != other.words_.end() && theirs->at < word.at) ++theirs;
    const bool both = theirs != other.words_.end() && theirs->at == word.at;
    result.Append(word.at, word.bits & ~(both ? theirs->bits : 0));
  }
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

void CpuSet::Append(int at, uint64_t bits) {
  if (bits != 0) words_.push_back({at, bits});
}

}  // namespace berth::tracker
