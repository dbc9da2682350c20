#include <optional>

#include "berth/placement/v1/candidate.grpc.pb.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/byte_buffer.h"
#include "placement/claims/search.h"
#include "placement/explain/explain.h"
#include "placement/explain/headroom.h"
#include "placement/ground/boot_clock.h"
#include "services/api/edge.h"
#include "services/api/services.h"
#include "services/process/status.h"
#include "services/wire/candidate.h"
#include "services/wire/candidate_table_writer.h"
#include "services/wire/candidate_writer.h"
#include "services/wire/claim.h"
#include "services/wire/explanation.h"

namespace berth::services {
namespace {

using placement::State;

// How many results an answer has by default, and how many at most.
constexpr int kNearMisses = 10;
constexpr int kNearMissesMax = 100;
constexpr int kRoots = 100;
constexpr int kRootsMax = 1000;
// The largest explanation that the details of an error may hold, in bytes.
constexpr size_t kExplanationBytesMax = 3072;
// Before a search, memory is allocated for as many candidates as the request's limit says, but for
// at most kExpectedMax; for kExpectedWithoutLimit if the request has no limit.
constexpr int64_t kExpectedMax = 1000;
constexpr int64_t kExpectedWithoutLimit = 100;
// The limits of a search on gRPC's own thread: it has one group, asks for at most kLimitAtOnce
// candidates, and takes at most kStepsAtOnce steps, which suffice on hosts with one provider. All
// other searches run on a worker. The steps of a request with several groups take far longer.
constexpr int kLimitAtOnce = 100;
constexpr int kTableLimitAtOnce = 1000;  // larger: a table is written much faster
constexpr int64_t kStepsAtOnce = 1000;
constexpr int64_t kTableStepsAtOnce = 10'000;

absl::StatusOr<int> LimitOf(const char* field, int asked, int otherwise, int most) {
  if (asked < 0) return InvalidField(field, "must not be negative");
  return asked == 0 ? otherwise : std::min(asked, most);
}

using Service = pb::CandidateService::WithRawCallbackMethod_FindCandidates<
    pb::CandidateService::CallbackService>;

class CandidateService final : public Service {
 public:
  CandidateService(Edge* edge, const placement::SearchBudget& budget)
      : edge_(edge), budget_(budget) {}

  // The reply is written as bytes: making it from message objects would take longer than the
  // search.
  Reactor* FindCandidates(Context* context, const grpc::ByteBuffer* bytes,
                          grpc::ByteBuffer* reply) override {
    const placement::BootTime begun = placement::BootNow();
    const auto request = std::make_shared<pb::FindCandidatesRequest>();
    grpc::ByteBuffer copy = *bytes;  // copies references only
    if (!grpc::SerializationTraits<pb::FindCandidatesRequest>::Deserialize(&copy, request.get())
             .ok()) {
      const auto unreadable = InvalidField("request", "cannot be read as a FindCandidatesRequest");
      return edge_->EndAtOnce(context, pb::FindCandidatesRequest(), begun, unreadable);
    }
    if (const std::optional<absl::Status> found = FindAtOnce(*request, reply)) {
      return edge_->EndAtOnce(context, *request, begun, *found);
    }
    UnaryCall* const call = edge_->Begin(context, request.get());
    edge_->WithState(call, *request,
                     request->has_minimum_revision() ? &request->minimum_revision() : nullptr,
                     Cost::kHeavy, [this, request, reply](const State& state) {
                       return Find(state, *request, budget_, reply).status();
                     });
    return call;
  }
  Reactor* Explain(Context* context, const pb::ExplainRequest* request,
                   pb::ExplainResponse* response) override {
    return edge_->Read(
        context, request, response, Cost::kHeavy,
        [this](const State& state, const pb::ExplainRequest& asked, pb::ExplainResponse* answer) {
          return FillExplanation(state, asked, answer);
        });
  }
  Reactor* GetCapacity(Context* context, const pb::GetCapacityRequest* request,
                       pb::GetCapacityResponse* response) override {
    return edge_->Read(
        context, request, response, Cost::kHeavy,
        [this](const State& state, const pb::GetCapacityRequest& asked,
               pb::GetCapacityResponse* answer) { return FillCapacity(state, asked, answer); });
  }

  Reactor* Claim(Context* context, const pb::ClaimRequest* request,
                 pb::ClaimResponse* response) override {
    return SearchAndWrite(context, request, response, ClaimCommand, FillClaim);
  }
  Reactor* ClaimMany(Context* context, const pb::ClaimManyRequest* request,
                     pb::ClaimManyResponse* response) override {
    return SearchAndWrite(context, request, response, ClaimManyCommand, FillClaimMany);
  }

 private:
  absl::Status FillExplanation(const State& state, const pb::ExplainRequest& request,
                               pb::ExplainResponse* response) const {
    if (!request.has_query()) return InvalidField("query", "is required");
    BERTH_ASSIGN_OR_RETURN(const auto limit, LimitOf("near_miss_limit", request.near_miss_limit(),
                                                     kNearMisses, kNearMissesMax));
    BERTH_ASSIGN_OR_RETURN(const auto wanted, CandidateQueryOf("query", request.query()));
    BERTH_ASSIGN_OR_RETURN(const auto said, placement::Explain(state, wanted, limit, budget_));
    SetExplanation(said, response->mutable_explanation());
    return absl::OkStatus();
  }

  absl::Status FillCapacity(const State& state, const pb::GetCapacityRequest& request,
                            pb::GetCapacityResponse* response) const {
    if (!request.has_query()) return InvalidField("query", "is required");
    BERTH_ASSIGN_OR_RETURN(const auto limit,
                           LimitOf("root_limit", request.root_limit(), kRoots, kRootsMax));
    BERTH_ASSIGN_OR_RETURN(const auto wanted, CandidateQueryOf("query", request.query()));
    BERTH_ASSIGN_OR_RETURN(const auto headroom,
                           placement::CountHeadroom(state, wanted, limit, budget_));
    SetHeadroom(state, headroom, response);
    return absl::OkStatus();
  }

  // Handles a write that names no providers. A worker first searches for choices of providers. The
  // ledger then uses one of these choices, or searches for another.
  template <typename Request, typename Response>
  Reactor* SearchAndWrite(Context* context, const Request* request, Response* response,
                          absl::StatusOr<placement::CommandBody> (*convert)(const Request&),
                          void (*fill)(const WriteAnswer&, Response*)) {
    UnaryCall* const call = edge_->Begin(context, request);
    auto made = edge_->CommandFor(*call, *request, [&] { return convert(*request); });
    if (!made.ok()) {
      call->End(made.status());
      return call;
    }
    auto command = std::make_shared<placement::Command>(*std::move(made));
    const auto search_and_write = [this, call, command, request, response, convert, fill] {
      // If the caller has gone, no search is needed: the ledger refuses the command anyway.
      if (call->Listens().ok()) {
        auto& claims = std::get<placement::PlaceClaims>(command->body);
        const placement::StatePtr state = edge_->ledger()->Newest();
        const absl::Status status = placement::FindChoices(*state, budget_, &claims);
        if (!status.ok()) return call->End(status);
      }
      edge_->Submit(
          std::move(*command), call,
          [response, fill](const WriteAnswer& answer) {
            SetRevision(answer.decision.revision, response->mutable_revision());
            fill(answer, response);
          },
          [this, call, request, convert](const absl::Status& refused) {
            return ExplainRefusal(call, refused, convert(*request));
          });
    };
    edge_->OnWorker(call, placement::Priority::kFirst, search_and_write);
    return call;
  }

  // If `refused` is NO_CANDIDATE, ends `call` on a worker with an explanation of why nothing fits,
  // and returns true; without the explanation if the work is put out of the workers' queue. Returns
  // false, and does nothing, if `refused` has another reason, if the workers refuse the work at
  // once, or if no explanation can be made. An explanation can be made only for a single
  // claim of a consumer that holds nothing: several claims take capacity from each other, and a
  // claim that replaces allocations frees some.
  bool ExplainRefusal(UnaryCall* call, const absl::Status& refused,
                      const absl::StatusOr<placement::CommandBody>& body) const {
    const auto refusal = placement::RefusalOf(refused);
    if (!body.ok() || !refusal || refusal->reason != "NO_CANDIDATE") return false;
    const auto& members = std::get<placement::PlaceClaims>(*body).members;
    if (members.size() != 1 || members[0].expected_generation) return false;
    const auto explain = [this, call, refused, query = members[0].query] {
      if (!call->Listens().ok()) return call->End(refused);
      const placement::StatePtr state = edge_->ledger()->Newest();
      const auto said = placement::Explain(*state, query, kNearMisses, budget_);
      if (!said.ok()) return call->End(refused);
      pb::Explanation explanation;
      SetExplanation(*said, &explanation);
      FitExplanation(kExplanationBytesMax, &explanation);
      call->End(WithDetail(refused, explanation));
    };
    return edge_->workers()->Submit({call->owner(), placement::Priority::kReads}, explain,
                                    [call, refused] { call->End(refused); });
  }

  // Searches on gRPC's own thread if the search takes no longer than it takes to wake a worker.
  // Returns nothing if a worker must search instead.
  std::optional<absl::Status> FindAtOnce(const pb::FindCandidatesRequest& request,
                                         grpc::ByteBuffer* reply) const {
    const bool table = request.form() == pb::CANDIDATE_FORM_TABLE;
    const int limit_max = table ? kTableLimitAtOnce : kLimitAtOnce;
    if (request.has_minimum_revision() || !request.has_limit() || request.limit() > limit_max ||
        request.has_order() || request.query().groups_size() != 1 ||
        !request.query().groups(0).max_providers().empty() || !CheckText(request).ok()) {
      return std::nullopt;
    }
    const auto state = edge_->ledger()->Fresh();
    if (!state.ok()) return std::nullopt;
    placement::SearchBudget brief = budget_;
    brief.steps_max = std::min(brief.steps_max, table ? kTableStepsAtOnce : kStepsAtOnce);
    const auto truncated = Find(**state, request, brief, reply);
    const bool is_cut = truncated.ok() ? *truncated : absl::IsDeadlineExceeded(truncated.status());
    if (is_cut) return std::nullopt;
    return truncated.status();
  }

  // Fills `reply`. Returns whether the search was stopped before it had found all candidates.
  absl::StatusOr<bool> Find(const State& state, const pb::FindCandidatesRequest& request,
                            const placement::SearchBudget& budget, grpc::ByteBuffer* reply) const {
    BERTH_ASSIGN_OR_RETURN(const auto wanted, CandidateRequestOf(request));
    switch (request.form()) {
      case pb::CANDIDATE_FORM_UNSPECIFIED:
        return Write<CandidateWriter>(state, request, wanted, budget, reply);
      case pb::CANDIDATE_FORM_TABLE:
        return Write<CandidateTableWriter>(state, request, wanted, budget, reply);
      default:
        return InvalidField("form", "has a value that this release does not know");
    }
  }

  template <typename Writer>
  static absl::StatusOr<bool> Write(const State& state, const pb::FindCandidatesRequest& request,
                                    const placement::CandidateRequest& wanted,
                                    const placement::SearchBudget& budget,
                                    grpc::ByteBuffer* reply) {
    Writer writer(
        state, std::clamp<int64_t>(wanted.limit.value_or(kExpectedWithoutLimit), 1, kExpectedMax));
    BERTH_ASSIGN_OR_RETURN(const auto end, placement::ForEachCandidate(
                                               state, wanted, budget,
                                               [&writer](const placement::Candidate& candidate) {
                                                 writer.Add(candidate);
                                               }));
    WireBytes written = writer.End(end, !request.omit_summaries(), wanted.order.seed);
    const size_t size = written.size;
    // gRPC sends these bytes without a copy, and frees them.
    const grpc::Slice slice(written.data.release(), size,
                            [](void* data) { delete[] static_cast<char*>(data); });
    *reply = grpc::ByteBuffer(&slice, 1);
    return end.truncated;
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
