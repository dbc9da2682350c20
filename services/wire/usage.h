// Conversion of usage reports between proto messages and domain types. Pure.
#ifndef BERTH_SERVICES_WIRE_USAGE_H_
#define BERTH_SERVICES_WIRE_USAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "berth/placement/v1/usage.pb.h"
#include "placement/reads/usage_report.h"
#include "services/wire/form.h"

namespace berth::services {

// Fails with INVALID_FIELD if a filter of the request is invalid.
absl::StatusOr<placement::UsageReportFilter> UsageReportFilterOf(
    const pb::ReportUsagesRequest& request);

void FillUsageRow(const std::string& key, const placement::UsageReportRow& row, pb::UsageRow* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_USAGE_H_
