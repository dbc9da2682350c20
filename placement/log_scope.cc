#include "placement/log_scope.h"

#include "placement/log_change.h"

namespace berth::placement {
namespace {

namespace pb = ledger::v1;

using Halves = google::protobuf::RepeatedField<uint64_t>;

void AddHalves(const Uuid& uuid, Halves* halves) {
  halves->Add(uuid.high);
  halves->Add(uuid.low);
}

int CountOf(const Halves& halves) { return halves.size() / 2; }

Uuid HalvesAt(const Halves& halves, int at) { return Uuid{halves[2 * at], halves[2 * at + 1]}; }

void EncodeFacts(const TreeFacts& facts, pb::TreeFacts* out) {
  for (const auto& [provider, root] : facts.roots) {
    AddHalves(provider.uuid, out->mutable_providers());
    AddHalves(root.uuid, out->mutable_roots());
  }
  for (const auto& [root, aggregates] : facts.aggregates) {
    pb::TreeAggregates* tree = out->add_trees();
    EncodeId(root.uuid, tree->mutable_root());
    for (const AggregateId& id : aggregates) AddHalves(id.uuid, tree->mutable_aggregates());
  }
}

TreeFacts DecodeFacts(const pb::TreeFacts& in) {
  TreeFacts facts;
  for (int i = 0; i < CountOf(in.providers()) && i < CountOf(in.roots()); ++i) {
    facts.roots.emplace_back(ProviderId{HalvesAt(in.providers(), i)},
                             ProviderId{HalvesAt(in.roots(), i)});
  }
  for (const pb::TreeAggregates& tree : in.trees()) {
    std::vector<AggregateId> aggregates;
    aggregates.reserve(CountOf(tree.aggregates()));
    for (int i = 0; i < CountOf(tree.aggregates()); ++i) {
      aggregates.push_back(AggregateId{HalvesAt(tree.aggregates(), i)});
    }
    facts.aggregates.emplace_back(ProviderId{DecodeId(tree.root())}, std::move(aggregates));
  }
  return facts;
}

}  // namespace

void EncodeScope(const Scope& scope, pb::Scope* out) {
  if (scope.after != TreeFacts()) EncodeFacts(scope.after, out->mutable_after());
  if (scope.trees_changed) EncodeFacts(scope.before, out->mutable_before());
  for (const auto& [consumer, providers] : scope.gave_up) {
    pb::GaveUp* gave_up = out->add_gave_up();
    EncodeId(consumer.uuid, gave_up->mutable_consumer());
    for (const ProviderId& id : providers) AddHalves(id.uuid, gave_up->mutable_providers());
  }
  for (const Change& change : scope.derived) EncodeChange(change, out->add_derived());
  for (const Change& change : scope.neighbours) EncodeChange(change, out->add_neighbours());
  for (const std::string& key : scope.removed_keys) out->add_removed_keys(key);
}

bool DecodeScope(const pb::Scope& in, Scope* out) {
  out->after = DecodeFacts(in.after());
  out->trees_changed = in.has_before();
  if (in.has_before()) out->before = DecodeFacts(in.before());
  for (const pb::GaveUp& gave_up : in.gave_up()) {
    std::vector<ProviderId> providers;
    providers.reserve(CountOf(gave_up.providers()));
    for (int i = 0; i < CountOf(gave_up.providers()); ++i) {
      providers.push_back(ProviderId{HalvesAt(gave_up.providers(), i)});
    }
    out->gave_up.emplace_back(ConsumerId{DecodeId(gave_up.consumer())}, std::move(providers));
  }
  for (const pb::Change& change : in.derived()) {
    if (!DecodeChange(change, &out->derived)) return false;
  }
  for (const pb::Change& change : in.neighbours()) {
    if (!DecodeChange(change, &out->neighbours)) return false;
  }
  out->removed_keys.assign(in.removed_keys().begin(), in.removed_keys().end());
  return true;
}

}  // namespace berth::placement
