// Amounts: one amount for each kind of capacity that a node gives to guests.
//
// A plain value.
#ifndef BERTH_TRACKER_ACCOUNT_AMOUNTS_H_
#define BERTH_TRACKER_ACCOUNT_AMOUNTS_H_

#include <cstdint>

namespace berth::tracker {

inline constexpr int64_t kMibPerGib = 1024;

// Disk is counted in MiB: in GiB, small amounts would be rounded to 0 (T-108).
struct Amounts {
  int64_t vcpus = 0;  // shared and dedicated CPUs together (T-110)
  int64_t memory_mib = 0;
  int64_t disk_mib = 0;

  Amounts& operator+=(const Amounts& other) {
    vcpus += other.vcpus;
    memory_mib += other.memory_mib;
    disk_mib += other.disk_mib;
    return *this;
  }
  Amounts& operator-=(const Amounts& other) {
    vcpus -= other.vcpus;
    memory_mib -= other.memory_mib;
    disk_mib -= other.disk_mib;
    return *this;
  }
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

// Returns the disk in whole GiB, rounded towards negative infinity.
inline int64_t WholeGib(int64_t disk_mib) { return disk_mib >> 10; }
// Returns the disk in GiB, rounded up, as placement counts disk.
inline int64_t CeilGib(int64_t disk_mib) { return WholeGib(disk_mib + kMibPerGib - 1); }

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_ACCOUNT_AMOUNTS_H_
