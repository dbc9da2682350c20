// Bar: how full something is, as a row of blocks. Pure.
#ifndef BERTH_SERVICES_CLI_TEXT_BAR_H_
#define BERTH_SERVICES_CLI_TEXT_BAR_H_

#include <cstdint>
#include <string>

#include "services/cli/text/screen.h"

namespace berth::cli {

// `width` blocks, as many of them full as `used` is of `capacity`. Something used shows at least one
// full block, something free at least one empty one. Red when full, yellow from 80 % on, else green,
// on a screen with colours.
std::string Bar(int64_t used, int64_t capacity, int width, const Screen& screen);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_BAR_H_
