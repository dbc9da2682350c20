#include "tests/oracle/outcome_kinds.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "placement/values/refusal.h"

namespace berth::oracle {
namespace {

using Code = absl::StatusCode;

struct Kind {
  absl::string_view op;  // a prefix of the operation's name
  int http_status;
  absl::string_view http_code;  // without "placement."
  Code code;
  absl::string_view reason;
};

// Several rows with one left side: any of them (P-130 leaves open which fault of several is told).
constexpr Kind kKinds[] = {
    {"create_provider", 400, "undefined_code", Code::kInvalidArgument, "SELF_PARENT"},
    {"create_provider", 400, "undefined_code", Code::kNotFound, "PARENT_NOT_FOUND"},
    {"create_provider", 400, "undefined_code", Code::kInvalidArgument, "INVALID_FIELD"},
    {"create_provider", 409, "duplicate_name", Code::kAlreadyExists, "DUPLICATE_PROVIDER"},
    {"update_provider", 400, "undefined_code", Code::kNotFound, "PARENT_NOT_FOUND"},
    {"update_provider", 400, "undefined_code", Code::kInvalidArgument, "PROVIDER_LOOP"},
    {"update_provider", 400, "undefined_code", Code::kInvalidArgument, "INVALID_FIELD"},
    {"update_provider", 404, "undefined_code", Code::kNotFound, "PROVIDER_NOT_FOUND"},
    {"update_provider", 409, "duplicate_name", Code::kAlreadyExists, "DUPLICATE_PROVIDER"},
    {"delete_provider", 404, "undefined_code", Code::kNotFound, "PROVIDER_NOT_FOUND"},
    {"delete_provider", 409, "resource_provider.inuse", Code::kFailedPrecondition,
     "PROVIDER_IN_USE"},
    {"delete_provider", 409, "resource_provider.cannot_delete_parent", Code::kFailedPrecondition,
     "PROVIDER_HAS_CHILDREN"},
    {"replace_inventories", 400, "undefined_code", Code::kInvalidArgument, "INVALID_FIELD"},
    {"replace_inventories", 400, "undefined_code", Code::kInvalidArgument, "INVALID_INVENTORY"},
    {"replace_inventories", 400, "undefined_code", Code::kNotFound, "RESOURCE_CLASS_NOT_FOUND"},
    {"replace_inventories", 404, "undefined_code", Code::kNotFound, "PROVIDER_NOT_FOUND"},
    {"replace_inventories", 409, "concurrent_update", Code::kAborted,
     "PROVIDER_GENERATION_CONFLICT"},
    {"replace_inventories", 409, "inventory.inuse", Code::kFailedPrecondition, "INVENTORY_IN_USE"},
    {"delete_inventories", 404, "undefined_code", Code::kNotFound, "PROVIDER_NOT_FOUND"},
    {"delete_inventories", 409, "inventory.inuse", Code::kFailedPrecondition, "INVENTORY_IN_USE"},
    {"replace_traits", 400, "undefined_code", Code::kNotFound, "TRAIT_NOT_FOUND"},
    {"replace_traits", 400, "undefined_code", Code::kInvalidArgument, "INVALID_FIELD"},
    {"replace_traits", 404, "undefined_code", Code::kNotFound, "PROVIDER_NOT_FOUND"},
    {"replace_traits", 409, "concurrent_update", Code::kAborted, "PROVIDER_GENERATION_CONFLICT"},
    {"replace_aggregates", 400, "undefined_code", Code::kInvalidArgument, "INVALID_FIELD"},
    {"replace_aggregates", 400, "undefined_code", Code::kInvalidArgument, "DUPLICATE_PARAMETER"},
    {"replace_aggregates", 404, "undefined_code", Code::kNotFound, "PROVIDER_NOT_FOUND"},
    {"replace_aggregates", 409, "concurrent_update", Code::kAborted,
     "PROVIDER_GENERATION_CONFLICT"},
    {"replace_allocations", 400, "undefined_code", Code::kInvalidArgument, "INVALID_FIELD"},
    {"replace_allocations", 400, "undefined_code", Code::kInvalidArgument, "DUPLICATE_PARAMETER"},
    {"replace_allocations", 400, "undefined_code", Code::kNotFound, "PROVIDER_NOT_FOUND"},
    {"replace_allocations", 400, "undefined_code", Code::kNotFound, "RESOURCE_CLASS_NOT_FOUND"},
    {"replace_allocations", 409, "concurrent_update", Code::kAborted,
     "CONSUMER_GENERATION_CONFLICT"},
    {"replace_allocations", 409, "undefined_code", Code::kFailedPrecondition, "NO_INVENTORY"},
    {"replace_allocations", 409, "undefined_code", Code::kFailedPrecondition,
     "UNIT_CONSTRAINT_VIOLATED"},
    {"replace_allocations", 409, "undefined_code", Code::kResourceExhausted, "CAPACITY_EXCEEDED"},
    {"delete_allocations", 404, "undefined_code", Code::kNotFound, "CONSUMER_NOT_FOUND"},
};

}  // namespace

bool IsSameKind(const std::string& op, int status, const std::string& code,
                const absl::Status& ours) {
  if (status < 300 || ours.ok()) return status < 300 && ours.ok();
  const std::optional<placement::Refusal> refusal = placement::RefusalOf(ours);
  if (!refusal) return false;
  const absl::string_view name = absl::StripPrefix(code, "placement.");
  return std::any_of(std::begin(kKinds), std::end(kKinds), [&](const Kind& kind) {
    return absl::StartsWith(op, kind.op) && kind.http_status == status && kind.http_code == name &&
           kind.code == ours.code() && kind.reason == refusal->reason;
  });
}

}  // namespace berth::oracle
