// Candidate queries from protos to the domain; candidate_writer.h has the way back.
#ifndef BERTH_SERVICES_WIRE_CANDIDATE_H_
#define BERTH_SERVICES_WIRE_CANDIDATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "berth/placement/v1/candidate.pb.h"
#include "placement/search/search.h"
#include "services/wire/form.h"

namespace berth::services {

absl::StatusOr<placement::CandidateRequest> CandidateRequestOf(
    const pb::FindCandidatesRequest& request);
// What shall fit, without an order; `field` names the query.
absl::StatusOr<placement::CandidateRequest> CandidateQueryOf(const std::string& field,
                                                             const pb::CandidateQuery& query);
// With a seed where chance decides: the caller's, else a new one.
absl::StatusOr<placement::CandidateOrder> CandidateOrderOf(const pb::CandidateOrder& order);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_CANDIDATE_H_
