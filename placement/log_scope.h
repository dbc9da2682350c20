// Scopes as the protobuf message of log.proto, and back.
#ifndef BERTH_PLACEMENT_LOG_SCOPE_H_
#define BERTH_PLACEMENT_LOG_SCOPE_H_

#include "placement/log.pb.h"
#include "placement/scope.h"

namespace berth::placement {

void EncodeScope(const Scope& scope, ledger::v1::Scope* out);
// False where `in` holds a kind of change that this release does not know.
bool DecodeScope(const ledger::v1::Scope& in, Scope* out);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_SCOPE_H_
