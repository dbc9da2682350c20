// Replays the life of a node as Nova's resource tracker recorded it: claims, aborts, moves, audits.
//
// After each recorded step the account must be what Nova answered, with `rebuilt` laid over it: Nova
// corrects some of its numbers only at its next audit, and Berth's account is right at once (T-392,
// T-394). Refusals must have the same reasons, and the records must be the same. Which of several
// devices of one cell, or units of one class, is taken is not compared, only who has how many.
// Exceptions:
//   - a field that `decided_by_rule` of the step names, or `*`: the naive account over the records
//     says what is right, and the answer must be what the rule says. The replay knows which rule may
//     decide which field; any other one fails;
//   - a claim that Berth refuses by T-159, T-163 or T-277, and that Nova grants. T-277 counts only
//     for pinned guests without a page size. The replay asks again without the rule; the new answer
//     must be Nova's, and the life goes on with it;
//   - the reason of a refusal that is about memory, which Nova does not test. Whether there is such
//     a reason, and its text, follow from the limit and the naive account (T-159);
//   - an answer that Nova's account decides before its next audit: Nova still counts what is gone,
//     and so it refuses a claim, or grants it with other cells. On a node that has what Nova counts,
//     Berth must give the same answer (T-394). Berth's own claim is taken back. During a resize in
//     place there is no such exception: Nova may give away CPUs that the guest uses (T-395);
//   - devices of an instance that Nova's account no longer counts: Nova leaves them to it as long as
//     it has a record on the node or a migration that is not over. In Berth such an instance has
//     nothing there (T-112, T-129). README-account.md does not list this;
//   - an account after which Nova's next audit ends with an error, because it pins the CPUs of a
//     resize in place twice (T-284): there amounts, cells, devices and units are compared with
//     Nova's, and counters and what is counted with the naive account;
//   - the CPU for emulator threads of an aborted build, which Nova leaves in the record (T-165);
//   - named units of a new instance, which Nova stores with the build's next save only (T-155): the
//     records have them until the next audit of the recording. So long Nova's tracker has them in
//     memory, also if the instance is gone;
//   - a refused move, the abort of a move and the drop of a move: Nova does the rest of what is one
//     command in Berth in the steps that follow. There the uses are compared with `expect` alone,
//     and the records with those that the whole command writes. If a part of Nova's account lagged
//     behind before the step, the naive account says what this part must be (T-394). Nothing lags
//     behind after a step with a recorded `rebuilt` account, or after an audit without an error;
//   - cells of a resize in place, as in account_replay.h (T-395).
#ifndef BERTH_TESTS_ORACLE_NOVA_CLAIMS_REPLAY_H_
#define BERTH_TESTS_ORACLE_NOVA_CLAIMS_REPLAY_H_

#include <string>

#include "tests/oracle/nova/nova_world.h"

namespace berth::oracle::nova {

Report ReplayClaims(const Json& line, const std::string& where);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_CLAIMS_REPLAY_H_
