// The streams that export and import a whole ledger.
//
// Each stream owns itself: OnDone, the last call by gRPC, deletes it. Work that takes too long for
// a callback is done by a worker.
#ifndef BERTH_SERVICES_API_LEDGER_STREAMS_H_
#define BERTH_SERVICES_API_LEDGER_STREAMS_H_

#include "berth/placement/v1/ledger.pb.h"
#include "grpcpp/support/server_callback.h"
#include "services/api/edge.h"
#include "services/api/export_places.h"
#include "services/api/import_place.h"

namespace berth::services {

// Sends all entities of one revision. Each message is sent when the caller has read the message
// before it. `places` limits the exports of each identity and of all, and ends an export whose
// caller reads too slowly.
grpc::ServerWriteReactor<pb::ExportLedgerResponse>* OpenExport(
    Edge* edge, ExportPlaces* places, Context* context, const pb::ExportLedgerRequest& request);

// Receives records until the caller has sent all of them, then submits them as one command. `place`
// lets one import at a time into the process, and ends an import whose caller is silent for too
// long.
grpc::ServerReadReactor<pb::ImportLedgerRequest>* OpenImport(Edge* edge, ImportPlace* place,
                                                             Context* context,
                                                             pb::ImportLedgerResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_LEDGER_STREAMS_H_
