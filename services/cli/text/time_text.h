// Formats times as text for people. Pure.
#ifndef BERTH_SERVICES_CLI_TEXT_TIME_TEXT_H_
#define BERTH_SERVICES_CLI_TEXT_TIME_TEXT_H_

#include <string>

#include "google/protobuf/timestamp.pb.h"

namespace berth::cli {

// `time` as RFC 3339, to the second.
std::string TimeText(google::protobuf::Timestamp time);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_TIME_TEXT_H_
