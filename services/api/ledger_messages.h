// The ledger as a whole between protos and the domain.
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
// What became of a write, from the decision of a look-up.
absl::Status FillOutcome(const WriteAnswer& answer, pb::GetRequestResponse* response);
void FillSelfCheck(const placement::SelfCheckReport& report, int limit,
                   pb::SelfCheckResponse* response);
// A page of what was lost. Fails as Page::Of. It ends early where it grows large.
absl::Status FillLostChanges(const placement::Loss& loss, const pb::ListLostChangesRequest& request,
                             pb::ListLostChangesResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_LEDGER_MESSAGES_H_
