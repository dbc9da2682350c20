// Turns the domain's values into messages, and answers into values, for GrpcSubject.
#ifndef BERTH_TESTS_ORACLE_GRPC_MESSAGE_H_
#define BERTH_TESTS_ORACLE_GRPC_MESSAGE_H_

#include "absl/status/statusor.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "tests/oracle/subject.h"

namespace berth::oracle {

namespace pb = ::berth::placement::v1;

pb::Inventory MessageOf(const Inventory& inventory);
pb::ConsumerAllocations MessageOf(const placement::ConsumerAllocations& claim);
pb::CandidateQuery MessageOf(const CandidateRequest& request);

// Fails if a candidate appears twice.
absl::StatusOr<Found> FoundIn(const pb::FindCandidatesResponse& response);
ProviderView ViewOf(const pb::Provider& provider);
ConsumerView ViewOf(const pb::Consumer& consumer);

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_GRPC_MESSAGE_H_
