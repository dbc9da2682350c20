// Conversion of reshapes and topology changes between proto messages and domain types. Pure.
#ifndef BERTH_SERVICES_WIRE_RESHAPE_H_
#define BERTH_SERVICES_WIRE_RESHAPE_H_

#include "absl/status/statusor.h"
#include "berth/placement/v1/reshape.pb.h"
#include "placement/commands/command.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

absl::StatusOr<placement::CommandBody> ReshapeCommand(const pb::ReshapeRequest& request);
absl::StatusOr<placement::CommandBody> ApplyTopologyCommand(
    const pb::ApplyTopologyRequest& request);

void FillApplyTopology(const WriteAnswer& answer, pb::ApplyTopologyResponse* response);
void FillReshape(const WriteAnswer& answer, pb::ReshapeResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_RESHAPE_H_
