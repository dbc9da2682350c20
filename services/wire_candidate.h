// Candidate queries and their results between protos and the domain.
#ifndef BERTH_SERVICES_WIRE_CANDIDATE_H_
#define BERTH_SERVICES_WIRE_CANDIDATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "berth/placement/v1/candidate.pb.h"
#include "placement/search.h"
#include "services/wire_form.h"

namespace berth::services {

absl::StatusOr<placement::CandidateRequest> CandidateRequestOf(
    const pb::FindCandidatesRequest& request);

// The answer, a serialized FindCandidatesResponse.
std::string EncodeCandidates(const placement::State& state,
                             const pb::FindCandidatesRequest& request,
                             const placement::SearchResult& result);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_CANDIDATE_H_
