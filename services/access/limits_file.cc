#include "services/access/limits_file.h"

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/ground/status_macros.h"
#include "placement/values/catalog.h"
#include "placement/values/node_traits.h"
#include "services/access/daily_allowance.h"
#include "services/access/toml_entries.h"

namespace berth::services {
namespace {

using Names = std::set<std::string, std::less<>>;

absl::Status CheckUpperName(absl::string_view name) {
  if (placement::IsUpperName(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name,
                   "' is no name: write 1 to 255 capital letters, digits and "
                   "underscores"));
}

absl::Status CheckMayBeWithheld(absl::string_view name) {
  if (name != placement::kOwnedTrait && name != placement::kDisabledTrait) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name, "' cannot be withheld: placement needs it for the nodes of trackers"));
}

// The names in the list `entry`.
absl::StatusOr<Names> NamesIn(const Entry& entry) {
  if (!entry.value->is_array()) {
    return At(*entry.value, absl::StrCat(entry.key, " must be a list of texts"));
  }
  Names names;
  for (const toml::value& element : entry.value->as_array()) {
    BERTH_ASSIGN_OR_RETURN(const std::string name, TextOf(element, "a name"));
    BERTH_RETURN_IF_ERROR(At(element, CheckUpperName(name)));
    BERTH_RETURN_IF_ERROR(At(element, CheckMayBeWithheld(name)));
    if (!names.insert(name).second) {
      return At(element, absl::StrCat("'", name, "' is named twice"));
    }
  }
  return names;
}

absl::Status CheckTracker(absl::string_view identity) {
  if (identity == "tracker") return absl::OkStatus();
  if (!absl::StartsWith(identity, "tracker/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", identity,
                     "' is no tracker: write tracker, or tracker/NAME, such as tracker/compute-1"));
  }
  return CheckIdentity(identity);
}

absl::StatusOr<placement::Ceilings> CeilingsIn(const Entry& of) {
  if (!of.value->is_table() || of.value->as_table().empty()) {
    return At(*of.value, "write {RESOURCE_CLASS = TOTAL, ...}");
  }
  placement::Ceilings ceilings;
  for (const Entry& entry : EntriesOf(*of.value)) {
    BERTH_RETURN_IF_ERROR(At(*entry.value, CheckUpperName(entry.key)));
    const int64_t most = entry.value->is_integer() ? entry.value->as_integer() : 0;
    if (most < 1 || most > placement::kAmountMax) {
      return At(*entry.value, absl::StrCat(entry.key, " must be a whole number from 1 to ",
                                           placement::kAmountMax));
    }
    ceilings[entry.key] = most;
  }
  return ceilings;
}

absl::StatusOr<DailyAmounts> DayIn(const toml::value& value) {
  if (!value.is_table() || value.as_table().empty()) {
    return At(value, "write {facts_mib = NUMBER, names = NUMBER}, for example");
  }
  DailyAmounts limits = kNoDailyLimits;
  for (const Entry& entry : EntriesOf(value)) {
    BERTH_ASSIGN_OR_RETURN(const DailyKind* const kind, RowOf(kDailyKinds, entry, " of a day"));
    const int64_t number = entry.value->is_integer() ? entry.value->as_integer() : -1;
    if (number < 0 || number > kDailyLimitMax) {
      return At(*entry.value,
                absl::StrCat(entry.key, " must be a whole number from 0 to ", kDailyLimitMax));
    }
    limits.*kind->amount = number * kind->unit;
  }
  return limits;
}

}  // namespace

absl::Status ReadWithheld(const toml::value& value, AccessRules* rules) {
  if (!value.is_table()) return At(value, "write a section [withheld]");
  placement::WithheldNames withheld;
  for (const Entry& entry : EntriesOf(value)) {
    if (entry.key == "traits") {
      BERTH_ASSIGN_OR_RETURN(withheld.traits, NamesIn(entry));
    } else if (entry.key == "resource_classes") {
      BERTH_ASSIGN_OR_RETURN(withheld.resource_classes, NamesIn(entry));
    } else {
      return UnknownKey(entry, " in [withheld]", "traits and resource_classes");
    }
  }
  if (withheld.traits.empty() && withheld.resource_classes.empty()) return absl::OkStatus();
  rules->withheld = std::make_shared<const placement::WithheldNames>(std::move(withheld));
  return absl::OkStatus();
}

absl::Status ReadCeilings(const toml::value& value, AccessRules* rules) {
  if (!value.is_table()) return At(value, "write a section [ceilings]");
  for (const Entry& entry : EntriesOf(value)) {
    BERTH_RETURN_IF_ERROR(At(*entry.value, CheckTracker(entry.key)));
    BERTH_ASSIGN_OR_RETURN(rules->ceilings[entry.key], CeilingsIn(entry));
  }
  return absl::OkStatus();
}

absl::Status ReadDaily(const toml::value& value, AccessRules* rules) {
  if (!value.is_table()) return At(value, "write a section [daily]");
  for (const Entry& entry : EntriesOf(value)) {
    BERTH_RETURN_IF_ERROR(At(*entry.value, CheckTracker(entry.key)));
    BERTH_ASSIGN_OR_RETURN(rules->daily[entry.key], DayIn(*entry.value));
  }
  return absl::OkStatus();
}

}  // namespace berth::services
