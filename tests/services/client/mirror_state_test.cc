// MirrorState: which messages make which views, and what is asked for after which end.
#include "services/client/cpp/mirror_state.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace berth::client {
namespace {

namespace pb = ::berth::placement::v1;

// A message in words: s5:a1,b2 is a part of the snapshot of revision 5, with providers a and b by
// the names 1 and 2; r6:a2,-b! completes revision 6, in which a changed and b was removed; k7 says
// that nothing changed up to revision 7; k is an empty message; r6: has no changes.
pb::WatchResponse Message(absl::string_view words) {
  pb::WatchResponse message;
  message.set_complete(absl::ConsumeSuffix(&words, "!"));
  message.set_snapshot(absl::StartsWith(words, "s"));
  const std::vector<std::string> parts = absl::StrSplit(words.substr(1), ':');
  int64_t number = 0;
  if (absl::SimpleAtoi(parts[0], &number)) {
    message.mutable_revision()->set_epoch(1 + number / 100);
    message.mutable_revision()->set_number(number % 100);
    message.mutable_revision()->set_batch(number * 7);
  }
  if (parts.size() == 1) return message;
  for (const absl::string_view word : absl::StrSplit(parts[1], ',', absl::SkipEmpty())) {
    if (word[0] == '-') {
      pb::EntityKey* removed = message.add_changes()->mutable_removed();
      removed->set_kind(pb::ENTITY_KIND_PROVIDER);
      removed->set_key(std::string(word.substr(1)));
    } else {
      pb::Provider* provider = message.add_changes()->mutable_present()->mutable_provider();
      provider->set_uuid(std::string(word.substr(0, 1)));
      provider->set_name(std::string(word.substr(1)));
    }
  }
  return message;
}

std::string InText(const pb::Revision& revision) {
  return absl::StrCat((revision.epoch() - 1) * 100 + revision.number());
}

std::string InText(const View& view) {
  std::map<std::string, std::string> names;
  view.providers.ForEach([&](const auto& one) { names[one->uuid()] = one->name(); });
  return absl::StrCat(InText(view.revision), "{",
                      absl::StrJoin(names, " ", absl::PairFormatter("")), "}");
}

std::string Asked(MirrorState* state) {
  const pb::WatchRequest request = state->Begin();
  return request.has_snapshot() ? "?s" : absl::StrCat("?", InText(request.after_revision()));
}

// What becomes of `script`: messages, and `end` or `end/REASON` for the end of the stream. A request
// begins with '?', X is a message that does not fit, L is one of a process that lags, a view that is
// complete is told with the keys that changed, and * is told before a request that begins anew.
std::string Told(const std::string& script) {
  MirrorState state;
  std::vector<std::string> told = {Asked(&state)};
  for (absl::string_view word : absl::StrSplit(script, ' ', absl::SkipEmpty())) {
    if (absl::ConsumePrefix(&word, "end")) {
      Failure failure;
      failure.code = absl::StatusCode::kUnavailable;
      failure.reason = std::string(absl::StripPrefix(word, "/"));
      if (state.End(failure)) told.emplace_back("*");
      told.push_back(Asked(&state));
      continue;
    }
    pb::WatchResponse message = Message(word);
    const absl::StatusOr<bool> complete = state.Apply(&message);
    if (!complete.ok()) told.emplace_back(absl::IsUnavailable(complete.status()) ? "L" : "X");
    if (!complete.ok() || !*complete) continue;
    const ViewChange change = state.TakeChange();
    EXPECT_EQ(change.after, state.view());
    told.push_back(InText(*state.view()));
    if (change.from_snapshot) told.back() += "new";
    for (const EntityName& name : change.changed) told.back() += "/" + name.second;
  }
  return absl::StrJoin(told, " ");
}

struct Stream {
  const char* what;
  const char* script;
  const char* told;
};

constexpr Stream kStreams[] = {
    {"a snapshot in parts, then changes", "s5:a1 s5:b1! r6:a2,c1! r8:-b!",
     "?s 5{a1 b1}new 6{a2 b1 c1}/a/c 8{a2 c1}/b"},
    {"an empty ledger", "s0:! r1:a1!", "?s 0{}new 1{a1}/a"},
    {"a revision in parts; a key that changes twice is told once", "s5:! r6:b1,a1 r6:-b,a2!",
     "?s 5{}new 6{a2}/a/b"},
    {"a removal of what is not there is no change", "s5:a1! r6:-z!", "?s 5{a1}new 6{a1}"},
    {"a stream that ends in the middle of a revision", "s5:a1! r6:a2,b1 end r6:a2,b1! end",
     "?s 5{a1}new ?5 6{a2 b1}/a/b ?6"},
    {"a stream that ends in the middle of a snapshot", "s5:a1 end s6:b1! end",
     "?s * ?s 6{b1}new ?6"},
    {"no server yet: nothing is begun anew", "end end s5:a1!", "?s ?s ?s 5{a1}new"},
    {"keep-alives: empty ones, and ones that tell a revision",
     "k s5:a1 k s5:b1! k k7! k7! end r8:b2 k r8:a2!",
     "?s 5{a1 b1}new 7{a1 b1} 7{a1 b1} ?7 8{a2 b2}/a/b"},
    {"a keep-alive of the past says nothing", "s5:a1! k4! end", "?s 5{a1}new ?5"},
    {"a keep-alive before the snapshot completes nothing", "k5! s5:a1! r6:b1!",
     "?s 5{a1}new 6{a1 b1}/b"},
    {"the next epoch comes after the last one", "s5:a1! r103:a2! end",
     "?s 5{a1}new 103{a2}/a ?103"},
    {"the log is compacted", "s5:a1! end/REVISION_COMPACTED s9:b1! r10:c1!",
     "?s 5{a1}new * ?s 9{b1}new 10{b1 c1}/c"},
    {"the revision is lost", "s5:a1! end/REVISION_LOST s104:b1!", "?s 5{a1}new * ?s 104{b1}new"},
    {"the epoch is unknown to a process that lags, and the next one knows it",
     "s105:a1! end/EPOCH_UNKNOWN s5:b1 s5:c1! end s105:a2! end",
     "?s 105{a1}new * ?s L L ?s 105{a2}new ?105"},
    {"the log is compacted, and the next process lags",
     "s5:a1! end/REVISION_COMPACTED s4:b1! s9:c1! end s9:c1! r10:d1!",
     "?s 5{a1}new * ?s L L ?s 9{c1}new 10{c1 d1}/d"},
    {"too slow for the running stream", "s5:a1! r6:b1 end/WATCHER_TOO_SLOW r6:b1!",
     "?s 5{a1}new ?5 6{a1 b1}/b"},
    {"too slow for the snapshot", "s5:a1 end/WATCHER_TOO_SLOW s7:b1!", "?s * ?s 7{b1}new"},
    {"a process that stops", "s5:a1! end/NOT_SERVING r6:b1!", "?s 5{a1}new ?5 6{a1 b1}/b"},
    {"changes before the snapshot", "r5:a1! s5:b1! end s6:c1!", "?s X X * ?s 6{c1}new"},
    {"changes within the snapshot", "s5:a1 r6:b1! end s6:a1,b1!", "?s X * ?s 6{a1 b1}new"},
    {"a snapshot that was not asked for", "s5:a1! s6:b1! end s6:b1!",
     "?s 5{a1}new X * ?s 6{b1}new"},
    {"a revision that was complete already", "s5:a1! r5:b1! end", "?s 5{a1}new X * ?s"},
    {"a revision of the past", "s5:a1! end r4:b1! end", "?s 5{a1}new ?5 X * ?s"},
    {"a revision that begins before the last one is complete", "s5:! r6:a1 r7:b1! end",
     "?s 5{}new X * ?s"},
    {"a keep-alive that ends a revision which is not complete", "s5:! r6:a1 k7! end",
     "?s 5{}new X * ?s"},
    {"changes without a revision", "s5:! r:a1! end", "?s 5{}new X * ?s"},
    {"a snapshot without a revision", "s:a1! end", "?s X * ?s"},
};

TEST(MirrorStateTest, MessagesMakeViewsAndEndsMakeRequests) {
  for (const Stream& one : kStreams) EXPECT_EQ(Told(one.script), one.told) << one.what;
}

TEST(MirrorStateTest, AViewNeverChanges) {
  MirrorState state;
  state.Begin();
  pb::WatchResponse message = Message("s5:a1,b1!");
  ASSERT_TRUE(*state.Apply(&message));
  const std::shared_ptr<const View> view = state.view();
  for (const char* words : {"r6:a2,-b,c1", "r6:d1!", "r7:a3"}) {
    message = Message(words);
    ASSERT_TRUE(state.Apply(&message).ok());
  }
  EXPECT_EQ(InText(*view), "5{a1 b1}");
  const ViewChange change = state.TakeChange();
  EXPECT_EQ(change.before, view);
  EXPECT_EQ(InText(*change.after), "6{a2 c1 d1}");
}

TEST(MirrorStateTest, ANodeKeepsTheFactsThatWereSentLast) {
  MirrorState state;
  state.Begin();
  const auto apply = [&](int64_t number, bool snapshot, const char* name, const char* facts) {
    pb::WatchResponse message;
    message.set_snapshot(snapshot);
    message.set_complete(true);
    message.mutable_revision()->set_number(number);
    pb::Node* node = message.add_changes()->mutable_present()->mutable_node();
    node->set_uuid("n");
    node->set_name(name);
    if (facts != nullptr) node->mutable_facts()->set_hypervisor_type(facts);
    EXPECT_TRUE(state.Apply(&message).ok());
    const auto kept = state.view()->nodes.Find("n");
    return absl::StrCat(kept->name(), " ", kept->facts().hypervisor_type());
  };
  EXPECT_EQ(apply(1, true, "a", "QEMU"), "a QEMU");
  EXPECT_EQ(apply(2, false, "b", nullptr), "b QEMU");
  EXPECT_EQ(apply(3, false, "c", "LXC"), "c LXC");
  EXPECT_EQ(apply(4, false, "d", nullptr), "d LXC");
}

TEST(MirrorStateTest, WhatANewerReleaseSendsIsIgnored) {
  MirrorState state({pb::ENTITY_KIND_PROVIDER, pb::ENTITY_KIND_NODE});
  EXPECT_EQ(state.Begin().kinds_size(), 2);
  pb::WatchResponse message = Message("s5:a1");
  // An entity of a kind with the number 99, with some text; and an unknown field of the message.
  ASSERT_TRUE(message.add_changes()->mutable_present()->ParseFromString("\x9a\x06\x01x"));
  message.add_changes()->mutable_removed()->set_kind(static_cast<pb::EntityKind>(99));
  message.add_changes();
  ASSERT_TRUE(message.MergeFromString("\x9a\x06\x01x\x18\x01"));
  ASSERT_TRUE(message.complete());
  ASSERT_TRUE(*state.Apply(&message));
  EXPECT_EQ(InText(*state.view()), "5{a1}");
}

// Each kind has a map of its own, and is removed from that one.
TEST(MirrorStateTest, EveryKindIsKept) {
  MirrorState state;
  state.Begin();
  pb::WatchResponse message = Message("s5:x1!");
  const auto add = [&] { return message.add_changes()->mutable_present(); };
  add()->mutable_provider_usage()->set_provider_uuid("x");
  add()->mutable_consumer()->set_uuid("x");
  add()->mutable_resource_class()->set_name("x");
  add()->mutable_trait()->set_name("x");
  add()->mutable_service()->set_uuid("x");
  add()->mutable_node()->set_uuid("x");
  add()->mutable_instance()->set_uuid("x");
  add()->mutable_migration()->set_uuid("x");
  add()->mutable_server_group()->set_uuid("x");
  add()->mutable_aggregate()->set_uuid("x");
  ASSERT_TRUE(*state.Apply(&message));
  const auto sizes = [&] {
    const View& v = *state.view();
    return std::vector<size_t>{v.providers.size(),     v.usages.size(),    v.consumers.size(),
                               v.classes.size(),       v.traits.size(),    v.services.size(),
                               v.nodes.size(),         v.instances.size(), v.migrations.size(),
                               v.server_groups.size(), v.aggregates.size()};
  };
  std::vector<size_t> expected(11, 1);
  EXPECT_EQ(sizes(), expected);
  for (int kind = 1; pb::EntityKind_IsValid(kind); ++kind) {
    message = Message(absl::StrCat("r", 5 + kind, ":!"));
    message.add_changes()->mutable_removed()->set_kind(static_cast<pb::EntityKind>(kind));
    message.mutable_changes(0)->mutable_removed()->set_key("x");
    ASSERT_TRUE(*state.Apply(&message));
    ASSERT_LE(kind, 11) << "a new kind needs a map";
    expected[kind - 1] = 0;
    EXPECT_EQ(sizes(), expected);
    EXPECT_EQ(state.TakeChange().changed,
              std::vector<EntityName>({{static_cast<pb::EntityKind>(kind), "x"}}));
  }
}

}  // namespace
}  // namespace berth::client
