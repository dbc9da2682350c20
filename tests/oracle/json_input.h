// What recordings hold, turned into the domain's values: inventories, amounts, guards, requests.
//
// The format is told in tests/oracle/README.md. A recording that does not follow it ends the
// process with nlohmann's exception. Pure.
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

// Names of providers, consumers and aggregates to ids. Where a recording gives no uuid, the name
// makes one.
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
