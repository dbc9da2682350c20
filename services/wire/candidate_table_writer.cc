#include "services/wire/candidate_table_writer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/hash/hash.h"
#include "berth/placement/v1/candidate.pb.h"
#include "placement/ground/check.h"
#include "services/wire/candidate_shape.h"
#include "services/wire/form.h"

namespace berth::services {
namespace {

using placement::InventoryRow;
using placement::ProviderConfig;
using placement::ProviderId;
using placement::Tree;

// The approximate number of bytes of a candidate of one group, and of a provider with three
// classes.
constexpr size_t kBytesOfACandidate = 8;
constexpr size_t kBytesOfAProvider = 56;
constexpr size_t kIdsOfACandidate = 3;
constexpr int64_t kIdBytes = 16;
// A candidate is compared only with this many of the newest shapes. If it has none of these shapes,
// it gets a new shape.
constexpr size_t kShapesLookedAt = 16;

bool IsSameClass(const InventoryRow& one, const InventoryRow& other) {
  return one.resource_class == other.resource_class;
}

}  // namespace

size_t CandidateTableWriter::KindHash::operator()(const ProviderConfig* config) const {
  size_t hash = absl::HashOf(config->traits);
  for (const InventoryRow& row : config->inventories) hash = absl::HashOf(hash, row.resource_class);
  return hash;
}

bool CandidateTableWriter::KindEqual::operator()(const ProviderConfig* one,
                                                 const ProviderConfig* other) const {
  return one->traits == other->traits &&
         std::equal(one->inventories.begin(), one->inventories.end(), other->inventories.begin(),
                    other->inventories.end(), IsSameClass);
}

CandidateTableWriter::CandidateTableWriter(const placement::State& state,
                                           int64_t candidates_expected)
    : state_(state), writer_((kBytesOfACandidate + kBytesOfAProvider) * candidates_expected) {
  candidate_shapes_.reserve(candidates_expected);
  ids_.reserve(kIdsOfACandidate * candidates_expected);
}

void CandidateTableWriter::Add(const placement::Candidate& candidate) {
  candidate_shapes_.push_back(ShapeOf(candidate));
  ForEachId(candidate, [this](ProviderId id) { ids_.push_back(id); });
}

int64_t CandidateTableWriter::ShapeOf(const placement::Candidate& candidate) {
  if (!shapes_.empty() && HaveOneShape(shapes_[last_shape_], candidate)) return last_shape_;
  const size_t oldest = shapes_.size() - std::min(shapes_.size(), kShapesLookedAt);
  for (last_shape_ = shapes_.size(); last_shape_ > oldest;) {
    if (HaveOneShape(shapes_[--last_shape_], candidate)) return last_shape_;
  }
  last_shape_ = shapes_.size();
  shapes_.push_back(candidate);
  int64_t count = 0;
  ForEachId(candidate, [&count](ProviderId) { ++count; });
  id_counts_.push_back(count);
  return last_shape_;
}

WireBytes CandidateTableWriter::End(const placement::SearchEnd& end, bool with_summaries,
                                    uint64_t seed) {
  pb::Revision revision;
  SetRevision(state_.position().revision, &revision);
  writer_.Text(pb::FindCandidatesResponse::kRevisionFieldNumber, revision.SerializeAsString());
  SetTrees(end.trees);
  writer_.Message(
      pb::FindCandidatesResponse::kTableFieldNumber, [&] { Table(with_summaries); },
      kBytesOfACandidate * candidate_shapes_.size() + kBytesOfAProvider * provider_count_);
  if (end.truncated) writer_.Number(pb::FindCandidatesResponse::kTruncatedFieldNumber, 1);
  if (seed != 0) {
    writer_.Number(pb::FindCandidatesResponse::kSeedFieldNumber, static_cast<int64_t>(seed));
  }
  return writer_.Release();
}

// Tries the previous root and the root after it first, because most candidates are under one of
// these two.
size_t CandidateTableWriter::TreeOf(ProviderId root, size_t before) const {
  for (size_t near = before; near < std::min(before + 2, roots_.size()); ++near) {
    if (roots_[near] == root) return near;
  }
  return std::lower_bound(roots_.begin(), roots_.end(), root) - roots_.begin();
}

void CandidateTableWriter::SetTrees(std::vector<const Tree*> trees) {
  trees_ = std::move(trees);
  roots_.reserve(trees_.size());
  for (const Tree* tree : trees_) roots_.push_back(tree->root_id());
  // If only sharing providers serve a candidate, and no provider of the root's own tree, then
  // `trees` lacks the root's tree.
  std::vector<ProviderId> missing;
  auto end = ids_.begin();
  size_t tree = 0;
  for (const int64_t shape : candidate_shapes_) {
    end += id_counts_[shape];
    const ProviderId root = *(end - 1);
    tree = TreeOf(root, tree);
    if (tree == roots_.size() || roots_[tree] != root) missing.push_back(root);
  }
  if (!missing.empty()) {
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    for (const ProviderId root : missing) trees_.push_back(state_.FindTree(root).get());
    std::sort(trees_.begin(), trees_.end(),
              [](const Tree* one, const Tree* other) { return one->root_id() < other->root_id(); });
    roots_.clear();
    for (const Tree* tree : trees_) roots_.push_back(tree->root_id());
  }
  first_places_.reserve(trees_.size());
  for (const Tree* tree : trees_) {
    first_places_.push_back(provider_count_);
    provider_count_ += tree->size();
    row_count_ += static_cast<int64_t>(tree->used.size());
  }
}

int64_t CandidateTableWriter::PlaceOf(size_t tree, ProviderId id) const {
  if (roots_[tree] == id) return first_places_[tree];
  const int own = trees_[tree]->Find(id);
  if (own >= 0) return first_places_[tree] + own;
  const auto place = state_.FindProvider(id);  // a sharing provider of another tree
  // The search found the candidate in this state, and lists the trees of its providers.
  BERTH_CHECK(place.has_value());
  const size_t other = TreeOf(place->tree->root_id(), tree);
  BERTH_CHECK(other < roots_.size() && roots_[other] == place->tree->root_id());
  return first_places_[other] + place->position;
}

void CandidateTableWriter::Table(bool with_summaries) {
  Uuids();
  if (with_summaries) Summaries();
  CandidateColumns();
  for (const placement::Candidate& shape : shapes_) Shape(shape);
}

void CandidateTableWriter::Uuids() {
  if (trees_.empty()) return;
  writer_.Head(pb::CandidateTable::kProviderUuidsFieldNumber, kIdBytes * provider_count_);
  for (const Tree* tree : trees_) {
    writer_.RawId(tree->root_id().uuid);
    for (int position = 1; position < tree->size(); ++position) {
      writer_.RawId(tree->config(position).id.uuid);
    }
  }
}

void CandidateTableWriter::Summaries() {
  std::vector<int64_t> parents, kinds, capacities, used;
  parents.reserve(provider_count_);
  kinds.reserve(provider_count_);
  capacities.reserve(row_count_);
  used.reserve(row_count_);
  absl::flat_hash_map<const ProviderConfig*, int64_t, KindHash, KindEqual> known;
  const ProviderConfig* last = nullptr;
  for (size_t i = 0; i < trees_.size(); ++i) {
    const Tree& tree = *trees_[i];
    for (int position = 0; position < tree.size(); ++position) {
      const ProviderConfig& config = tree.config(position);
      parents.push_back(position == 0 ? 0 : first_places_[i] + tree.shape->parent_of[position] + 1);
      writer_.Text(pb::CandidateTable::kProviderNamesFieldNumber, config.name);
      if (last != nullptr && KindEqual()(last, &config)) {
        kinds.push_back(kinds.back());
      } else {
        const auto [kind, is_new] = known.try_emplace(&config, known.size());
        if (is_new) Kind(config);
        kinds.push_back(kind->second);
      }
      last = &config;
      for (size_t row = 0; row < config.inventories.size(); ++row) {
        capacities.push_back(config.inventories[row].capacity);
        used.push_back(tree.used_of(position, static_cast<int>(row)));
      }
    }
  }
  writer_.Packed(pb::CandidateTable::kProviderParentsFieldNumber, parents);
  writer_.Packed(pb::CandidateTable::kProviderKindsFieldNumber, kinds);
  writer_.Packed(pb::CandidateTable::kCapacitiesFieldNumber, capacities);
  writer_.Packed(pb::CandidateTable::kUsedFieldNumber, used);
}

void CandidateTableWriter::Kind(const ProviderConfig& config) {
  writer_.Message(pb::CandidateTable::kKindsFieldNumber, [&] {
    for (const std::string& name : TraitNames(state_.catalog(), config.traits)) {
      writer_.Text(pb::KindOfProvider::kTraitsFieldNumber, name);
    }
    for (const InventoryRow& row : config.inventories) {
      writer_.Text(pb::KindOfProvider::kResourceClassesFieldNumber,
                   *ClassName(state_.catalog(), row.resource_class));
    }
  });
}

void CandidateTableWriter::CandidateColumns() {
  std::vector<int64_t> places;
  places.reserve(ids_.size());
  auto next = ids_.begin();
  size_t tree = 0;
  for (const int64_t shape : candidate_shapes_) {
    const auto end = next + id_counts_[shape];
    tree = TreeOf(*(end - 1), tree);
    for (; next != end; ++next) places.push_back(PlaceOf(tree, *next));
  }
  writer_.Packed(pb::CandidateTable::kCandidateShapesFieldNumber, candidate_shapes_);
  writer_.Packed(pb::CandidateTable::kCandidateProvidersFieldNumber, places);
}

void CandidateTableWriter::Shape(const placement::Candidate& model) {
  const auto& allocations = model.allocations;
  writer_.Message(pb::CandidateTable::kShapesFieldNumber, [&] {
    for (auto next = allocations.begin(); next != allocations.end();) {
      const ProviderId provider = next->provider;
      writer_.Message(pb::CandidateShape::kAllocationsFieldNumber, [&] {
        for (; next != allocations.end() && next->provider == provider; ++next) {
          writer_.Message(pb::ShapeAllocation::kResourcesFieldNumber, [&] {
            writer_.Text(kMapKey, *ClassName(state_.catalog(), next->resource_class));
            writer_.Number(kMapValue, next->amount);
          });
        }
      });
    }
    for (const auto& mapping : model.mappings) {  // clang 14 cannot capture structured bindings
      writer_.Message(pb::CandidateShape::kMappingsFieldNumber, [&] {
        if (!mapping.first.empty()) {
          writer_.Text(pb::ShapeMapping::kSuffixFieldNumber, mapping.first);
        }
        writer_.Number(pb::ShapeMapping::kProviderCountFieldNumber,
                       static_cast<int64_t>(mapping.second.size()));
      });
    }
  });
}

}  // namespace berth::services
