// Formats usages as text for people. Pure: takes messages, returns text.
#ifndef BERTH_SERVICES_CLI_TEXT_USAGE_VIEW_H_
#define BERTH_SERVICES_CLI_TEXT_USAGE_VIEW_H_

#include "berth/placement/v1/usage.pb.h"
#include "services/cli/text/provider_view.h"
#include "services/cli/text/screen.h"
#include "services/cli/text/table.h"

namespace berth::cli {

// One line for each resource class: how full it is, with a bar if the screen has bars.
Table UsageTable(const Inventories& inventories, const Screen& screen);

// One line for each consumer type and class.
Table ProjectUsageTable(const placement::v1::GetUsagesResponse& answer);

// One line for each row of a usage report and each class of the row.
Table UsageReportTable(const placement::v1::ReportUsagesResponse& answer, const Screen& screen);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_USAGE_VIEW_H_
