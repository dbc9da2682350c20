// Notation: providers and claims written as a line of text, for worlds in tests.
//
//   cn1[HW_NUMA_ROOT,CUSTOM_A]{VCPU:8 ratio 2 used 3, MEMORY_MB:4096 reserved 512}(agg1,agg2)
//
// Behind a total stand ratio, reserved, min, max, step and used; max is the total unless it is
// given. The three brackets come in any order and may be missing. Bad notation ends the test.
// Pure.
#ifndef BERTH_TESTS_WORLDS_NOTATION_H_
#define BERTH_TESTS_WORLDS_NOTATION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "placement/values/types.h"

namespace berth::placement {

struct ProviderNotation {
  int indent = 0;  // spaces before the name
  std::string name;
  std::vector<std::string> traits;
  std::vector<NamedInventory> inventories;
  std::vector<NamedAmount> used;
  std::vector<std::string> aggregates;
};

// One line.
ProviderNotation ParseProvider(absl::string_view line);
// "VCPU:8 ratio 2 used 3, MEMORY_MB:4096": what stands between the braces.
void ParseInventories(absl::string_view text, ProviderNotation& provider);
// "VCPU:2, MEMORY_MB:512".
std::vector<NamedAmount> ParseAmounts(absl::string_view text);

// "a, b ,c" without blanks and empty parts.
std::vector<std::string> SplitNames(absl::string_view text);

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_NOTATION_H_
