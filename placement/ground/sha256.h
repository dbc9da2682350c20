// The digest function of placement. Pure.
#ifndef BERTH_PLACEMENT_GROUND_SHA256_H_
#define BERTH_PLACEMENT_GROUND_SHA256_H_

#include <string>

#include "absl/strings/string_view.h"

namespace berth::placement {

// SHA-256 of `bytes`: 32 bytes.
std::string Sha256(absl::string_view bytes);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_GROUND_SHA256_H_
