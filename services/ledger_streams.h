// The streams that carry a whole ledger: out of placement, and into it.
//
// Each owns itself and is gone when gRPC is done with it. What takes longer than a callback may is
// a worker's.
#ifndef BERTH_SERVICES_LEDGER_STREAMS_H_
#define BERTH_SERVICES_LEDGER_STREAMS_H_

#include <atomic>

#include "berth/placement/v1/ledger.pb.h"
#include "grpcpp/support/server_callback.h"
#include "services/call.h"

namespace berth::services {

// Tells everything at one revision, message by message as the caller reads.
grpc::ServerWriteReactor<pb::ExportLedgerResponse>* OpenExport(
    Edge* edge, Context* context, const pb::ExportLedgerRequest& request);

// Takes records until the caller has no more, then has the ledger decide all of them at once. Only
// one at a time: `*importing` says whether there is one.
grpc::ServerReadReactor<pb::ImportLedgerRequest>* OpenImport(Edge* edge,
                                                             std::atomic<bool>* importing,
                                                             Context* context,
                                                             pb::ImportLedgerResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_LEDGER_STREAMS_H_
