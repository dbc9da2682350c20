// The streams that carry a whole ledger: out of placement, and into it.
//
// Each owns itself and is gone when gRPC is done with it. What takes longer than a callback may is
// a worker's.
#ifndef BERTH_SERVICES_API_LEDGER_STREAMS_H_
#define BERTH_SERVICES_API_LEDGER_STREAMS_H_

#include "berth/placement/v1/ledger.pb.h"
#include "grpcpp/support/server_callback.h"
#include "services/api/edge.h"
#include "services/api/import_place.h"

namespace berth::services {

// Tells everything at one revision, message by message as the caller reads.
grpc::ServerWriteReactor<pb::ExportLedgerResponse>* OpenExport(
    Edge* edge, Context* context, const pb::ExportLedgerRequest& request);

// Takes records until the caller has no more, then has the ledger decide all of them at once. Only
// one at a time, as `place` says, which also ends it where the caller is silent for too long.
grpc::ServerReadReactor<pb::ImportLedgerRequest>* OpenImport(Edge* edge, ImportPlace* place,
                                                             Context* context,
                                                             pb::ImportLedgerResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_LEDGER_STREAMS_H_
