// StateSubject: the product's rules and search on a state in this process, without ledger, database
// or wire. It is no model: it calls the product.
#ifndef BERTH_TESTS_ORACLE_STATE_SUBJECT_H_
#define BERTH_TESTS_ORACLE_STATE_SUBJECT_H_

#include "placement/state/state.h"
#include "tests/oracle/subject.h"

namespace berth::oracle {

class StateSubject : public Subject {
 public:
  // Holds the standard classes and traits.
  StateSubject();

  absl::Status Write(const CommandBody& command) override;
  absl::StatusOr<Found> Find(const CandidateRequest& request) override;
  std::optional<ProviderView> Provider(ProviderId id) override;
  std::optional<ConsumerView> Consumer(ConsumerId id) override;

  const placement::State& state() const { return state_; }

 private:
  placement::State state_;
  int64_t commands_ = 0;
};

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_STATE_SUBJECT_H_
