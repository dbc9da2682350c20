// Leases: consumers that are released by themselves, in the ledger, at their time. Pure.
#ifndef BERTH_PLACEMENT_LEASE_H_
#define BERTH_PLACEMENT_LEASE_H_

#include <string>

#include "absl/time/time.h"
#include "placement/form.h"

namespace berth::placement {

// A fault unless `lease` is 1 s to 24 h.
inline void LeaseField(Form& form, const std::string& field, absl::Duration lease) {
  if (lease >= absl::Seconds(1) && lease <= absl::Hours(24)) return;
  form.Fault(kInvalidField, field, "must be 1 s to 24 h");
}

// When a lease that begins now ends: times are kept in whole microseconds.
inline absl::Time LeaseEnd(absl::Time now, absl::Duration lease) {
  return absl::FromUnixMicros(absl::ToUnixMicros(now + lease));
}

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEASE_H_
