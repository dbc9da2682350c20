// The records of nodes as messages of the log, and back. Pure.
#ifndef BERTH_PLACEMENT_LOG_NODE_MESSAGES_H_
#define BERTH_PLACEMENT_LOG_NODE_MESSAGES_H_

#include "placement/log/log.pb.h"
#include "placement/values/fleet.h"

namespace berth::placement {

void EncodeNode(const NodeRecord& node, ledger::v1::Node* out);
NodeRecordPtr DecodeNode(const ledger::v1::Node& in);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_NODE_MESSAGES_H_
