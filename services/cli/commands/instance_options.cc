#include "services/cli/commands/instance_options.h"

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/instance.pb.h"
#include "google/protobuf/descriptor.h"
#include "nlohmann/json.hpp"
#include "services/cli/commands/node.h"
#include "services/cli/session/json.h"
#include "services/cli/session/text_file.h"
#include "services/cli/text/amounts.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

enum class Kind {
  kText,
  kNode,      // the name or uuid of a node
  kFlavorId,  // of the flavor
  kAmount,    // of the flavor
};

struct RecordOption {
  const char* flag;
  const char* field;  // of Instance; of Flavor if kind is kFlavorId or kAmount
  Kind kind;
  const char* unit;  // of an amount: a resource class that is counted in the same way
  const char* description;
};

constexpr RecordOption kOptions[] = {
    {"--name", "name", Kind::kText, "", "The name"},
    {"--project", "project_id", Kind::kText, "", "The project that pays"},
    {"--user", "user_id", Kind::kText, "", "The user who asks"},
    {"--host", "host", Kind::kText, "", "The host; '': none"},
    {"--node", "node_uuid", Kind::kNode, "", "Name or uuid of the node, with its host; '': none"},
    {"--state", "vm_state", Kind::kText, "", "The state, such as active or error"},
    {"--task", "task_state", Kind::kText, "", "The task that is being done; '': none"},
    {"--group", "group_uuid", Kind::kText, "", "The uuid of the server group; '': none"},
    {"--flavor", "id", Kind::kFlavorId, "", "The id of the flavor; '': not given"},
    {"--vcpus", "vcpus", Kind::kAmount, "VCPU", "The virtual CPUs"},
    {"--memory", "memory_mib", Kind::kAmount, "MEMORY_MB", "The memory: 8Gi, or a number of MiB"},
    {"--root-disk", "root_disk_gib", Kind::kAmount, "DISK_GB", "The root disk, such as 20Gi"},
    {"--ephemeral-disk", "ephemeral_disk_gib", Kind::kAmount, "DISK_GB",
     "Further local disks together"},
    {"--swap", "swap_mib", Kind::kAmount, "MEMORY_MB", "The swap disk, such as 512Mi"},
};

absl::Status SetAmount(const RecordOption& option, const std::string& text, pb::Flavor* flavor) {
  const auto amount = ParseAmount(option.unit, text);
  if (!amount.ok()) {
    return WrongOption(option.flag, absl::StrCat(option.flag, " ", amount.status().message()));
  }
  const auto* const field = flavor->GetDescriptor()->FindFieldByName(option.field);
  if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_INT64) {
    flavor->GetReflection()->SetInt64(flavor, field, *amount);
    return absl::OkStatus();
  }
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  if (*amount < 0 || *amount > kMax) {
    return WrongOption(option.flag,
                       absl::StrCat(option.flag, " '", text, "' is wrong: it must be 0 to ", kMax));
  }
  flavor->GetReflection()->SetInt32(flavor, field, static_cast<int32_t>(*amount));
  return absl::OkStatus();
}

}  // namespace

void AddInstanceOptions(CLI::App* command, InstanceOptions* options, const std::string& group) {
  for (const RecordOption& one : kOptions) {
    CLI::Option* const option = command->add_option_function<std::string>(
        one.flag, [options, &one](const std::string& value) { options->given[one.flag] = value; },
        one.description);
    if (!group.empty()) option->group(group);
  }
}

void AddInstanceFile(CLI::App* command, InstanceOptions* options) {
  command->add_option("--file", options->file,
                      "A file with the record as JSON, or - for standard input; the options "
                      "change it");
}

absl::Status ReadInstanceFile(const InstanceOptions& options, pb::Instance* instance) {
  if (options.file.empty()) return absl::OkStatus();
  BERTH_ASSIGN_OR_RETURN(const auto text, ReadText(options.file));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const bool is_answer = json.is_object() && json.contains("instance");
  pb::GetInstanceResponse answer;
  const absl::Status parsed =
      is_answer ? FromJson(text, &answer) : FromJson(text, answer.mutable_instance());
  if (!parsed.ok()) {
    return WrongOption("--file", absl::StrCat(options.file, ": ", parsed.message()));
  }
  *instance = answer.instance();
  return absl::OkStatus();
}

absl::Status ChangeInstance(Session& session, const InstanceOptions& options,
                            pb::Instance* instance) {
  pb::Flavor* const flavor = instance->mutable_flavor();
  for (const RecordOption& one : kOptions) {
    const auto given = options.given.find(one.flag);
    if (given == options.given.end()) continue;
    if (one.kind == Kind::kAmount) {
      BERTH_RETURN_IF_ERROR(SetAmount(one, given->second, flavor));
      continue;
    }
    if (one.kind == Kind::kFlavorId) {
      flavor->set_id(given->second);
      continue;
    }
    std::string text = given->second;
    if (one.kind == Kind::kNode && !text.empty()) {
      BERTH_ASSIGN_OR_RETURN(text, NodeUuid(session, text));
    }
    instance->GetReflection()->SetString(
        instance, instance->GetDescriptor()->FindFieldByName(one.field), text);
  }
  return absl::OkStatus();
}

}  // namespace berth::cli
