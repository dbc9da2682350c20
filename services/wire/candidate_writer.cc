#include "services/wire/candidate_writer.h"

#include <algorithm>

#include "berth/placement/v1/candidate.pb.h"
#include "services/wire/candidate_shape.h"
#include "services/wire/form.h"

namespace berth::services {
namespace {

using placement::ProviderId;

// The approximate number of bytes of one candidate; a provider summary with three classes takes
// about as many.
constexpr size_t kBytesOfAnEntry = 192;

}  // namespace

CandidateWriter::CandidateWriter(const placement::State& state, int64_t candidates_expected)
    : state_(state), writer_(kBytesOfAnEntry * 2 * candidates_expected) {
  Revision();
}

WireBytes CandidateWriter::End(const placement::SearchEnd& end, bool with_summaries,
                               uint64_t seed) {
  if (with_summaries) Summaries(end.trees);
  if (end.truncated) writer_.Number(pb::FindCandidatesResponse::kTruncatedFieldNumber, 1);
  if (seed != 0) {
    writer_.Number(pb::FindCandidatesResponse::kSeedFieldNumber, static_cast<int64_t>(seed));
  }
  return writer_.Release();
}

void CandidateWriter::Revision() {
  pb::Revision message;
  SetRevision(state_.position().revision, &message);
  writer_.Text(pb::FindCandidatesResponse::kRevisionFieldNumber, message.SerializeAsString());
}

void CandidateWriter::Add(const placement::Candidate& candidate) {
  const size_t begin = writer_.size();
  if (model_size_ > 0 && HaveOneShape(model_, candidate)) {
    writer_.Repeat(model_begin_, model_size_);
    auto place = model_ids_.begin();
    ForEachId(candidate, [&](ProviderId id) {
      writer_.OverwriteId(*place++ - model_begin_ + begin, id.uuid);
    });
    return;
  }
  model_ids_.clear();
  writer_.NoteIds(&model_ids_);
  writer_.Message(pb::FindCandidatesResponse::kCandidatesFieldNumber, [&] {
    Allocations(candidate.allocations);
    for (const auto& [suffix, providers] : candidate.mappings) Mapping(suffix, providers);
    writer_.Id(pb::Candidate::kRootUuidFieldNumber, candidate.root.uuid);
  });
  writer_.NoteIds(nullptr);
  model_ = candidate;
  model_begin_ = begin;
  model_size_ = writer_.size() - begin;
}

void CandidateWriter::Allocations(absl::Span<const placement::Allocation> allocations) {
  for (auto next = allocations.begin(); next != allocations.end();) {
    const ProviderId provider = next->provider;
    writer_.Message(pb::Candidate::kAllocationsFieldNumber, [&] {
      writer_.Id(pb::ProviderAllocation::kProviderUuidFieldNumber, provider.uuid);
      for (; next != allocations.end() && next->provider == provider; ++next) {
        const std::string* name = ClassName(state_.catalog(), next->resource_class);
        if (name == nullptr) continue;
        writer_.Message(pb::ProviderAllocation::kResourcesFieldNumber, [&] {
          writer_.Text(kMapKey, *name);
          writer_.Number(kMapValue, next->amount);
        });
      }
    });
  }
}

void CandidateWriter::Mapping(const std::string& suffix, absl::Span<const ProviderId> providers) {
  writer_.Message(pb::Candidate::kMappingsFieldNumber, [&] {
    if (!suffix.empty()) writer_.Text(pb::GroupMapping::kSuffixFieldNumber, suffix);
    for (const ProviderId provider : providers) {
      writer_.Id(pb::GroupMapping::kProviderUuidsFieldNumber, provider.uuid);
    }
  });
}

// Writes the summaries of all providers of `trees`, sorted by uuid (P-205).
void CandidateWriter::Summaries(const std::vector<const placement::Tree*>& trees) {
  std::vector<std::pair<ProviderId, std::pair<const placement::Tree*, int>>> places;
  places.reserve(trees.size());
  for (const placement::Tree* tree : trees) {
    for (int position = 0; position < tree->size(); ++position) {
      places.push_back({tree->config(position).id, {tree, position}});
    }
  }
  if (!std::is_sorted(places.begin(), places.end())) std::sort(places.begin(), places.end());
  for (const auto& [id, place] : places) Summary(*place.first, place.second);
}

void CandidateWriter::Summary(const placement::Tree& tree, int position) {
  const placement::ProviderConfig& config = tree.config(position);
  const auto fill = [&] {
    writer_.Id(pb::ProviderSummary::kProviderUuidFieldNumber, config.id.uuid);
    if (config.parent) {
      writer_.Id(pb::ProviderSummary::kParentUuidFieldNumber, config.parent->uuid);
    }
    writer_.Id(pb::ProviderSummary::kRootUuidFieldNumber, tree.root_id().uuid);
    writer_.Text(pb::ProviderSummary::kNameFieldNumber, config.name);
    if (!config.traits.empty()) Traits(config.traits);
    for (size_t row = 0; row < config.inventories.size(); ++row) {
      const placement::InventoryRow& inventory = config.inventories[row];
      const std::string* name = NameAt(row, inventory.resource_class);
      if (name == nullptr) continue;
      Resource(*name, inventory.capacity, tree.used_of(position, static_cast<int>(row)));
    }
  };
  const size_t begin = writer_.size();
  writer_.Message(pb::FindCandidatesResponse::kSummariesFieldNumber, fill, summary_size_);
  summary_size_ = writer_.size() - begin;
}

void CandidateWriter::Resource(const std::string& name, placement::Amount capacity,
                               placement::Amount used) {
  constexpr int kCapacity = pb::ResourceSummary::kCapacityFieldNumber;
  constexpr int kUsed = pb::ResourceSummary::kUsedFieldNumber;
  const size_t size = (capacity == 0 ? 0 : WireWriter::NumberSize(kCapacity, capacity)) +
                      (used == 0 ? 0 : WireWriter::NumberSize(kUsed, used));
  writer_.Head(pb::ProviderSummary::kResourcesFieldNumber,
               WireWriter::TextSize(kMapKey, name.size()) + WireWriter::TextSize(kMapValue, size));
  writer_.Text(kMapKey, name);
  writer_.Head(kMapValue, size);
  if (capacity != 0) writer_.Number(kCapacity, capacity);
  if (used != 0) writer_.Number(kUsed, used);
}

void CandidateWriter::Traits(const std::vector<placement::TraitId>& traits) {
  if (traits_ != traits) {
    traits_ = traits;
    trait_names_ = TraitNames(state_.catalog(), traits);
  }
  for (const std::string& name : trait_names_) {
    writer_.Text(pb::ProviderSummary::kTraitsFieldNumber, name);
  }
}

const std::string* CandidateWriter::NameAt(size_t row, placement::ClassId resource_class) {
  if (row >= class_names_.size()) class_names_.resize(row + 1);
  auto& [known, name] = class_names_[row];
  if (name == nullptr || known != resource_class) {
    known = resource_class;
    name = ClassName(state_.catalog(), resource_class);
  }
  return name;
}

}  // namespace berth::services
