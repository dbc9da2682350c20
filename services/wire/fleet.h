// Services and nodes between protos and the domain.
#ifndef BERTH_SERVICES_WIRE_FLEET_H_
#define BERTH_SERVICES_WIRE_FLEET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/node.pb.h"
#include "placement/commands/command.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

using ServicePtr = std::shared_ptr<const placement::ServiceRecord>;
using NodePtr = std::shared_ptr<const placement::NodeRecord>;

// What this process knows of one service.
struct Heard {
  placement::Uuid incarnation;
  absl::Time at;
  int64_t count = 0;         // of beats
  bool stale_audit = false;  // as its last beat said (T-293)
};

// Fail with INVALID_FIELD, then SERVICE_NOT_FOUND or NODE_NOT_FOUND.
absl::StatusOr<ServicePtr> FindServiceByUuid(const placement::State& state, absl::string_view text);
absl::StatusOr<NodePtr> FindNodeByUuid(const placement::State& state, absl::string_view text);
// The tracker's service of `host`, or null.
ServicePtr FindTracker(const placement::State& state, const std::string& host);

// What the command left of the service with `id`.
ServicePtr ServiceAfter(const WriteAnswer& answer, placement::Uuid id);

// `seen` may be null: this process never heard it.
void FillService(const placement::ServiceRecord& service, const Heard* seen, pb::Service* to);
void FillNode(const placement::State& state, const placement::NodeRecord& node, pb::NodeView view,
              pb::Node* to);

// `node_uuid` is the node that the command addressed, as the state has it.
void FillUpdateNode(const WriteAnswer& answer, const std::string& node_uuid,
                    pb::UpdateNodeResponse* response);
// What DeleteNode did to consumers, by uuid.
void FillDeleteNode(const WriteAnswer& answer, pb::DeleteNodeResponse* response);

// The commands of requests that name records by uuid: the ledger knows services by host and binary.
absl::StatusOr<placement::CommandBody> EnableServiceCommand(const placement::State& state,
                                                            const pb::EnableServiceRequest&);
absl::StatusOr<placement::CommandBody> DisableServiceCommand(const placement::State& state,
                                                             const pb::DisableServiceRequest&);
absl::StatusOr<placement::CommandBody> ForceServiceDownCommand(const placement::State& state,
                                                               const pb::ForceServiceDownRequest&);
absl::StatusOr<placement::CommandBody> UpdateNodeCommand(const placement::State& state,
                                                         const pb::UpdateNodeRequest&);
absl::StatusOr<placement::CommandBody> DeleteNodeCommand(const placement::State& state,
                                                         const pb::DeleteNodeRequest&);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_FLEET_H_
