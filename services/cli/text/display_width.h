// Computes how many columns a text takes on a terminal; cuts and pads texts to a number of columns.
//
// Pure. Texts are UTF-8. Colour sequences (ESC [ ... m) take no column; wide characters take two.
#ifndef BERTH_SERVICES_CLI_TEXT_DISPLAY_WIDTH_H_
#define BERTH_SERVICES_CLI_TEXT_DISPLAY_WIDTH_H_

#include <string>

#include "absl/strings/string_view.h"

namespace berth::cli {

// The number of columns that `text` takes.
int DisplayWidth(absl::string_view text);

// `text` with a `?` for each control character, each character that changes the text direction, and
// each invalid byte. A name that comes from a server must not control the terminal.
std::string Printable(absl::string_view text);

// Returns `text` cut to `width` columns. If something was cut, the text ends with an ellipsis.
// `text` must not contain colour sequences.
std::string Fitted(absl::string_view text, int width);

// Return `text` with spaces after it, or before it, so that the result takes `width` columns.
std::string PaddedRight(absl::string_view text, int width);
std::string PaddedLeft(absl::string_view text, int width);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_DISPLAY_WIDTH_H_
