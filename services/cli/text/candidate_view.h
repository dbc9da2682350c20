// Formats candidates and allocations as text for people. Pure: takes messages, returns text.
#ifndef BERTH_SERVICES_CLI_TEXT_CANDIDATE_VIEW_H_
#define BERTH_SERVICES_CLI_TEXT_CANDIDATE_VIEW_H_

#include <map>
#include <string>

#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "google/protobuf/repeated_field.h"
#include "services/cli/text/table.h"

namespace berth::cli {

// Names of providers by uuid. A provider without an entry is shown by its uuid.
using NamesByUuid = std::map<std::string, std::string>;

NamesByUuid NamesOf(const google::protobuf::RepeatedPtrField<placement::v1::ProviderSummary>&);

// Makes one line for each provider of each candidate: the amounts that would be allocated on this
// provider, and how full the provider would be then.
Table CandidateTable(const placement::v1::FindCandidatesResponse& answer);

// One line for each provider and class on which a consumer holds something.
Table AllocationTable(const placement::v1::Consumer& consumer, const NamesByUuid& names);

// One line for each consumer and provider.
Table ConsumerTable(const google::protobuf::RepeatedPtrField<placement::v1::Consumer>& consumers,
                    const NamesByUuid& names);

// A few lines that say what was claimed.
std::string ClaimPage(const placement::v1::Consumer& consumer, const NamesByUuid& names,
                      const Screen& screen);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_CANDIDATE_VIEW_H_
