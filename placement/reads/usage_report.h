// Usage reports: sums of inventories and of their use, in groups, over all providers that pass a
// filter. Pure.
#ifndef BERTH_PLACEMENT_READS_USAGE_REPORT_H_
#define BERTH_PLACEMENT_READS_USAGE_REPORT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "placement/state/state.h"

namespace berth::placement {

enum class UsageGrouping { kEverything, kRoot, kAggregate, kTrait, kProject, kConsumerType };

// An unknown class, trait, aggregate or project matches nothing.
struct UsageReportFilter {
  UsageGrouping grouping = UsageGrouping::kEverything;
  std::vector<std::string> classes = {};     // only these; empty: all
  std::vector<AggregateId> aggregates = {};  // only providers in one of these; empty: all
  std::vector<std::string> traits = {};      // only providers with one of these; empty: all
  std::optional<std::string> project = std::nullopt;  // `used` counts only what the project holds
};

// Sums over the inventories of one class. Rows of projects and of consumer types set only `used`,
// since projects and consumer types have no inventories.
struct ClassSum {
  Amount total = 0;
  Amount reserved = 0;
  Amount capacity = 0;
  Amount used = 0;
  Amount free =
      0;  // the sum of capacity less use, over the inventories with more capacity than use

  friend bool operator==(const ClassSum&, const ClassSum&) = default;
};

struct UsageReportRow {
  std::string name;  // the root's name, if each row is a root
  int64_t provider_count = 0;
  int64_t consumer_count = 0;
  std::map<std::string, ClassSum> classes;  // by name
};

struct UsageReportPage {
  std::map<std::string, UsageReportRow> rows;  // by key: a uuid, a trait, a project, a type
  bool more = false;
};

// One page of the report: the rows with keys greater than `after`, in order of key, at most
// `limit`. A group without providers has no row. Exception: the single row of kEverything is always
// present. REQUIRES: limit > 0.
UsageReportPage ReportUsages(const State& state, const UsageReportFilter& filter,
                             const std::optional<std::string>& after, int limit);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_READS_USAGE_REPORT_H_
