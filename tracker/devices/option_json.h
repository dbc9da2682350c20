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

// Returns InvalidArgument with the text `where: what`. An example of `where` is `alias[0].name`.
absl::Status WrongOption(absl::string_view where, absl::string_view what);

// Parses the text of the option `where`. InvalidArgument, with the position of the error in bytes
// from 1, if the text is not JSON.
absl::StatusOr<nlohmann::json> ParseOptionJson(absl::string_view where, const std::string& text);

// Converts a JSON value to texts: a text stays as it is, a number or a boolean becomes a text, null
// an empty text, and a list a list of such texts. InvalidArgument for an object, and for a list
// with an object or a list.
absl::StatusOr<PropertyValue> PropertyOfJson(absl::string_view where, const nlohmann::json& value);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_DEVICES_OPTION_JSON_H_
