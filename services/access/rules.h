// AccessRules: what the operator's file says that single identities may do, beyond the roles of
// AccessTable.
//
// An identity is written ROLE/NAME, as in the certificate: "scheduler/nova". Plain values.
#ifndef BERTH_SERVICES_ACCESS_RULES_H_
#define BERTH_SERVICES_ACCESS_RULES_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/values/project_set.h"
#include "placement/values/tracker_limits.h"
#include "services/access/call_rate.h"
#include "services/access/daily_allowance.h"

namespace berth::services {

struct AccessRules {
  // The identities that may not be here at all, with the reason that the file gives, which they are
  // told. The reason may be empty.
  std::map<std::string, std::string, std::less<>> denied;
  // The schedulers, by NAME, that may write only what belongs to these projects. A scheduler that is
  // not here may write what belongs to any project.
  std::map<std::string, placement::ProjectSetPtr, std::less<>> projects;
  // How often identities may call: by ROLE, for each identity of the role, and by ROLE/NAME, which
  // comes before the role. Who is in neither may call as often as he likes.
  std::map<std::string, CallRate, std::less<>> rates;
  // What trackers may bring into the ledger within a day: by "tracker", for each tracker, and by
  // tracker/NAME. A kind that the entry of a tracker does not limit is limited by that of the role.
  std::map<std::string, DailyAmounts, std::less<>> daily;

  // What no tracker may give to providers or take from them. Null: nothing.
  std::shared_ptr<const placement::WithheldNames> withheld;
  // How much the providers of the nodes of a tracker's host may have: by the role "tracker", for each
  // tracker, and by ROLE/NAME, which comes before the role, class by class.
  std::map<std::string, placement::Ceilings, std::less<>> ceilings;

  // The projects of `identity`; null: all.
  placement::ProjectSetPtr ProjectsOf(absl::string_view identity) const;
  // The rate of `identity`; null: it has no limit.
  const CallRate* RateOf(absl::string_view identity) const;
  // The limits of the reports of `identity`; null: it is no tracker, or nothing is limited.
  placement::TrackerLimitsPtr LimitsOf(absl::string_view identity) const;
  // How many names are withheld.
  size_t CountWithheld() const;
  // What `identity` may bring into the ledger within a day. Nothing: it has no limit.
  std::optional<DailyAmounts> DailyLimitsOf(absl::string_view identity) const;
  // OK; or PERMISSION_DENIED / IDENTITY_DENIED if `identity` is denied.
  absl::Status Admit(absl::string_view identity) const;
};

// OK if `identity` is ROLE/NAME with a role and a name that a certificate may have. Fails with
// kInvalidArgument, and says why.
absl::Status CheckIdentity(absl::string_view identity);
// The same for a name alone, such as that of a scheduler.
absl::Status CheckIdentityName(absl::string_view name);

// The rules that are in force, and where they come from.
struct RulesInForce {
  AccessRules rules;
  std::string file;                         // empty: no file was read, and nothing is limited
  std::string digest;                       // SHA-256 of the file, in hexadecimal; empty: no file
  absl::Time since = absl::InfinitePast();  // when these rules came into force
};
using RulesInForcePtr = std::shared_ptr<const RulesInForce>;

}  // namespace berth::services

#endif  // BERTH_SERVICES_ACCESS_RULES_H_
