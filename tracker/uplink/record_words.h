// The words that stand for policies in the messages of records.
//
// Plain values.
#ifndef BERTH_TRACKER_UPLINK_RECORD_WORDS_H_
#define BERTH_TRACKER_UPLINK_RECORD_WORDS_H_

#include "tracker/account/records.h"

namespace berth::tracker {

template <typename Value>
struct Word {
  const char* text;
  Value value;
};
inline constexpr Word<CpuPolicy> kCpuPolicies[] = {{"shared", CpuPolicy::kShared},
                                                   {"dedicated", CpuPolicy::kDedicated},
                                                   {"mixed", CpuPolicy::kMixed}};
inline constexpr Word<CpuThreadPolicy> kThreadPolicies[] = {{"prefer", CpuThreadPolicy::kPrefer},
                                                            {"isolate", CpuThreadPolicy::kIsolate},
                                                            {"require", CpuThreadPolicy::kRequire}};
inline constexpr Word<EmulatorThreadsPolicy> kEmulatorPolicies[] = {
    {"share", EmulatorThreadsPolicy::kShare}, {"isolate", EmulatorThreadsPolicy::kIsolate}};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_RECORD_WORDS_H_
