// RecordedWorld: the providers and claims at the beginning of a line of recorded candidates.
#ifndef BERTH_TESTS_ORACLE_RECORDED_WORLD_H_
#define BERTH_TESTS_ORACLE_RECORDED_WORLD_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "tests/oracle/json_input.h"
#include "tests/oracle/subject.h"

namespace berth::oracle {

// The ids of one world's providers by name.
using Ids = std::map<std::string, ProviderId>;

Ids IdsOf(const Json& setup);

// Builds the world of `line` on `subject`, with the custom names in its queries that the recorded
// placement knew. Stops at the first refusal.
absl::Status Build(Subject& subject, const Json& line);
// Removes the claims and providers of the world.
absl::Status TakeAway(Subject& subject, const Json& line);

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_RECORDED_WORLD_H_
