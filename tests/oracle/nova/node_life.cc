#include "tests/oracle/nova/node_life.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace berth::oracle::nova {
namespace {

using tracker::GuestCell;
using tracker::Instance;
using tracker::Migration;
using tracker::MigrationContext;
using tracker::OpenClaim;

const Json& Field(const Json& from, const char* key) {
  static const Json null;
  const auto found = from.find(key);
  return found == from.end() ? null : *found;
}

tracker::ClaimLimits ReadLimits(const Json& limits) {
  tracker::ClaimLimits read;
  if (limits.is_null()) return read;
  const auto amount = [&](const char* key) -> std::optional<int64_t> {
    const Json& value = Field(limits, key);
    if (value.is_null()) return std::nullopt;
    return static_cast<int64_t>(value.get<double>());
  };
  read.memory_mib = amount("memory_mb");
  read.disk_gib = amount("disk_gb");
  read.vcpus = amount("vcpu");
  const Json& cells = Field(limits, "numa_topology");
  if (!cells.is_null()) {
    read.cells =
        tracker::CellLimits{cells.at("cpu_allocation_ratio"), cells.at("ram_allocation_ratio")};
  }
  return read;
}

std::vector<tracker::UnitAmount> ReadUnits(const Json& allocations) {
  std::vector<tracker::UnitAmount> units;
  for (const auto& [provider, from] : allocations.items()) {
    for (const auto& [resource_class, amount] : from.at("resources").items()) {
      units.push_back({provider, resource_class, amount});
    }
  }
  return units;
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json DescribeTopology(const std::optional<tracker::GuestTopology>& topology) {
  if (!topology.has_value()) return Json();
  Json cells = Json::array();
  for (const GuestCell& cell : topology->cells) {
    Json pinning = Json::object();
    for (const auto& [vcpu, cpu] : cell.pinning) pinning[absl::StrCat(vcpu)] = cpu;
    cells.push_back({{"host_cell", cell.host_cell.value_or(-1)},
                     {"memory_mb", cell.memory_mib},
                     {"page_size_kb", cell.page_size_kib == 0 ? Json() : Json(cell.page_size_kib)},
                     {"pinned_cpus", cell.pinned_cpus.Cpus()},
                     {"pinning", pinning},
                     {"reserved_cpus", cell.reserved_cpus.Cpus()},
                     {"shared_cpus", cell.shared_cpus.Cpus()}});
  }
  return cells;
}

std::string TypeName(tracker::MigrationType type) {
  static constexpr const char* kNames[] = {"migration", "resize", "live-migration", "evacuation"};
  return kNames[static_cast<int>(type)];
}

// Sets the reasons of the refusal. Reasons about memory, disk and virtual CPUs are set apart if
// there are others, and must be true.
void SetReasons(const absl::Status& status, const tracker::Flavor& flavor,
                const tracker::ClaimLimits& limits, const tracker::NaiveAccount& before,
                StepOutcome* outcome) {
  const auto refusal = tracker::RefusalOf(status);
  if (!refusal.has_value()) {
    outcome->reasons = {std::string(status.message())};
    return;
  }
  for (const std::string& reason : refusal->reasons) {
    const bool memory = absl::StartsWith(reason, "Free memory ");
    if (memory && before.memory_mib_used + flavor.memory_mib <= limits.memory_mib.value_or(0)) {
      outcome->wrong = absl::StrCat("T-159: untrue: ", reason);
    }
    (memory ? outcome->amount_reasons : outcome->reasons).push_back(reason);
  }
}

}  // namespace

NodeLife::NodeLife(const Json& setup)
    : world_(ReadWorld(setup)), account_(world_.self, world_.resources) {
  settings_.device_aliases = world_.aliases;
}

StepOutcome NodeLife::Do(const Json& step) {
  const std::string op = step.at("op");
  ++steps_;
  StepOutcome outcome;
  if (op == "create_instance") {
    PutInstance(ReadInstance(world_, step.at("record")));
  } else if (op == "create_migration") {
    Migration migration = ReadMigration(world_, step.at("record"));
    migration.created_at = now();
    PutMigration(std::move(migration));
  } else if (op == "set_instance") {
    SetInstance(step);
  } else if (op == "set_migration") {
    SetMigration(step);
  } else if (op == "build_failed") {
    account_.CountFailedBuild();
  } else if (op == "build_succeeded") {
    account_.ForgetFailedBuilds();
  } else if (op == "instance_claim") {
    outcome = ClaimInstance(step);
  } else if (absl::EndsWith(op, "_claim")) {
    outcome = ClaimMove(step);
  } else if (op == "abort") {
    outcome = Abort(step);
  } else if (absl::StartsWith(op, "drop_move_claim_at_")) {
    outcome = Drop(step, op == "drop_move_claim_at_source");
  } else if (op == "update_usage") {
    outcome.instance = step.at("instance");
  } else if (op == "audit") {
    ForgetUnits();
  } else {
    outcome.wrong = absl::StrCat("no replay of ", op);
  }
  // Nova stores the number with the statistics, and moves do not touch them.
  const bool granted = outcome.reasons.empty() && outcome.amount_reasons.empty();
  if (op == "audit" || op == "update_usage" || op == "abort" ||
      (op == "instance_claim" && granted)) {
    stored_failed_builds_ = account_.failed_builds();
  }
  return outcome;
}

StepOutcome NodeLife::ClaimInstance(const Json& step) {
  StepOutcome outcome;
  const Instance& instance = instances_.at(step.at("instance"));
  outcome.instance = instance.uuid;
  const tracker::InstanceClaim request = {absl::StrCat("claim-", steps_),
                                          step.at("node"),
                                          instance,
                                          ReadLimits(Field(step, "limits")),
                                          ReadUnits(Field(step, "allocations")),
                                          absl::InfiniteFuture()};
  const tracker::NodeAccount before = account_;
  const tracker::NaiveAccount counted = CountAll();
  const auto claim = tracker::ClaimInstance(settings_, request, &account_);
  if (claim.ok()) {
    handles_.insert_or_assign(step.at("claim"), *claim);
    Record(*claim, &outcome);
    if (!claim->instance.assigned.units.empty()) unstored_units_.insert(instance.uuid);
  } else {
    SetReasons(claim.status(), instance.flavor, request.limits, counted, &outcome);
    tracker::NodeAccount relaxed = WithFreePages();
    outcome.lacks_free_pages = tracker::ClaimInstance(settings_, request, &relaxed).ok();
    if (!(account_ == before)) outcome.wrong = "T-156: a refused claim changed the account";
  }
  return outcome;
}

StepOutcome NodeLife::ClaimMove(const Json& step) {
  StepOutcome outcome;
  const Instance& instance = instances_.at(step.at("instance"));
  tracker::MoveClaim request;
  request.id = absl::StrCat("claim-", steps_);
  request.node_uuid = step.at("node");
  request.instance = instance;
  request.new_flavor = instance.flavor;
  if (step.contains("new_flavor")) request.new_flavor = world_.flavors.at(step.at("new_flavor"));
  request.migration = step.contains("migration")
                          ? migrations_.at(step.at("migration"))
                          : tracker::NewMigration(step.at("expect").at("migration").at("uuid"),
                                                  instance, request.new_flavor, world_.self, now());
  request.limits = ReadLimits(Field(step, "limits"));
  request.units = ReadUnits(Field(step, "allocations"));
  request.lease_end = absl::InfiniteFuture();
  const tracker::NodeAccount before = account_;
  const tracker::NaiveAccount counted = CountAll();
  const auto claim = tracker::ClaimMove(settings_, request, &account_);
  outcome.instance = instance.uuid;
  outcome.migration = request.migration.uuid;
  if (claim.ok()) {
    handles_.insert_or_assign(step.at("claim"), *claim);
    Record(*claim, &outcome);
    return outcome;
  }
  SetReasons(claim.status(), request.new_flavor, request.limits, counted, &outcome);
  outcome.half = true;
  tracker::NodeAccount relaxed = WithFreePages();
  outcome.lacks_free_pages = tracker::ClaimMove(settings_, request, &relaxed).ok();
  if (!(account_ == before)) outcome.wrong = "T-156: a refused claim changed the account";
  Migration left = request.migration;
  left.destination = world_.self;
  refused_.insert_or_assign(left.uuid, std::move(left));
  return outcome;
}

StepOutcome NodeLife::Abort(const Json& step) {
  StepOutcome outcome;
  const OpenClaim& claim = handles_.at(step.at("claim"));
  const std::string instance = claim.instance.uuid;
  const Migration* migration = nullptr;
  if (claim.migration.has_value()) migration = &migrations_.at(claim.migration->uuid);
  Write(tracker::AbortClaim(claim, &instances_.at(instance), migration, "failed", &account_));
  outcome.half = migration != nullptr;
  outcome.instance = instance;
  return outcome;
}

StepOutcome NodeLife::Drop(const Json& step, bool at_source) {
  StepOutcome outcome;
  outcome.half = true;
  const Instance& instance = instances_.at(step.at("instance"));
  const Migration& migration = migrations_.at(step.at("migration"));
  if (at_source) {
    Write(tracker::ConfirmMove(instance, migration));
    return outcome;
  }
  const auto ending = tracker::RevertMove(instance, migration);
  if (ending.ok()) {
    Write(*ending);
  } else {
    outcome.reasons = {std::string(ending.status().message())};
  }
  return outcome;
}

void NodeLife::SetInstance(const Json& step) {
  Instance instance = instances_.at(step.at("instance"));
  const Json& values = step.at("values");
  if (values.contains("apply_context") && instance.context.has_value()) {
    instance.assigned = instance.context->new_assigned;
    instance.device_requests = instance.context->new_device_requests;
  }
  if (values.value("drop_context", false)) instance.context.reset();
  for (const auto& [key, value] : values.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    if (key == "vm_state") instance.vm_state = text;
    if (key == "task_state") instance.task_state = text;
    if (key == "host") instance.on.host = text;
    if (key == "node") instance.on.node_uuid = text;
    if (key == "flavor") instance.flavor = world_.flavors.at(text);
    if (key == "numa_topology") instance.assigned.topology.reset();
    if (key == "migration_context") {
      instance.context = ReadContext(world_, value, Json(), Json(), instance.flavor);
    }
  }
  for (const char* key : {"old_flavor", "new_flavor"}) {
    const Json& name = Field(values, key);
    if (name.is_null()) continue;
    if (!instance.context.has_value()) instance.context = MigrationContext();
    auto& flavor = std::string(key) == "old_flavor" ? instance.context->old_flavor
                                                    : instance.context->new_flavor;
    flavor = world_.flavors.at(name);
  }
  PutInstance(std::move(instance));
}

void NodeLife::SetMigration(const Json& step) {
  const std::string uuid = step.at("migration");
  if (const auto refused = refused_.find(uuid); refused != refused_.end()) {
    migrations_[uuid] = refused->second;
    refused_.erase(refused);
  }
  Migration migration = migrations_.at(uuid);
  migration.status = step.at("values").at("status");
  migration.updated_at = now();
  PutMigration(std::move(migration));
}

void NodeLife::Write(const tracker::Ending& ending) {
  if (ending.migration.has_value()) {
    Migration migration = *ending.migration;
    migration.updated_at = now();
    PutMigration(std::move(migration));
  }
  if (ending.instance.has_value()) PutInstance(*ending.instance);
}

// The account must be the same while the claim is open and after its records have come back.
void NodeLife::Record(const OpenClaim& claim, StepOutcome* outcome) {
  const tracker::NodeAccount open = account_;
  if (claim.migration.has_value()) {
    Migration migration = *claim.migration;
    migration.updated_at = now();
    PutMigration(std::move(migration));
  }
  PutInstance(claim.instance);
  if (!(account_ == open)) outcome->wrong = "T-182: the records differ from the open claim";
  if (!account_.open_claims().empty()) outcome->wrong = "T-182: the claim is still open";
}

// Nova stores the named units of a new instance only when the build saves the instance next, which
// the recorder never did. So an audit forgets them.
void NodeLife::ForgetUnits() {
  for (const std::string& uuid : unstored_units_) {
    Instance instance = instances_.at(uuid);
    instance.assigned.units.clear();
    PutInstance(std::move(instance));
  }
  unstored_units_.clear();
}

void NodeLife::PutInstance(Instance instance) {
  account_.PutInstance(instance);
  const std::string uuid = instance.uuid;
  instances_.insert_or_assign(uuid, std::move(instance));
}

void NodeLife::PutMigration(Migration migration) {
  account_.PutMigration(migration);
  const std::string uuid = migration.uuid;
  migrations_.insert_or_assign(uuid, std::move(migration));
}

tracker::NaiveAccount NodeLife::CountAll() const {
  std::vector<Migration> migrations;
  for (const auto& [uuid, migration] : migrations_) migrations.push_back(migration);
  return tracker::CountNaively(world_.self, world_.resources, instances_, migrations);
}

// The account of a host that has as many free pages of the smallest size as this one has pages.
tracker::NodeAccount NodeLife::WithFreePages() const {
  tracker::NodeAccount relaxed = account_;
  if (!account_.resources().topology.has_value()) return relaxed;
  tracker::NodeResources resources = account_.resources();
  for (size_t i = 0; i < resources.topology->cells.size(); ++i) {
    tracker::NumaPages& smallest = resources.topology->cells[i].pages.front();
    const auto& used = account_.owners().cells()[i].usage.pages_by_size_kib;
    const auto found = used.find(smallest.size_kib);
    if (found != used.end()) smallest.total += found->second;
  }
  relaxed.SetResources(std::move(resources));
  return relaxed;
}

Json NodeLife::Naive() const { return DescribeNaively(world_, CountAll(), stored_failed_builds_); }

bool NodeLife::ResizesInPlace() const {
  for (const auto& [uuid, migration] : migrations_) {
    const auto instance = instances_.find(migration.instance_uuid);
    if (migration.source == world_.self && migration.destination == world_.self &&
        instance->second.flavor.id == migration.old_flavor_id) {
      return true;
    }
  }
  return false;
}

std::string NodeLife::FlavorName(const std::string& id) const {
  for (const auto& [name, flavor] : world_.flavors) {
    if (flavor.id == id) return name;
  }
  return "";
}

Json NodeLife::DescribeInstance(const std::string& uuid) const {
  const Instance& instance = instances_.at(uuid);
  Json described = {{"flavor", FlavorName(instance.flavor.id)},
                    {"host", TextOrNull(instance.on.host)},
                    {"node", TextOrNull(instance.on.node_uuid)},
                    {"launched_on", TextOrNull(instance.launched_on)},
                    {"task_state", TextOrNull(instance.task_state)},
                    {"vm_state", instance.vm_state},
                    {"numa", DescribeTopology(instance.assigned.topology)},
                    {"migration_context", Json()}};
  if (!instance.context.has_value() || instance.context->migration_uuid.empty()) return described;
  const MigrationContext& context = *instance.context;
  described["migration_context"] = {{"migration", context.migration_uuid},
                                    {"old_numa", DescribeTopology(context.old_assigned.topology)},
                                    {"new_numa", DescribeTopology(context.new_assigned.topology)},
                                    {"old_pci_devices", context.old_assigned.devices},
                                    {"new_pci_devices", context.new_assigned.devices}};
  return described;
}

Json NodeLife::DescribeMigration(const std::string& uuid) const {
  const Migration& migration = migrations_.at(uuid);
  return {{"uuid", uuid},
          {"type", TypeName(migration.type)},
          {"status", migration.status},
          {"source_host", TextOrNull(migration.source.host)},
          {"source_node", TextOrNull(migration.source.node_uuid)},
          {"dest_host", TextOrNull(migration.destination.host)},
          {"dest_node", TextOrNull(migration.destination.node_uuid)},
          {"old_flavor", FlavorName(migration.old_flavor_id)},
          {"new_flavor", FlavorName(migration.new_flavor_id)}};
}

}  // namespace berth::oracle::nova
