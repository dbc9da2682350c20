// CandidateTableWriter: writes the bytes of a FindCandidatesResponse that holds its candidates as a
// CandidateTable. Candidates are added while the search finds them.
//
// A candidate's shape is the candidate without its provider ids; a provider's kind is its traits
// and resource classes. Shapes and kinds are written once, and referred to by index. A shape may be
// written twice if many different shapes alternate. Not thread-safe.
#ifndef BERTH_SERVICES_WIRE_CANDIDATE_TABLE_WRITER_H_
#define BERTH_SERVICES_WIRE_CANDIDATE_TABLE_WRITER_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "placement/search/search.h"
#include "placement/state/state.h"
#include "services/wire/bytes.h"

namespace berth::services {

class CandidateTableWriter {
 public:
  // `state` must outlive the writer. Memory is allocated for `candidates_expected` candidates.
  CandidateTableWriter(const placement::State& state, int64_t candidates_expected);

  void Add(const placement::Candidate& candidate);
  // Returns the whole answer, with or without summaries of providers. Writes `seed`, the seed of
  // the search's random order, into it; 0: the order was not random. No other call may follow.
  WireBytes End(const placement::SearchEnd& end, bool with_summaries, uint64_t seed = 0);

 private:
  // Providers with the same traits and resource classes are of one kind.
  struct KindHash {
    size_t operator()(const placement::ProviderConfig* config) const;
  };
  struct KindEqual {
    bool operator()(const placement::ProviderConfig* one,
                    const placement::ProviderConfig* other) const;
  };

  // Returns the index in shapes_ of the shape of `candidate`. If shapes_ lacks the shape, adds it.
  int64_t ShapeOf(const placement::Candidate& candidate);

  // Fills trees_ with `trees` and the trees of all candidates' roots, and numbers their providers.
  void SetTrees(std::vector<const placement::Tree*> trees);
  // Returns the index of `root` in roots_. If `root` is absent, returns the index of the first
  // larger id. `before` is the result of the previous look-up; it only makes this look-up faster.
  size_t TreeOf(placement::ProviderId root, size_t before) const;
  // Returns the number of provider `id` in the table. `tree` is the index in roots_ of the root of
  // the provider's candidate.
  int64_t PlaceOf(size_t tree, placement::ProviderId id) const;

  void Table(bool with_summaries);
  void Uuids();
  void Summaries();
  void Kind(const placement::ProviderConfig& config);
  void CandidateColumns();
  void Shape(const placement::Candidate& model);

  const placement::State& state_;
  WireWriter writer_;
  std::vector<placement::Candidate> shapes_;   // one candidate of each shape
  std::vector<int64_t> id_counts_;             // by shape: number of ids of a candidate
  size_t last_shape_ = 0;                      // index of the shape of the last candidate
  std::vector<int64_t> candidate_shapes_;      // by candidate: index in shapes_
  std::vector<placement::ProviderId> ids_;     // ForEachId of all candidates, in order
  std::vector<const placement::Tree*> trees_;  // sorted by root
  std::vector<placement::ProviderId> roots_;   // by tree: its root
  std::vector<int64_t> first_places_;          // by tree: number of its first provider
  int64_t provider_count_ = 0;
  int64_t row_count_ = 0;  // inventories of all providers in the table
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_CANDIDATE_TABLE_WRITER_H_
