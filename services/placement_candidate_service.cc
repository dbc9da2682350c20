#include "berth/placement/v1/candidate.grpc.pb.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/byte_buffer.h"
#include "services/call.h"
#include "services/candidate_writer.h"
#include "services/placement_services.h"
#include "services/wire_candidate.h"

namespace berth::services {
namespace {

using placement::State;

using Service = pb::CandidateService::WithRawCallbackMethod_FindCandidates<
    pb::CandidateService::CallbackService>;

class CandidateService final : public Service {
 public:
  CandidateService(Edge* edge, const placement::SearchBudget& budget)
      : edge_(edge), budget_(budget) {}

  // The reply is written as bytes: as messages it would cost more than the search.
  Reactor* FindCandidates(Context* context, const grpc::ByteBuffer* bytes,
                          grpc::ByteBuffer* reply) override {
    const auto request = std::make_shared<pb::FindCandidatesRequest>();
    UnaryCall* const call = edge_->Begin(context, request.get());
    grpc::ByteBuffer copy = *bytes;  // of references
    if (!grpc::SerializationTraits<pb::FindCandidatesRequest>::Deserialize(&copy, request.get())
             .ok()) {
      call->End(absl::InternalError("the request is not a FindCandidatesRequest"));
      return call;
    }
    edge_->WithState(
        call, *request, request->has_minimum_revision() ? &request->minimum_revision() : nullptr,
        Cost::kHeavy,
        [this, request, reply](const State& state) { return Find(state, *request, reply); });
    return call;
  }

 private:
  absl::Status Find(const State& state, const pb::FindCandidatesRequest& request,
                    grpc::ByteBuffer* reply) const {
    const auto wanted = CandidateRequestOf(request);
    BERTH_RETURN_IF_ERROR(wanted.status());
    const auto found = placement::FindCandidates(state, *wanted, budget_);
    BERTH_RETURN_IF_ERROR(found.status());
    WireBytes written = CandidateWriter(state, *found).Write(!request.omit_summaries());
    const size_t size = written.size;
    // gRPC sends the very bytes, and frees them.
    const grpc::Slice slice(written.data.release(), size,
                            [](void* data) { delete[] static_cast<char*>(data); });
    *reply = grpc::ByteBuffer(&slice, 1);
    return absl::OkStatus();
  }

  Edge* const edge_;
  const placement::SearchBudget budget_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeCandidateService(Edge* edge,
                                                    const placement::SearchBudget& budget) {
  return std::make_unique<CandidateService>(edge, budget);
}

}  // namespace berth::services
