// The operator's connection string: what is added to it, and what is never shown of it. Pure.
#ifndef BERTH_PLACEMENT_STORE_CONNECTION_STRING_H_
#define BERTH_PLACEMENT_STORE_CONNECTION_STRING_H_

#include <string>

#include "absl/strings/string_view.h"

namespace berth::placement {

// `url` with settings by which a dead server is noticed within seconds. They come first, so that
// the operator's own settings override them.
std::string WithDefaults(const std::string& url);

// `text` without the passwords that are in `url` (of the user, and of a key in sslkey), also where a
// character in them is not escaped that had to be, and without white space at its ends. Parts of such
// a password that have less than four characters may stay. If libpq says in `text` that it cannot read
// `url`, a text that names nothing of it.
std::string WithoutPassword(absl::string_view text, absl::string_view url);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_CONNECTION_STRING_H_
