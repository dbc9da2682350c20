#include "services/cli/text/titled_lines.h"

#include "absl/strings/str_cat.h"
#include "services/cli/text/display_width.h"

namespace berth::cli {
namespace {

constexpr int kTitleWidth = 12;

}  // namespace

std::string Render(const TitledLines& lines) {
  std::string page;
  for (const auto& [title, value] : lines) {
    absl::StrAppend(&page, PaddedRight(title, kTitleWidth), Printable(value), "\n");
  }
  return page;
}

}  // namespace berth::cli
