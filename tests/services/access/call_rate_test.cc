// How often an identity may call, by a made clock.
#include "services/access/call_rate.h"

#include "gtest/gtest.h"

namespace berth::services {
namespace {

using placement::BootTime;

constexpr BootTime kBegin = absl::Hours(5);

TEST(TokenBucketTest, ABurstComesAtOnceAndThenTheRate) {
  TokenBucket bucket;
  const CallRate rate{10, 3};
  BootTime now = kBegin;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.Take(rate, now), absl::ZeroDuration());
  EXPECT_EQ(bucket.Take(rate, now), absl::Milliseconds(100));
  now += absl::Milliseconds(60);
  EXPECT_EQ(bucket.Take(rate, now), absl::Milliseconds(40));
  now += absl::Milliseconds(40);
  EXPECT_EQ(bucket.Take(rate, now), absl::ZeroDuration());
  EXPECT_EQ(bucket.Take(rate, now), absl::Milliseconds(100));
  EXPECT_FALSE(bucket.IsFull(now + absl::Milliseconds(299)));
  EXPECT_TRUE(bucket.IsFull(now + absl::Milliseconds(300)));
  // However long it waited: no more than a burst.
  now += absl::Hours(1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.Take(rate, now), absl::ZeroDuration());
  EXPECT_GT(bucket.Take(rate, now), absl::ZeroDuration());
}

TEST(TokenBucketTest, WhoIsRefusedPaysNothing) {
  TokenBucket bucket;
  const CallRate rate{1, 1};
  EXPECT_EQ(bucket.Take(rate, kBegin), absl::ZeroDuration());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(bucket.Take(rate, kBegin), absl::Seconds(1));
  EXPECT_EQ(bucket.Take(rate, kBegin + absl::Seconds(1)), absl::ZeroDuration());
}

TEST(TokenBucketTest, InTheLongRunTheRateHolds) {
  TokenBucket bucket;
  const CallRate rate{7, 20};
  int made = 0;
  for (int i = 0; i < 100'000; ++i) {  // one attempt each millisecond
    if (bucket.Take(rate, kBegin + absl::Milliseconds(i)) == absl::ZeroDuration()) ++made;
  }
  EXPECT_NEAR(made, 7 * 100 + 20, 1);
}

TEST(TokenBucketTest, ANewRateHoldsAtOnce) {
  TokenBucket bucket;
  const CallRate slow{0.001, 5};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(bucket.Take(slow, kBegin), absl::ZeroDuration());
  EXPECT_EQ(bucket.Take(slow, kBegin), absl::Seconds(1000));
  // It owes no more than the new rate lets it owe.
  const CallRate quick{10, 2};
  EXPECT_EQ(bucket.Take(quick, kBegin), absl::Milliseconds(100));
  EXPECT_EQ(bucket.Take(quick, kBegin + absl::Milliseconds(100)), absl::ZeroDuration());
}

}  // namespace
}  // namespace berth::services
