// Which file system a path is on, by the kernel's list.
#include "tracker/facts/mounts.h"

#include <gtest/gtest.h>

namespace berth::tracker {
namespace {

constexpr char kMountInfo[] =
    "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "30 22 0:25 / /var/lib/instances rw shared:7 master:2 - nfs4 nas:/export/vms rw,vers=4.2\n"
    "31 22 0:26 /sub /mnt/a\\040b rw - ceph 10.0.0.1:6789:/ rw\n"
    "32 22 0:27 / /mnt rw - tmpfs tmpfs rw\n"
    "33 32 0:28 / /mnt rw - xfs /dev/vdb rw\n"
    "broken line\n"
    "34 22 0:29 / /x rw - nfs\n";

std::string TypeAt(const std::string& path) {
  const std::vector<Mount> mounts = ParseMounts(kMountInfo);
  const Mount* const mount = FindMount(mounts, path);
  return mount == nullptr ? "" : mount->type;
}

TEST(Mounts, AreFoundByPath) {
  EXPECT_EQ(ParseMounts(kMountInfo).size(), 5u);
  EXPECT_EQ(TypeAt("/"), "ext4");
  EXPECT_EQ(TypeAt("/var/lib"), "ext4");
  EXPECT_EQ(TypeAt("/var/lib/instances"), "nfs4");
  EXPECT_EQ(TypeAt("/var/lib/instances/a/disk"), "nfs4");
  EXPECT_EQ(TypeAt("/var/lib/instances2/disk"), "ext4");
  EXPECT_EQ(TypeAt("/mnt/a b/disk"), "ceph");
  EXPECT_EQ(TypeAt("/mnt/other"), "xfs");  // the newer mount covers the older one
  EXPECT_EQ(TypeAt("relative"), "");
  EXPECT_EQ(FindMount({}, "/"), nullptr);
}

TEST(Mounts, HaveTheServerThatTheyHangWith) {
  EXPECT_EQ(ServerOf({"/a", "nfs4", "nas:/vms/a"}), "nas");  // T-361
  EXPECT_EQ(ServerOf({"/b", "nfs", "nas:/vms/b"}), "nas");
  EXPECT_EQ(ServerOf({"/c", "nfs4", "[fe80::1]:/c"}), "[fe80::1]");
  EXPECT_EQ(ServerOf({"/d", "ceph", "10.0.0.1:6789,10.0.0.2:6789:/"}),
            "10.0.0.1:6789,10.0.0.2:6789");
  EXPECT_EQ(ServerOf({"/e", "cifs", "//nas/share"}), "//nas");
  EXPECT_EQ(ServerOf({"/f", "cifs", "//nas"}), "//nas");
  EXPECT_EQ(ServerOf({"/", "ext4", "/dev/vda1"}), "/");
}

TEST(Mounts, HaveAnIdIfHostsCanShareThem) {
  EXPECT_EQ(SharedStorageId({"/a", "nfs4", "nas:/vms"}), "nfs:nas:/vms");
  EXPECT_EQ(SharedStorageId({"/b", "nfs", "nas:/vms"}), "nfs:nas:/vms");
  EXPECT_EQ(PoolStorageId("c", "vms"), "rbd:c/vms");
  EXPECT_EQ(PoolStorageId("c", std::string(250, 'p')), "");
  EXPECT_EQ(SharedStorageId({"/b", "ceph", "10.0.0.1:/"}), "ceph:10.0.0.1:/");
  EXPECT_EQ(SharedStorageId({"/", "ext4", "/dev/vda1"}), "");
  EXPECT_EQ(SharedStorageId({"/c", "cifs", "//nas/Gr\337e"}), "smb://nas/Gr\\337e");  // Latin-1
  EXPECT_EQ(SharedStorageId({"/d", "nfs", "nas:/" + std::string(300, 'd')}), "");
}

}  // namespace
}  // namespace berth::tracker
