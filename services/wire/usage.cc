#include "services/wire/usage.h"

#include "placement/values/catalog.h"

namespace berth::services {

using placement::UsageGrouping;

namespace {

absl::StatusOr<UsageGrouping> GroupingOf(pb::UsageGrouping grouping) {
  switch (grouping) {
    case pb::USAGE_GROUPING_UNSPECIFIED:
      return UsageGrouping::kEverything;
    case pb::USAGE_GROUPING_ROOT:
      return UsageGrouping::kRoot;
    case pb::USAGE_GROUPING_AGGREGATE:
      return UsageGrouping::kAggregate;
    case pb::USAGE_GROUPING_TRAIT:
      return UsageGrouping::kTrait;
    case pb::USAGE_GROUPING_PROJECT:
      return UsageGrouping::kProject;
    case pb::USAGE_GROUPING_CONSUMER_TYPE:
      return UsageGrouping::kConsumerType;
    default:
      return InvalidField("grouping", "has a value that this release does not know");
  }
}

template <typename Names>
absl::Status CheckNames(absl::string_view field, const Names& names) {
  for (int i = 0; i < names.size(); ++i) {
    if (placement::IsUpperName(names[i])) continue;
    return InvalidField(absl::StrCat(field, "[", i, "]"),
                        "must consist of 1 to 255 capital letters, digits and underscores");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<placement::UsageReportFilter> UsageReportFilterOf(
    const pb::ReportUsagesRequest& request) {
  placement::UsageReportFilter filter;
  BERTH_ASSIGN_OR_RETURN(const auto grouping, GroupingOf(request.grouping()));
  BERTH_RETURN_IF_ERROR(CheckNames("resource_classes", request.resource_classes()));
  BERTH_ASSIGN_OR_RETURN(auto aggregates, ParseIds<placement::AggregateId>(
                                              "aggregate_uuids", request.aggregate_uuids()));
  BERTH_RETURN_IF_ERROR(CheckNames("traits", request.traits()));
  if (request.has_project_id() && request.project_id().empty()) {
    return InvalidField("project_id", "must not be empty");
  }
  filter.grouping = grouping;
  filter.classes = TextsOf(request.resource_classes());
  filter.aggregates = std::move(aggregates);
  filter.traits = TextsOf(request.traits());
  if (request.has_project_id()) filter.project = request.project_id();
  return filter;
}

void FillUsageRow(const std::string& key, const placement::UsageReportRow& row, pb::UsageRow* to) {
  to->set_key(key);
  to->set_name(row.name);
  to->set_provider_count(row.provider_count);
  to->set_consumer_count(row.consumer_count);
  for (const auto& [name, sum] : row.classes) {
    pb::ClassUsage& usage = (*to->mutable_resources())[name];
    usage.set_total(sum.total);
    usage.set_reserved(sum.reserved);
    usage.set_capacity(sum.capacity);
    usage.set_used(sum.used);
    usage.set_free(sum.free);
  }
}

}  // namespace berth::services
