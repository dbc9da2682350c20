#include "placement/values/instance.h"

#include <tuple>

namespace berth::placement {
namespace {

auto FieldsOf(const InstanceRecord& of) {
  return std::tie(of.id, of.generation, of.name, of.project, of.user, of.host, of.node, of.vm_state,
                  of.task_state, of.flavor_id, of.flavor, of.body, of.created_at, of.updated_at,
                  of.deleted_at);
}

}  // namespace

const HeldParts& HeldOf(const InstanceRecord& instance) {
  static const HeldParts nothing;
  return instance.held != nullptr ? *instance.held : nothing;
}

bool operator==(const InstanceRecord& a, const InstanceRecord& b) {
  return FieldsOf(a) == FieldsOf(b) && HeldOf(a) == HeldOf(b);
}

}  // namespace berth::placement
