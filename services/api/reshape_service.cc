#include "berth/placement/v1/reshape.grpc.pb.h"
#include "services/api/edge.h"
#include "services/api/services.h"
#include "services/wire/reshape.h"

namespace berth::services {
namespace {

class ReshapeService final : public pb::ReshapeService::CallbackService {
 public:
  explicit ReshapeService(Edge* edge) : edge_(edge) {}

  Reactor* Reshape(Context* context, const pb::ReshapeRequest* request,
                   pb::ReshapeResponse* response) override {
    return edge_->Write(context, request, response, ReshapeCommand, FillReshape);
  }
  Reactor* ApplyTopology(Context* context, const pb::ApplyTopologyRequest* request,
                         pb::ApplyTopologyResponse* response) override {
    return edge_->Write(context, request, response, ApplyTopologyCommand, FillApplyTopology);
  }

 private:
  Edge* const edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeReshapeService(Edge* edge) {
  return std::make_unique<ReshapeService>(edge);
}

}  // namespace berth::services
