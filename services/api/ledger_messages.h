// Converts messages about the whole ledger between protos and values. Pure functions.
#ifndef BERTH_SERVICES_API_LEDGER_MESSAGES_H_
#define BERTH_SERVICES_API_LEDGER_MESSAGES_H_

#include "absl/status/statusor.h"
#include "berth/placement/v1/ledger.pb.h"
#include "placement/ledger/ledger.h"
#include "placement/ledger/self_check.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

absl::StatusOr<placement::CommandBody> SetFormatCommand(const pb::SetFormatRequest&);

void FillStanding(const placement::LedgerHealth& health, const placement::State& state,
                  pb::GetRevisionResponse* response);
// Fills `response` with the outcome of the write that GetRequest asks for. `answer` holds the
// decision of the command that looked the request id up.
absl::Status FillOutcome(const WriteAnswer& answer, pb::GetRequestResponse* response);
void FillSelfCheck(const placement::SelfCheckReport& report, int limit,
                   pb::SelfCheckResponse* response);
// Fills `response` with one page of the lost changes. Fails as Page::Of does. If the entities are
// large, the page holds fewer of them.
absl::Status FillLostChanges(const placement::Loss& loss, const pb::ListLostChangesRequest& request,
                             pb::ListLostChangesResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_LEDGER_MESSAGES_H_
