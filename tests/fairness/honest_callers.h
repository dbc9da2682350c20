// The honest callers beside the scheduler, each with a connection and an identity of its own. Each call
// of Run is one call of placement, or what stands for one. Not thread-safe.
#ifndef BERTH_TESTS_FAIRNESS_HONEST_CALLERS_H_
#define BERTH_TESTS_FAIRNESS_HONEST_CALLERS_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "berth/placement/v1/ledger.grpc.pb.h"
#include "berth/placement/v1/report.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "placement/ground/uuid.h"

namespace berth::fairness {

// Asks whether placement serves.
class HealthCheck {
 public:
  explicit HealthCheck(const std::shared_ptr<grpc::Channel>& channel);
  grpc::Status Run();

 private:
  const std::unique_ptr<grpc::health::v1::Health::Stub> stub_;
};

// Reads the revision after the newest one, which the scheduler's next claim makes.
class ReadOfTheNext {
 public:
  ReadOfTheNext(const std::shared_ptr<grpc::Channel>& channel,
                std::function<placement::v1::Revision()> newest);
  grpc::Status Run();

 private:
  const std::unique_ptr<placement::v1::LedgerService::Stub> stub_;
  const std::function<placement::v1::Revision()> newest_;
};

// Opens an export, reads the first message and goes.
class ExportsFirst {
 public:
  explicit ExportsFirst(const std::shared_ptr<grpc::Channel>& channel);
  grpc::Status Run();

 private:
  const std::unique_ptr<placement::v1::LedgerService::Stub> stub_;
};

// The tracker of one node: opens a session, is welcomed, sends a snapshot, is acknowledged and goes.
class LogIn {
 public:
  LogIn(const std::shared_ptr<grpc::Channel>& channel, const std::string& host, int tracker);
  grpc::Status Run();

 private:
  using Stream = grpc::ClientReaderWriterInterface<placement::v1::SessionRequest,
                                                   placement::v1::SessionResponse>;

  // Reads until an answer of that kind; false if the stream ends before.
  static bool Await(Stream* stream, placement::v1::SessionResponse::MessageCase wanted,
                    placement::v1::SessionResponse* answer);
  // OK; or why the session has not come to its end.
  std::string Talk(Stream* stream);

  const std::unique_ptr<placement::v1::ReportService::Stub> stub_;
  const std::string host_;
  const std::string incarnation_ = placement::Uuid::Random().ToString();
  const int tracker_;
  int64_t sequence_ = 0;
  std::map<std::string, int64_t> generations_;  // of the providers that were acknowledged
};

}  // namespace berth::fairness

#endif  // BERTH_TESTS_FAIRNESS_HONEST_CALLERS_H_
