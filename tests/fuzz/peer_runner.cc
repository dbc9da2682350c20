#include "tests/fuzz/peer_runner.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"
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
      if (step.has_session()) {
        TakeHostile(step.session());
      } else {
        ++(tracker_.Call(step) ? outcome_.granted : outcome_.refused);
      }
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

  PlacementSession HonestSession() {
    return {[this](const placement::v1::SessionRequest& request) {
              return placement_.Take(kHonestHost, request);
            },
            [this] { return placement_.PushFor(kHonestHost, kHonestNode); }};
  }

  PeerPlacement placement_;
  PeerTracker tracker_{HonestSession(), placement_.Instance(kAnchor)};
  PeerOutcome outcome_;
};

}  // namespace

PeerOutcome RunPeerScript(const PeerScript& script) { return Runner().Run(script); }

}  // namespace berth::fuzz
