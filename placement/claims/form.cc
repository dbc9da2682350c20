#include "placement/claims/form.h"

#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/claims/allocation_form.h"
#include "placement/commands/record_form.h"
#include "placement/ground/check.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

constexpr size_t kMembersMax = 256;

// Checks the record that is created with the member's claim. It belongs to whom the consumer
// belongs to, and is on no host, because the caller does not know yet which host will be claimed.
void RecordFields(Faults& faults, const std::string& path, const ClaimMember& member) {
  const InstanceRecord& record = *member.instance;
  const auto equal = [&](const char* field, const std::string& given, const std::string& wanted) {
    if (given == wanted) return;
    faults.Add(kInvalidField, absl::StrCat(path, ".", field),
               absl::StrCat("must be ", wanted, ", as of the consumer"));
  };
  equal("uuid", record.id.ToString(), member.consumer.ToString());
  equal("project_id", record.project, member.project);
  equal("user_id", record.user, member.user);
  if (!record.host.empty()) {
    faults.Add(kInvalidField, path + ".host", "must be empty: the claim chooses the host");
  }
  InstanceFields(faults, path, record);
}

}  // namespace

std::string FieldOf(const PlaceClaims& command, size_t member, absl::string_view field) {
  if (command.one) return absl::StrCat("consumer.", field);
  return absl::StrCat("members[", member, "].consumer.", field);
}

absl::Status CheckForm(const PlaceClaims& command) {
  Faults faults;
  CountField(faults, "members", command.members.size(), kMembersMax);
  std::set<ConsumerId> seen;
  for (size_t m = 0; m < command.members.size(); ++m) {
    const ClaimMember& member = command.members[m];
    OwnerFields(
        faults, [&](absl::string_view field) { return FieldOf(command, m, field); }, member.project,
        member.user, member.type);
    if (member.lease) LeaseField(faults, FieldOf(command, m, "lease"), *member.lease);
    if (member.instance != nullptr) RecordFields(faults, FieldOf(command, m, "instance"), member);
    if (seen.insert(member.consumer).second) continue;
    faults.Add(kDuplicateParameter, FieldOf(command, m, "consumer_uuid"),
               absl::StrCat("repeats ", member.consumer.ToString()),
               {{"consumer", member.consumer.ToString()}});
  }
  return faults.status();
}

absl::Status OfMember(const PlaceClaims& command, size_t member, const absl::Status& fault) {
  std::optional<Refusal> refusal = RefusalOf(fault);
  BERTH_CHECK(refusal);  // PlanSearch fails only with Refuse
  const std::string consumer = command.members[member].consumer.ToString();
  const std::string at = command.one ? "query." : absl::StrCat("members[", member, "].query.");
  std::string said_of = absl::StrCat("consumer ", consumer, ": ");
  for (FaultItem& item : refusal->items) {
    const auto field = item.find("field");
    const bool is_first = &item == &refusal->items.front();
    if (field != item.end() && absl::StartsWith(field->second, "order.")) {
      if (is_first) said_of.clear();
      continue;
    }
    if (field != item.end()) {
      field->second = at + field->second;
      if (is_first) said_of = at;  // the message of the fault begins with the path of this field
    }
    item["consumer"] = consumer;
  }
  return Refuse(fault.code(), refusal->reason, absl::StrCat(said_of, fault.message()),
                refusal->items, refusal->retry_after);
}

}  // namespace berth::placement
