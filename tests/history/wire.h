// Wire: records of a history as calls of placement, and answers as records.
//
// Uuids are made of the numbers that records know providers and consumers by. Pure but for Invoke.
#ifndef BERTH_TESTS_HISTORY_WIRE_H_
#define BERTH_TESTS_HISTORY_WIRE_H_

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/message.h"
#include "placement/ground/uuid.h"
#include "tests/history/history.h"

namespace berth::history {

std::string ProviderUuid(uint16_t provider);
std::string ConsumerUuid(uint64_t consumer);
// Nothing where it is none of a history.
std::optional<uint16_t> ProviderOf(const placement::Uuid& uuid);
std::optional<uint64_t> ConsumerOf(const placement::Uuid& uuid);
const char* ClassName(int resource_class);
std::optional<uint8_t> ClassOf(absl::string_view name);

std::string RequestId(int client, uint32_t number);
struct Asked {
  int client = kNobody;
  uint32_t number = 0;
};
Asked AskedBy(const std::string& request_id);

// A call that is ready to be made.
struct Call {
  std::string method;  // as in "ProviderService/CreateProvider"
  std::unique_ptr<google::protobuf::Message> request;
  std::unique_ptr<google::protobuf::Message> response;
};
// The call that `operation` is. REQUIRES: it is no repeat.
Call CallFor(const ClientLog& log, const Operation& operation);
// What was answered, into the record; rows that were read are appended to those of `log`.
void TakeAnswer(const google::protobuf::Message& response, ClientLog* log, Operation* operation);

// What a status says of a call's outcome.
struct Verdict {
  Outcome outcome = Outcome::kUnknown;
  Reason reason = Reason::kNone;
  int64_t there = 0;  // what a refusal named as there
};
Verdict VerdictOf(const grpc::Status& status);

grpc::Status Invoke(grpc::Channel* channel, const std::string& method,
                    const google::protobuf::Message& request, google::protobuf::Message* response,
                    absl::Time deadline);

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_WIRE_H_
