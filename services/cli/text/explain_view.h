// Formats the results of Explain and GetCapacity as text for people. Pure: takes messages, returns
// text.
#ifndef BERTH_SERVICES_CLI_TEXT_EXPLAIN_VIEW_H_
#define BERTH_SERVICES_CLI_TEXT_EXPLAIN_VIEW_H_

#include <string>

#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/query.pb.h"
#include "services/cli/text/screen.h"

namespace berth::cli {

// How many roots pass each constraint, what the nearly fitting roots lack, and which changes of the
// request would help.
std::string ExplanationPage(const placement::v1::Explanation& explanation, const Screen& screen);

// How many more times the request fits, in total and under each root.
std::string CapacityPage(const placement::v1::GetCapacityResponse& answer, const Screen& screen);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_EXPLAIN_VIEW_H_
