// ClaimCalls: the calls of the tracker's service that make and end claims.
//
// Owns one thread for each node. The handlers queue calls for it, because they must not wait for a
// node's lock. The thread takes calls in the order in which they arrived, so claims of one node get
// its lock in this order (T-180). It does not wait for placement: the call ends when placement has
// answered. Thread-safe.
#ifndef BERTH_SERVICES_TRACKER_CLAIM_CALLS_H_
#define BERTH_SERVICES_TRACKER_CLAIM_CALLS_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "berth/tracker/v1/tracker.pb.h"
#include "services/process/metrics.h"
#include "services/process/workers.h"
#include "services/tracker/host.h"
#include "tracker/ground/uuid.h"
#include "tracker/node/claim_replies.h"
#include "tracker/node/node_claims.h"

namespace grpc {
class CallbackServerContext;
class ServerUnaryReactor;
}  // namespace grpc

namespace berth::services {

class ClaimCalls {
 public:
  // `host`, whose nodes are all made, and `metrics` outlive the calls.
  ClaimCalls(TrackerHost* host, Metrics* metrics);

  // Claims what an instance or a migration needs. `method`: the name of the RPC.
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Claim(const char* method, grpc::CallbackServerContext* context,
                                  const Request* request, Response* response);
  grpc::ServerUnaryReactor* AbortClaim(grpc::CallbackServerContext* context,
                                       const berth::tracker::v1::AbortClaimRequest* request,
                                       berth::tracker::v1::AbortClaimResponse* response);
  grpc::ServerUnaryReactor* DropMoveClaim(grpc::CallbackServerContext* context,
                                          const berth::tracker::v1::DropMoveClaimRequest* request,
                                          berth::tracker::v1::DropMoveClaimResponse* response);
  grpc::ServerUnaryReactor* UpdateUsage(grpc::CallbackServerContext* context,
                                        const berth::tracker::v1::UpdateUsageRequest* request,
                                        berth::tracker::v1::UpdateUsageResponse* response);

 private:
  class Call;
  class Counts;

  using Work = std::function<void(tracker::NodeClaims*, tracker::ClaimReplies*)>;

  // Runs `work` for the claims of the node on its thread, then lets the uplink send the writes that
  // `work` left. Ends `call` with NODE_UNAVAILABLE if this host has no such node, and with OVERLOADED
  // if too many calls wait for the node.
  void Run(Call* call, const tracker::Uuid& node_uuid, Work work);

  TrackerHost* const host_;
  Metrics* const metrics_;
  const std::shared_ptr<Counts> counts_;  // of calls; the metrics read them as long as they live
  std::deque<Workers> threads_;           // in the order of the host's runners
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_CLAIM_CALLS_H_
