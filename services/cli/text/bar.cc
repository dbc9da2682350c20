#include "services/cli/text/bar.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace berth::cli {
namespace {

constexpr char kRed[] = "\x1b[31m";
constexpr char kYellow[] = "\x1b[33m";
constexpr char kGreen[] = "\x1b[32m";
constexpr double kNearlyFull = 0.8;

int FullBlocks(int64_t used, int64_t capacity, int width) {
  if (used <= 0) return 0;
  if (used >= capacity) return width;
  const double share = static_cast<double>(used) / static_cast<double>(capacity);
  const int rounded = static_cast<int>(std::lround(share * width));
  return std::clamp(rounded, std::min(1, width), std::max(0, width - 1));
}

}  // namespace

std::string Bar(int64_t used, int64_t capacity, int width, const Screen& screen) {
  const int full = FullBlocks(used, capacity, width);
  std::string blocks;
  for (int i = 0; i < width; ++i) absl::StrAppend(&blocks, i < full ? "█" : "░");
  if (!screen.colour) return blocks;
  const bool nearly = static_cast<double>(used) >= kNearlyFull * static_cast<double>(capacity);
  const char* colour = used >= capacity ? kRed : nearly ? kYellow : kGreen;
  return absl::StrCat(colour, blocks, kPlain);
}

}  // namespace berth::cli
