// CandidateWriter: a FindCandidatesResponse, field by field, as bytes, while its candidates are found.
//
// What proto3 leaves out, default values, is left out here, too; map entries are whole. Most
// candidates of an answer differ from the one before in nothing but their providers: those are
// copies with other uuids. Not thread-safe.
#ifndef BERTH_SERVICES_WIRE_CANDIDATE_WRITER_H_
#define BERTH_SERVICES_WIRE_CANDIDATE_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "placement/search/search.h"
#include "placement/state/state.h"
#include "services/wire/bytes.h"

namespace berth::services {

class CandidateWriter {
 public:
  // `state` must outlive the writer. `candidates_expected`: room is taken for so many.
  CandidateWriter(const placement::State& state, int64_t candidates_expected);

  void Add(const placement::Candidate& candidate);
  // The answer, with summaries or without. `seed`: what chance was drawn from; 0: nothing was. The
  // writer is of no use afterwards.
  WireBytes End(const placement::SearchEnd& end, bool with_summaries, uint64_t seed = 0);

 private:
  void Revision();
  void Allocations(absl::Span<const placement::Allocation> allocations);
  void Mapping(const std::string& suffix, absl::Span<const placement::ProviderId> providers);
  void Summaries(const std::vector<const placement::Tree*>& trees);
  void Summary(const placement::Tree& tree, int position);
  void Resource(const std::string& name, placement::Amount capacity, placement::Amount used);
  void Traits(const std::vector<placement::TraitId>& traits);
  // The name of the class that stands in `row` of a provider.
  const std::string* NameAt(size_t row, placement::ClassId resource_class);

  const placement::State& state_;
  WireWriter writer_;
  // The last candidate that was not a copy, where it stands, and where its uuids do.
  placement::Candidate model_;
  size_t model_begin_ = 0;
  size_t model_size_ = 0;
  std::vector<size_t> model_ids_;
  // Names that were looked up last: providers of one kind have the same ones.
  std::vector<std::pair<placement::ClassId, const std::string*>> class_names_;  // by row
  std::vector<placement::TraitId> traits_;
  std::vector<std::string> trait_names_;  // of traits_
  size_t summary_size_ = 0;               // of the last summary
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_CANDIDATE_WRITER_H_
