// Messages as JSON, by the names and rules of proto3's JSON mapping. Pure.
#ifndef BERTH_SERVICES_CLI_SESSION_JSON_H_
#define BERTH_SERVICES_CLI_SESSION_JSON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace berth::cli {

enum class JsonForm {
  kIndented,  // over several lines
  kLine       // one line, to stream
};

// Every field that has a value or a default; maps by ascending key, so that equal messages read
// equal. Ends with a line feed.
std::string ToJson(const google::protobuf::Message& message, JsonForm form);

// Fills `message`; kInvalidArgument, in words, for what does not fit its type.
absl::Status FromJson(absl::string_view json, google::protobuf::Message* message);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_JSON_H_
