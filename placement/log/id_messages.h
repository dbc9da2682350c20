// Uuids as messages of the log, and back. Pure functions.
#ifndef BERTH_PLACEMENT_LOG_ID_MESSAGES_H_
#define BERTH_PLACEMENT_LOG_ID_MESSAGES_H_

#include "placement/ground/uuid.h"
#include "placement/log/log.pb.h"

namespace berth::placement {

inline void EncodeId(const Uuid& uuid, ledger::v1::Id* out) {
  out->set_high(uuid.high);
  out->set_low(uuid.low);
}
inline Uuid DecodeId(const ledger::v1::Id& in) { return Uuid{in.high(), in.low()}; }

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_ID_MESSAGES_H_
