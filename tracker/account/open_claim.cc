#include "tracker/account/open_claim.h"

#include "absl/strings/str_cat.h"
#include "tracker/account/gates.h"
#include "tracker/account/migration_status.h"
#include "tracker/ground/check.h"

namespace berth::tracker {

std::string ClaimIdOf(const OpenClaim& claim) {
  if (claim.migration.has_value()) return claim.migration->uuid.ToString();
  return absl::StrCat(claim.instance.uuid.ToString(), "/", claim.instance.claimed_generation);
}

Instance WithClaim(const Instance* recorded, const OpenClaim& claim) {
  if (recorded == nullptr) return claim.instance;
  Instance instance = *recorded;
  if (claim.migration.has_value()) {
    instance.context = claim.instance.context;
  } else {
    instance.on = claim.instance.on;
    instance.claimed_generation = claim.instance.claimed_generation;
    instance.launched_on = claim.instance.launched_on;
    instance.assigned = claim.instance.assigned;
  }
  return instance;
}

Migration WithClaim(const Migration* recorded, const OpenClaim& claim) {
  BERTH_CHECK(claim.migration.has_value());  // NodeAccount::Judge has looked
  if (recorded == nullptr) return *claim.migration;
  Migration migration = *recorded;
  migration.destination = claim.migration->destination;
  return migration;
}

bool IsRecorded(const OpenClaim& claim, const Instance* instance, const Migration* migration) {
  if (instance == nullptr) return false;
  if (claim.migration.has_value()) {
    return migration != nullptr && migration->destination == claim.migration->destination &&
           instance->context.has_value() &&
           instance->context->migration_uuid == claim.migration->uuid &&
           instance->context->new_assigned == claim.instance.context->new_assigned;
  }
  return instance->on == claim.instance.on && instance->assigned == claim.instance.assigned;
}

bool IsPointless(const Instance* instance, const Migration* migration) {
  if (instance != nullptr && (instance->deleted || instance->vm_state == "deleted")) return true;
  return migration != nullptr && StatusOf(migration->status).progress == Progress::kOver;
}

}  // namespace berth::tracker
