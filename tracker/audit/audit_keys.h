// Checks that an observation has all required values, and writes its values as JSON text.
//
// Pure functions.
#ifndef BERTH_TRACKER_AUDIT_AUDIT_KEYS_H_
#define BERTH_TRACKER_AUDIT_AUDIT_KEYS_H_

#include <string>

#include "absl/status/status.h"
#include "tracker/facts/facts.h"

namespace berth::tracker {

// Fails with InvalidArgument (T-68). First `Missing keys: [...]`, if required values are absent;
// the message names all of them. Then `Implausible value ...`, if a total is negative, if there is
// no memory, or if there are neither shared nor dedicated CPUs.
absl::Status VerifyFacts(const Facts& facts);

// Returns the values as one JSON object with sorted names (T-67). Values that were not read are
// left out.
std::string FactsJson(const Facts& facts);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_AUDIT_KEYS_H_
