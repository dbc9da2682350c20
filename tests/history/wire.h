// Wire: turns records of a history into calls, and answers into records.
//
// The uuid of a provider or consumer is made from its number in the records. Pure except Invoke.
#ifndef BERTH_TESTS_HISTORY_WIRE_H_
#define BERTH_TESTS_HISTORY_WIRE_H_

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/placement/v1/revision.pb.h"
#include "google/protobuf/message.h"
#include "placement/ground/uuid.h"
#include "tests/history/history.h"

namespace berth::history {

std::string ProviderUuid(uint16_t provider);
std::string ConsumerUuid(uint64_t consumer);  // or of a record, which its consumer has, too
// Nothing if the uuid does not belong to a history.
std::optional<uint16_t> ProviderOf(const placement::Uuid& uuid);
// The number of a consumer, or of the record, with this uuid.
std::optional<uint64_t> ConsumerOf(const placement::Uuid& uuid);
std::optional<uint64_t> RecordOf(const placement::Uuid& uuid);
const char* ClassName(int resource_class);
std::optional<uint8_t> ClassOf(absl::string_view name);

std::string RequestId(int client, uint32_t number);
struct Asked {
  int client = kNobody;
  uint32_t number = 0;
};
Asked AskedBy(const std::string& request_id);

// A method and its request.
struct Call {
  std::string method;  // as in "ProviderService/CreateProvider"
  std::unique_ptr<google::protobuf::Message> request;
  std::unique_ptr<google::protobuf::Message> response;
};
// The call of `operation`. REQUIRES: it is neither a repeat nor a report.
Call CallFor(const ClientLog& log, const Operation& operation);
// Writes the revision of an answer into the record.
void TakeRevision(const placement::v1::Revision& revision, Operation* operation);
// Writes the answer into the record, and appends the rows that it read to those of `log`.
void TakeAnswer(const google::protobuf::Message& response, ClientLog* log, Operation* operation);

// The outcome of a call, from its status.
struct Verdict {
  Outcome outcome = Outcome::kUnknown;
  Reason reason = Reason::kNone;
  int64_t there = 0;  // the present value that a refusal reported
};
Verdict VerdictOf(const grpc::Status& status);

grpc::Status Invoke(grpc::Channel* channel, const std::string& method,
                    const google::protobuf::Message& request, google::protobuf::Message* response,
                    absl::Time deadline);

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_WIRE_H_
