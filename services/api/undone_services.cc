// Services whose calls all end with UNIMPLEMENTED, so that clients can already be written for their
// protos.
#include "berth/placement/v1/host.grpc.pb.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "services/api/services.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

std::unique_ptr<grpc::Service> MakeHostService() {
  return std::make_unique<pb::HostService::CallbackService>();
}
std::unique_ptr<grpc::Service> MakeInstanceService() {
  return std::make_unique<pb::InstanceService::CallbackService>();
}

}  // namespace berth::services
