// What of a tracker's write is refused because of its form.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/unknown_field_set.h"
#include "gtest/gtest.h"
#include "services/wire/instance.h"
#include "services/wire/record_write.h"
#include "tests/services/wire/record_write_samples.h"

namespace berth::services {
namespace {

using google::protobuf::FieldDescriptor;
using placement::InstanceRecord;
using placement::Uuid;

// The field that the write is refused for; empty if it is taken.
std::string FaultOf(const pb::RecordWrite& write) {
  const auto command = WriteRecordsOf(write, {"h1", Uuid::Random()});
  if (command.ok()) return "";
  const auto refusal = placement::RefusalOf(command.status());
  if (!refusal || refusal->reason != "INVALID_FIELD") return command.status().ToString();
  return refusal->items.at(0).at("field");
}

pb::RecordWrite Withdrawal() {
  pb::RecordWrite write;
  write.set_write_id(7);
  write.set_node_uuid(kNode);
  write.mutable_instance()->set_uuid(kInstance);
  write.mutable_instance()->set_generation(5);
  write.mutable_migration()->set_uuid(kMigration);
  write.mutable_migration()->set_generation(6);
  write.set_withdraw(true);
  return write;
}

TEST(RecordWriteForm, AWithdrawalHasNoEdit) {
  const placement::WriteRecords command = Command(Withdrawal());
  EXPECT_EQ(command.written, nullptr);
  EXPECT_EQ(command.expected_generation.value, 5);
  EXPECT_EQ(command.migration->expected_generation.value, 6);
}

// Sets the field to something else than its default.
void SetSomething(const FieldDescriptor* field, google::protobuf::Message* message) {
  const google::protobuf::Reflection& how = *message->GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    field->is_repeated() ? how.AddMessage(message, field) : how.MutableMessage(message, field);
  } else if (field->is_repeated()) {
    ASSERT_EQ(field->cpp_type(), FieldDescriptor::CPPTYPE_STRING) << field->full_name();
    how.AddString(message, field, kOther);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    how.SetString(message, field, kOther);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    how.SetInt64(message, field, 9);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    how.SetBool(message, field, true);
  } else {
    ASSERT_EQ(field->cpp_type(), FieldDescriptor::CPPTYPE_ENUM) << field->full_name();
    how.SetEnumValue(message, field, 2);
  }
}

TEST(RecordWriteForm, AWithdrawalCarriesUuidsAndGenerationsOnly) {
  for (const bool of_instance : {true, false}) {
    const auto* type = of_instance ? pb::Instance::descriptor() : pb::Migration::descriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      if (field->name() == "uuid" || field->name() == "generation") continue;
      pb::RecordWrite write = Withdrawal();
      google::protobuf::Message* part = write.mutable_migration();
      if (of_instance) part = write.mutable_instance();
      SetSomething(field, part);
      EXPECT_EQ(
          FaultOf(write),
          absl::StrCat("record_write.", of_instance ? "instance." : "migration.", field->name()));
    }
  }
  pb::RecordWrite write = Withdrawal();
  write.set_end(pb::MOVE_END_FAILED);
  EXPECT_EQ(FaultOf(write), "record_write.end");
  write = Withdrawal();
  write.mutable_instance()
      ->GetReflection()
      ->MutableUnknownFields(write.mutable_instance())
      ->AddVarint(1000, 1);
  EXPECT_EQ(FaultOf(write), "record_write.instance");
  write = Withdrawal();
  write.clear_migration();
  EXPECT_EQ(FaultOf(write), "");
}

// Each sets one uuid of a write. `field`: as the refusal names it.
struct UuidPlace {
  std::string field;
  std::function<void(pb::RecordWrite*, const std::string&)> set;
};

std::vector<UuidPlace> UuidPlaces() {
  const auto in = [](pb::RecordWrite* write) { return write->mutable_instance(); };
  const auto context = [](pb::RecordWrite* write) {
    return write->mutable_instance()->mutable_migration_context();
  };
  return {
      {"node_uuid", [](auto* write, const auto& text) { write->set_node_uuid(text); }},
      {"instance.uuid", [=](auto* write, const auto& text) { in(write)->set_uuid(text); }},
      {"instance.node_uuid",
       [=](auto* write, const auto& text) { in(write)->set_node_uuid(text); }},
      {"instance.named_units[0].provider_uuid",
       [=](auto* write, const auto& text) {
         in(write)->add_named_units()->set_provider_uuid(text);
       }},
      {"instance.pci_devices[1].instance_uuid",
       [=](auto* write, const auto& text) {
         in(write)->add_pci_devices()->set_instance_uuid(text);
       }},
      {"instance.migration_context.migration_uuid",
       [=](auto* write, const auto& text) { context(write)->set_migration_uuid(text); }},
      {"instance.migration_context.new_named_units[0].provider_uuid",
       [=](auto* write, const auto& text) {
         context(write)->add_new_named_units()->set_provider_uuid(text);
       }},
      {"instance.migration_context.old_pci_requests[0].provider_uuids[0]",
       [=](auto* write, const auto& text) {
         pb::PciRequest* const request = context(write)->add_old_pci_requests();
         request->set_count(1);
         request->add_provider_uuids(text);
       }},
      {"migration.uuid",
       [](auto* write, const auto& text) { write->mutable_migration()->set_uuid(text); }},
      {"migration.destination_node_uuid",
       [](auto* write, const auto& text) {
         write->mutable_migration()->set_uuid(kMigration);
         write->mutable_migration()->set_destination_node_uuid(text);
       }},
  };
}

// What the record would be after the write, and what the command names besides.
std::string Effect(const pb::RecordWrite& write) {
  const placement::WriteRecords command = Command(write);
  const InstanceRecord after = After(command, *InstanceOf("instance", Recorded()));
  std::string text = absl::StrCat(command.node.ToString(), " ", command.instance.ToString(), " ",
                                  after.node->ToString(), " ", absl::CEscape(after.body));
  if (command.migration) absl::StrAppend(&text, " ", command.migration->migration.ToString());
  if (command.migration && command.migration->destination_node) {
    absl::StrAppend(&text, " ", command.migration->destination_node->ToString());
  }
  return text;
}

TEST(RecordWriteForm, EveryUuidIsCanonicalOrRefused) {
  const std::string lower = "abcdefab-cdef-4abc-8def-abcdefabcdef";
  for (const UuidPlace& place : UuidPlaces()) {
    SCOPED_TRACE(place.field);
    const auto write = [&](const std::string& text) {
      pb::RecordWrite with = ClaimWrite();
      place.set(&with, text);
      return with;
    };
    EXPECT_EQ(Effect(write(absl::AsciiStrToUpper(lower))), Effect(write(lower)));
    EXPECT_EQ(Effect(write(absl::StrReplaceAll(lower, {{"-", ""}}))), Effect(write(lower)));
    EXPECT_EQ(FaultOf(write(Uuid().ToString())), "") << "the nil uuid is a uuid";
    for (const std::string& wrong : {absl::StrCat("{", lower, "}"), "urn:uuid:" + lower,
                                     std::string("n"), lower + " ", std::string(100000, 'a')}) {
      EXPECT_EQ(FaultOf(write(wrong)), "record_write." + place.field) << wrong.substr(0, 50);
    }
  }
}

// The trackers compare what a record gives to its instance with the migrations by their uuids.
TEST(RecordWriteForm, AContextNamesItsMigrationInAnySpelling) {
  pb::Instance message = Recorded();
  message.mutable_migration_context()->set_migration_uuid("ABCDEFAB-CDEF-4ABC-8DEF-ABCDEFABCDEF");
  EXPECT_EQ(placement::InstanceFrom(message).held->context->migration,
            placement::MigrationId::Parse("abcdefab-cdef-4abc-8def-abcdefabcdef"));
}

TEST(RecordWriteForm, NumbersAreInTheirRanges) {
  struct Case {
    std::string field;
    int32_t min;
    int32_t max;
    std::function<void(pb::Instance*, int32_t)> set;
  };
  const int32_t most = std::numeric_limits<int32_t>::max();
  const std::vector<Case> cases = {
      {"pci_requests[0].count", 1, 256,
       [](auto* to, int32_t n) { to->add_pci_requests()->set_count(n); }},
      {"migration_context.old_pci_requests[0].count", 1, 256,
       [](auto* to, int32_t n) {
         to->mutable_migration_context()->add_old_pci_requests()->set_count(n);
       }},
      {"migration_context.new_pci_requests[0].count", 1, 256,
       [](auto* to, int32_t n) {
         to->mutable_migration_context()->add_new_pci_requests()->set_count(n);
       }},
      {"migration_context.new_flavor.vcpus", 0, most,
       [](auto* to, int32_t n) {
         to->mutable_migration_context()->mutable_new_flavor()->set_vcpus(n);
       }},
      {"numa_cells[1].host_cell", 0, 65535,
       [](auto* to, int32_t n) { to->add_numa_cells()->set_host_cell(n); }},
      {"numa_cells[1].shared_cpus", 0, 65535,
       [](auto* to, int32_t n) { to->add_numa_cells()->add_shared_cpus(n); }},
      {"numa_cells[1].pinned_cpus", 0, 65535,
       [](auto* to, int32_t n) { to->add_numa_cells()->add_pinned_cpus(n); }},
      {"numa_cells[1].reserved_cpus", 0, 65535,
       [](auto* to, int32_t n) { to->add_numa_cells()->add_reserved_cpus(n); }},
      {"numa_cells[1].pinning", 0, 65535,
       [](auto* to, int32_t n) { (*to->add_numa_cells()->mutable_pinning())[0] = n; }},
      {"numa_cells[1].pinning", 0, 65535,
       [](auto* to, int32_t n) { (*to->add_numa_cells()->mutable_pinning())[n] = 0; }},
      {"numa_cells[1].memory_mib", 0, most,
       [](auto* to, int32_t n) { to->add_numa_cells()->set_memory_mib(n); }},
      {"numa_cells[1].page_size_kib", -3, most,
       [](auto* to, int32_t n) { to->add_numa_cells()->set_page_size_kib(n); }},
      {"retry.attempts", 0, most,
       [](auto* to, int32_t n) { to->mutable_retry()->set_attempts(n); }},
  };
  for (const Case& one : cases) {
    for (const int32_t value :
         {std::numeric_limits<int32_t>::min(), -4, -1, 0, 1, 256, 257, 65535, 65536, most}) {
      pb::RecordWrite write = ClaimWrite();
      one.set(write.mutable_instance(), value);
      const bool lawful = value >= one.min && value <= one.max;
      EXPECT_EQ(FaultOf(write), lawful ? "" : "record_write.instance." + one.field) << value;
    }
  }
  pb::RecordWrite write = ClaimWrite();
  write.mutable_instance()->add_pci_requests()->set_count(1);
  write.mutable_instance()->mutable_pci_requests(0)->add_provider_uuids(kOther);
  EXPECT_EQ(FaultOf(write), "");
  write.mutable_instance()->mutable_pci_requests(0)->add_provider_uuids(kOther);
  EXPECT_EQ(FaultOf(write), "record_write.instance.pci_requests[0].provider_uuids");
}

// A field that the tracker does not decide may be malformed: it was written when other rules held.
TEST(RecordWriteForm, AMalformedFieldThatIsOnlyCarriedStaysAsItIs) {
  pb::Instance message = Recorded();
  message.add_pci_requests()->add_provider_uuids("none");
  const InstanceRecord recorded = placement::InstanceFrom(message);
  pb::Instance after;
  FillInstance(After(Command(ClaimWrite()), recorded), &after);
  ASSERT_EQ(after.pci_requests_size(), message.pci_requests_size());
  EXPECT_EQ(after.pci_requests(after.pci_requests_size() - 1).provider_uuids(0), "none");
  EXPECT_EQ(after.host(), "h1");
}

TEST(RecordWriteForm, LargeMessagesAreRefused) {
  pb::RecordWrite write = ClaimWrite();
  write.mutable_instance()->add_pci_devices()->set_address(std::string(200000, 'x'));
  EXPECT_EQ(FaultOf(write), "record_write.instance") << "a record has at most 64 KiB";
  write = ClaimWrite();
  write.mutable_migration()->set_uuid(kMigration);
  write.mutable_migration()->set_status(std::string(200000, 'x'));
  EXPECT_EQ(FaultOf(write), "record_write.migration");
  write = ClaimWrite();
  write.set_end(pb::MOVE_END_FAILED);
  EXPECT_EQ(FaultOf(write), "record_write.end") << "there is no migration";
}

}  // namespace
}  // namespace berth::services
