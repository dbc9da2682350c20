// Bar: shows how full something is as a row of blocks. Pure.
#ifndef BERTH_SERVICES_CLI_TEXT_BAR_H_
#define BERTH_SERVICES_CLI_TEXT_BAR_H_

#include <cstdint>
#include <string>

#include "services/cli/text/screen.h"

namespace berth::cli {

// `width` blocks, of which the share `used` of `capacity` is full. If anything is used, at least
// one block is full; if anything is free, at least one is empty. On a screen with colours the bar
// is red if full, yellow from 80 %, otherwise green.
std::string Bar(int64_t used, int64_t capacity, int width, const Screen& screen);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_BAR_H_
