// A set of CPU numbers of any size, with the text form that operators write.
//
// A value; distinct copies may be used from distinct threads.
//
// Invariant: no trailing zero words, so that equal sets compare equal.
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
  // Numbers above this are refused: a slip of the keyboard must not cost gigabytes.
  static constexpr int kMaxCpu = 65535;

  CpuSet() = default;
  CpuSet(std::initializer_list<int> cpus);

  // Reads comma-separated `N`, `A-B`, `^N`, `^A-B`; exclusions apply after all inclusions.
  //
  // InvalidArgument when an item is not of that form, A > B, a number is negative or above kMaxCpu,
  // or nothing is left.
  static absl::StatusOr<CpuSet> Parse(absl::string_view text);
  // The numbers first..last, both included.
  static CpuSet Range(int first, int last);

  // REQUIRES: 0 <= cpu <= kMaxCpu.
  void Insert(int cpu);
  bool Contains(int cpu) const;
  bool empty() const { return words_.empty(); }
  int Count() const;
  // Ascending.
  std::vector<int> Cpus() const;
  // The smallest member, or -1.
  int First() const;
  bool IsSubsetOf(const CpuSet& other) const;

  CpuSet And(const CpuSet& other) const;
  CpuSet Or(const CpuSet& other) const;
  CpuSet Without(const CpuSet& other) const;

  // Ranges in ascending order: `0-3,5`. Empty for the empty set.
  std::string ToString() const;

  friend bool operator==(const CpuSet& a, const CpuSet& b) { return a.words_ == b.words_; }
  friend bool operator!=(const CpuSet& a, const CpuSet& b) { return !(a == b); }

 private:
  void Trim();
  std::vector<uint64_t> words_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_CPU_SET_H_
