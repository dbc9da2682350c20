// Which of libvirt's documents a pass reads.
#include "tracker/facts/document_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tracker/ground/boot_clock.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::Duration kInterval = absl::Seconds(60);

using Listing = std::map<std::string, int64_t>;

Listing Guests(int count) {
  Listing listed;
  for (int i = 0; i < count; ++i) listed[absl::StrCat("guest-", 1000 + i)] = i;
  return listed;
}

TEST(DocumentCache, ReadsWhatMayHaveChanged) {
  struct Case {
    const char* name;
    Listing listed;
    std::map<std::string, KnownDocument> known;
    int64_t share;
    std::vector<std::string> want;
  };
  const Case kCases[] = {
      {"nothing", {{"a", 1}}, {{"a", {1, 7, false}}}, 0, {}},
      {"new", {{"a", 1}, {"b", 2}}, {{"a", {1, 7, false}}}, 0, {"b"}},
      {"gone", {}, {{"a", {1, 7, false}}}, 5, {}},
      {"restarted, without an event", {{"a", 2}}, {{"a", {1, 7, false}}}, 0, {"a"}},
      {"stopped, without an event", {{"a", -1}}, {{"a", {1, 7, false}}}, 0, {"a"}},
      {"event", {{"a", 1}, {"b", 2}}, {{"a", {1, 7, true}}, {"b", {2, 8, false}}}, 0, {"a"}},
      {"sweep", {{"a", 1}, {"b", 2}}, {{"a", {1, 9, false}}, {"b", {2, 8, false}}}, 1, {"b"}},
      {"event and sweep",
       {{"a", 1}, {"b", 2}, {"c", 3}},
       {{"a", {1, 7, false}}, {"b", {2, 8, false}}, {"c", {3, 1, true}}},
       1,
       {"a", "c"}},
  };
  for (const Case& test : kCases) {
    EXPECT_EQ(DocumentsToRead(test.listed, test.known, test.share), test.want) << test.name;
  }
}

TEST(DocumentCache, SharesTheSweepByTime) {
  EXPECT_EQ(SweepShare(900, kInterval, kInterval), 100);
  EXPECT_EQ(SweepShare(901, kInterval, kInterval), 101);
  EXPECT_EQ(SweepShare(900, kInterval / 100, kInterval), 1);  // a pass after an event
  EXPECT_EQ(SweepShare(900, 100 * kInterval, kInterval), 900);
  EXPECT_EQ(SweepShare(900, absl::ZeroDuration(), kInterval), 0);
  EXPECT_EQ(SweepShare(900, -kInterval, kInterval), 0);  // somebody set the clock back
  EXPECT_EQ(SweepShare(0, kInterval, kInterval), 0);
}

// The documents that a cache reads in a pass; reads them.
std::vector<std::string> Pass(const Listing& listed, MonotonicTime now, DocumentCache<int>* cache) {
  std::vector<std::string> names = cache->Plan(listed, now, kInterval);
  for (const std::string& name : names) cache->Store(name, listed.at(name), 0);
  return names;
}

TEST(DocumentCache, ReadsEveryDocumentWithinTenIntervals) {
  for (const int count : {1, 8, 9, 10, 100, 1234}) {
    const Listing listed = Guests(count);
    DocumentCache<int> cache;
    MonotonicTime now{};
    EXPECT_EQ(Pass(listed, now, &cache).size(), listed.size());
    std::map<std::string, MonotonicTime> read_at;
    for (const auto& [name, run] : listed) read_at[name] = now;
    size_t reads_per_pass = 0;
    for (int pass = 1; pass < 60; ++pass) {
      now += absl::ToChronoNanoseconds(kInterval);
      const std::vector<std::string> names = Pass(listed, now, &cache);
      if (pass == 1) reads_per_pass = names.size();
      EXPECT_EQ(names.size(), reads_per_pass) << count;  // T-393: every pass costs the same
      for (const std::string& name : names) read_at[name] = now;
      for (const auto& [name, time] : read_at)
        ASSERT_LT(absl::FromChrono(now - time), 10 * kInterval) << name;
    }
    EXPECT_LE(reads_per_pass, count / 9 + 1u);
  }
}

TEST(DocumentCache, ReadsLittleInAStormOfEvents) {
  const Listing listed = Guests(1000);
  DocumentCache<int> cache;
  Pass(listed, MonotonicTime(), &cache);
  for (int pass = 1; pass <= 20; ++pass) {
    cache.Outdate({"guest-1500"});
    const MonotonicTime now(pass * std::chrono::milliseconds(100));
    EXPECT_LE(Pass(listed, now, &cache).size(), 2u);
  }
}

TEST(DocumentCache, TriesAgainWhatCouldNotBeRead) {
  const Listing listed = Guests(3);
  DocumentCache<int> cache;
  const MonotonicTime now{};
  EXPECT_EQ(cache.Plan(listed, now, kInterval).size(), 3u);
  cache.Store("guest-1000", 0, 5);
  cache.Store("guest-1001", 1, 6);
  EXPECT_THAT(cache.Plan(listed, now, kInterval), ElementsAre("guest-1002"));
  cache.Store("guest-1002", 2, 7);
  EXPECT_THAT(cache.Plan(listed, now, kInterval), IsEmpty());
  cache.OutdateAll();
  EXPECT_EQ(cache.Plan(listed, now, kInterval).size(), 3u);
  cache.Store("guest-1000", 0, 8);
  // The others still have the content that was read last.
  EXPECT_THAT(cache.Plan(listed, now, kInterval), ElementsAre("guest-1001", "guest-1002"));
  EXPECT_EQ(*cache.Find("guest-1001"), 6);
}

TEST(DocumentCache, ForgetsWhatIsGone) {
  DocumentCache<int> cache;
  Pass(Guests(2), MonotonicTime(), &cache);
  Pass(Guests(1), MonotonicTime(), &cache);
  EXPECT_EQ(cache.Find("guest-1001"), nullptr);
  EXPECT_THAT(Pass(Guests(2), MonotonicTime(), &cache), ElementsAre("guest-1001"));
  cache.Forget("guest-1000");
  EXPECT_EQ(cache.Find("guest-1000"), nullptr);
  cache.Outdate({"guest-1000", "unknown"});
  EXPECT_THAT(Pass(Guests(2), MonotonicTime(), &cache), ElementsAre("guest-1000"));
}

}  // namespace
}  // namespace berth::tracker
