#include "services/placement/access_file.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ground/sha256.h"
#include "placement/ground/status_macros.h"
#include "placement/values/refusal.h"
#include "services/access/rules_file.h"
#include "services/log/log.h"

namespace berth::services {
namespace {

constexpr char kAdmins[] = "admin/";

// To deny an admin is no fault: who is denied may have lost a key. But no call undoes it, and the
// file cannot tell whether there are other admins.
void WarnOfAdmins(const RulesInForce& rules) {
  std::vector<std::string> admins;
  for (const auto& [identity, reason] : rules.rules.denied) {
    if (absl::StartsWith(identity, kAdmins)) admins.push_back(identity);
  }
  if (admins.empty()) return;
  Log(LogLevel::kWarning,
      "the access file denies admins, whom no call lets in again: only a change of the file does",
      {{"file", rules.file}, {"admins", placement::ListOf(admins)}});
}

}  // namespace

absl::StatusOr<RulesInForce> LoadRules(const std::string& setting) {
  RulesInForce loaded;
  const std::string file = setting.empty() ? kDefaultAccessFile : setting;
  BERTH_ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadRulesText(file));
  if (!text && !setting.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        file,
        ": there is no such file; create it, if only with a comment, or leave --access-file out"));
  }
  if (!text) return loaded;
  BERTH_ASSIGN_OR_RETURN(loaded.rules, ParseRules(*text, file));
  loaded.file = file;
  loaded.digest = absl::BytesToHexString(placement::Sha256(*text));
  return loaded;
}

absl::Status AccessFile::Read(bool identified) {
  BERTH_ASSIGN_OR_RETURN(RulesInForce rules, LoadRules(setting_));
  rules.since = absl::Now();
  if (rules.file.empty()) return absl::OkStatus();
  Tell(rules, "the access file is in force");
  WarnOfAdmins(rules);
  if (!identified) {
    Log(LogLevel::kWarning,
        "the access file limits nobody: without certificates callers are not identified");
  }
  policy_->Put(std::move(rules));
  return absl::OkStatus();
}

void AccessFile::ReadAgain() {
  absl::StatusOr<RulesInForce> rules = LoadRules(setting_);
  const RulesInForcePtr old = policy_->rules();
  if (rules.ok() && rules->file.empty() && !old->file.empty()) {
    // It may only be on its way: whoever writes it may have moved it aside.
    rules = absl::FailedPreconditionError(absl::StrCat(
        old->file, ": is gone: to limit nothing, leave a comment in it, or start placement again"));
  }
  if (!rules.ok()) {
    policy_->SetFault(std::string(rules.status().message()));
    Log(LogLevel::kWarning, "the access file is refused, and the rules stay as they are",
        {{"why", std::string(rules.status().message())}, {"digest", policy_->rules()->digest}});
    return;
  }
  policy_->SetFault("");
  if (rules->file.empty()) return;
  const bool same = rules->file == old->file && rules->digest == old->digest;
  rules->since = same ? old->since : absl::Now();
  Tell(*rules, same ? "the access file has not changed" : "the access file is in force");
  WarnOfAdmins(*rules);
  policy_->Put(*std::move(rules));
}

void AccessFile::Tell(const RulesInForce& rules, absl::string_view words) const {
  Log(LogLevel::kInfo, words,
      {{"file", rules.file},
       {"digest", rules.digest},
       {"denied", static_cast<int64_t>(rules.rules.denied.size())},
       {"schedulers", static_cast<int64_t>(rules.rules.projects.size())},
       {"rates", static_cast<int64_t>(rules.rules.rates.size())},
       {"withheld", static_cast<int64_t>(rules.rules.CountWithheld())},
       {"ceilings", static_cast<int64_t>(rules.rules.ceilings.size())},
       {"daily", static_cast<int64_t>(rules.rules.daily.size())}});
}

void MeasureAccess(const AccessPolicy* policy, Metrics* metrics) {
  metrics->AddSource([policy](Samples* samples) {
    const RulesInForcePtr rules = policy->rules();
    samples->Gauge("access_file_info",
                   "Always 1; the label has the digest of the access file in force, or none", 1,
                   {{"digest", rules->digest.empty() ? "none" : rules->digest}});
    samples->Gauge("access_file_refused",
                   "1 if the newest text of the access file is refused, and an older one in force",
                   policy->fault().empty() ? 0 : 1);
  });
}

}  // namespace berth::services
