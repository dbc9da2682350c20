// Makes the reply to a write again, from the answer that the ledger kept under its request id.
//
// One table says for each method how its reply is made. If a write were missing in the table,
// GetRequest would answer for this write without its reply; a test checks that no write is missing.
// Pure functions.
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

// Returns the part of `request`, a request of `method`, that the ledger must keep so that the reply
// can be made again.
placement::Asked AskedBy(const google::protobuf::Message& request, const std::string& method);

// Makes the reply to the call from `answer`, and packs it into `to`. Returns false if the method of
// the call is not in the table.
bool FillKeptReply(const WriteAnswer& answer, google::protobuf::Any* to);

// The methods of the table, as "/package.Service/Method".
std::vector<std::string> KeptMethods();

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_KEPT_REPLY_H_
