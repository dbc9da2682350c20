#include "tests/history/tracker_wire.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/history/checker/effect.h"
#include "tests/history/record_wire.h"

namespace berth::history {
namespace {

namespace pb = ::berth::placement::v1;

uint16_t ProviderIn(const Part& part) {
  return static_cast<uint16_t>(part.consumer & ~kProviderBit);
}
std::string NameOf(uint16_t provider) { return absl::StrCat("host", provider); }

void FillProvider(const ClientLog& log, const Part& part, uint16_t node, pb::WantedProvider* to) {
  const uint16_t provider = ProviderIn(part);
  to->set_uuid(ProviderUuid(provider));
  to->set_name(NameOf(provider));
  if (provider != node) to->set_parent_uuid(ProviderUuid(node));
  if (part.expected != kNew) to->set_base_generation(part.expected);
  for (uint32_t r = part.first_row; r < part.first_row + part.rows; ++r) {
    const Row& row = log.rows[r];
    (*to->mutable_inventories())[ClassName(row.resource_class)].set_total(row.amount);
  }
}

void AddPart(uint64_t number, int64_t generation, const std::vector<Row>& rows, PushLog* log,
             Push* push) {
  ++push->parts;
  log->parts.push_back({number, 0, generation, static_cast<uint32_t>(log->rows.size()),
                        static_cast<uint32_t>(rows.size())});
  log->rows.insert(log->rows.end(), rows.begin(), rows.end());
}

uint64_t NumberIn(const std::string& text, bool is_record) {
  const auto uuid = placement::Uuid::Parse(text);
  if (!uuid) return 0;
  return (is_record ? RecordOf(*uuid) : ConsumerOf(*uuid)).value_or(0);
}

std::vector<Row> RowsHeldBy(const pb::Consumer& consumer) {
  std::vector<Row> rows;
  for (const pb::ProviderAllocation& held : consumer.allocations()) {
    const auto uuid = placement::Uuid::Parse(held.provider_uuid());
    const auto provider = uuid ? ProviderOf(*uuid) : std::nullopt;
    for (const auto& [name, amount] : held.resources()) {
      rows.push_back({provider.value_or(kUnplaced), ClassOf(name).value_or(kClasses),
                      static_cast<int32_t>(amount)});
    }
  }
  SortRows(&rows);
  return rows;
}

}  // namespace

pb::SessionRequest HelloOf(const TrackerName& name, const std::string& digest,
                           const pb::Revision* pushed) {
  pb::SessionRequest request;
  pb::Hello& hello = *request.mutable_hello();
  hello.set_host(HostName(name.host));
  hello.set_binary("berth-tracker");
  hello.set_incarnation(name.incarnation);
  hello.set_machine_id(HostName(name.host));
  pb::NodeDigest* const node = hello.add_nodes();
  node->set_node_uuid(ProviderUuid(name.host));
  node->set_node_name(NameOf(name.host));
  node->set_digest(digest);
  if (pushed != nullptr) *node->mutable_pushed_revision() = *pushed;
  return request;
}

pb::SessionRequest ReportOf(const ClientLog& log, const Operation& operation, int64_t sequence,
                            pb::ReportKind kind) {
  pb::SessionRequest request;
  pb::Report& report = *request.mutable_report();
  report.set_node_uuid(ProviderUuid(operation.provider));
  report.set_node_name(NameOf(operation.provider));
  report.set_sequence(sequence);
  report.set_kind(kind);
  report.set_digest(RequestId(operation.client, operation.number));
  if (kind == pb::REPORT_KIND_SNAPSHOT) report.mutable_facts()->set_vcpus(1);
  report.mutable_audit();
  for (uint32_t p = operation.first_part; p < operation.first_part + operation.parts; ++p) {
    FillProvider(log, log.parts[p], operation.provider, report.add_providers());
  }
  return request;
}

void TakeAck(const pb::SessionResponse& response, ClientLog* log, Operation* operation) {
  operation->outcome = Outcome::kDone;
  operation->reason = Reason::kNone;
  operation->revision = response.revision().number();
  operation->epoch = static_cast<uint8_t>(response.revision().epoch());
  for (uint32_t p = operation->first_part; p < operation->first_part + operation->parts; ++p) {
    Part& part = log->parts[p];
    for (const pb::ProviderGenerations& told : response.ack().generations()) {
      if (told.provider_uuid() == ProviderUuid(ProviderIn(part))) {
        part.generation = told.generation();
      }
    }
  }
}

Verdict VerdictOf(const pb::Reject& reject) {
  return VerdictOf(grpc::Status(static_cast<grpc::StatusCode>(reject.status().code()),
                                reject.status().message(), reject.status().SerializeAsString()));
}

void TakeSlice(const pb::Push& slice, PushLog* log, Push* push) {
  push->complete |= slice.complete();
  for (const pb::Consumer& consumer : slice.consumers()) {
    AddPart(NumberIn(consumer.uuid(), false), consumer.generation(), RowsHeldBy(consumer), log,
            push);
  }
  for (const pb::Instance& instance : slice.instances()) {
    AddPart(NumberIn(instance.uuid(), true), instance.generation(), RowsOf(instance), log, push);
  }
  for (const pb::Migration& migration : slice.migrations()) {
    AddPart(NumberIn(migration.uuid(), true), migration.generation(), RowsOf(migration), log, push);
  }
  for (const std::string& uuid : slice.removed_consumer_uuids()) {
    AddPart(NumberIn(uuid, false), 0, {}, log, push);
  }
  for (const std::string& uuid : slice.removed_instance_uuids()) {
    AddPart(NumberIn(uuid, true), 0, {}, log, push);
  }
  for (const std::string& uuid : slice.removed_migration_uuids()) {
    AddPart(NumberIn(uuid, true), 0, {}, log, push);
  }
}

}  // namespace berth::history
