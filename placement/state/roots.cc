#include "placement/state/roots.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "placement/ground/check.h"

namespace berth::placement {
namespace {

int PlaceIn(const RootChunk& chunk, ProviderId root) {
  return static_cast<int>(std::lower_bound(chunk.ids.begin(), chunk.ids.end(), root) -
                          chunk.ids.begin());
}

bool IsAt(const RootChunk& chunk, int at, ProviderId root) {
  return at < static_cast<int>(chunk.ids.size()) && chunk.ids[at] == root;
}

// The most that one allocation could take of the inventory `row`, of which `used` is in use.
int32_t FreeOf(const InventoryRow& row, Amount used) {
  const Amount free = std::min(row.capacity - used, row.inventory.max_unit);
  return static_cast<int32_t>(std::clamp<Amount>(free, 0, kAmountMax));
}

// How much a tree has of a class, summed over its providers. The sums are floating point, since the
// sum of capacities may exceed int64.
struct Sum {
  double capacity = 0;
  double free = 0;
  int32_t free_max = 0;
  bool is_offered = false;
};

int32_t ShareOf(const Sum& sum) {
  if (sum.capacity <= 0) return 0;
  return static_cast<int32_t>(sum.free / sum.capacity * kShareWhole);
}

void Add(const InventoryRow& row, Amount used, Sum& sum) {
  sum.is_offered = true;
  sum.capacity += static_cast<double>(row.capacity);
  sum.free += static_cast<double>(std::max<Amount>(row.capacity - used, 0));
}

// The largest of `values`. So simple that the compiler uses vector instructions.
int32_t LargestOf(const std::array<int32_t, RootChunk::kRootsMax>& values) {
  int32_t largest = 0;
  for (size_t i = 0; i < values.size(); ++i) largest = std::max(largest, values[i]);
  return largest;
}

// Replaces values[at], and keeps `largest` the largest of `values`.
void SetIn(std::array<int32_t, RootChunk::kRootsMax>& values, int at, int32_t value,
           int32_t& largest) {
  const int32_t before = std::exchange(values[at], value);
  if (value >= largest) {
    largest = value;
  } else if (before == largest) {
    largest = LargestOf(values);
  }
}

// Writes the numbers `sum` of the tree at `at` into the column. Copies nothing if the numbers are
// the same as before.
void SetFree(RootChunk::Column& column, int at, const Sum& sum) {
  column.offered_by.set(at, sum.is_offered);
  const int32_t share = ShareOf(sum);
  if (column.free->max[at] == sum.free_max && column.free->share[at] == share) return;
  RootChunk::Free& free = column.free.Own();
  SetIn(free.max, at, sum.free_max, column.most_free);
  SetIn(free.share, at, share, column.most_share);
}

// Computes anew the numbers of the tree at `at`, in all columns.
void RefreshColumns(RootChunk& chunk, int at) {
  absl::InlinedVector<Sum, 8> sums(chunk.columns.size());  // parallel to the columns
  const Tree& tree = *chunk.trees[at];
  for (int position = 0; position < tree.size(); ++position) {
    auto column = chunk.columns.begin();
    const std::vector<InventoryRow>& rows = tree.config(position).inventories;
    for (size_t i = 0; i < rows.size(); ++i) {  // sorted by class, as the columns
      const ClassId resource_class = rows[i].resource_class;
      while (column != chunk.columns.end() && column->resource_class < resource_class) ++column;
      if (column == chunk.columns.end() || column->resource_class != resource_class) {
        sums.insert(sums.begin() + (column - chunk.columns.begin()), Sum());
        column = chunk.columns.insert(column, RootChunk::Column());
        column->resource_class = resource_class;
      }
      const Amount used = tree.used_of(position, static_cast<int>(i));
      Sum& sum = sums[column - chunk.columns.begin()];
      sum.free_max = std::max(sum.free_max, FreeOf(rows[i], used));
      Add(rows[i], used, sum);
    }
  }
  for (size_t c = 0; c < sums.size(); ++c) SetFree(chunk.columns[c], at, sums[c]);
}

// Whether the tree at `at`, or a tree after it, offers the column's class.
bool OffersFrom(const RootChunk::Column& column, int at) { return (column.offered_by >> at).any(); }

void InsertInto(RootChunk& chunk, int at, TreePtr tree) {
  const int behind = chunk.trees.size() - at;
  for (RootChunk::Column& column : chunk.columns) {
    if (!OffersFrom(column, at)) continue;
    RootChunk::Free& free = column.free.Own();
    for (int32_t* const entry : {free.max.data() + at, free.share.data() + at}) {
      std::move_backward(entry, entry + behind, entry + behind + 1);
      *entry = 0;  // the largest stay right: the value that was here has only moved up
    }
    column.offered_by = WithRoomAt(column.offered_by, at);
  }
  chunk.ids.insert(chunk.ids.begin() + at, tree->root_id());
  chunk.marks.Own().Insert(at, *tree);
  chunk.trees.Insert(at, std::move(tree));
  RefreshColumns(chunk, at);
}

void EraseFrom(RootChunk& chunk, int at) {
  const int behind = chunk.trees.size() - at - 1;
  for (RootChunk::Column& column : chunk.columns) {
    if (!OffersFrom(column, at)) continue;
    RootChunk::Free& free = column.free.Own();
    for (int32_t* const entry : {free.max.data() + at, free.share.data() + at}) {
      std::move(entry + 1, entry + 1 + behind, entry);
      entry[behind] = 0;
    }
    column.offered_by = Without(column.offered_by, at);
    column.most_free = LargestOf(free.max);
    column.most_share = LargestOf(free.share);
  }
  chunk.ids.erase(chunk.ids.begin() + at);
  chunk.marks.Own().Erase(at);
  chunk.trees.Erase(at);
}

}  // namespace

int32_t FreeShareOf(const Tree& tree, ClassId resource_class) {
  Sum sum;
  for (int position = 0; position < tree.size(); ++position) {
    const int row = tree.config(position).FindInventory(resource_class);
    if (row < 0) continue;
    Add(tree.config(position).inventories[row], tree.used_of(position, row), sum);
  }
  return ShareOf(sum);
}

void RootChunk::Trees::Insert(int at, TreePtr tree) {
  // A full chunk is divided before a tree is added to it.
  BERTH_CHECK(size_ < kRootsMax);
  if (groups_[size_ / kGroup] == nullptr) groups_[size_ / kGroup] = Counted<Group>::Make();
  ++size_;
  for (int i = size_ - 1; i > at; --i) Own(i) = std::move(Own(i - 1));
  Own(at) = std::move(tree);
}

void RootChunk::Trees::Erase(int at) {
  for (int i = at; i + 1 < size_; ++i) Own(i) = std::move(Own(i + 1));
  Own(size_ - 1) = nullptr;
  --size_;
}

int Roots::ChunkOf(ProviderId root) const {
  const auto behind = std::upper_bound(firsts_.begin(), firsts_.end(), root);
  return std::max(0, static_cast<int>(behind - firsts_.begin()) - 1);
}

TreePtr Roots::Find(ProviderId root) const {
  if (chunks_.empty()) return nullptr;
  const RootChunk& chunk = *chunks_[ChunkOf(root)];
  const int at = PlaceIn(chunk, root);
  if (!IsAt(chunk, at, root)) return nullptr;
  return chunk.trees[at];
}

void Roots::MakeRoom(int at, ProviderId root) {
  const bool behind_all =
      at + 1 == static_cast<int>(chunks_.size()) && chunks_[at]->ids.back() < root;
  Counted<RootChunk> made = Counted<RootChunk>::Make();
  ProviderId first = root;
  if (!behind_all) {
    RootChunk& full = chunks_[at].Own();
    RootChunk& half = made.Own();
    first = full.ids[RootChunk::kRootsMax / 2];
    for (int i = RootChunk::kRootsMax / 2; i < RootChunk::kRootsMax; ++i) {
      InsertInto(half, half.trees.size(), full.trees[i]);
    }
    while (full.trees.size() > RootChunk::kRootsMax / 2) EraseFrom(full, full.trees.size() - 1);
  }
  chunks_.insert(chunks_.begin() + at + 1, std::move(made));
  firsts_.insert(firsts_.begin() + at + 1, first);
  most_free_.Insert(at + 1);
  Summarize(at);
  Summarize(at + 1);
}

void Roots::Summarize(int at) {
  const auto is_empty = [](const RootChunk::Column& column) { return column.offered_by.none(); };
  const std::vector<RootChunk::Column>& columns = chunks_[at]->columns;
  for (const RootChunk::Column& column : columns) {
    most_free_.Set(column.resource_class, at, column.most_free);
  }
  if (std::any_of(columns.begin(), columns.end(), is_empty)) {
    std::erase_if(chunks_[at].Own().columns, is_empty);
  }
}

void Roots::Put(TreePtr tree) {
  const ProviderId root = tree->root_id();
  if (chunks_.empty()) {
    chunks_.push_back(Counted<RootChunk>::Make());
    firsts_.push_back(root);
    most_free_.Insert(0);
  }
  int chunk_at = ChunkOf(root);
  if (IsAt(*chunks_[chunk_at], PlaceIn(*chunks_[chunk_at], root), root)) {
    RootChunk& chunk = chunks_[chunk_at].Own();
    const int at = PlaceIn(chunk, root);
    chunk.marks.Own().Replace(at, *tree);
    chunk.trees.Own(at) = std::move(tree);
    RefreshColumns(chunk, at);
    Summarize(chunk_at);
    return;
  }
  if (chunks_[chunk_at]->trees.size() == RootChunk::kRootsMax) {
    MakeRoom(chunk_at, root);
    chunk_at = ChunkOf(root);
  }
  RootChunk& chunk = chunks_[chunk_at].Own();
  InsertInto(chunk, PlaceIn(chunk, root), std::move(tree));
  firsts_[chunk_at] = chunk.ids.front();
  Summarize(chunk_at);
  ++size_;
}

void Roots::Edit(ProviderId root, absl::FunctionRef<void(Tree&)> edit) {
  BERTH_CHECK(!chunks_.empty());
  const int chunk_at = ChunkOf(root);
  RootChunk& chunk = chunks_[chunk_at].Own();
  const int at = PlaceIn(chunk, root);
  BERTH_CHECK(IsAt(chunk, at, root));
  edit(chunk.trees.Own(at).Own());
  RefreshColumns(chunk, at);
  Summarize(chunk_at);
}

void Roots::Erase(ProviderId root) {
  BERTH_CHECK(!chunks_.empty());
  const int chunk_at = ChunkOf(root);
  RootChunk& chunk = chunks_[chunk_at].Own();
  const int at = PlaceIn(chunk, root);
  BERTH_CHECK(IsAt(chunk, at, root));
  EraseFrom(chunk, at);
  --size_;
  if (chunk.ids.empty()) {
    chunks_.erase(chunks_.begin() + chunk_at);
    firsts_.erase(firsts_.begin() + chunk_at);
    most_free_.Erase(chunk_at);
  } else {
    firsts_[chunk_at] = chunk.ids.front();
    Summarize(chunk_at);
  }
}

}  // namespace berth::placement
