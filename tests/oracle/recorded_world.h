// RecordedWorld: the providers and claims that a line of recorded candidates begins with.
#ifndef BERTH_TESTS_ORACLE_RECORDED_WORLD_H_
#define BERTH_TESTS_ORACLE_RECORDED_WORLD_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "tests/oracle/json_input.h"
#include "tests/oracle/subject.h"

namespace berth::oracle {

// Names of one world's providers to their ids.
using Ids = std::map<std::string, ProviderId>;

Ids IdsOf(const Json& setup);

// Makes the world of `line` on `subject`, with all custom names that its queries ask about and the
// recorded placement knew. The first refusal ends it.
absl::Status Build(Subject& subject, const Json& line);
// Removes its claims and providers again.
absl::Status TakeAway(Subject& subject, const Json& line);

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_RECORDED_WORLD_H_
