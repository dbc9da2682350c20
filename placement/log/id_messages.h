// Uuids and lists of uuids as messages of the log, and back. Pure functions.
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

// Lists of uuids are lists of numbers: the high half of a uuid, then its low half.
template <typename Field>
void EncodeHalves(const Uuid& uuid, Field* halves) {
  halves->Add(uuid.high);
  halves->Add(uuid.low);
}

template <typename Field>
Uuid DecodeHalves(const Field& halves, int at) {
  return Uuid{halves[2 * at], halves[2 * at + 1]};
}

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_ID_MESSAGES_H_
