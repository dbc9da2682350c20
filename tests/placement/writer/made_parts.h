// MadeParts: the parts of a writer on a database of the test, without its
// thread and its roads.
//
// The test's thread is the writer's. The database has provider 1 with 100 VCPU.
#ifndef BERTH_TESTS_PLACEMENT_WRITER_MADE_PARTS_H_
#define BERTH_TESTS_PLACEMENT_WRITER_MADE_PARTS_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "placement/ground/check.h"
#include "placement/publish/publisher.h"
#include "placement/store/rows_load.h"
#include "placement/writer/writer_parts.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {

struct MadeParts {
  MadeParts() : url(NewDatabase()) {
    clock.Now(publisher.Newest()->position());
    EXPECT_TRUE(connection.Open());
  }
  ~MadeParts() { intake.RefuseAll(absl::UnavailableError("the test ends")); }

  StatePtr FirstState() const {
    {
      LedgerRunner runner(OptionsFor(url));
      MakeProviders(runner, 1, 100, 1024);
    }
    absl::StatusOr<State> state = LoadState(*ConnectOrDie(url));
    BERTH_CHECK(state.ok());
    return std::make_shared<const State>(*std::move(state));
  }

  // Queues `command`. The result can be read when it is answered.
  std::future<Decision> Push(Command command,
                             std::shared_ptr<std::atomic<bool>> cancelled = nullptr) {
    auto pending = std::make_shared<Pending>();
    auto promise = std::make_shared<std::promise<Decision>>();
    pending->weight = WeightOf(command);
    pending->command = std::move(command);
    pending->cancelled = std::move(cancelled);
    pending->done = [promise](Decision decision) { promise->set_value(std::move(decision)); };
    PendingPtr put_out;
    EXPECT_EQ(queue.Push(pending, &put_out), CommandQueue::Pushed::kTaken);
    return promise->get_future();
  }
  static bool Answered(const std::future<Decision> &future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  // The result that `future` has, or has soon; else the test fails.
  static Decision Get(std::future<Decision> &&future) {
    if (future.wait_for(std::chrono::seconds(30)) == std::future_status::ready) return future.get();
    ADD_FAILURE() << "no answer";
    return Decision();
  }
  static Decision Get(std::future<Decision> &future) { return Get(std::move(future)); }

  // Begins a shared turn and takes the commands of the queue.
  std::vector<PendingPtr> TakeShared() {
    EXPECT_EQ(turns.Begin(true), Turn::kShared);
    std::vector<PendingPtr> commands = queue.Take(options.batch_weight_max, absl::ZeroDuration());
    intake.NoteBegun(commands, {});
    return commands;
  }
  // Decides `commands` on the newest published state.
  std::unique_ptr<Batch> Decide(const std::vector<PendingPtr> &commands) {
    const StatePtr base = publisher.Newest();
    auto batch =
        std::make_unique<Batch>(base, clock.Now(base->position()), std::vector<KeptRequest>());
    EXPECT_TRUE(intake.DecideAll(commands, true, *batch));
    turns.Decided(false);
    return batch;
  }
  // Begins the commit of `batch` and commits it.
  void Commit(Batch &batch) {
    const Statement &sql = batch.Prepare(options.log_rows_kept);
    publisher.BeginCommit(batch.id());
    EXPECT_EQ(connection.database().Run("BEGIN", nullptr), absl::OkStatus());
    EXPECT_EQ(connection.database().RunAndCommit(sql, nullptr), absl::OkStatus());
  }

  WriterParts parts() {
    return {options,    publisher, queue, answerer, health, clock,
            connection, turns,     roads, leases,   intake};
  }

  const std::string url;
  LedgerOptions options = OptionsFor(url);
  std::string told;  // to the operator
  Health health{[this](const std::string &words) { told += words + "\n"; }};
  Answerer answerer;
  Publisher publisher{options, FirstState(), &answerer};
  CommandQueue queue{100};
  LedgerClock clock{options.wall_clock, options.boot_clock};
  WriterConnection connection{options, &queue, &health};
  Turns turns;
  Roads roads{options.roads};
  LeaseEnds leases{options, &publisher, &clock};
  Intake intake{options, &queue, &answerer, &turns};
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_PLACEMENT_WRITER_MADE_PARTS_H_
