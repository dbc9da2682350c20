#include "berth/placement/v1/consumer.grpc.pb.h"
#include "services/call.h"
#include "services/placement_services.h"
#include "services/wire_consumer.h"

namespace berth::services {
namespace {

class ConsumerService final : public pb::ConsumerService::CallbackService {
 public:
  explicit ConsumerService(Edge* edge) : edge_(edge) {}

  Reactor* ReleaseConsumers(Context* context, const pb::ReleaseConsumersRequest* request,
                            pb::ReleaseConsumersResponse* response) override {
    return edge_->Write(context, request, response, ReleaseConsumersCommand,
                        [request](const WriteAnswer& answer, pb::ReleaseConsumersResponse* to) {
                          FillReleaseConsumers(*request, answer, to);
                        });
  }
  Reactor* SetLease(Context* context, const pb::SetLeaseRequest* request,
                    pb::SetLeaseResponse* response) override {
    return edge_->Write(context, request, response, SetLeaseCommand, FillSetLease);
  }

 private:
  Edge* const edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeConsumerService(Edge* edge) {
  return std::make_unique<ConsumerService>(edge);
}

}  // namespace berth::services
