// The keys that an observation must bring, their check, and their text form.
#ifndef BERTH_TRACKER_AUDIT_AUDIT_KEYS_H_
#define BERTH_TRACKER_AUDIT_AUDIT_KEYS_H_

#include <string>

#include "absl/status/status.h"
#include "tracker/facts/facts.h"

namespace berth::tracker {

// InvalidArgument `Missing keys: [...]` naming all that are absent, then `Implausible value ...`
// for a negative total, no memory, or neither shared nor dedicated CPUs (T-68).
absl::Status VerifyFacts(const Facts& facts);

// All keys of T-67 as one JSON object with sorted names; what was not read is left out.
std::string FactsJson(const Facts& facts);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_AUDIT_KEYS_H_
