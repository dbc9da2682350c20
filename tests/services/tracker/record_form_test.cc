// The tracker's checks of records beside placement's: a record that placement refuses for its form,
// the tracker refuses, too, and both name the same field.
#include "tracker/uplink/record_form.h"

#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "berth/placement/v1/instance.pb.h"
#include "gtest/gtest.h"
#include "placement/commands/record_form.h"
#include "services/wire/form.h"
#include "services/wire/instance.h"

namespace berth::services {
namespace {

constexpr char kUuid[] = "0a1b2c3d-0000-4000-8000-00000000000f";
constexpr char kOther[] = "0a1b2c3d-0000-4000-8000-00000000000e";

// The field that a refusal names, without the key that placement tells after it; empty: it is none.
std::string FieldOf(const absl::Status& status) {
  if (status.ok()) return "";
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::vector<std::string>(
      absl::StrSplit(std::string(status.message()), absl::ByAnyChar(" ,")))[0];
}

absl::Status ByPlacement(const pb::Instance& instance) {
  pb::SetInstanceRequest request;
  *request.mutable_instance() = instance;
  BERTH_RETURN_IF_ERROR(CheckText(request));
  BERTH_ASSIGN_OR_RETURN(const auto record, InstanceOf("instance", instance));
  placement::Faults faults;
  placement::InstanceFields(faults, "instance", record);
  return faults.status();
}
absl::Status ByPlacement(const pb::Migration& migration) {
  pb::CreateMigrationRequest request;
  *request.mutable_migration() = migration;
  BERTH_RETURN_IF_ERROR(CheckText(request));
  BERTH_ASSIGN_OR_RETURN(const auto record, MigrationOf(migration));
  placement::Faults faults;
  placement::MigrationFields(faults, record);
  return faults.status();
}
absl::Status ByTracker(const pb::Instance& instance) {
  pb::SetInstanceRequest request;
  *request.mutable_instance() = instance;
  BERTH_RETURN_IF_ERROR(tracker::CheckText(request));
  return tracker::CheckInstanceForm("instance", instance);
}
absl::Status ByTracker(const pb::Migration& migration) {
  pb::CreateMigrationRequest request;
  *request.mutable_migration() = migration;
  BERTH_RETURN_IF_ERROR(tracker::CheckText(request));
  return tracker::CheckMigrationForm(migration);
}

pb::Instance GoodInstance() {
  pb::Instance instance;
  instance.set_uuid(kUuid);
  instance.set_project_id("p");
  instance.set_user_id("u");
  instance.set_host("h");
  instance.set_node_uuid(kOther);
  instance.set_vm_state("building");
  instance.mutable_flavor()->set_vcpus(1);
  return instance;
}
pb::Migration GoodMigration() {
  pb::Migration migration;
  migration.set_uuid(kUuid);
  migration.set_instance_uuid(kOther);
  migration.set_type(pb::MIGRATION_TYPE_COLD);
  migration.set_status("accepted");
  migration.set_source_host("h");
  return migration;
}

const std::string kValues[] = {"",
                               "text",
                               kUuid,
                               absl::AsciiStrToUpper(kUuid),
                               absl::StrCat("{", kUuid, "}"),
                               absl::StrReplaceAll(kUuid, {{"-", ""}}),
                               std::string("a\0b", 3),
                               "two\nlines",
                               "\x7f",
                               std::string(255, 'x'),
                               std::string(256, 'x'),
                               std::string(128 << 10, 'x'),
                               "\xc3\xa9"};

// Gives each text of `good` each of the values, and compares the two refusals.
template <typename Record>
void CompareTexts(const Record& good, int* refused) {
  const google::protobuf::Descriptor* const type = Record::descriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* const field = type->field(i);
    if (field->is_repeated() ||
        field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
      continue;
    }
    for (const std::string& value : kValues) {
      Record record = good;
      record.GetReflection()->SetString(&record, field, value);
      const std::string named = FieldOf(ByPlacement(record));
      EXPECT_EQ(FieldOf(ByTracker(record)), named) << field->name() << " = " << value.substr(0, 40);
      *refused += named.empty() ? 0 : 1;
    }
  }
}

TEST(RecordForm, BothCheckEachTextAlike) {
  ASSERT_EQ(FieldOf(ByPlacement(GoodInstance())), "");
  ASSERT_EQ(FieldOf(ByPlacement(GoodMigration())), "");
  int refused = 0;
  CompareTexts(GoodInstance(), &refused);
  CompareTexts(GoodMigration(), &refused);
  EXPECT_GT(refused, 50);
}

// In the tracker the nil uuid says that there is no uuid.
TEST(RecordForm, OnlyTheTrackerRefusesTheNilUuid) {
  const std::string nil = "00000000-0000-0000-0000-000000000000";
  pb::Instance instance = GoodInstance();
  instance.set_uuid(nil);
  EXPECT_EQ(FieldOf(ByPlacement(instance)), "");
  EXPECT_EQ(FieldOf(ByTracker(instance)), "instance.uuid");
  instance = GoodInstance();
  instance.set_node_uuid(nil);
  EXPECT_EQ(FieldOf(ByPlacement(instance)), "");
  EXPECT_EQ(FieldOf(ByTracker(instance)), "instance.node_uuid");
}

TEST(RecordForm, BothCheckEachNumberAlike) {
  for (const int64_t amount : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{INT32_MAX},
                               int64_t{INT32_MAX} + 1, INT64_MAX}) {
    const google::protobuf::Descriptor* const type = pb::Flavor::descriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const google::protobuf::FieldDescriptor* const field = type->field(i);
      pb::Instance instance = GoodInstance();
      pb::Flavor* const flavor = instance.mutable_flavor();
      if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_INT64) {
        flavor->GetReflection()->SetInt64(flavor, field, amount);
      } else if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_INT32) {
        flavor->GetReflection()->SetInt32(flavor, field, static_cast<int32_t>(amount));
      }
      EXPECT_EQ(FieldOf(ByTracker(instance)), FieldOf(ByPlacement(instance)))
          << field->name() << " = " << amount;
      pb::Instance moving = GoodInstance();
      *moving.mutable_migration_context()->mutable_new_flavor() = *flavor;
      EXPECT_EQ(FieldOf(ByTracker(moving)), FieldOf(ByPlacement(moving)))
          << field->name() << " = " << amount << " after a move";
      if (amount == -1 && field->number() != pb::Flavor::kIdFieldNumber && !field->is_map()) {
        EXPECT_EQ(FieldOf(ByPlacement(instance)), absl::StrCat("instance.flavor.", field->name()));
      }
    }
  }
  for (int type = -1; type < 7; ++type) {
    pb::Migration migration = GoodMigration();
    migration.set_type(static_cast<pb::MigrationType>(type));
    EXPECT_EQ(FieldOf(ByTracker(migration)), FieldOf(ByPlacement(migration))) << type;
  }
}

TEST(RecordForm, BothRefuseTheSameRecords) {
  struct Case {
    const char* field;  // empty: it is taken
    std::function<void(pb::Instance*)> change;
  };
  const std::string nul("\0", 1);
  const Case cases[] = {
      {"instance.flavor", [](pb::Instance* i) { i->clear_flavor(); }},
      {"instance.node_uuid", [](pb::Instance* i) { i->clear_host(); }},
      {"", [](pb::Instance* i) { i->mutable_flavor()->set_id(std::string(60 << 10, 'x')); }},
      {"instance",
       [](pb::Instance* i) { i->mutable_flavor()->set_id(std::string((64 << 10) + 1, 'x')); }},
      {"instance",
       [](pb::Instance* i) {
         (*i->mutable_image()->mutable_properties())["x"] = std::string(64 << 10, 'x');
       }},
      {"instance.image.properties[0].value",
       [&](pb::Instance* i) { (*i->mutable_image()->mutable_properties())["x"] = nul; }},
      {"instance.numa_cells[1].cpu_policy",
       [&](pb::Instance* i) {
         i->add_numa_cells();
         i->add_numa_cells()->set_cpu_policy(nul);
       }},
      {"instance.migration_context.old_pci_devices[0].address",
       [&](pb::Instance* i) {
         i->mutable_migration_context()->add_old_pci_devices()->set_address(nul);
       }},
  };
  for (const Case& one : cases) {
    pb::Instance instance = GoodInstance();
    one.change(&instance);
    EXPECT_EQ(FieldOf(ByPlacement(instance)), one.field);
    EXPECT_EQ(FieldOf(ByTracker(instance)), one.field);
  }
}

// What the tracker sends as a write: a record that passed, changed by a claim.
TEST(RecordForm, AWriteThatPlacementRefusesIsNotSent) {
  pb::RecordWrite write;
  *write.mutable_instance() = GoodInstance();
  EXPECT_EQ(FieldOf(tracker::CheckWriteForm(write)), "");
  write.mutable_instance()->set_node_uuid("node");
  EXPECT_EQ(FieldOf(tracker::CheckWriteForm(write)), "instance.node_uuid");
  write.mutable_instance()->clear_node_uuid();
  write.mutable_instance()->mutable_flavor()->set_id(std::string(128 << 10, 'x'));
  EXPECT_EQ(FieldOf(tracker::CheckWriteForm(write)), "instance");
  write.mutable_instance()->mutable_flavor()->set_id(std::string("\0", 1));
  EXPECT_EQ(FieldOf(tracker::CheckWriteForm(write)), "instance.flavor.id");
  *write.mutable_instance() = GoodInstance();
  *write.mutable_migration() = GoodMigration();
  EXPECT_EQ(FieldOf(tracker::CheckWriteForm(write)), "");
  write.mutable_migration()->set_status("two\nlines");
  EXPECT_EQ(FieldOf(tracker::CheckWriteForm(write)), "migration.status");
}

TEST(RecordForm, TheDetailsHaveUuidsAndNumbersThatCanBe) {
  using Change = std::function<void(pb::Instance*)>;
  const std::pair<const char*, Change> cases[] = {
      {"group_uuid", [](pb::Instance* i) { i->set_group_uuid("group"); }},
      {"named_units[0].provider_uuid",
       [](pb::Instance* i) { i->add_named_units()->set_provider_uuid("{}"); }},
      {"pci_requests[0].provider_uuids[0]",
       [](pb::Instance* i) {
         i->add_pci_requests()->set_count(1);
         i->mutable_pci_requests(0)->add_provider_uuids("");
       }},
      {"migration_context.migration_uuid",
       [](pb::Instance* i) { i->mutable_migration_context()->set_migration_uuid("m"); }},
      {"pci_requests[0].count", [](pb::Instance* i) { i->add_pci_requests(); }},
      {"pci_requests[0].count",
       [](pb::Instance* i) { i->add_pci_requests()->set_count(INT32_MAX); }},
      {"pci_requests[0].provider_uuids",
       [](pb::Instance* i) {
         i->add_pci_requests()->set_count(1);
         i->mutable_pci_requests(0)->add_provider_uuids(kUuid);
         i->mutable_pci_requests(0)->add_provider_uuids(kOther);
       }},
      {"numa_cells[0].host_cell", [](pb::Instance* i) { i->add_numa_cells()->set_host_cell(-1); }},
      {"numa_cells[0].shared_cpus",
       [](pb::Instance* i) { i->add_numa_cells()->add_shared_cpus(65536); }},
      {"numa_cells[0].pinning",
       [](pb::Instance* i) { (*i->add_numa_cells()->mutable_pinning())[0] = -1; }},
      {"numa_cells[0].memory_mib",
       [](pb::Instance* i) { i->add_numa_cells()->set_memory_mib(INT64_MAX); }},
      {"numa_cells[0].page_size_kib",
       [](pb::Instance* i) { i->add_numa_cells()->set_page_size_kib(-4); }},
      {"retry.attempts", [](pb::Instance* i) { i->mutable_retry()->set_attempts(-1); }},
      {"migration_context.new_flavor.vcpus",
       [](pb::Instance* i) {
         i->mutable_migration_context()->mutable_new_flavor()->set_vcpus(-1);
       }},
      {"migration_context.old_pci_requests[0].count",
       [](pb::Instance* i) { i->mutable_migration_context()->add_old_pci_requests(); }},
  };
  for (const auto& [field, change] : cases) {
    pb::RecordWrite write;
    *write.mutable_instance() = GoodInstance();
    change(write.mutable_instance());
    EXPECT_EQ(FieldOf(ByPlacement(write.instance())), absl::StrCat("instance.", field));
    EXPECT_EQ(FieldOf(ByTracker(write.instance())), absl::StrCat("instance.", field));
    EXPECT_EQ(FieldOf(tracker::CheckWriteForm(write)), absl::StrCat("instance.", field));
  }
}

TEST(RecordForm, AFlavorHasTheBoundsOfARecord) {
  pb::Flavor flavor;
  EXPECT_EQ(FieldOf(tracker::CheckFlavorForm("new_flavor", flavor)), "");
  flavor.set_swap_mib(-1);
  EXPECT_EQ(FieldOf(tracker::CheckFlavorForm("new_flavor", flavor)), "new_flavor.swap_mib");
  flavor.set_swap_mib(0);
  (*flavor.mutable_extra_specs())["x"] = std::string(64 << 10, 'x');
  EXPECT_EQ(FieldOf(tracker::CheckFlavorForm("new_flavor", flavor)), "new_flavor");
}

}  // namespace
}  // namespace berth::services
