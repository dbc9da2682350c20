// Request notation: a candidate request written as a line of text, for tests of the search.
//
//   r VCPU:1,DISK_GB:10 q CUSTOM_A,!CUSTOM_B m in:agg1,agg2; r.1 VGPU:1 t.1 cn1; iso
//
// Words come in pairs, apart from the policy: r resources, q traits (`!` forbids, `in:` begins an
// any-of set), m aggregates (`A`, `!A`, `in:A,B`, `!in:A,B`), t tree; behind a dot the group's
// suffix; max the providers that may share a class (`VCPU:2`). For the whole request: root and rootm
// (traits and aggregates of the root), ss, apart and sep (sets of suffixes: same_subtree, isolate,
// separate_subtrees), limit; none and iso say the policy. Groups stand in the order in which they are first named. Semicolons and
// commas at the end of a word mean nothing. Bad notation ends the test.
#ifndef BERTH_TESTS_WORLDS_REQUEST_NOTATION_H_
#define BERTH_TESTS_WORLDS_REQUEST_NOTATION_H_

#include "absl/strings/string_view.h"
#include "placement/search/search.h"
#include "tests/worlds/world.h"

namespace berth::placement {

// Names of providers and aggregates are those of `world`.
CandidateRequest ParseRequest(World& world, absl::string_view text);

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_REQUEST_NOTATION_H_
