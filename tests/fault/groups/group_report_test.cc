// Reports of schedulers: what is written is read, and a report that is cut off is told.
#include "tests/fault/groups/group_report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/processes/private_cluster.h"

namespace berth::fault {
namespace {

TEST(GroupReportTest, ReadsWhatWasWritten) {
  const placement::ScratchDirectory directory;
  const std::string path = directory.path() + "/report";
  GroupReport report(path);
  report.Placed({"one", "group", "a"});
  report.Moved({"one", "group", "b"});
  report.Released("one");
  report.NotPlaced("two");
  report.Refused({"a claim", "NO_CANDIDATE", "two", "group", std::nullopt, 3, 5});
  report.Refused({"a move", "CAPACITY_EXCEEDED", "one", "group", "a", 6, 7});
  report.Complain("no \xff text");
  report.LeftOpen();
  report.End();
  GroupEvents events;
  ASSERT_TRUE(ReadReport(path, &events).ok());
  ASSERT_EQ(events.placed.size(), 1U);
  EXPECT_EQ(events.placed[0].host, "a");
  ASSERT_EQ(events.moved.size(), 1U);
  EXPECT_EQ(events.moved[0].host, "b");
  EXPECT_EQ(events.released, std::vector<std::string>{"one"});
  EXPECT_EQ(events.not_placed, std::vector<std::string>{"two"});
  EXPECT_EQ(events.complaints.size(), 1U);
  EXPECT_EQ(events.left_open, 1);
  ASSERT_EQ(events.refusals.size(), 2U);
  EXPECT_FALSE(events.refusals[0].host);
  EXPECT_EQ(events.refusals[1].host, "a");
  EXPECT_EQ(events.refusals[1].reason, "CAPACITY_EXCEEDED");
  EXPECT_EQ(events.refusals[1].from, 6);
  EXPECT_EQ(events.refusals[1].to, 7);
}

TEST(GroupReportTest, AReportThatIsNotWholeIsTold) {
  const placement::ScratchDirectory directory;
  const std::string path = directory.path() + "/report";
  GroupEvents events;
  EXPECT_TRUE(absl::IsNotFound(ReadReport(path, &events)));
  const char kReleased[] = "{\"event\":\"released\",\"instance\":\"one\"}\n";
  const char kEnd[] = "{\"event\":\"end\"}\n";
  for (const std::string& text :
       {std::string(), std::string(kReleased), kEnd + std::string(kReleased),
        std::string(kReleased) + "{\"event\":\"rel",
        "{\"event\":\"unknown\"}\n" + std::string(kEnd)}) {
    std::ofstream(path) << text;
    EXPECT_TRUE(absl::IsDataLoss(ReadReport(path, &events))) << text;
  }
  EXPECT_EQ(events.released.size(), 2U);  // what came before the fault is read
}

}  // namespace
}  // namespace berth::fault
