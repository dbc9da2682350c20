// Reads options with JSON text, and says where the text is wrong.
//
// Pure functions.
#ifndef BERTH_TRACKER_DEVICES_OPTION_JSON_H_
#define BERTH_TRACKER_DEVICES_OPTION_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tracker/devices/properties.h"

namespace berth::tracker {

// Returns InvalidArgument with the text `where: what`. `where` names the option: `alias[0].name`.
absl::Status WrongOption(absl::string_view where, absl::string_view what);

// Parses `text`, the value of the option that `where` names, as JSON. If it is not JSON, returns
// InvalidArgument with `where` and the position of the error in bytes; the first byte is byte 1.
absl::StatusOr<nlohmann::json> ParseOptionJson(absl::string_view where, const std::string& text);

// Converts a JSON value to texts: a text stays as it is, a number or a boolean becomes a text, null
// an empty text, and a list a list of such texts. InvalidArgument for an object, and for a list
// with an object, a list or null.
absl::StatusOr<PropertyValue> PropertyOfJson(absl::string_view where, const nlohmann::json& value);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_DEVICES_OPTION_JSON_H_
