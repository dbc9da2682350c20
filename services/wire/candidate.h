// Conversion of candidate queries from proto messages to domain types. candidate_writer.h and
// candidate_table_writer.h write the answers.
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
// Converts the query without its limit and its order. `field` is the path of the query, for error
// messages.
absl::StatusOr<placement::CandidateRequest> CandidateQueryOf(const std::string& field,
                                                             const pb::CandidateQuery& query);
// Converts an order. If the order is random, its seed is the seed of the request or, if the request
// has none, a new seed.
absl::StatusOr<placement::CandidateOrder> CandidateOrderOf(const pb::CandidateOrder& order);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_CANDIDATE_H_
