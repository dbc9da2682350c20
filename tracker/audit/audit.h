// The audit of one node: what it is, who uses it, what placement should be told.
//
// Pure: facts, records and what the last pass remembered go in; values come out. Time is a
// parameter.
#ifndef BERTH_TRACKER_AUDIT_AUDIT_H_
#define BERTH_TRACKER_AUDIT_AUDIT_H_

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tracker/audit/accounting.h"
#include "tracker/audit/records.h"
#include "tracker/audit/report.h"
#include "tracker/facts/facts.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// Something that an audit found and that someone may want to know.
struct Finding {
  enum class Kind {
    kOrphan,      // a guest that nobody claimed
    kClamped,     // an option asks for more than the node has (T-204)
    kSkipped,     // a part of the observation was skipped (T-61, T-85)
    kUnverified,  // placement has not told its records yet: guests were not judged
  };
  Kind kind = Kind::kSkipped;
  std::string subject;  // a guest's uuid, or empty
  std::string text;
  absl::Time first_seen_at;  // by the wall clock, for people
};

// When findings were first found, by kind, subject and text: only those of the last pass, so that one
// that went away and comes back begins anew. Kept in memory: a restart begins anew, too.
using FindingMemory = std::map<std::tuple<Finding::Kind, std::string, std::string>, absl::Time>;

absl::string_view FindingKindName(Finding::Kind kind);

struct AuditInput {
  const Facts& facts;
  const Records* records;  // null: placement has not told them yet
  const NodeConfiguration& configuration;
  std::string node_uuid;
  std::string node_name;
  const OrphanMemory& memory;
  const FindingMemory& findings_before;
  MonotonicTime now;
  absl::Time wall_now;
  std::chrono::nanoseconds orphan_confirmation;
};

struct Audit {
  Report report;
  std::vector<Finding> findings;
  OrphanMemory memory;
  FindingMemory finding_memory;
  std::optional<MonotonicTime> confirm_at;  // a pass is wanted then
  std::string hypervisor_view;              // T-100
  std::vector<std::string> final_view;      // T-101
  std::string accounting_parts;             // JSON behind the final view
  std::vector<std::string> warnings;        // to be logged: orphans at most once an hour
};

// Fails as VerifyFacts does, and leaves nothing behind.
//
// Without records no guest is judged: a guest whose claim is merely not known yet must not look
// like an orphan. What was withheld stays withheld meanwhile, through `memory`.
absl::StatusOr<Audit> RunAudit(const AuditInput& input);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_AUDIT_H_
