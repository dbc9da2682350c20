// The queue whose owners take turns, by itself and against a slow model.
#include "placement/ground/fair_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using TextQueue = FairQueue<std::string>;

constexpr Priority kAllPriorities[] = {Priority::kFirst, Priority::kSessions, Priority::kReads,
                                       Priority::kBulk};

TextQueue::Pushed Put(TextQueue* queue, absl::string_view owner, std::string entry,
                      Priority priority = Priority::kFirst, int64_t weight = 1) {
  return queue->Push({owner, priority, weight}, std::move(entry));
}

std::vector<std::string> Drain(TextQueue* queue) {
  std::vector<std::string> entries;
  while (std::optional<std::string> entry = queue->Pop()) entries.push_back(*std::move(entry));
  return entries;
}

TEST(FairQueueTest, OwnersTakeTurnsAndEachKeepsItsOrder) {
  TextQueue queue(100, 1);
  for (const char* entry : {"a1", "a2", "a3", "a4"}) Put(&queue, "a", entry);
  for (const char* entry : {"b1", "b2"}) Put(&queue, "b", entry);
  EXPECT_EQ(queue.Pop(), "a1");
  Put(&queue, "c", "c1");
  EXPECT_EQ(queue.size(), 6);
  EXPECT_THAT(Drain(&queue), ElementsAre("b1", "c1", "a2", "b2", "a3", "a4"));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(FairQueueTest, WhoFillsItIsServedInTurnWithWhoComesLater) {
  TextQueue queue(1000, 1);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(Put(&queue, "flood", "f").taken);
  EXPECT_FALSE(Put(&queue, "flood", "f").taken);
  const TextQueue::Pushed late = Put(&queue, "late", "l");
  EXPECT_TRUE(late.taken);
  EXPECT_EQ(late.put_out, "f");
  EXPECT_EQ(queue.size(), 1000);
  EXPECT_EQ(queue.Pop(), "f");
  EXPECT_EQ(queue.Pop(), "l");
}

TEST(FairQueueTest, AFullQueuePutsOutTheNewestOfTheHeaviestOwner) {
  TextQueue queue(4, 1);
  for (const char* entry : {"a1", "a2"}) Put(&queue, "a", entry);
  for (const char* entry : {"b1", "b2"}) Put(&queue, "b", entry);
  EXPECT_FALSE(Put(&queue, "a", "a3").taken);       // would have more than the heaviest
  EXPECT_EQ(Put(&queue, "c", "c1").put_out, "b2");  // b's number changed last
  EXPECT_EQ(Put(&queue, "d", "d1").put_out, "a2");
  EXPECT_FALSE(Put(&queue, "e", "e1").taken);  // would have as many as the heaviest
  EXPECT_THAT(Drain(&queue), ElementsAre("a1", "b1", "c1", "d1"));
}

// Whoever has filled a priority may still use the others, and nobody loses anything for it.
TEST(FairQueueTest, EachPriorityHasRoomOfItsOwn) {
  TextQueue queue(2, 1);
  for (const Priority priority : kAllPriorities) {
    const std::string name = absl::StrCat(static_cast<int>(priority));
    EXPECT_TRUE(Put(&queue, "a", absl::StrCat("a", name), priority).taken);
    EXPECT_EQ(Put(&queue, "a", absl::StrCat("aa", name), priority).put_out, std::nullopt);
    EXPECT_FALSE(Put(&queue, "a", "a", priority).taken);
  }
  EXPECT_EQ(queue.size(), 8);
  for (const Priority priority : kAllPriorities) {
    const std::string name = absl::StrCat(static_cast<int>(priority));
    EXPECT_FALSE(Put(&queue, "b", "b", priority).put_out == std::nullopt);
  }
  EXPECT_THAT(Drain(&queue), ElementsAre("a0", "b", "a1", "b", "a2", "b", "a3", "b"));
}

TEST(FairQueueTest, TheProcessItselfHasRoomOfItsOwn) {
  TextQueue queue(2, 1);
  for (const char* entry : {"p1", "p2"}) EXPECT_TRUE(Put(&queue, "", entry).taken);
  EXPECT_FALSE(Put(&queue, "", "p3").taken);
  EXPECT_TRUE(Put(&queue, "a", "a1").taken);
  EXPECT_TRUE(Put(&queue, "a", "a2").taken);
  EXPECT_EQ(Put(&queue, "b", "b1").put_out, "a2");  // not p2
  EXPECT_FALSE(Put(&queue, "b", "b2").taken);
  EXPECT_THAT(Drain(&queue), ElementsAre("p1", "a1", "b1", "p2"));
}

// After a restart of a process all trackers come at once.
TEST(FairQueueTest, ManySessionsDoNotKeepClaimsWaiting) {
  TextQueue queue(10'000, 1);
  for (int i = 0; i < 4 * 256; ++i) {
    Put(&queue, absl::StrCat("tracker/", i % 256), "report", Priority::kSessions);
  }
  for (int i = 0; i < 100; ++i) Put(&queue, "scheduler/a", "claim");
  int claims = 0, pops = 0;
  while (claims < 100) {
    ++pops;
    if (queue.Pop() == "claim") ++claims;
  }
  EXPECT_EQ(pops, 112);  // after each eighth claim a report
}

TEST(FairQueueTest, ATurnIsAQuantumOfWork) {
  TextQueue queue(1000, 256);
  for (int i = 0; i < 2; ++i) Put(&queue, "a", "A", Priority::kFirst, 256);
  for (int i = 0; i < 200; ++i) Put(&queue, "b", "b");
  std::string order;
  for (int i = 0; i < 400; ++i) {
    const std::string entry = *queue.Pop();
    order += entry;
    if (entry == "A") Put(&queue, "a", "A", Priority::kFirst, 256);  // a always has two
  }
  EXPECT_EQ(order.substr(0, 202), absl::StrCat("A", std::string(200, 'b'), "A"));
}

// An entry that weighs more than a quantum waits for as many turns as it takes.
TEST(FairQueueTest, AHeavyEntryWaitsForItsQuanta) {
  TextQueue queue(1000, 10);
  Put(&queue, "a", "A", Priority::kFirst, 25);
  for (int i = 0; i < 6; ++i) Put(&queue, "b", "b", Priority::kFirst, 5);
  EXPECT_THAT(Drain(&queue), ElementsAre("b", "b", "b", "b", "A", "b", "b"));
}

TEST(FairQueueTest, AFullQueuePutsOutTheHeaviestByWeight) {
  TextQueue queue(3, 10);
  Put(&queue, "a", "a1", Priority::kFirst, 9);
  for (const char* entry : {"b1", "b2"}) Put(&queue, "b", entry, Priority::kFirst, 2);
  EXPECT_FALSE(Put(&queue, "b", "b3", Priority::kFirst, 5).taken);
  EXPECT_EQ(Put(&queue, "b", "b3", Priority::kFirst, 4).put_out, "a1");
}

TEST(FairQueueTest, WorsePrioritiesGetTheirShareOfTheWork) {
  TextQueue queue(1000, 256);
  for (int i = 0; i < 100; ++i) {
    Put(&queue, "a", "A", Priority::kFirst, 16);
    Put(&queue, "t", "t", Priority::kSessions);
  }
  std::string order;
  for (int i = 0; i < 9; ++i) order += *queue.Pop();
  EXPECT_EQ(order, "AttAttAtt");
}

TEST(FairQueueTest, AnEntryThatIsRefusedIsLeftAlone) {
  FairQueue<std::unique_ptr<int>> queue(1, 1);
  auto first = std::make_unique<int>(1), second = std::make_unique<int>(2);
  EXPECT_TRUE(queue.Push({"a"}, std::move(first)).taken);
  EXPECT_FALSE(queue.Push({"b"}, std::move(second)).taken);
  ASSERT_NE(second, nullptr);  // NOLINT: it was not moved
  EXPECT_EQ(*second, 2);
  FairQueue<std::unique_ptr<int>> none(0, 1);
  EXPECT_FALSE(none.Push({"a"}, std::move(second)).taken);
}

TEST(FairQueueTest, AWorsePriorityGetsEveryNinthTurn) {
  TextQueue queue(1000, 1);
  for (int i = 0; i < 200; ++i) {
    Put(&queue, "a", "0");
    Put(&queue, "a", "1", Priority::kSessions);
    Put(&queue, "a", "2", Priority::kBulk);
  }
  std::string order;
  for (int i = 0; i < 162; ++i) order += *queue.Pop();
  std::string expected;
  for (int turn = 1; turn <= 18; ++turn) {
    absl::StrAppend(&expected, "00000000", turn % 9 == 0 ? "2" : "1");
  }
  EXPECT_EQ(order, expected);
}

TEST(FairQueueTest, OnlyWhatWasTakenWhileAWorseOneWaitedCounts) {
  TextQueue queue(100, 1);
  for (int i = 0; i < 30; ++i) Put(&queue, "a", "0");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(queue.Pop(), "0");
  Put(&queue, "b", "2", Priority::kBulk);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(queue.Pop(), "0");
  EXPECT_EQ(queue.Pop(), "2");
}

TEST(FairQueueTest, RemovesWhatIsToLeave) {
  TextQueue queue(100, 1);
  for (const char* owner : {"a", "b", "c"}) {
    for (int i = 0; i < 4; ++i) {
      Put(&queue, owner, absl::StrCat(owner, i), i < 2 ? Priority::kFirst : Priority::kReads);
    }
  }
  queue.RemoveIf([](const std::string& entry) { return entry[0] == 'b' || entry[1] % 2 == 0; });
  EXPECT_EQ(queue.size(), 4);
  EXPECT_THAT(Drain(&queue), ElementsAre("a1", "c1", "a3", "c3"));
  Put(&queue, "b", "b9");
  queue.RemoveIf([](const std::string&) { return true; });
  EXPECT_THAT(Drain(&queue), IsEmpty());
}

// The same rules, each by looking at all entries.
class SlowQueue {
 public:
  SlowQueue(int64_t max, int64_t quantum) : max_(max), quantum_(quantum) {}

  TextQueue::Pushed Push(const std::string& owner, size_t priority, const std::string& text,
                         int64_t weight) {
    TextQueue::Pushed pushed;
    int64_t rivals = 0;  // the entries that share the room
    for (const Entry& entry : entries_) {
      rivals += entry.priority == priority && entry.owner.empty() == owner.empty() ? 1 : 0;
    }
    if (rivals >= max_) {
      const std::string heaviest = Heaviest(priority);
      const bool may_displace =
          !owner.empty() && WeightOf(owner, priority) + weight < WeightOf(heaviest, priority);
      if (!may_displace) return pushed;
      for (size_t i = entries_.size(); i-- > 0 && !pushed.put_out;) {
        if (entries_[i].Is(heaviest, priority)) pushed.put_out = Take(i);
      }
    }
    std::vector<std::string>& turns = turns_[priority];
    if (std::find(turns.begin(), turns.end(), owner) == turns.end()) turns.push_back(owner);
    entries_.push_back({owner, priority, text, weight});
    changed_[{owner, priority}] = ++changes_;
    pushed.taken = true;
    return pushed;
  }

  std::optional<std::string> Pop() {
    for (size_t priority = 0; priority < 4; ++priority) {
      if (turns_[priority].empty()) continue;
      if (ahead_[priority] >= 8 && WorseWaits(priority)) continue;
      const size_t next = Next(priority);
      const int64_t weight = entries_[next].weight;
      left_[{entries_[next].owner, priority}] -= weight;
      std::string text = Take(next);
      ahead_[priority] = WorseWaits(priority) ? ahead_[priority] + weight : 0;
      for (size_t better = 0; better < priority; ++better) {
        ahead_[better] = std::max<int64_t>(ahead_[better] - 8 * weight, 0);
      }
      return text;
    }
    return std::nullopt;
  }

  void Remove(const std::string& text) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].text == text) Take(i--);
    }
  }

  // Some entry, or nothing.
  std::string Some(uint64_t random) const {
    return entries_.empty() ? "" : entries_[random % entries_.size()].text;
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string owner;
    size_t priority;
    std::string text;
    int64_t weight;

    bool Is(const std::string& whose, size_t which) const {
      return owner == whose && priority == which;
    }
  };

  int64_t WeightOf(const std::string& owner, size_t priority) const {
    int64_t weight = 0;
    for (const Entry& entry : entries_) {
      if (entry.Is(owner, priority)) weight += entry.weight;
    }
    return weight;
  }
  bool WorseWaits(size_t priority) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& entry) { return entry.priority > priority; });
  }
  // The place of the next entry of the priority, whose owner's turn may begin.
  size_t Next(size_t priority) {
    std::vector<std::string>& turns = turns_[priority];
    while (true) {
      const std::string& owner = turns.front();
      size_t at = 0;
      while (!entries_[at].Is(owner, priority)) ++at;
      if (!in_turn_[priority]) left_[{owner, priority}] += quantum_;
      in_turn_[priority] = entries_[at].weight <= left_[{owner, priority}];
      if (in_turn_[priority]) return at;
      std::rotate(turns.begin(), turns.begin() + 1, turns.end());
    }
  }
  // Empty: nobody but the process itself has entries of this priority.
  std::string Heaviest(size_t priority) const {
    std::string heaviest;
    for (const Entry& entry : entries_) {
      if (entry.priority != priority || entry.owner.empty()) continue;
      const int64_t more =
          heaviest.empty() ? 1 : WeightOf(entry.owner, priority) - WeightOf(heaviest, priority);
      const bool is_later =
          more == 0 && changed_.at({entry.owner, priority}) > changed_.at({heaviest, priority});
      if (more > 0 || is_later) heaviest = entry.owner;
    }
    return heaviest;
  }
  std::string Take(size_t at) {
    const Entry entry = entries_[at];
    entries_.erase(entries_.begin() + static_cast<int64_t>(at));
    changed_[{entry.owner, entry.priority}] = ++changes_;
    const bool has_more = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
      return other.Is(entry.owner, entry.priority);
    });
    if (has_more) return entry.text;
    std::vector<std::string>& turns = turns_[entry.priority];
    if (turns.front() == entry.owner) in_turn_[entry.priority] = false;
    std::erase(turns, entry.owner);
    left_[{entry.owner, entry.priority}] = 0;
    return entry.text;
  }

  const int64_t max_;
  const int64_t quantum_;
  std::vector<Entry> entries_;  // oldest first
  std::map<size_t, std::vector<std::string>> turns_;
  std::map<size_t, bool> in_turn_;  // whether the turn of the first one has begun
  std::map<std::pair<std::string, size_t>, int64_t> left_;
  std::map<size_t, int64_t> ahead_;
  std::map<std::pair<std::string, size_t>, int64_t> changed_;
  int64_t changes_ = 0;
};

TEST(FairQueueTest, DoesAsASlowOneDoes) {
  std::mt19937_64 random(Seed());
  for (int round = 0; round < 200; ++round) {
    const auto max = static_cast<int64_t>(random() % 20);
    const uint64_t owners = 1 + random() % (round % 4 == 0 ? 200 : 6);
    const auto quantum = static_cast<int64_t>(1 + random() % 10);
    const uint64_t heaviest = round % 3 == 0 ? 1 : 1 + random() % 20;
    const uint64_t pops = 20 + random() % 50;  // of a hundred
    TextQueue queue(max, quantum);
    SlowQueue model(max, quantum);
    for (int step = 0; step < 300; ++step) {
      SCOPED_TRACE(absl::StrCat("round ", round, ", step ", step));
      const uint64_t drawn = random() % 100;
      if (drawn < pops) {
        ASSERT_EQ(queue.Pop(), model.Pop());
      } else if (drawn >= 97) {
        const std::string leaving = model.Some(random());
        queue.RemoveIf([&](const std::string& entry) { return entry == leaving; });
        model.Remove(leaving);
      } else {
        // The first one wants more than the others.
        const uint64_t number = random() % 2 == 0 ? 0 : random() % owners;
        const std::string owner = number == 1 ? "" : absl::StrCat("owner", number);
        const uint64_t priority = random() % 4;
        const std::string text = absl::StrCat("entry", step);
        const auto weight = static_cast<int64_t>(1 + random() % heaviest);
        const auto pushed = Put(&queue, owner, text, static_cast<Priority>(priority), weight);
        const auto expected = model.Push(owner, priority, text, weight);
        ASSERT_EQ(pushed.taken, expected.taken);
        ASSERT_EQ(pushed.put_out, expected.put_out);
      }
      ASSERT_EQ(queue.size(), static_cast<int64_t>(model.size()));
    }
  }
}

}  // namespace
}  // namespace berth::placement
