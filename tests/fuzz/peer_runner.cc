#include "tests/fuzz/peer_runner.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "services/tracker/claim_messages.h"
#include "tests/fuzz/peer_names.h"
#include "tests/fuzz/peer_placement.h"
#include "tests/fuzz/peer_tracker.h"
#include "tests/worlds/safety.h"

namespace berth::fuzz {
namespace {

constexpr int kStepsMax = 32;

class Runner {
 public:
  PeerOutcome Run(const PeerScript& script) {
    for (int i = 0; i < std::min(kStepsMax, script.steps_size()); ++i) {
      PeerStep step = script.steps(i);
      placement_.FillIn(&step);
      step.has_session() ? TakeHostile(step.session()) : Call(step);
      ExpectSoundAccount();
    }
    placement::CheckSafety(placement_.state());
    outcome_.applied = placement_.applied();
    return outcome_;
  }

 private:
  // What concerns the honest host, as a push would tell it.
  std::string Honest() const {
    placement::v1::Push push = placement_.PushFor(kHonestHost, kHonestNode);
    return push.DebugString();
  }

  void TakeHostile(const placement::v1::SessionRequest& request) {
    const std::string before = Honest();
    const auto answer = placement_.Take(kHostileHost, request);
    if (!answer.ok()) ++outcome_.ended;
    EXPECT_EQ(Honest(), before) << request.DebugString();
    tracker_.Hear();
  }

  void Call(const PeerStep& step) {
    absl::Status status;
    switch (step.message_case()) {
      case PeerStep::kClaimInstance:
        status = tracker_.ClaimInstance(step.claim_instance());
        break;
      case PeerStep::kClaimMove:
        status = tracker_.ClaimMove(step.claim_move());
        break;
      case PeerStep::kAbortClaim:
        status = tracker_.AbortClaim(step.abort_claim());
        break;
      case PeerStep::kDropMoveClaim:
        status = tracker_.DropMoveClaim(step.drop_move_claim());
        break;
      case PeerStep::kUpdateUsage:
        status = tracker_.UpdateUsage(step.update_usage());
        break;
      default:
        return;
    }
    ++(status.ok() ? outcome_.granted : outcome_.refused);
    if (status.ok()) return;
    EXPECT_NE(services::ReasonOf(status), "INTERNAL") << status;
    services::ClaimStatus(status);
  }

  void ExpectSoundAccount() {
    const tracker::NodeAccount& account = tracker_.account();
    EXPECT_TRUE(account == account.Rebuilt());
    EXPECT_TRUE(account.open_claims().empty());  // each was written or refused
    EXPECT_TRUE(account.faults().empty()) << account.faults()[0].text;
  }

  PeerPlacement placement_;
  PeerTracker tracker_{&placement_};
  PeerOutcome outcome_;
};

}  // namespace

PeerOutcome RunPeerScript(const PeerScript& script) { return Runner().Run(script); }

}  // namespace berth::fuzz
