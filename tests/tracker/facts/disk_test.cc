// Promised and unwritten disk.
#include "tracker/facts/disk.h"

#include "gtest/gtest.h"

namespace berth::tracker {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;

GuestDisk Disk(const char* type, const char* format) { return {type, "disk", format, "/d", "vda"}; }

TEST(Disk, CountsWhatWasPromisedAndNotWritten) {
  struct Case {
    GuestDisk disk;
    std::optional<ImageReading> image;
    int64_t want;
  };
  GuestDisk nowhere = Disk("file", "qcow2");
  nowhere.path = "";
  const Case kCases[] = {
      {Disk("file", "qcow2"), ImageReading{31 * kGib, 30 * kGib, 100 * kGib}, 70 * kGib},  // C-7
      {Disk("file", "raw"), ImageReading{20 * kGib, 5 * kGib, {}}, 15 * kGib},             // C-7
      {Disk("file", "raw"), ImageReading{5 * kGib, 6 * kGib, {}}, 0},                      // C-7
      {Disk("file", "qcow2"), ImageReading{1, 3 * kGib, 2 * kGib}, 0},                     // T-84
      {Disk("block", "raw"), ImageReading{9 * kGib, 0, {}}, 0},                            // C-7
      {Disk("network", "raw"), std::nullopt, 0},
      {Disk("file", "qcow2"), std::nullopt, 0},  // T-85: what cannot be read counts nothing
      {nowhere, ImageReading{9 * kGib, 0, {}}, 0},
  };
  for (const Case& test : kCases) {
    EXPECT_EQ(OvercommittedBytes(test.disk, test.image, {}), test.want) << test.disk.type;
  }
  EXPECT_EQ(OvercommittedBytes(Disk("file", "raw"), ImageReading{9 * kGib, 0, {}}, {"vda"}), 0);
  EXPECT_EQ(TruncatedGib(50 * kGib - 85 * kGib), -35);  // C-7
  EXPECT_EQ(TruncatedGib(-kGib - 1), -1);               // T-83: towards zero
  EXPECT_EQ(SteadyGib(50 * kGib - 1, std::nullopt), 49);
  for (const int64_t last : {49, 50}) {
    EXPECT_EQ(SteadyGib(50 * kGib - 1, last), last);  // T-393
    EXPECT_EQ(SteadyGib(50 * kGib + 1, last), last);
  }
  EXPECT_EQ(SteadyGib(50 * kGib - kGib / 4 - 1, 50), 49);
  EXPECT_EQ(SteadyGib(50 * kGib + kGib / 4, 49), 50);
  EXPECT_EQ(SteadyGib(-50 * kGib - 1, -49), -49);
  EXPECT_EQ(SteadyGib(-51 * kGib, -49), -51);
}

TEST(Disk, KnowsTheSizeOfADefinition) {
  const ImageReading qcow2{31 * kGib, 30 * kGib, 100 * kGib};
  EXPECT_EQ(LocalDiskBytes(Disk("file", "qcow2"), qcow2, std::nullopt), 100 * kGib);
  EXPECT_EQ(LocalDiskBytes(Disk("file", "qcow2"), std::nullopt, 7 * kGib), 7 * kGib);
  EXPECT_EQ(LocalDiskBytes(Disk("file", "raw"), ImageReading{kGib, 0, {}}, std::nullopt), kGib);
  // The size that libvirt told while the file could not be read does not count any more.
  EXPECT_EQ(LocalDiskBytes(Disk("file", "raw"), ImageReading{kGib, 0, {}}, 7 * kGib), kGib);
  // Only the hypervisor knows what is in the header of these.
  EXPECT_EQ(LocalDiskBytes(Disk("file", "vmdk"), ImageReading{kGib, 0, {}}, 7 * kGib), 7 * kGib);
  EXPECT_EQ(LocalDiskBytes(Disk("file", "vmdk"), ImageReading{kGib, 0, {}}, {}), kGib);
  EXPECT_EQ(LocalDiskBytes(Disk("block", "qcow2"), ImageReading{kGib, 0, {}}, 7 * kGib), 7 * kGib);
  EXPECT_EQ(LocalDiskBytes(Disk("block", "raw"), ImageReading{kGib, 0, {}}, 7 * kGib), kGib);
  EXPECT_EQ(LocalDiskBytes(Disk("block", "raw"), std::nullopt, 3 * kGib), 3 * kGib);
  EXPECT_EQ(LocalDiskBytes(Disk("network", "raw"), std::nullopt, 3 * kGib), 0);
  GuestDisk cdrom = Disk("file", "raw");
  cdrom.device = "cdrom";
  EXPECT_EQ(LocalDiskBytes(cdrom, ImageReading{kGib, 0, {}}, kGib), 0);
}

TEST(Disk, KnowsWhichImagesTellTheSize) {
  EXPECT_TRUE(ImageTellsSize(Disk("file", "")));
  EXPECT_TRUE(ImageTellsSize(Disk("file", "qcow2")));
  EXPECT_TRUE(ImageTellsSize(Disk("block", "raw")));
  EXPECT_FALSE(ImageTellsSize(Disk("block", "qcow2")));
  for (const char* const format : {"vmdk", "vdi", "qed", "vhdx"}) {
    EXPECT_FALSE(ImageTellsSize(Disk("file", format))) << format;
  }
}

TEST(Disk, ReadsVolumeGroups) {  // T-82
  const StorageReading reading = *ParseVolumeGroup("  1000204886016|214748364800\n");
  EXPECT_EQ(reading.total_bytes, 1000204886016);
  EXPECT_EQ(reading.used_bytes, 1000204886016 - 214748364800);
  for (const char* const text : {"", "1", "1|2|3", "a|b"}) {
    EXPECT_FALSE(ParseVolumeGroup(text).ok()) << text;
  }
}

TEST(Disk, ReadsCephPools) {  // T-82: total and free have different units
  constexpr char kText[] =
      R"({"stats":{"total_bytes":3000},"pools":[{"name":"a","stats":{"max_avail":1,"bytes_used":2}},)"
      R"({"name":"vms","stats":{"max_avail":900,"bytes_used":100}}]})";
  const StorageReading reading = *ParseCephUsage(kText, "vms", false);
  EXPECT_EQ(reading.total_bytes, 3000);
  EXPECT_EQ(reading.free_bytes, 900);
  EXPECT_EQ(reading.used_bytes, 100);
  EXPECT_EQ(ParseCephUsage(kText, "none", false).status().code(), absl::StatusCode::kNotFound);
  for (const char* const text : {"", "[]", "{", R"({"stats":3})"}) {
    EXPECT_EQ(ParseCephUsage(text, "vms", false).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(Disk, OfACephPoolIsWhatItHoldsAndCanTake) {  // T-357
  const auto text = [](const std::string& stored) {
    return R"({"stats":{"total_bytes":3000},"pools":[{"name":"vms","stats":{"max_avail":900,)" +
           stored + R"("bytes_used":300}}]})";
  };
  const StorageReading copies = *ParseCephUsage(text(R"("stored":100,)"), "vms", true);
  EXPECT_EQ(copies.used_bytes, 100);  // each of three copies counts in bytes_used
  EXPECT_EQ(copies.free_bytes, 900);
  EXPECT_EQ(copies.total_bytes, 1000);  // T-357
  EXPECT_EQ(ParseCephUsage(text(""), "vms", true)->total_bytes, 1200);
}

TEST(Disk, ReadsImageHeaders) {
  std::string header("QFI\xfb\0\0\0\3", 8);
  header.resize(104);
  header[27] = 2;  // 2^33
  EXPECT_EQ(Qcow2VirtualBytes(header), int64_t{2} << 32);
  EXPECT_EQ(Qcow2VirtualBytes(header.substr(0, 31)), std::nullopt);
  header[24] = static_cast<char>(0x80);
  EXPECT_EQ(Qcow2VirtualBytes(header), std::nullopt);
  EXPECT_EQ(Qcow2VirtualBytes(std::string(512, 'x')), std::nullopt);
}

}  // namespace
}  // namespace berth::tracker
