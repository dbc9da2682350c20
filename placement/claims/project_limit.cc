#include "placement/claims/project_limit.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/ground/status_macros.h"
#include "placement/state/lookup.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// Collects the faults of one command.
class ProjectCheck {
 public:
  ProjectCheck(const State& state, const ProjectSet& projects)
      : state_(state), projects_(projects) {}

  // The command says that `kind`, of this uuid, belongs to `project`.
  void Says(const char* kind, Uuid uuid, const std::string& project, std::string field) {
    if (projects_.contains(project)) return;
    const std::string message =
        absl::StrCat(field, ": the caller may not write for the project '", project, "'");
    said_.Add({{kind, uuid.ToString()}, {"field", std::move(field)}, {"project", project}},
              message);
  }
  // The command is about `kind`, of this uuid.
  void Stands(const char* kind, Uuid uuid, std::string field) {
    if (MayWrite(uuid)) return;
    const std::string message =
        absl::StrCat(field, ": ", kind, " ", uuid.ToString(),
                     " belongs to a project for which the caller may not write");
    standing_.Add({{kind, uuid.ToString()}, {"field", std::move(field)}}, message);
  }
  // The same for an instance with all its moves.
  void StandsWithMoves(InstanceId instance, const std::string& field) {
    Stands("instance", instance.uuid, field);
    for (const MigrationPtr& migration : state_.records().MigrationsOf(instance)) {
      if (!MayWriteHere(migration->id.uuid)) Stands("migration", migration->id.uuid, field);
    }
  }

  // The command is about the server group.
  void StandsGroup(ServerGroupId id, std::string field) {
    const ServerGroupPtr group = FindGroup(state_.records(), id);
    if (group == nullptr || projects_.contains(group->project)) return;
    const std::string message =
        absl::StrCat(field, ": server group ", id.ToString(),
                     " belongs to a project for which the caller may not write");
    standing_.Add({{"server_group", id.ToString()}, {"field", std::move(field)}}, message);
  }

  absl::Status status() const {
    BERTH_RETURN_IF_ERROR(said_.status());
    return standing_.status();
  }

 private:
  struct FaultList {
    void Add(FaultItem item, const std::string& text) {
      if (items.empty()) message = text;
      items.push_back(std::move(item));
    }
    absl::Status status() const {
      return RefuseAll(absl::StatusCode::kPermissionDenied, "POLICY_DENIED", message, items);
    }
    std::vector<FaultItem> items;
    std::string message;
  };

  // A consumer and a record may have one uuid, and different projects: both count.
  bool MayWriteHere(Uuid uuid) const {
    const ConsumerPtr consumer = state_.FindConsumer(ConsumerId{uuid});
    if (consumer != nullptr && !projects_.contains(consumer->owner->project)) return false;
    const InstancePtr instance = state_.records().FindInstance(InstanceId{uuid});
    return instance == nullptr || projects_.contains(instance->project);
  }
  bool MayWrite(Uuid uuid) const {
    if (!MayWriteHere(uuid)) return false;
    const MigrationPtr migration = state_.records().FindMigration(MigrationId{uuid});
    return migration == nullptr || MayWriteHere(migration->instance.uuid);
  }

  const State& state_;
  const ProjectSet& projects_;
  FaultList said_;
  FaultList standing_;
};

std::string Nth(const char* list, size_t index, absl::string_view field) {
  return absl::StrCat(list, "[", index, "].", field);
}

bool Note(ProjectCheck& check, const SetAllocations& command) {
  for (size_t i = 0; i < command.consumers.size(); ++i) {
    const ConsumerAllocations& consumer = command.consumers[i];
    check.Says("consumer", consumer.consumer.uuid, consumer.project,
               Nth("consumers", i, "project_id"));
    check.Stands("consumer", consumer.consumer.uuid, Nth("consumers", i, "consumer_uuid"));
  }
  return true;
}
bool Note(ProjectCheck& check, const DeleteAllocations& command) {
  check.Stands("consumer", command.consumer.uuid, "consumer_uuid");
  return true;
}
bool Note(ProjectCheck& check, const AdjustAllocations& command) {
  check.Stands("consumer", command.consumer.uuid, "consumer_uuid");
  return true;
}
bool Note(ProjectCheck& check, const ReleaseConsumers& command) {
  for (size_t i = 0; i < command.consumers.size(); ++i) {
    check.Stands("consumer", command.consumers[i].consumer.uuid,
                 Nth("consumers", i, "consumer_uuid"));
  }
  return true;
}
bool Note(ProjectCheck& check, const SetLease& command) {
  check.Stands("consumer", command.consumer.uuid, "consumer_uuid");
  return true;
}
bool Note(ProjectCheck& check, const PlaceClaims& command) {
  for (size_t i = 0; i < command.members.size(); ++i) {
    const ClaimMember& member = command.members[i];
    const auto field = [&](absl::string_view name) {
      return command.one ? absl::StrCat("consumer.", name)
                         : Nth("members", i, absl::StrCat("consumer.", name));
    };
    check.Says("consumer", member.consumer.uuid, member.project, field("project_id"));
    if (member.instance != nullptr) {
      check.Says("instance", member.instance->id.uuid, member.instance->project,
                 field("instance.project_id"));
    }
    check.Stands("consumer", member.consumer.uuid, field("consumer_uuid"));
  }
  return true;
}
bool Note(ProjectCheck& check, const SetInstance& command) {
  check.Says("instance", command.record.id.uuid, command.record.project, "instance.project_id");
  check.Stands("instance", command.record.id.uuid, "instance.uuid");
  return true;
}
bool Note(ProjectCheck& check, const DeleteInstance& command) {
  check.StandsWithMoves(command.instance, "instance_uuid");
  return true;
}
bool Note(ProjectCheck& check, const CreateMigration& command) {
  check.Stands("instance", command.record.instance.uuid, "migration.instance_uuid");
  check.Stands("migration", command.record.id.uuid, "migration.uuid");
  return true;
}
bool Note(ProjectCheck& check, const UpdateMigration& command) {
  check.Stands("migration", command.migration.uuid, "migration_uuid");
  return true;
}
bool Note(ProjectCheck& check, const EndMove& command) {
  if (command.instance != nullptr) {
    check.Says("instance", command.instance->id.uuid, command.instance->project,
               "instance.project_id");
  }
  check.Stands("migration", command.migration.uuid, "migration_uuid");
  return true;
}
bool Note(ProjectCheck& check, const SetServerGroup& command) {
  check.Says("server_group", command.group.id.uuid, command.group.project, "group.project_id");
  check.StandsGroup(command.group.id, "group.uuid");
  return true;
}
bool Note(ProjectCheck& check, const UpdateServerGroupMembers& command) {
  check.StandsGroup(command.group, "group_uuid");
  for (size_t i = 0; i < command.add.size(); ++i) {
    check.Stands("instance", command.add[i].uuid, absl::StrCat("add_instance_uuids[", i, "]"));
  }
  for (size_t i = 0; i < command.remove.size(); ++i) {
    check.Stands("instance", command.remove[i].uuid,
                 absl::StrCat("remove_instance_uuids[", i, "]"));
  }
  return true;
}
bool Note(ProjectCheck& check, const DeleteServerGroup& command) {
  check.StandsGroup(command.group, "group_uuid");
  return true;
}
bool Note(ProjectCheck&, const FindRequest&) { return true; }
// All others concern no project, or many.
template <typename Body>
bool Note(ProjectCheck&, const Body&) {
  return false;
}

}  // namespace

absl::Status CheckProjects(const State& state, const ProjectSet& projects,
                           const CommandBody& body) {
  ProjectCheck check(state, projects);
  const bool has_projects = std::visit([&](const auto& each) { return Note(check, each); }, body);
  if (has_projects) return check.status();
  return Refuse(absl::StatusCode::kPermissionDenied, "POLICY_DENIED",
                "the caller may write for certain projects alone, and this call is not about one");
}

}  // namespace berth::placement
