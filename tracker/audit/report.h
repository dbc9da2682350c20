// Report: the message of a tracker to placement about one node. It says how the node's providers
// should be, and what the audit found.
//
// Plain values and pure functions.
#ifndef BERTH_TRACKER_AUDIT_REPORT_H_
#define BERTH_TRACKER_AUDIT_REPORT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tracker/audit/accounting.h"
#include "tracker/audit/inventory.h"
#include "tracker/audit/records.h"
#include "tracker/audit/traits.h"
#include "tracker/facts/facts.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// A provider as it should be. `traits` has all traits that the tracker decides about; the provider
// keeps its other traits as they are.
struct WantedProvider {
  Uuid uuid;
  std::string name;
  Uuid parent_uuid;         // nil: the root
  Inventories inventories;  // all: the provider has no others (T-201)
  OwnedTraits traits;
};

// Everything that a consumer shall hold on the providers of the node after the report.
struct WantedHolding {
  Uuid consumer_uuid;
  int64_t generation = 0;  // of the consumer, as the tracker knows it
  std::map<Uuid, std::map<std::string, int64_t>> amounts;  // by provider uuid and class
  friend bool operator==(const WantedHolding&, const WantedHolding&) = default;
};

struct Report {
  Uuid node_uuid;
  std::string node_name;
  std::vector<WantedProvider> providers;  // root first
  std::shared_ptr<const Facts> facts;     // all audits of one observation share them
  std::string facts_digest;               // see FactsDigest
  Accounting accounting;
  std::vector<Orphan> orphans;
  std::vector<std::string> findings;  // the texts of those findings that change the digest
  // The consumers whose allocations change with this report. They are not part of the digest,
  // because they say how placement gets to this state, not what the state is.
  std::vector<WantedHolding> holdings;
  bool moves_resources = false;  // `holdings` has resources that move, and not only devices
};

// Texts that are equal for two reports if the reports tell placement the same, and different
// otherwise. Values that change all the time on an unchanged host do not change the texts: the
// uptime, the observed memory and disk in use, and a guest's balloon (T-54, T-94).
struct ReportDigest {
  std::string whole;
  std::string but_accounting;  // does not compare the accounting
};

ReportDigest DigestOf(const Report& report);

// Returns the digest of what a report tells of `facts`. With many devices it costs more than the
// rest of an audit, so it is computed once for each observation.
std::string FactsDigest(const Facts& facts);

// Whether `tree`, the providers that placement has, differs from `wanted`. It differs if a wanted
// provider is missing, has another name, parent or inventory, or has not the traits that its
// `traits` asks for. Other traits and other providers are not compared (T-193, T-211).
bool Differs(const std::vector<WantedProvider>& wanted, const std::vector<KnownProvider>& tree);

// `wanted` as placement stores it, by `limits`. `known`: the provider as placement has it; null: it
// has none.
WantedProvider AsStored(WantedProvider wanted, const ProviderLimits& limits,
                        const KnownProvider* known);
// Whether `records` differ from `wanted` in more than their limits explain. An inventory that an
// operator has made as the report wants it, beyond its limit, is no difference.
bool DiffersBeyondLimits(const std::vector<WantedProvider>& wanted, const Records& records);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_REPORT_H_
