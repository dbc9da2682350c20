// A service whose calls all end with UNIMPLEMENTED, so that clients can already be written for its
// proto.
#include "berth/placement/v1/host.grpc.pb.h"
#include "services/api/services.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

std::unique_ptr<grpc::Service> MakeHostService() {
  return std::make_unique<pb::HostService::CallbackService>();
}

}  // namespace berth::services
