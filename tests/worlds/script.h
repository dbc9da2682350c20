// Script: commands and what becomes of them, one line each.
//
//   create cn1                              OK
//   create cn2 below cn1                    OK
//   inventories cn1@ VCPU:8, DISK_GB:100    OK
//   claim c1 new cn1{VCPU:2}                OK
//   claim c1 new cn1{VCPU:2}                CONSUMER_GENERATION_CONFLICT
//
// After two blanks follows `OK` or the reason of the refusal. The status of the refusal must be
// the one that error.proto gives for that reason. `#` begins a comment. A refused line must change nothing.
// Generations: `@` is the present one, `@stale` another one; without `@` none is sent. Verbs:
//   create NAME [below PARENT] [as NAME-OF-ID]   rename P NAME     move P below Q | move P out
//   delete P                                     inventories P@ ROWS | inventories P@ none
//   inventory add|set P@ ROW                     inventory drop P@ CLASS | inventory drop P@ all
//   traits P@ T1,T2 | traits P@ none             clear P@          aggregates P@ A,B
//   class create|ensure|delete NAME              trait ensure|delete NAME
//   claim C new|@|@stale cn1{..} cn2{..} [& C2 ...] [for PROJECT/USER/TYPE]   release C@
//   adjust C@ cn1{VCPU:-2} cn2{..}               drop C1@ C2 C3@stale (all of them at once)
//   reshape P@ ROWS | Q@ none [with C new|@|@stale cn1{..} & C2 ...]
//   lease C@ SECONDS|confirmed                   expire x
//   topology PART | PART ... [with C new|@|@stale cn1{..} & C2 ...]
// where a part is `-P`, `-P@` (remove it) or
// `P [below Q | out] [named N] [{ROWS}] [[T1,T2]] [(A,B)]`, and P without `@` is new, called P unless it is named otherwise.
// In a reshape or a topology `@` gives both generations of a provider, `@used` the allocation
// generation of another moment, `@half` no allocation generation.
#ifndef BERTH_TESTS_WORLDS_SCRIPT_H_
#define BERTH_TESTS_WORLDS_SCRIPT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tests/worlds/world.h"

namespace berth::placement {

// Runs each line; a line that ends otherwise fails the test and is named.
void RunScript(World& world, absl::string_view script);

// The command that `words` (a line without its expectation) spell.
CommandBody ParseCommand(World& world, absl::string_view words);

// The status that error.proto gives for `reason`.
absl::StatusCode CodeOf(absl::string_view reason);

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_SCRIPT_H_
