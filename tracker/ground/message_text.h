// Texts from outside, made fit for messages. Protobuf parses a text only if it is valid UTF-8, and
// placement refuses a text that contains the character U+0000.
//
// Pure functions.
#ifndef BERTH_TRACKER_GROUND_MESSAGE_TEXT_H_
#define BERTH_TRACKER_GROUND_MESSAGE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace berth::tracker {

// Returns the beginning of `text`, at most `bytes_max` bytes. Cuts between two UTF-8 characters.
absl::string_view CutText(absl::string_view text, size_t bytes_max);

// Returns `text` with a question mark for each byte that is not part of a UTF-8 character, and for
// each U+0000.
std::string MessageText(absl::string_view text);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_GROUND_MESSAGE_TEXT_H_
