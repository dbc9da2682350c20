// GrpcSubject: a placement process that is called over gRPC.
#ifndef BERTH_TESTS_ORACLE_GRPC_SUBJECT_H_
#define BERTH_TESTS_ORACLE_GRPC_SUBJECT_H_

#include <memory>
#include <string>

#include "tests/oracle/subject.h"

namespace berth::oracle {

class GrpcSubject : public Subject {
 public:
  // `address` as gRPC takes it, e.g. "127.0.0.1:50051".
  explicit GrpcSubject(const std::string& address);
  ~GrpcSubject() override;

  absl::Status Write(const CommandBody& command) override;
  absl::StatusOr<Found> Find(const CandidateRequest& request) override;
  std::optional<ProviderView> Provider(ProviderId id) override;
  std::optional<ConsumerView> Consumer(ConsumerId id) override;

 private:
  struct Stubs;
  std::unique_ptr<Stubs> stubs_;
};

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_GRPC_SUBJECT_H_
