// RecordEffect: the effect of a write of the record of an instance or migration, or of the end of a
// move. Part of the second implementation of the rules in effect.h. Pure.
#ifndef BERTH_TESTS_HISTORY_CHECKER_RECORD_EFFECT_H_
#define BERTH_TESTS_HISTORY_CHECKER_RECORD_EFFECT_H_

#include "tests/history/checker/effect.h"

namespace berth::history {

// REQUIRES: `operation` is a write, and IsOfRecords(operation.kind).
Effect RecordEffect(const Timeline& timeline, uint32_t step, const ClientLog& log,
                    const Operation& operation);

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_CHECKER_RECORD_EFFECT_H_
