// Checks the values that an observation must have, and writes them as JSON text.
//
// Pure functions.
#ifndef BERTH_TRACKER_AUDIT_AUDIT_KEYS_H_
#define BERTH_TRACKER_AUDIT_AUDIT_KEYS_H_

#include <string>

#include "absl/status/status.h"
#include "tracker/facts/facts.h"

namespace berth::tracker {

// InvalidArgument (T-68): first `Missing keys: [...]` with the names of all required values that
// are absent, then `Implausible value ...` if a total is negative, there is no memory, or there are
// neither shared nor dedicated CPUs.
absl::Status VerifyFacts(const Facts& facts);

// Returns the values as one JSON object with sorted names (T-67). A value that was not read is left
// out.
std::string FactsJson(const Facts& facts);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_AUDIT_KEYS_H_
