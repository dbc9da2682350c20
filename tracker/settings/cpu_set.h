// CpuSet: a set of CPU numbers, with the text form that operators write, for example 0-3,^2.
//
// A plain value. It takes about 16 bytes for each group of 64 neighbouring numbers of which
// it has some, however large the numbers are.
//
// Invariant: the words rise by `at` and none has no bits, so that equal sets have equal words.
#ifndef BERTH_TRACKER_SETTINGS_CPU_SET_H_
#define BERTH_TRACKER_SETTINGS_CPU_SET_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::tracker {

class CpuSet {
 public:
  // The largest CPU number. Larger numbers are refused, because a mistyped number must not cost
  // gigabytes of memory.
  static constexpr int kMaxCpu = 65535;
  // The largest number of items in a text. Each item costs a pass over the whole set.
  static constexpr int kItemsMax = 1024;

  CpuSet() = default;
  CpuSet(std::initializer_list<int> cpus);

  // Reads a comma-separated list of `N`, `A-B`, `^N` and `^A-B`. First all items without ^ are put
  // in, then all items with ^ are taken out.
  //
  // InvalidArgument if there are more than kItemsMax items, if an item has another form, if A > B,
  // if a number is negative or above kMaxCpu, or if the set would be empty.
  static absl::StatusOr<CpuSet> Parse(absl::string_view text);
  // Like Parse, but the set may be empty.
  static absl::StatusOr<CpuSet> ParseMaybeEmpty(absl::string_view text);
  // Returns the set of the numbers from `first` to `last`, both included. Empty if first > last.
  //
  // REQUIRES: first > last, or 0 <= first and last <= kMaxCpu.
  static CpuSet Range(int first, int last);

  // Adds `cpu` to the set. REQUIRES: 0 <= cpu <= kMaxCpu.
  void Insert(int cpu);
  bool Contains(int cpu) const;
  bool empty() const { return words_.empty(); }
  int Count() const;
  // Returns the numbers in ascending order.
  std::vector<int> Cpus() const;
  // Returns the smallest number, or -1 if the set is empty.
  int First() const;
  bool IsSubsetOf(const CpuSet& other) const;

  CpuSet And(const CpuSet& other) const;
  CpuSet Or(const CpuSet& other) const;
  CpuSet Without(const CpuSet& other) const;

  // Returns the set as text: ranges in ascending order, for example `0-3,5`. The empty set is an
  // empty text.
  std::string ToString() const;

  friend bool operator==(const CpuSet&, const CpuSet&) = default;

 private:
  // The numbers from 64 * `at` to 64 * `at` + 63 that are in the set, a bit for each.
  struct Word {
    int at = 0;
    uint64_t bits = 0;
    friend bool operator==(const Word&, const Word&) = default;
  };
  // Appends the word, if it has bits. REQUIRES: it comes behind all words of the set.
  void Append(int at, uint64_t bits);
  std::vector<Word> words_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_CPU_SET_H_
