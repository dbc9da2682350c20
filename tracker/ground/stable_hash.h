// StableHash: the FNV-1a hash with 128 bits. All releases and all machines compute the same hash. It
// protects against accidents, not against attackers.
//
// Not thread-safe.
#ifndef BERTH_TRACKER_GROUND_STABLE_HASH_H_
#define BERTH_TRACKER_GROUND_STABLE_HASH_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace berth::tracker {

class StableHash {
 public:
  // Adds `text` and its length. Without the length, "ab" and "c" would give the same hash as "a"
  // and "bc".
  void Add(absl::string_view text) {
    for (const char byte : text) Mix(static_cast<unsigned char>(byte));
    for (size_t length = text.size(), i = 0; i < sizeof length; ++i) {
      Mix(static_cast<unsigned char>(length >> (8 * i)));
    }
  }
  uint64_t high() const { return static_cast<uint64_t>(sum_ >> 64); }
  uint64_t low() const { return static_cast<uint64_t>(sum_); }

 private:
  __extension__ using Sum = unsigned __int128;
  void Mix(unsigned char byte) {
    sum_ ^= byte;
    sum_ *= (Sum{0x0000000001000000} << 64) | 0x000000000000013B;
  }
  Sum sum_ = (Sum{0x6c62272e07bb0142} << 64) | 0x62b821756295c58d;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_GROUND_STABLE_HASH_H_
