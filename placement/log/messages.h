// Messages: turns changes and scopes into the protobuf messages of log.proto, and back. Pure
// functions.
#ifndef BERTH_PLACEMENT_LOG_MESSAGES_H_
#define BERTH_PLACEMENT_LOG_MESSAGES_H_

#include <memory>

#include "absl/time/time.h"
#include "placement/log/id_messages.h"
#include "placement/log/log.pb.h"
#include "placement/log/scope.h"
#include "placement/values/change.h"

namespace berth::placement {

void EncodeChange(const Change& change, ledger::v1::Change* out);
// Adds the change in `in` to `out`. Returns false, and adds nothing, if `in` contains no kind of
// change that this release knows, or a record that cannot be read.
bool DecodeChange(const ledger::v1::Change& in, Changes* out);

void EncodeProvider(const ProviderConfig& config, ledger::v1::Provider* out);
std::shared_ptr<const ProviderConfig> DecodeProvider(const ledger::v1::Provider& in);

void EncodeScope(const Scope& scope, ledger::v1::Scope* out);
// Reads the scope in `in` into `out`. Returns false if `in` contains a kind of change that this
// release does not know.
bool DecodeScope(const ledger::v1::Scope& in, Scope* out);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_MESSAGES_H_
