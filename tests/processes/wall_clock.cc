#include "tests/processes/wall_clock.h"

#include <cstdint>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace berth::e2e {

void WallClock::SetAhead(absl::Duration by) const {
  const int64_t seconds = absl::ToInt64Seconds(by);
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  if (!file) file.open(path_, std::ios::binary | std::ios::out);
  file.write(reinterpret_cast<const char*>(&seconds), sizeof(seconds));
}

std::vector<std::string> WallClock::Under(const std::vector<std::string>& command) const {
  std::vector<std::string> all = {"/usr/bin/env", absl::StrCat("LD_PRELOAD=", BERTH_STEPPED_CLOCK),
                                  absl::StrCat("BERTH_TEST_CLOCK=", path_)};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

}  // namespace berth::e2e
