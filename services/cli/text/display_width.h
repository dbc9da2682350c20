// Text as a terminal shows it: how many columns it takes, cut and padded to columns.
//
// Pure. Texts are UTF-8; colour sequences (ESC [ ... m) take no column; wide characters take two.
#ifndef BERTH_SERVICES_CLI_TEXT_DISPLAY_WIDTH_H_
#define BERTH_SERVICES_CLI_TEXT_DISPLAY_WIDTH_H_

#include <string>

#include "absl/strings/string_view.h"

namespace berth::cli {

// The columns that `text` takes.
int DisplayWidth(absl::string_view text);

// `text` without what would steer a terminal: a name from a server is data, whatever is in it.
std::string Printable(absl::string_view text);

// `text` cut to `width` columns, with an ellipsis where something was cut. Takes no colours.
std::string Fitted(absl::string_view text, int width);

// `text` with spaces after (or before) it up to `width` columns.
std::string PaddedRight(absl::string_view text, int width);
std::string PaddedLeft(absl::string_view text, int width);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_DISPLAY_WIDTH_H_
