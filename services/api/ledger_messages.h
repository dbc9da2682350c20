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
// The outcome of a write, from the decision of the look-up by its request id.
absl::Status FillOutcome(const WriteAnswer& answer, pb::GetRequestResponse* response);
void FillSelfCheck(const placement::SelfCheckReport& report, int limit,
                   pb::SelfCheckResponse* response);
// A page of the lost changes. Fails as Page::Of. A page with large entities is shorter.
absl::Status FillLostChanges(const placement::Loss& loss, const pb::ListLostChangesRequest& request,
                             pb::ListLostChangesResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_LEDGER_MESSAGES_H_
