#include "services/process/status.h"

#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"

namespace berth::services {
namespace {

grpc::Status InTrailers(const google::rpc::Status& error) {
  return {static_cast<grpc::StatusCode>(error.code()), error.message(), error.SerializeAsString()};
}

}  // namespace

grpc::Status WireStatus(absl::StatusCode code, absl::string_view message, absl::string_view domain,
                        const placement::Refusal& refusal) {
  return InTrailers(ErrorOf(code, message, domain, refusal));
}

grpc::Status PlacementStatus(const absl::Status& status) {
  return status.ok() ? grpc::Status::OK : InTrailers(PlacementError(status));
}

}  // namespace berth::services
