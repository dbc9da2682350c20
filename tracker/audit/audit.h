// The audit of one node: compares the observed facts with placement's records, and computes the
// report and the findings.
//
// A pure function. Time is a parameter.
#ifndef BERTH_TRACKER_AUDIT_AUDIT_H_
#define BERTH_TRACKER_AUDIT_AUDIT_H_

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tracker/audit/accounting.h"
#include "tracker/audit/additions.h"
#include "tracker/audit/drift.h"
#include "tracker/audit/left_behind.h"
#include "tracker/audit/records.h"
#include "tracker/audit/report.h"
#include "tracker/facts/facts.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// A difference or a problem that an audit found.
struct Finding {
  enum class Kind {
    kOrphan,      // a guest for which placement has no consumer
    kClamped,     // a setting reserves more than the node has (T-204)
    kSetting,     // a setting has no effect here, or not the one that it asks for (T-219)
    kRecord,      // a record could not be counted completely (T-61), or has an unknown word (T-125)
    kDevice,      // a device is attached to a guest whose record does not have it (T-256)
    kDrift,       // the account and the allocations in placement differ (T-351)
    kLimited,     // placement has not stored what was reported, by its access file
    kLeft,        // what a deleted instance or an ended move left behind (T-66, T-143, T-146)
    kSkipped,     // a part of the observation was skipped (T-61, T-85)
    kUnverified,  // placement has sent no records yet: no guest was judged
  };
  Kind kind = Kind::kSkipped;
  std::string subject;  // a guest's uuid, or empty
  std::string text;
  absl::Time first_seen_at;  // by the wall clock, for people
};

// For each finding of the last pass, by kind, subject and text, when it was first found. A finding
// that disappears and comes back counts as new. After a restart every finding counts as new.
using FindingMemory = std::map<std::tuple<Finding::Kind, std::string, std::string>, absl::Time>;

struct Audit {
  Report report;
  ReportDigest digest;  // of the report
  std::vector<Finding> findings;
  OrphanMemory memory;
  FindingMemory finding_memory;
  // All drifts. Only a drift that stays as it is for `orphan_confirmation` is a finding: placement
  // and the instance are not written in the same moment.
  std::vector<Drift> drifts;
  DriftMemory drift_memory;
  LeftBehindMemory left_memory;
  std::optional<MonotonicTime> confirm_at;    // when a pass should run to confirm an orphan
  std::map<std::string, RatioChoice> ratios;  // of the root, by resource class
  std::vector<std::string> warnings;  // for the log; a warning about an orphan comes once an hour
  // The entries of provider configuration files whose provider this node does not have.
  std::vector<std::string> absent_providers;
};

struct AuditInput {
  std::shared_ptr<const Facts> facts = nullptr;
  const Records* records = nullptr;  // null: placement has sent none yet
  const NodeConfiguration& configuration;
  Uuid node_uuid = {};
  std::string node_name = {};
  const Audit* before = nullptr;  // the last audit of the node; null: there was none
  MonotonicTime now = {};
  absl::Time wall_now = {};
  std::chrono::nanoseconds orphan_confirmation = {};
  // Traits that files had added earlier. Null: none.
  const AddedTraits* added_traits = nullptr;
  const NodeAccount* account = nullptr;  // null: there are no records and claims
  // Placement has not acknowledged a report of this process yet: resources may move (T-209).
  bool starting = false;
};

// Compares the facts of `input` with its records. Fails as VerifyFacts does.
//
// Without records the audit finds no new orphans, because it cannot know which guests have
// consumers. The orphans of the audit before stay orphans until records come.
absl::StatusOr<Audit> RunAudit(const AuditInput& input);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_AUDIT_H_
