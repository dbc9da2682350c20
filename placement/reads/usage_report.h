// Usage reports: what there is and what is held, summed up in groups over all providers that pass
// some filters. Pure.
#ifndef BERTH_PLACEMENT_READS_USAGE_REPORT_H_
#define BERTH_PLACEMENT_READS_USAGE_REPORT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "placement/state/state.h"

namespace berth::placement {

enum class UsageGrouping { kEverything, kRoot, kAggregate, kTrait, kProject, kConsumerType };

// What is unknown matches nothing.
struct UsageReportFilter {
  UsageGrouping grouping = UsageGrouping::kEverything;
  std::vector<std::string> classes = {};     // only these; empty: all
  std::vector<AggregateId> aggregates = {};  // only providers in one of these; empty: all
  std::vector<std::string> traits = {};      // only providers with one of these; empty: all
  std::optional<std::string> project = std::nullopt;  // only what it holds counts as used
};

// Sums over inventories of one class. The first three, and free, are 0 where rows are projects or
// consumer types: those say what is held, not what there is.
struct ClassSum {
  Amount total = 0;
  Amount reserved = 0;
  Amount capacity = 0;
  Amount used = 0;
  Amount free = 0;  // of each inventory, what is not used by anybody, where that is above 0

  friend bool operator==(const ClassSum&, const ClassSum&) = default;
};

struct UsageReportRow {
  std::string name;  // of a root
  int64_t provider_count = 0;
  int64_t consumer_count = 0;
  std::map<std::string, ClassSum> classes;  // by name
};

struct UsageReportPage {
  std::map<std::string, UsageReportRow> rows;  // by key: a uuid, a trait, a project, a type
  bool more = false;
};

// The rows by rising key, after `after`, `limit` at the most. A group to which no provider
// contributes has no row; the row of everything is always there. REQUIRES: limit > 0.
UsageReportPage ReportUsages(const State& state, const UsageReportFilter& filter,
                             const std::optional<std::string>& after, int limit);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_READS_USAGE_REPORT_H_
