// WriterParts: the objects with which LongRoad, ShortRoad and BatchEnds work.
//
// A plain value. The publisher, the queue, the answerer and the health belong to the ledger, the
// others to the writer. All of them outlive every object that gets this value.
#ifndef BERTH_PLACEMENT_WRITER_WRITER_PARTS_H_
#define BERTH_PLACEMENT_WRITER_WRITER_PARTS_H_

#include "placement/publish/answerer.h"
#include "placement/publish/health.h"
#include "placement/publish/options.h"
#include "placement/publish/publisher.h"
#include "placement/writer/clock.h"
#include "placement/writer/command_queue.h"
#include "placement/writer/intake.h"
#include "placement/writer/lease_ends.h"
#include "placement/writer/roads.h"
#include "placement/writer/turns.h"
#include "placement/writer/writer_connection.h"

namespace berth::placement {

struct WriterParts {
  const LedgerOptions& options;
  Publisher& publisher;
  CommandQueue& queue;
  Answerer& answerer;
  Health& health;
  LedgerClock& clock;
  WriterConnection& connection;
  Turns& turns;
  Roads& roads;
  LeaseEnds& leases;
  Intake& intake;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_WRITER_PARTS_H_
