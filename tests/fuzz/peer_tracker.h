// PeerTracker: the claims of a tracker on its node, without threads and libvirt. It converts calls as
// TrackerService does, claims on a NodeAccount, and lets placement write the records.
//
// What it sends, placement can read, whatever its callers say: else the session would end. Its account
// follows from the records, and nothing has two owners. The test fails where this is not so. Not
// thread-safe. Needs no header of the tracker, whose BERTH_CHECK is not that of placement.
#ifndef BERTH_TESTS_FUZZ_PEER_TRACKER_H_
#define BERTH_TESTS_FUZZ_PEER_TRACKER_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "berth/placement/v1/report.pb.h"
#include "tests/fuzz/peer.pb.h"

namespace berth::fuzz {

// The session with placement.
struct PlacementSession {
  // Sends a message. Returns the answer, or why the session has ended.
  std::function<absl::StatusOr<placement::v1::SessionResponse>(
      const placement::v1::SessionRequest&)>
      send;
  // Everything that a push would say now.
  std::function<placement::v1::Push()> push;
};

class PeerTracker {
 public:
  // The tracker of the honest host. It claims `anchor`.
  PeerTracker(PlacementSession session, placement::v1::Instance anchor);
  ~PeerTracker();

  // Takes in what placement would push now.
  void Hear();
  // Answers the call. Returns whether it was granted.
  bool Call(const PeerStep& step);

 private:
  class Node;
  const std::unique_ptr<Node> node_;
};

}  // namespace berth::fuzz

#endif  // BERTH_TESTS_FUZZ_PEER_TRACKER_H_
