// The requests that the honest and the noise makers have in common. Pure functions.
#ifndef BERTH_TESTS_FAIRNESS_REQUESTS_H_
#define BERTH_TESTS_FAIRNESS_REQUESTS_H_

#include <cstdint>
#include <string>

#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/report.pb.h"

namespace berth::fairness {

// A claim of `consumer`, which was never there, on whatever host has room.
placement::v1::ClaimRequest ClaimOfOne(const std::string& consumer);
// The same on the host of that uuid.
placement::v1::SetAllocationsRequest ClaimOn(const std::string& host, const std::string& consumer);
// Why so much fits nowhere, with as many near misses as there may be.
placement::v1::ExplainRequest ExplanationOfAll();

// The uuid of a node of a tracker, and of a provider below it: `of` from 1 on, 0 is the node itself.
std::string NodeUuid(int tracker, int node, int of = 0);
// The Hello of a tracker, of which the process is called `incarnation`: with `count` nodes from number
// `first` on, of which it remembers no report.
placement::v1::SessionRequest HelloOf(const std::string& host, const std::string& incarnation,
                                      int tracker, int first, int count);
// A snapshot of a node with `children` providers below its root. `amount`: of their inventories.
placement::v1::SessionRequest SnapshotOf(int tracker, int node, int children, int64_t amount);

}  // namespace berth::fairness

#endif  // BERTH_TESTS_FAIRNESS_REQUESTS_H_
