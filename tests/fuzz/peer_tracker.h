// PeerTracker: the claims of a tracker on its node, without threads and libvirt. It converts calls as
// TrackerService does, claims on a NodeAccount, and writes the records to a PeerPlacement.
//
// What it sends, placement can read, whatever its callers say: else the session would end. Not
// thread-safe.
#ifndef BERTH_TESTS_FUZZ_PEER_TRACKER_H_
#define BERTH_TESTS_FUZZ_PEER_TRACKER_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "berth/tracker/v1/tracker.pb.h"
#include "tests/fuzz/peer_placement.h"
#include "tracker/account/account.h"
#include "tracker/audit/records.h"
#include "tracker/claims/claim.h"
#include "tracker/node/record_writes.h"

namespace berth::fuzz {

class PeerTracker {
 public:
  // The tracker of the honest host. `placement` outlives it.
  explicit PeerTracker(PeerPlacement* placement);

  // Each fails as the call would.
  absl::Status ClaimInstance(const tracker::v1::ClaimInstanceRequest& request);
  absl::Status ClaimMove(const tracker::v1::ClaimMoveRequest& request);
  absl::Status AbortClaim(const tracker::v1::AbortClaimRequest& request);
  absl::Status DropMoveClaim(const tracker::v1::DropMoveClaimRequest& request);
  absl::Status UpdateUsage(const tracker::v1::UpdateUsageRequest& request) const;

  // Takes in what placement would push now.
  void Hear();
  const tracker::NodeAccount& account() const { return account_; }

 private:
  absl::Status Begin(const absl::StatusOr<tracker::OpenClaim>& claim);
  absl::Status Write(tracker::RecordWrites::Outgoing write);
  absl::Status CheckNode(const std::string& node_uuid) const;

  PeerPlacement* const placement_;
  tracker::ClaimSettings settings_;
  tracker::NodeAccount account_;
  tracker::Records records_;
  std::map<std::string, tracker::OpenClaim> written_;  // by id
  int64_t writes_ = 0;
};

}  // namespace berth::fuzz

#endif  // BERTH_TESTS_FUZZ_PEER_TRACKER_H_
