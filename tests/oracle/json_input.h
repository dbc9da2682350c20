// Turns the JSON of recordings into the domain's values: inventories, amounts, guards, requests.
//
// tests/oracle/README.md describes the format. A recording in another format ends the process with
// an exception of nlohmann. Pure.
#ifndef BERTH_TESTS_ORACLE_JSON_INPUT_H_
#define BERTH_TESTS_ORACLE_JSON_INPUT_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "placement/commands/command.h"
#include "placement/values/candidate.h"
#include "tests/oracle/subject.h"

namespace berth::oracle {

using Json = nlohmann::json;

// Ids of providers, consumers and aggregates by name. An id is made from the name if the recording
// has no uuid.
ProviderId ProviderOf(const std::string& name);
ConsumerId ConsumerOf(const std::string& name);

Amounts AmountsOf(const Json& classes);
std::vector<placement::NamedAmount> NamedAmountsOf(const Json& classes);
std::vector<placement::NamedInventory> InventoriesOf(const Json& classes);
std::vector<AggregateId> AggregatesOf(const Json& uuids);
std::set<std::string> StringsOf(const Json& list);

// A query as a request.
CandidateRequest RequestOf(const Json& query);

// The custom names that `commands` need: CreateClass and EnsureTrait for each.
std::vector<CommandBody> MakeNames(const std::set<std::string>& classes,
                                   const std::set<std::string>& traits);

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_JSON_INPUT_H_
