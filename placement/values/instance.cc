#include "placement/values/instance.h"

#include <tuple>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace berth::placement {
namespace {

auto FieldsOf(const InstanceRecord& of) {
  return std::tie(of.id, of.generation, of.name, of.project, of.user, of.host, of.node, of.vm_state,
                  of.task_state, of.flavor_id, of.flavor, of.body, of.created_at, of.updated_at,
                  of.deleted_at);
}

constexpr char kBetween = '\0';

}  // namespace

PartNames::PartNames(const PartNameSet& names)
    : text_(absl::StrJoin(names, absl::string_view(&kBetween, 1))) {}

std::vector<absl::string_view> PartNames::List() const {
  return absl::StrSplit(text_, kBetween, absl::SkipEmpty());
}

PartNameSet PartNames::ToSet() const { return absl::StrSplit(text_, kBetween, absl::SkipEmpty()); }

bool operator==(const HeldParts& a, const HeldParts& b) {
  const bool same_context =
      a.context == b.context || (a.context && b.context && *a.context == *b.context);
  return same_context && a.own == b.own;
}

const HeldParts& HeldOf(const InstanceRecord& instance) {
  static const HeldParts nothing;
  return instance.held != nullptr ? *instance.held : nothing;
}

bool operator==(const InstanceRecord& a, const InstanceRecord& b) {
  return FieldsOf(a) == FieldsOf(b) && HeldOf(a) == HeldOf(b);
}

}  // namespace berth::placement
