// The claims on a node, without the node: an account, and an outbox that says whether there is a
// session.
#ifndef BERTH_TESTS_TRACKER_NODE_CLAIMS_FIXTURE_H_
#define BERTH_TESTS_TRACKER_NODE_CLAIMS_FIXTURE_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/claims/rich_claims.h"
#include "tracker/claims/refusal.h"
#include "tracker/node/node_claims.h"

namespace berth::tracker {

// One call, and its answers.
struct NodeClaimCall {
  bool gone = false;
  int answers = 0;
  absl::StatusOr<ClaimResult> result = absl::UnknownError("no answer");

  ClaimCaller AsCaller() {
    return {[this](const absl::StatusOr<ClaimResult>& answer) {
              result = answer;
              ++answers;
            },
            [this] { return gone; }};
  }
  std::optional<ClaimRefusalKind> refusal() const {
    const auto refused = RefusalOf(result.status());
    return refused ? std::make_optional(refused->kind) : std::nullopt;
  }
};

class NodeClaimsTest : public testing::Test {
 protected:
  using Call = NodeClaimCall;

  NodeClaimsTest() {
    state_.account.emplace(kHere, RichHost());
    state_.records.emplace();
    state_.audit = std::make_shared<const Audit>();
    state_.last.result = PassOutcome::Result::kComplete;
    outbox_.Welcome(Standing::kKnown, 0);
  }
  // An instance that is built here, and that wants one CPU.
  static InstanceClaim Building(const std::string& name) {
    InstanceClaim request;
    request.node_uuid = kHere.node_uuid;
    request.instance = MakeInstance(name, {}, MakeFlavor("f", 1, 0, 0));
    request.instance.vm_state = "building";
    request.instance.generation = 3;
    return request;
  }
  Call& Claim(const InstanceClaim& request) {
    Call& call = calls_.emplace_back();
    Ask(request, &call);
    return call;
  }
  void Ask(const InstanceClaim& request, Call* call) {
    ClaimReplies replies;
    claims_.Claim(request, call->AsCaller(), &replies);
    EXPECT_EQ(call->answers, 0) << "who holds the lock answers nobody";
  }
  Call& Abort(const std::string& claim_id) {
    Call& call = calls_.emplace_back();
    ClaimReplies replies;
    claims_.Abort(claim_id, call.AsCaller(), &replies);
    return call;
  }
  std::optional<RecordWrites::Outgoing> NextWrite() {
    ClaimReplies replies;
    return claims_.NextWrite({}, &replies);
  }
  // Placement applies the write: its records come to the account.
  void Apply(const RecordWrites::Outgoing& write) {
    Instance record = write.instance;
    record.generation += 100;
    state_.account->PutInstance(record);
  }
  bool Answer(int64_t id, const absl::Status& answer, bool denies_record = false) {
    return Answer(id, WriteAnswer{answer, denies_record});
  }
  bool Answer(int64_t id, const WriteAnswer& answer) {
    ClaimReplies replies;
    return claims_.AnswerWrite(id, answer, {}, &replies);
  }
  void Disconnect() {
    ClaimReplies replies;
    outbox_.Disconnect();
    claims_.Disconnect(&replies);
  }
  int64_t Claimed() const { return state_.account->promised().claims.amounts.vcpus; }
  int64_t Recorded() const { return state_.account->promised().instances.amounts.vcpus; }

  NodeState state_;
  Outbox outbox_;
  NodeClaims claims_{&state_, &outbox_};
  std::deque<Call> calls_;  // whose addresses stay
};

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_NODE_CLAIMS_FIXTURE_H_
