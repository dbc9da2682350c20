// Explanations and counts of room as people read them. Pure: messages in, text out.
#ifndef BERTH_SERVICES_CLI_TEXT_EXPLAIN_VIEW_H_
#define BERTH_SERVICES_CLI_TEXT_EXPLAIN_VIEW_H_

#include <string>

#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/query.pb.h"
#include "services/cli/text/screen.h"

namespace berth::cli {

// How many roots each constraint leaves, which come nearest and what they lack, what would help.
std::string ExplanationPage(const placement::v1::Explanation& explanation, const Screen& screen);

// How often it fits, in all and under each root.
std::string CapacityPage(const placement::v1::GetCapacityResponse& answer, const Screen& screen);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_EXPLAIN_VIEW_H_
