// Converts the records of instances and migrations between messages and values.
//
// Pure functions. The uplink and services/tracker call them.
//
// A uuid that cannot be read becomes nil.
//
// A value that went through a message is the same value again, with these exceptions: a request's
// requester_id is in no message; the times of an instance are only read; a topology without cells
// is no topology; a property that is a list becomes a text.
#ifndef BERTH_TRACKER_UPLINK_RECORD_MESSAGES_H_
#define BERTH_TRACKER_UPLINK_RECORD_MESSAGES_H_

#include <string>

#include "berth/placement/v1/record.pb.h"
#include "berth/placement/v1/record_write.pb.h"
#include "tracker/account/records.h"
#include "tracker/ground/uuid.h"
#include "tracker/node/record_writes.h"

namespace berth::tracker {

// Leaves out a part that cannot be read, for example a CPU -1 of a cell or a request for no device,
// and names the first such part in the record's `unreadable`. The rest of the record counts (T-61).
Instance ReadInstance(const placement::v1::Instance& wire);
Migration ReadMigration(const placement::v1::Migration& wire);
// The amounts are as they are in the message.
Flavor ReadFlavor(const placement::v1::Flavor& wire);

placement::v1::Instance WireInstance(const Instance& instance);
placement::v1::Migration WireMigration(const Migration& migration);
// `node_uuid`: of the node that writes. A withdrawal has only uuids and generations.
placement::v1::RecordWrite WireWrite(const RecordWrites::Outgoing& write, const Uuid& node_uuid);
placement::v1::GuestCell WireGuestCell(const GuestCell& cell);
placement::v1::NamedUnit WireUnit(const NamedUnit& unit);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_RECORD_MESSAGES_H_
