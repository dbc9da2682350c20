// The sections of the access file that limit the reports of trackers: what they may not give to
// providers ([withheld]), how much a host may have ([ceilings]), and how much that is new they may
// bring within a day ([daily]).
//
// Pure functions, for rules_file.cc. A fault is as in toml_entries.h:
//   - an unknown key, a value of the wrong kind, or a tracker without a limit;
//   - a text that cannot be the name of a trait or class, or that is there twice;
//   - a trait that placement itself gives and takes;
//   - what is neither the role tracker nor a tracker/NAME that a certificate can have;
//   - a ceiling that is not 1..kAmountMax, and a limit of a day that is not 0..kDailyLimitMax.
// A name need not exist: trackers could make it.
#ifndef BERTH_SERVICES_ACCESS_LIMITS_FILE_H_
#define BERTH_SERVICES_ACCESS_LIMITS_FILE_H_

#include "absl/status/status.h"
#include "services/access/rules.h"
#include "toml.hpp"

namespace berth::services {

// Sets AccessRules::withheld.
absl::Status ReadWithheld(const toml::value& value, AccessRules* rules);
// Sets AccessRules::ceilings.
absl::Status ReadCeilings(const toml::value& value, AccessRules* rules);
// Sets AccessRules::daily.
absl::Status ReadDaily(const toml::value& value, AccessRules* rules);

}  // namespace berth::services

#endif  // BERTH_SERVICES_ACCESS_LIMITS_FILE_H_
