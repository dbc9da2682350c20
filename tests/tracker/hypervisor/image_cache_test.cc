// The size of the image cache, read from real files.
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "tracker/hypervisor/storage.h"

namespace berth::tracker {
namespace {

class ImageCacheTest : public testing::Test {
 protected:
  ImageCacheTest() {
    char path[] = "/tmp/berth-image-cache-XXXXXX";
    configuration_.image_cache_path = mkdtemp(path);
  }
  ~ImageCacheTest() override { std::filesystem::remove_all(configuration_.image_cache_path); }

  void Write(const std::string& name, size_t bytes) const {
    std::ofstream(configuration_.image_cache_path + "/" + name) << std::string(bytes, 'x');
  }
  std::optional<int64_t> Cached() const {
    return ReadStorage(configuration_, "/tmp", "", absl::Seconds(10))->image_cache_bytes;
  }

  NodeConfiguration configuration_;
};

TEST_F(ImageCacheTest, CountsTheSpaceOfAllFiles) {  // T-88
  EXPECT_EQ(Cached(), 0);
  Write("a", 100'000);
  std::filesystem::create_directory(configuration_.image_cache_path + "/deeper");
  Write("deeper/b", 300'000);
  std::filesystem::resize_file(configuration_.image_cache_path + "/deeper/b", 1 << 30);  // a hole
  std::filesystem::create_symlink("/usr/bin", configuration_.image_cache_path + "/link");
  EXPECT_GE(Cached().value_or(0), 400'000);
  EXPECT_LT(Cached().value_or(0), 600'000);
}

TEST_F(ImageCacheTest, MayBeAbsentButNotUnreadable) {
  std::filesystem::remove_all(configuration_.image_cache_path);
  EXPECT_EQ(Cached(), 0);
  std::ofstream(configuration_.image_cache_path) << "a file";
  EXPECT_EQ(Cached(), std::nullopt);
  configuration_.image_cache_path.clear();
  EXPECT_EQ(Cached(), std::nullopt);  // none is configured
}

}  // namespace
}  // namespace berth::tracker
