// CandidateWriter: a FindCandidatesResponse, field by field, as bytes.
//
// What proto3 leaves out, default values, is left out here, too; map entries are whole. Most
// candidates of an answer differ from the one before in nothing but their providers: those are
// copies with other uuids. Not thread-safe.
#ifndef BERTH_SERVICES_CANDIDATE_WRITER_H_
#define BERTH_SERVICES_CANDIDATE_WRITER_H_

#include <string>
#include <utility>
#include <vector>

#include "placement/search.h"
#include "placement/state.h"
#include "services/wire_writer.h"

namespace berth::services {

class CandidateWriter {
 public:
  // `state` and `result` must outlive the writer.
  CandidateWriter(const placement::State& state, const placement::SearchResult& result);

  // The answer, with summaries or without. `seed`: what chance was drawn from; 0: nothing was.
  WireBytes Write(bool with_summaries, uint64_t seed = 0);

 private:
  void Revision();
  void Candidate(const placement::Candidate& candidate);
  void Allocations(const std::vector<placement::Allocation>& allocations);
  void Mapping(const std::string& suffix, const std::vector<placement::ProviderId>& providers);
  void Summaries();
  void Summary(const placement::Tree& tree, int position);
  void Resource(const std::string& name, placement::Amount capacity, placement::Amount used);

  const placement::State& state_;
  const placement::SearchResult& result_;
  WireWriter writer_;
  // The last candidate that was not a copy, where it stands, and where its uuids do.
  const placement::Candidate* model_ = nullptr;
  size_t model_begin_ = 0;
  size_t model_size_ = 0;
  std::vector<size_t> model_ids_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_CANDIDATE_WRITER_H_
