// Conversion of resource classes, traits and aggregates between proto messages and domain types.
// Pure.
#ifndef BERTH_SERVICES_WIRE_CATALOG_H_
#define BERTH_SERVICES_WIRE_CATALOG_H_

#include <string>

#include "absl/status/statusor.h"
#include "berth/placement/v1/aggregate.pb.h"
#include "berth/placement/v1/catalog.pb.h"
#include "placement/commands/command.h"
#include "placement/records/aggregate_message.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

using placement::FillAggregate;

absl::StatusOr<placement::CommandBody> CreateClassCommand(const pb::CreateClassRequest&);
absl::StatusOr<placement::CommandBody> EnsureClassCommand(const pb::EnsureClassRequest&);
absl::StatusOr<placement::CommandBody> DeleteClassCommand(const pb::DeleteClassRequest&);
absl::StatusOr<placement::CommandBody> EnsureTraitCommand(const pb::EnsureTraitRequest&);
absl::StatusOr<placement::CommandBody> DeleteTraitCommand(const pb::DeleteTraitRequest&);

void FillEnsureClass(const WriteAnswer& answer, pb::EnsureClassResponse* response);
void FillEnsureTrait(const WriteAnswer& answer, pb::EnsureTraitResponse* response);

void FillClass(const std::string& name, pb::ResourceClass* to);
void FillTrait(const std::string& name, pb::Trait* to);

// The aggregate that a message describes, without its generation and times. INVALID_FIELD for a
// misspelled uuid. `path`: of the aggregate in the request.
absl::StatusOr<placement::Aggregate> AggregateOf(const std::string& path,
                                                 const pb::Aggregate& from);

absl::StatusOr<placement::CommandBody> SetAggregateCommand(const pb::SetAggregateRequest&);
absl::StatusOr<placement::CommandBody> DeleteAggregateCommand(const pb::DeleteAggregateRequest&);

void FillSetAggregate(const WriteAnswer& answer, pb::SetAggregateResponse* response);

// Fails with INVALID_FIELD unless `name` is spelled like a class or trait.
absl::Status CheckName(const std::string& name);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_CATALOG_H_
