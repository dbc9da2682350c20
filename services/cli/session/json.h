// Converts messages to JSON and back, by the names and rules of proto3's JSON mapping. Pure.
#ifndef BERTH_SERVICES_CLI_SESSION_JSON_H_
#define BERTH_SERVICES_CLI_SESSION_JSON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace berth::cli {

enum class JsonForm {
  kIndented,  // on several lines
  kLine       // on one line, for streams
};

// `message` as JSON with every field that has a value or a default. Maps are sorted by key, so that
// equal messages give equal texts. Ends with a line feed.
std::string ToJson(const google::protobuf::Message& message, JsonForm form);

// Fills `message` from JSON. kInvalidArgument, with an explanation, for JSON that does not match
// the type of `message`.
absl::Status FromJson(absl::string_view json, google::protobuf::Message* message);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_JSON_H_
