// The reply to a write, made again from the answer that the ledger kept under its request id.
//
// One table: which method's reply is made how. A write that is not in it answers GetRequest without
// its reply; a test sees to it that none is missing. Pure.
#ifndef BERTH_SERVICES_API_KEPT_REPLY_H_
#define BERTH_SERVICES_API_KEPT_REPLY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/any.pb.h"
#include "google/protobuf/message.h"
#include "placement/commands/command.h"
#include "services/wire/write_answer.h"

namespace berth::services {

// What has to be kept of `request`, a call of `method`, to make its reply again.
placement::Asked AskedBy(const google::protobuf::Message& request, const std::string& method);

// Packs the reply to what `answer` answered into `to`. False where its method is not known.
bool FillKeptReply(const WriteAnswer& answer, google::protobuf::Any* to);

// The methods that are known, as "/package.Service/Method".
std::vector<std::string> KeptMethods();

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_KEPT_REPLY_H_
