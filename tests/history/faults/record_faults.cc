// The ways to spoil the records of instances and migrations in a random history.
#include "tests/history/faults/fault.h"

namespace berth::history {
namespace {

bool OverwriteWhatHasChanged(std::mt19937_64& random, History* history) {
  Operation* write = PickOperation(random, history, [](const Operation& operation) {
    return IsDone(operation) &&
           (operation.kind == Kind::kSetInstance || operation.kind == Kind::kUpdateMigration);
  });
  if (write == nullptr) return false;
  ++history->clients[write->client].parts[write->first_part].expected;
  return true;
}

bool KeepMigration(std::mt19937_64& random, History* history) {
  Step* step = PickOf(random, history->story.steps, [&](const Step& one) {
    return one.client != kNobody && one.parts > 1 &&
           OperationOf(history, one).kind == Kind::kDeleteInstance;
  });
  if (step == nullptr) return false;
  ++step->first_part;
  --step->parts;
  return true;
}

Operation* PickList(std::mt19937_64& random, History* history) {
  return PickOperation(random, history, [](const Operation& operation) {
    return IsList(operation.kind) && operation.parts > 0 && operation.cursor == 0;
  });
}

bool ListTooFew(std::mt19937_64& random, History* history) {
  Operation* list = PickList(random, history);
  if (list == nullptr) return false;
  --list->parts;
  return true;
}

// The list as it truly was at the beginning: only the time tells.
bool ListThePast(std::mt19937_64& random, History* history) {
  Operation* list = PickOperation(random, history, [&](const Operation& operation) {
    return IsDone(operation) && IsList(operation.kind) && operation.cursor == 0 &&
           operation.revision > history->begin.revision + 20;
  });
  if (list == nullptr) return false;
  list->revision = history->begin.revision;
  list->parts = 0;
  list->more = false;
  return true;
}

bool RefuseList(std::mt19937_64& random, History* history) {
  Operation* list = PickOperation(random, history, [](const Operation& operation) {
    return IsDone(operation) && IsList(operation.kind);
  });
  if (list == nullptr) return false;
  list->outcome = Outcome::kRefused;
  list->reason = Reason::kInstanceNotFound;
  list->parts = 0;
  return true;
}

// The row of a part of `operation` with the destination of a migration; null: none.
Row* DestinationOf(History* history, const Operation& operation) {
  ClientLog& log = history->clients[operation.client];
  for (uint32_t p = operation.first_part; p < operation.first_part + operation.parts; ++p) {
    const Part& part = log.parts[p];
    if (IsMigration(part.consumer) && part.rows == 2) return &log.rows[part.first_row + 1];
  }
  return nullptr;
}

bool LoseDestination(std::mt19937_64& random, History* history) {
  const int step = PickStep(random, history, [&](const Operation& operation) {
    return operation.kind == Kind::kUpdateMigration && DestinationOf(history, operation) != nullptr;
  });
  if (step < 0) return false;
  --history->story.parts[history->story.steps[step].first_part].rows;
  return true;
}

bool ListOtherDestination(std::mt19937_64& random, History* history) {
  Operation* list = PickOperation(random, history, [&](const Operation& operation) {
    return IsDone(operation) && IsList(operation.kind) && operation.cursor == 0 &&
           DestinationOf(history, operation) != nullptr;
  });
  if (list == nullptr) return false;
  ++DestinationOf(history, *list)->provider;
  return true;
}

Operation* PickLaterPage(std::mt19937_64& random, History* history) {
  return PickOperation(random, history, [](const Operation& operation) {
    return operation.cursor != 0 && operation.parts > 0;
  });
}

bool ListWhatNeverWas(std::mt19937_64& random, History* history) {
  Operation* page = PickLaterPage(random, history);
  if (page == nullptr) return false;
  history->clients[page->client].parts[page->first_part].generation += 1000;
  return true;
}

bool NameOtherRevision(std::mt19937_64& random, History* history) {
  Operation* page = PickLaterPage(random, history);
  if (page == nullptr) return false;
  ++page->revision;
  return true;
}

bool ListOldState(std::mt19937_64& random, History* history) {
  Operation* list = PickList(random, history);
  if (list == nullptr) return false;
  --history->clients[list->client].parts[list->first_part].generation;
  return true;
}

}  // namespace

std::vector<Fault> RecordFaults() {
  return {
      {"a record is overwritten that has changed", 2, OverwriteWhatHasChanged},
      {"a deleted instance leaves a migration", 2, KeepMigration},
      {"an update loses the destination", 2, LoseDestination},
      {"a list leaves a record out", 4, ListTooFew},
      {"a list shows an old record", 4, ListOldState},
      {"a list shows another destination", 4, ListOtherDestination},
      {"a list shows the past", 4, ListThePast},
      {"a later page shows what never was", 4, ListWhatNeverWas},
      {"a later page names another revision", 4, NameOtherRevision},
      {"a list is refused", 5, RefuseList},
  };
}

}  // namespace berth::history
