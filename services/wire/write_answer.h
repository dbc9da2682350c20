// WriteAnswer: the inputs from which the reply to a write is made. The decision says what the
// command did. The state has the names of classes and traits, and the records that the command did
// not change; it may already contain the effects of later commands. A WriteAnswer lives only while
// one reply is made.
#ifndef BERTH_SERVICES_WIRE_WRITE_ANSWER_H_
#define BERTH_SERVICES_WIRE_WRITE_ANSWER_H_

#include "placement/commands/decision.h"
#include "placement/state/state.h"

namespace berth::services {

struct WriteAnswer {
  const placement::Decision& decision;  // its status is OK
  const placement::State& state;        // at the decision's revision or a newer one
  const placement::Catalog& catalog;    // the catalog of `state`
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_WRITE_ANSWER_H_
