#include "services/access/rules.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "placement/ground/status_macros.h"
#include "placement/values/refusal.h"
#include "services/access/table.h"

namespace berth::services {
namespace {

constexpr size_t kNameBytesMax = 2048;  // as in the URI of a certificate

}  // namespace

placement::ProjectSetPtr AccessRules::ProjectsOf(absl::string_view identity) const {
  if (projects.empty() || !absl::ConsumePrefix(&identity, "scheduler/")) return nullptr;
  const auto found = projects.find(identity);
  return found == projects.end() ? nullptr : found->second;
}

const CallRate* AccessRules::RateOf(absl::string_view identity) const {
  auto found = rates.find(identity);
  if (found == rates.end()) found = rates.find(identity.substr(0, identity.find('/')));
  return found == rates.end() ? nullptr : &found->second;
}

placement::TrackerLimitsPtr AccessRules::LimitsOf(absl::string_view identity) const {
  if (!absl::StartsWith(identity, "tracker/")) return nullptr;
  const auto own = ceilings.find(identity);
  const auto of_all = ceilings.find("tracker");
  if (withheld == nullptr && own == ceilings.end() && of_all == ceilings.end()) return nullptr;
  auto limits = std::make_shared<placement::TrackerLimits>();
  limits->withheld = withheld;
  if (own != ceilings.end()) limits->ceilings = own->second;
  // Leaves the classes alone that are there already.
  if (of_all != ceilings.end()) {
    limits->ceilings.insert(of_all->second.begin(), of_all->second.end());
  }
  return limits;
}

std::optional<DailyAmounts> AccessRules::DailyLimitsOf(absl::string_view identity) const {
  if (daily.empty()) return std::nullopt;
  const auto own = daily.find(identity);
  const auto of_role = daily.find(identity.substr(0, identity.find('/')));
  if (own == daily.end() && of_role == daily.end()) return std::nullopt;
  DailyAmounts limits = own == daily.end() ? kNoDailyLimits : own->second;
  for (const DailyKind& kind : kDailyKinds) {
    int64_t& limit = limits.*kind.amount;
    if (limit == kNoDailyLimit && of_role != daily.end()) limit = of_role->second.*kind.amount;
  }
  return limits;
}

size_t AccessRules::CountWithheld() const {
  return withheld == nullptr ? 0 : withheld->traits.size() + withheld->resource_classes.size();
}

absl::Status AccessRules::Admit(absl::string_view identity) const {
  const auto found = denied.find(identity);
  if (found == denied.end()) return absl::OkStatus();
  const std::string& why = found->second;
  return placement::Refuse(
      absl::StatusCode::kPermissionDenied, "IDENTITY_DENIED",
      absl::StrCat("the operator has denied the identity ", identity, why.empty() ? "" : ": ", why),
      {{{"identity", std::string(identity)}}});
}

absl::Status CheckIdentityName(absl::string_view name) {
  if (name.find_first_of("*?[") != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name,
                     "' is a pattern: name each identity, since patterns could deny all "
                     "admins"));
  }
  bool good = !name.empty() && name.size() <= kNameBytesMax && name != "." && name != "..";
  for (const char c : name) {
    good = good && (absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_');
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name,
      "' is no name of an identity: a certificate has letters, digits, '.', '-' and '_'"));
}

absl::Status CheckIdentity(absl::string_view identity) {
  const size_t slash = identity.find('/');
  if (slash == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", identity, "' is no identity: write ROLE/NAME, such as scheduler/nova"));
  }
  const absl::string_view role = identity.substr(0, slash);
  if (RoleOf(role) == access::v1::ROLE_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", role, "' in '", identity, "' is no role: ", NamesOfRoles()));
  }
  return CheckIdentityName(identity.substr(slash + 1));
}

}  // namespace berth::services
