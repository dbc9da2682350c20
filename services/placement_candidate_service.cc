#include "berth/placement/v1/candidate.grpc.pb.h"
#include "services/call.h"
#include "services/placement_services.h"
#include "services/wire_candidate.h"

namespace berth::services {
namespace {

using placement::State;

class CandidateService final : public pb::CandidateService::CallbackService {
 public:
  CandidateService(Edge* edge, const placement::SearchBudget& budget)
      : edge_(edge), budget_(budget) {}

  Reactor* FindCandidates(Context* context, const pb::FindCandidatesRequest* request,
                          pb::FindCandidatesResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy,
                       [this](const State& state, const pb::FindCandidatesRequest& asked,
                              pb::FindCandidatesResponse* to) { return Find(state, asked, to); });
  }

 private:
  absl::Status Find(const State& state, const pb::FindCandidatesRequest& request,
                    pb::FindCandidatesResponse* response) const {
    const auto wanted = CandidateRequestOf(request);
    BERTH_RETURN_IF_ERROR(wanted.status());
    const auto found = placement::FindCandidates(state, *wanted, budget_);
    BERTH_RETURN_IF_ERROR(found.status());
    FillCandidates(state, request, *found, response);
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
