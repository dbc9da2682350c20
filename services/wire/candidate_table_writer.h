// CandidateTableWriter: a FindCandidatesResponse whose candidates stand in a CandidateTable, as
// bytes, from candidates as they are found.
//
// What many candidates or providers have in common is written once. Two that have a shape in common
// may get one each, where many shapes take turns. Not thread-safe.
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
  // `state` must outlive the writer. `candidates_expected`: room is taken for so many.
  CandidateTableWriter(const placement::State& state, int64_t candidates_expected);

  void Add(const placement::Candidate& candidate);
  // The answer, with summaries or without. `seed`: what chance was drawn from; 0: nothing was. The
  // writer is of no use afterwards.
  WireBytes End(const placement::SearchEnd& end, bool with_summaries, uint64_t seed = 0);

 private:
  // Providers are of one kind where they have the same traits and classes.
  struct KindHash {
    size_t operator()(const placement::ProviderConfig* config) const;
  };
  struct KindEqual {
    bool operator()(const placement::ProviderConfig* one,
                    const placement::ProviderConfig* other) const;
  };

  // Which shape `candidate` has, perhaps a new one.
  int64_t ShapeOf(const placement::Candidate& candidate);

  // Lays out the providers: those of `trees`, rising by root, and of the candidates' roots.
  void SetTrees(std::vector<const placement::Tree*> trees);
  // The place of `root` in roots_, or that of the first behind it; `before`: of the one asked for
  // before.
  size_t TreeOf(placement::ProviderId root, size_t before) const;
  // The place of a provider of candidates under the tree at `tree`.
  int64_t PlaceOf(size_t tree, placement::ProviderId id) const;

  void Table(bool with_summaries);
  void Uuids();
  void Summaries();
  void Kind(const placement::ProviderConfig& config);
  void CandidateColumns();
  void Shape(const placement::Candidate& model);

  const placement::State& state_;
  WireWriter writer_;
  std::vector<placement::Candidate> shapes_;   // of each one candidate
  std::vector<int64_t> id_counts_;             // by shape: of a candidate
  size_t last_shape_ = 0;                      // of the last candidate
  std::vector<int64_t> candidate_shapes_;      // by candidate
  std::vector<placement::ProviderId> ids_;     // of all candidates
  std::vector<const placement::Tree*> trees_;  // rising by root
  std::vector<placement::ProviderId> roots_;   // parallel to trees_
  std::vector<int64_t> first_places_;          // parallel to trees_
  int64_t provider_count_ = 0;
  int64_t row_count_ = 0;  // of their inventories
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_CANDIDATE_TABLE_WRITER_H_
