#include "services/wire/catalog.h"

namespace berth::services {

using placement::CommandBody;

absl::StatusOr<CommandBody> CreateClassCommand(const pb::CreateClassRequest& request) {
  return placement::CreateClass{request.name(), false};
}
absl::StatusOr<CommandBody> EnsureClassCommand(const pb::EnsureClassRequest& request) {
  return placement::CreateClass{request.name(), true};
}
absl::StatusOr<CommandBody> DeleteClassCommand(const pb::DeleteClassRequest& request) {
  return placement::DeleteClass{request.name()};
}
absl::StatusOr<CommandBody> EnsureTraitCommand(const pb::EnsureTraitRequest& request) {
  return placement::EnsureTrait{request.name()};
}
absl::StatusOr<CommandBody> DeleteTraitCommand(const pb::DeleteTraitRequest& request) {
  return placement::DeleteTrait{request.name()};
}

void FillEnsureClass(const WriteAnswer& answer, pb::EnsureClassResponse* response) {
  response->set_created(answer.decision.result.created);
}
void FillEnsureTrait(const WriteAnswer& answer, pb::EnsureTraitResponse* response) {
  response->set_created(answer.decision.result.created);
}

void FillClass(const std::string& name, pb::ResourceClass* to) {
  to->set_name(name);
  to->set_standard(placement::IsStandardName(name));
}
void FillTrait(const std::string& name, pb::Trait* to) {
  to->set_name(name);
  to->set_standard(placement::IsStandardName(name));
}

absl::Status CheckName(const std::string& name) {
  if (placement::IsUpperName(name)) return absl::OkStatus();
  return InvalidField("name", "must consist of 1 to 255 capital letters, digits and underscores");
}

}  // namespace berth::services
