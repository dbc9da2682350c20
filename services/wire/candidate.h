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
// Converts the query itself, without limit and order. `field` is its path, for messages of
// failures.
absl::StatusOr<placement::CandidateRequest> CandidateQueryOf(const std::string& field,
                                                             const pb::CandidateQuery& query);
// Converts an order. An order by random numbers gets the seed of the caller or, without one, a new
// seed.
absl::StatusOr<placement::CandidateOrder> CandidateOrderOf(const pb::CandidateOrder& order);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_CANDIDATE_H_
