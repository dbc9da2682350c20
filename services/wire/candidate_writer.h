// CandidateWriter: writes the bytes of a FindCandidatesResponse. Candidates are added while the
// search finds them.
//
// Fields with default values are left out, as proto3 does; map entries are written in full. Most
// candidates are equal to the candidate before them except for provider ids. For such a candidate
// the bytes of the candidate before it are copied, and the ids in the copy are replaced. Not
// thread-safe.
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
  // `state` must outlive the writer. Memory is allocated for `candidates_expected` candidates.
  CandidateWriter(const placement::State& state, int64_t candidates_expected);

  void Add(const placement::Candidate& candidate);
  // Returns the whole answer, with or without summaries of providers. Writes `seed`, the seed of
  // the search's random order, into it; 0: the order was not random. No other call may follow.
  WireBytes End(const placement::SearchEnd& end, bool with_summaries, uint64_t seed = 0);

 private:
  void Revision();
  void Allocations(absl::Span<const placement::Allocation> allocations);
  void Mapping(const std::string& suffix, absl::Span<const placement::ProviderId> providers);
  void Summaries(const std::vector<const placement::Tree*>& trees);
  void Summary(const placement::Tree& tree, int position);
  void Resource(const std::string& name, placement::Amount capacity, placement::Amount used);
  void Traits(const std::vector<placement::TraitId>& traits);
  // Returns the name of a class. `row`: the index of the inventory in its provider; the name is
  // cached at this index of class_names_.
  const std::string* NameAt(size_t row, placement::ClassId resource_class);

  const placement::State& state_;
  WireWriter writer_;
  // The last candidate that was not written as a copy. The next members: the offset and size of its
  // bytes, and the offsets of its ids.
  placement::Candidate model_;
  size_t model_begin_ = 0;
  size_t model_size_ = 0;
  std::vector<size_t> model_ids_;
  // Caches of names, which save look-ups because most providers have the same classes and traits.
  // class_names_[i]: the class of the last inventory with index i in its provider, and the name of
  // the class.
  std::vector<std::pair<placement::ClassId, const std::string*>> class_names_;
  std::vector<placement::TraitId> traits_;
  std::vector<std::string> trait_names_;  // the names of traits_
  size_t summary_size_ = 0;               // size of the last summary, a guess for the next one
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_CANDIDATE_WRITER_H_
