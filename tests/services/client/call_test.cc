// Write and Read: what is sent again and when, what is asked, and what the caller is told, with
// servers that play one script.
#include "services/client/cpp/call.h"

#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "services/client/cpp/backoff.h"
#include "services/client/cpp/mutex.h"

namespace berth::client {
namespace {

namespace pb = ::berth::placement::v1;

const std::map<std::string, grpc::StatusCode> kCodes = {
    {"UNAVAILABLE", grpc::StatusCode::UNAVAILABLE},
    {"DEADLINE_EXCEEDED", grpc::StatusCode::DEADLINE_EXCEEDED},
    {"RESOURCE_EXHAUSTED", grpc::StatusCode::RESOURCE_EXHAUSTED},
    {"FAILED_PRECONDITION", grpc::StatusCode::FAILED_PRECONDITION},
    {"PERMISSION_DENIED", grpc::StatusCode::PERMISSION_DENIED},
    {"INVALID_ARGUMENT", grpc::StatusCode::INVALID_ARGUMENT},
    {"INTERNAL", grpc::StatusCode::INTERNAL},
    {"UNIMPLEMENTED", grpc::StatusCode::UNIMPLEMENTED},
    {"UNKNOWN", grpc::StatusCode::UNKNOWN},
    {"ABORTED", grpc::StatusCode::ABORTED},
};

// "CODE", "CODE/REASON" or "CODE/REASON/WAIT". WAIT is the milliseconds that the server asks to wait;
// with 1 ms the client waits as little as it can.
grpc::Status StatusOf(const std::string& words) {
  const std::vector<std::string> parts = absl::StrSplit(words, '/');
  if (parts.size() == 1) return {kCodes.at(parts[0]), "said so"};
  google::rpc::ErrorInfo info;
  info.set_domain("berth.placement");
  info.set_reason(parts[1]);
  (*info.mutable_metadata())["retry_delay_ms"] = parts.size() > 2 ? parts[2] : "1";
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  return {kCodes.at(parts[0]), "said so", details.SerializeAsString()};
}

// The answers of all processes, one after the other. An answer to a GetRequest begins with '?'.
class Script {
 public:
  explicit Script(const std::string& words) : words_(absl::StrSplit(words, ' ')) {}

  std::string Next(bool asked, const std::string& request_id) {
    MutexLock lock(&mutex_);
    const std::string word = words_[std::min(said_, words_.size() - 1)];
    ++said_;
    ids_.insert(request_id);
    EXPECT_EQ(asked, word[0] == '?') << word;
    return std::string(absl::StripPrefix(word, "?"));
  }
  size_t said() {
    MutexLock lock(&mutex_);
    return said_;
  }
  std::set<std::string> ids() {
    MutexLock lock(&mutex_);
    return ids_;
  }

 private:
  const std::vector<std::string> words_;
  Mutex mutex_;
  size_t said_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<std::string> ids_ ABSL_GUARDED_BY(mutex_);
};

class PlayedPlacement final : public pb::AllocationService::Service,
                              public pb::LedgerService::Service {
 public:
  explicit PlayedPlacement(Script* script) : script_(script) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(static_cast<pb::AllocationService::Service*>(this));
    builder.RegisterService(static_cast<pb::LedgerService::Service*>(this));
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~PlayedPlacement() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::Status SetAllocations(grpc::ServerContext*, const pb::SetAllocationsRequest* request,
                              pb::SetAllocationsResponse* response) override {
    const std::string word = script_->Next(false, request->request_id());
    if (word != "ok") return StatusOf(word);
    response->mutable_revision()->set_number(7);
    return grpc::Status::OK;
  }
  grpc::Status GetRequest(grpc::ServerContext*, const pb::GetRequestRequest* request,
                          pb::GetRequestResponse* response) override {
    EXPECT_TRUE(request->cancel_if_absent());
    const std::string word = script_->Next(true, request->request_id());
    pb::RequestOutcome outcome = pb::REQUEST_OUTCOME_UNSPECIFIED;
    if (!pb::RequestOutcome_Parse("REQUEST_OUTCOME_" + word, &outcome)) return StatusOf(word);
    response->set_outcome(outcome);
    pb::SetAllocationsResponse kept;
    kept.mutable_revision()->set_number(8);
    if (outcome == pb::REQUEST_OUTCOME_APPLIED) response->mutable_response()->PackFrom(kept);
    return grpc::Status::OK;
  }
  const std::string& address() const { return address_; }

 private:
  Script* const script_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

struct Sent {
  const char* script;
  const char* told;  // the status and the reason; OK: with the revision of the answer
};

constexpr Sent kSent[] = {
    {"ok", "OK 7"},
    {"RESOURCE_EXHAUSTED/CAPACITY_EXCEEDED", "RESOURCE_EXHAUSTED CAPACITY_EXCEEDED"},
    {"ABORTED/CONSUMER_GENERATION_CONFLICT", "ABORTED CONSUMER_GENERATION_CONFLICT"},
    {"PERMISSION_DENIED", "PERMISSION_DENIED "},
    // Nothing was done: again.
    {"UNAVAILABLE/NOT_SERVING UNAVAILABLE/OVERLOADED ok", "OK 7"},
    {"DEADLINE_EXCEEDED/DEADLINE_BEFORE_START ok", "OK 7"},
    {"UNAVAILABLE/STALE ABORTED/RECORD_CONFLICT", "ABORTED RECORD_CONFLICT"},
    // Perhaps it was done: again, with the same id.
    {"UNAVAILABLE ok", "OK 7"},
    {"DEADLINE_EXCEEDED UNKNOWN ok", "OK 7"},
    {"DEADLINE_EXCEEDED/OUTCOME_UNKNOWN ok", "OK 7"},
    // A refusal says nothing about what was sent before it.
    {"UNAVAILABLE RESOURCE_EXHAUSTED/CAPACITY_EXCEEDED ?CANCELLED",
     "RESOURCE_EXHAUSTED CAPACITY_EXCEEDED"},
    {"UNAVAILABLE RESOURCE_EXHAUSTED/CAPACITY_EXCEEDED ?APPLIED", "OK 8"},
    {"DEADLINE_EXCEEDED UNAVAILABLE/STALE ABORTED/RECORD_CONFLICT ?UNAVAILABLE/STALE ?APPLIED",
     "OK 8"},
    {"UNAVAILABLE ABORTED/RECORD_CONFLICT ?UNAVAILABLE ?CANCELLED", "ABORTED RECORD_CONFLICT"},
    {"UNAVAILABLE ABORTED/RECORD_CONFLICT ?PERMISSION_DENIED", "DEADLINE_EXCEEDED OUTCOME_UNKNOWN"},
    {"UNAVAILABLE ABORTED/RECORD_CONFLICT ?ABSENT", "DEADLINE_EXCEEDED OUTCOME_UNKNOWN"},
    {"INTERNAL ?CANCELLED", "INTERNAL "},
    {"RESOURCE_EXHAUSTED ?APPLIED", "OK 8"},
    {"UNAVAILABLE FAILED_PRECONDITION/REQUEST_CANCELLED", "FAILED_PRECONDITION REQUEST_CANCELLED"},
    {"UNAVAILABLE INVALID_ARGUMENT/REQUEST_ID_REUSED", "INVALID_ARGUMENT REQUEST_ID_REUSED"},
    // Of another release: a method that it does not have, and a reason that nobody knows here.
    {"UNIMPLEMENTED", "UNIMPLEMENTED "},
    {"UNAVAILABLE UNIMPLEMENTED ?CANCELLED", "UNIMPLEMENTED "},
    {"UNAVAILABLE UNIMPLEMENTED ?UNIMPLEMENTED", "DEADLINE_EXCEEDED OUTCOME_UNKNOWN"},
    {"ABORTED/OF_TOMORROW", "ABORTED OF_TOMORROW"},
    {"DEADLINE_EXCEEDED/OF_TOMORROW", "DEADLINE_EXCEEDED OF_TOMORROW"},
    {"UNAVAILABLE/OF_TOMORROW ok", "OK 7"},
    {"UNAVAILABLE/OF_TOMORROW ABORTED/OF_TOMORROW", "ABORTED OF_TOMORROW"},
    {"UNAVAILABLE ABORTED/OF_TOMORROW ?CANCELLED", "ABORTED OF_TOMORROW"},
    {"UNAVAILABLE ABORTED/OF_TOMORROW ?ABORTED/OF_TOMORROW", "DEADLINE_EXCEEDED OUTCOME_UNKNOWN"},
    // The time would be over before the next attempt.
    {"UNAVAILABLE/STALE UNAVAILABLE/STALE/60000", "UNAVAILABLE STALE"},
    {"UNAVAILABLE UNAVAILABLE/STALE/60000", "DEADLINE_EXCEEDED OUTCOME_UNKNOWN"},
    {"UNAVAILABLE ABORTED/RECORD_CONFLICT ?UNAVAILABLE/STALE/60000",
     "DEADLINE_EXCEEDED OUTCOME_UNKNOWN"},
};

// A server that asks for no wait must not make the caller a loop.
TEST(CallTest, HasPausesWhateverTheServerAsksFor) {
  CallOptions options;
  options.timeout = 10 * kPauseMin;
  Script written("UNAVAILABLE/STALE/0"), read("?UNAVAILABLE/STALE/-1");
  for (Script* const script : {&written, &read}) {
    const PlayedPlacement server(script);
    Endpoints endpoints({server.address()});
    pb::SetAllocationsResponse done;
    pb::GetRequestRequest request;
    request.set_cancel_if_absent(true);
    pb::GetRequestResponse response;
    const Failure failure =
        script == &written
            ? Write(&endpoints, &pb::AllocationService::Stub::SetAllocations,
                    pb::SetAllocationsRequest(), &done, options)
            : Read(&endpoints, &pb::LedgerService::Stub::GetRequest, request, &response, options);
    EXPECT_EQ(failure.reason, "STALE");
    EXPECT_GE(script->said(), 1U);
    EXPECT_LE(script->said(), 10U);
  }
}

TEST(WriteTest, IsSentUntilItsOutcomeIsKnown) {
  for (const Sent& one : kSent) {
    SCOPED_TRACE(one.script);
    Script script(one.script);
    const PlayedPlacement first(&script), second(&script);
    Endpoints endpoints({first.address(), second.address()});
    CallOptions options;
    options.timeout = absl::Minutes(1);
    pb::SetAllocationsResponse response;
    const Failure failure = Write(&endpoints, &pb::AllocationService::Stub::SetAllocations,
                                  pb::SetAllocationsRequest(), &response, options);
    const std::string told =
        failure.ok() ? absl::StrCat("OK ", response.revision().number())
                     : absl::StrCat(absl::StatusCodeToString(failure.code), " ", failure.reason);
    EXPECT_EQ(told, one.told);
    EXPECT_EQ(script.said(), std::vector<std::string>(absl::StrSplit(one.script, ' ')).size());
    ASSERT_EQ(script.ids().size(), 1U);
    EXPECT_EQ(script.ids().begin()->size(), 32U);
    if (failure.reason == "OUTCOME_UNKNOWN") {
      EXPECT_EQ(failure.items.at(0).at("request_id"), *script.ids().begin());
    }
  }
}

// A read may be sent again whatever became of it, so nothing is asked about it.
constexpr Sent kAsked[] = {
    {"ok", "OK 7"},
    {"ABORTED/EPOCH_UNKNOWN", "ABORTED EPOCH_UNKNOWN"},
    {"ABORTED/OF_TOMORROW", "ABORTED OF_TOMORROW"},
    {"UNIMPLEMENTED", "UNIMPLEMENTED "},
    {"PERMISSION_DENIED", "PERMISSION_DENIED "},
    {"UNAVAILABLE/NOT_SERVING UNAVAILABLE/OF_TOMORROW ok", "OK 7"},
    {"UNAVAILABLE DEADLINE_EXCEEDED UNKNOWN ok", "OK 7"},
    {"UNAVAILABLE ABORTED/OF_TOMORROW", "ABORTED OF_TOMORROW"},
    {"UNAVAILABLE UNIMPLEMENTED", "UNIMPLEMENTED "},
    {"UNAVAILABLE UNAVAILABLE/STALE/60000", "UNAVAILABLE STALE"},
};

TEST(ReadTest, IsSentUntilItIsAnswered) {
  for (const Sent& one : kAsked) {
    SCOPED_TRACE(one.script);
    Script script(one.script);
    const PlayedPlacement first(&script), second(&script);
    Endpoints endpoints({first.address(), second.address()});
    CallOptions options;
    options.timeout = absl::Minutes(1);
    pb::SetAllocationsResponse response;
    response.mutable_revision()->set_number(1);  // of an earlier call
    // Any method will do.
    const Failure failure = Read(&endpoints, &pb::AllocationService::Stub::SetAllocations,
                                 pb::SetAllocationsRequest(), &response, options);
    const std::string told =
        failure.ok() ? absl::StrCat("OK ", response.revision().number())
                     : absl::StrCat(absl::StatusCodeToString(failure.code), " ", failure.reason);
    EXPECT_EQ(told, one.told);
    EXPECT_EQ(response.has_revision(), failure.ok());
    EXPECT_EQ(script.said(), std::vector<std::string>(absl::StrSplit(one.script, ' ')).size());
  }
}

TEST(WriteTest, TheCallersRequestIdIsKept) {
  Script script("UNAVAILABLE ok");
  const PlayedPlacement server(&script);
  Endpoints endpoints({server.address()});
  pb::SetAllocationsRequest request;
  request.set_request_id("mine");
  pb::SetAllocationsResponse response;
  EXPECT_TRUE(
      Write(&endpoints, &pb::AllocationService::Stub::SetAllocations, request, &response).ok());
  EXPECT_EQ(script.ids(), std::set<std::string>{"mine"});
  EXPECT_NE(RandomRequestId(), RandomRequestId());
}

TEST(WriteTest, AProcessThatIsNotThereIsPassedOver) {
  Script script("ok");
  const PlayedPlacement server(&script);
  for (int i = 0; i < 8; ++i) {  // each begins with any of them
    Endpoints endpoints({"unix:/nowhere/at/all", server.address()});
    pb::SetAllocationsResponse response;
    const Failure failure = Write(&endpoints, &pb::AllocationService::Stub::SetAllocations,
                                  pb::SetAllocationsRequest(), &response);
    EXPECT_TRUE(failure.ok()) << InWords(failure);
  }
}

// Nothing was sent, so the outcome is known, and it is told who is not there.
TEST(WriteTest, NoProcessIsThere) {
  Endpoints endpoints({"unix:/nowhere/at/all"});
  CallOptions options;
  options.timeout = absl::Milliseconds(500);
  pb::SetAllocationsResponse response;
  pb::GetAllocationsResponse unread;
  const absl::Duration began = Now();
  const Failure failure = Write(&endpoints, &pb::AllocationService::Stub::SetAllocations,
                                pb::SetAllocationsRequest(), &response, options);
  const Failure read = Read(&endpoints, &pb::AllocationService::Stub::GetAllocations,
                            pb::GetAllocationsRequest(), &unread, options);
  for (const Failure& one : {failure, read}) {
    EXPECT_EQ(one.code, absl::StatusCode::kUnavailable);
    EXPECT_EQ(one.reason, "UNREACHABLE");
    EXPECT_THAT(one.message, ::testing::HasSubstr("/nowhere/at/all"));
  }
  EXPECT_LT(Now() - began, absl::Seconds(30));
}

}  // namespace
}  // namespace berth::client
