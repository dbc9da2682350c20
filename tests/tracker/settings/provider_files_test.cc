// Provider configuration files: what they may say, and how a mistake is named.
#include "tracker/settings/provider_files.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kProviderUuid[] = "6695eb01-f6a4-8304-79aa-97f2502e193f";

class ProviderFilesTest : public testing::Test {
 protected:
  ProviderFilesTest() {
    char path[] = "/tmp/berth-providers-XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~ProviderFilesTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
  }
  // A file whose list of providers is `providers`, which begins in line 3.
  void WriteProviders(const std::string& name, const std::string& providers) const {
    Write(name, "meta: {schema_version: '1.0'}\nproviders:\n" + providers);
  }
  absl::StatusOr<ProviderFiles> Read() const { return ReadProviderFiles(directory_); }
  std::string Refusal() const {
    const absl::Status status = Read().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  std::string directory_;
};

TEST_F(ProviderFilesTest, AddClassesAndTraits) {  // T-217
  Write("b.yaml", R"(
meta:
  schema_version: '1.0'
providers:
  - identification:
      uuid: 6695EB01-F6A4-8304-79AA-97F2502E193F
    inventories:
      additional:
        - CUSTOM_GRID:
            total: 22
            reserved: 2
            min_unit: 3
            max_unit: 10
            step_size: 5
            allocation_ratio: 1.5
        - CUSTOM_PLAIN:
            total: 1
    traits:
      additional: [CUSTOM_A, 'CUSTOM_B']
    owner: unknown keys of a provider are allowed
)");
  WriteProviders("a.yaml", "- {identification: {name: n1}, traits: {additional: [CUSTOM_C]}}");
  Write("c.yml", "never read");
  Write(".d.yaml", "never read");
  const absl::StatusOr<ProviderFiles> files = Read();
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->entries.size(), 2u);
  EXPECT_EQ(files->entries[0].name, "n1");  // a.yaml comes before b.yaml
  EXPECT_EQ(files->entries[0].source, Path("a.yaml:3"));
  const ProviderEntry& entry = files->entries[1];
  EXPECT_EQ(entry.uuid.ToString(), kProviderUuid);
  EXPECT_EQ(entry.source, Path("b.yaml:5"));
  EXPECT_THAT(entry.traits, ElementsAre("CUSTOM_A", "CUSTOM_B"));
  ASSERT_EQ(entry.inventories.size(), 2u);
  EXPECT_EQ(entry.inventories.at("CUSTOM_GRID"), (AddedInventory{22, 2, 3, 10, 5, 1.5}));
  EXPECT_EQ(entry.inventories.at("CUSTOM_PLAIN"), (AddedInventory{1, 0, 1, 2147483647, 1, 1.0}));
  EXPECT_THAT(files->warnings, IsEmpty());
  EXPECT_THAT(files->notes, IsEmpty());
}

TEST_F(ProviderFilesTest, MayBeAbsent) {  // T-217
  EXPECT_THAT(Read()->notes, ElementsAre(HasSubstr(directory_ + " has no provider")));
  std::filesystem::remove_all(directory_);
  const absl::StatusOr<ProviderFiles> files = Read();
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(files->entries, IsEmpty());
  EXPECT_THAT(files->notes, ElementsAre(HasSubstr("check that the tracker may read")));
}

TEST_F(ProviderFilesTest, MustBeReadable) {  // T-217
  std::filesystem::create_directory(Path("a.yaml"));
  EXPECT_THAT(Refusal(), StartsWith(Path("a.yaml: cannot be read")));
  std::filesystem::remove_all(directory_);
  std::ofstream(directory_) << "a file where the directory should be";
  EXPECT_THAT(Refusal(), StartsWith(directory_ + ": cannot be read"));
}

TEST_F(ProviderFilesTest, HaveAVersion) {  // T-217
  const std::pair<const char*, const char*> kCases[] = {
      {"", ":1: the file must be one map"},
      {"- a", ":1: the file must be one map"},
      {"meta: {schema_version: '1.0'}\n---\nproviders: []", ":1: the file must be one map"},
      {"providers: []", ":1: meta.schema_version: is missing"},
      {"meta: 7", ":1: meta.schema_version: is missing"},
      {"\nmeta: {}", ":2: meta.schema_version: is missing"},
      {"meta: {schema_version: 1.0}", "must be a version in quotes"},
      {"meta: {schema_version: '1'}", "must be a version in quotes"},
      {"meta: {schema_version: '1.x'}", "must be a version in quotes"},
      {"meta:\n  schema_version: '2.0'", ":2: meta.schema_version: is 2.0, but only versions 1.N"},
      {"meta: [unfinished", ":1: is not YAML"},
  };
  for (const auto& [text, said] : kCases) {
    Write("a.yaml", text);
    EXPECT_THAT(Refusal(), HasSubstr(said)) << text;
    EXPECT_THAT(Refusal(), StartsWith(Path("a.yaml:"))) << text;
  }
  Write("a.yaml", "meta: {schema_version: '1.0'}");
  EXPECT_TRUE(Read()->entries.empty());
}

TEST_F(ProviderFilesTest, OfANewerVersionMayHaveUnknownKeys) {  // T-217
  constexpr char kText[] =
      "', more: 1}\nextra: 2\nproviders:\n"
      "- {identification: {name: n, kind: x}, traits: {additional: [CUSTOM_A], x: 1}}";
  Write("a.yaml", std::string("meta: {schema_version: '1.3") + kText);
  const absl::StatusOr<ProviderFiles> files = Read();
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->entries.size(), 1u);
  EXPECT_THAT(files->warnings, ElementsAre(HasSubstr("schema version 1.3 is newer than 1.0")));
  Write("a.yaml", std::string("meta: {schema_version: '1.0") + kText);
  EXPECT_THAT(Refusal(), HasSubstr(":1: meta.more: is not a known field"));
}

TEST_F(ProviderFilesTest, AreRefusedWithLineAndField) {  // T-217
  const std::string kNamed = "- identification: {name: n}\n";
  const std::string kClass = kNamed + "  inventories:\n    additional:\n    - CUSTOM_X: ";
  const std::pair<std::string, const char*> kCases[] = {
      {"  a: 1", ":3: providers: must be a list"},
      {"- 7", ":3: providers[0]: must be a map"},
      {"- traits: {}", ":3: providers[0].identification: is missing"},
      {"-\n  identification: {}", ":4: providers[0].identification: must have either uuid or name"},
      {"- identification: {uuid: " + std::string(kProviderUuid) + ", name: n}",  // T-218
       "must have either uuid or name"},
      {"- identification: {uuid: n}", "identification.uuid: must be a uuid or $COMPUTE_NODE"},
      {"- identification: {name: ''}", "identification.name: must have 1 to 200 characters"},
      {"- identification: {name: [n]}", "identification.name: must have 1 to 200 characters"},
      {"- identification: {name: " + std::string(201, 'n') + "}", "must have 1 to 200 characters"},
      {"- identification: {nom: n}", "identification.nom: is not a known field"},
      {kNamed + "- identification: {name: m, name: k}",
       ":4: providers[1].identification.name: is there twice"},
      {kNamed + "  __source_file: x", "__source_file: is a reserved name"},
      {kNamed + "  inventories: []", "inventories: must be a map"},
      {kNamed + "  inventories: {extra: []}", "inventories.extra: is not a known field"},
      {kNamed + "  inventories:\n    additional: {}",
       ":5: providers[0].inventories.additional: must be a list"},
      {kNamed + "  inventories: {additional: [{VCPU: {total: 1}}]}", "VCPU: must be a class whose"},
      {kNamed + "  inventories: {additional: [{CUSTOM_x: {total: 1}}]}", "must be a class whose"},
      {kClass + "{}", ":6: providers[0].inventories.additional[0].CUSTOM_X.total: is missing"},
      {kClass + "{total: 1, colour: red}", "CUSTOM_X.colour: is not a known field"},
      {kClass + "{total: 0}", "CUSTOM_X.total: must be a whole number from 1 to 2147483647"},
      {kClass + "{total: 2147483648}", "must be a whole number from 1 to 2147483647"},
      {kClass + "{total: '5'}", "must be a whole number from 1"},
      {kClass + "{total: 1.5}", "must be a whole number from 1"},
      {kClass + "{total: 5, reserved: -1}", "CUSTOM_X.reserved: must be a whole number from 0"},
      {kClass + "{total: 5, reserved: 6}", "CUSTOM_X.reserved: must not be more than the total"},
      {kClass + "{total: 5, step_size: 0}", "CUSTOM_X.step_size: must be a whole number from 1"},
      {kClass + "{total: 5, allocation_ratio: 0}", "allocation_ratio: must be a number above 0"},
      {kClass + "{total: 5, allocation_ratio: .nan}", "must be a number above 0"},
      {kClass + "{total: 5}\n    - CUSTOM_X: {total: 5}",
       ":7: providers[0].inventories.additional[1].CUSTOM_X: is there twice"},
      {kNamed + "  traits: {additional: [CUSTOM_A, HW_CPU_X86_AVX]}",
       ":4: providers[0].traits.additional[1]: must be a trait whose name is CUSTOM_"},
      {kNamed + "  traits: {additional: [CUSTOM_]}", "must be a trait whose name is CUSTOM_"},
  };
  for (const auto& [providers, said] : kCases) {
    WriteProviders("a.yaml", providers);
    EXPECT_THAT(Refusal(), HasSubstr(said)) << providers;
    EXPECT_THAT(Refusal(), StartsWith(Path("a.yaml:"))) << providers;
  }
}

TEST_F(ProviderFilesTest, NameAProviderOnce) {  // T-218
  for (const std::string who :
       {"name: n", "uuid: $COMPUTE_NODE", "uuid: 6695eb01-f6a4-8304-79aa-97f2502e193f"}) {
    const std::string entry =
        "- {identification: {" + who + "}, traits: {additional: [CUSTOM_A]}}\n";
    WriteProviders("a.yaml", entry);
    WriteProviders("b.yaml", entry);
    EXPECT_EQ(Refusal(), Path("b.yaml:3: identification: the ") + who.substr(0, 4) + who.substr(5) +
                             " has an entry already, at " + Path("a.yaml:3"));
  }
}

TEST_F(ProviderFilesTest, WithoutAnyContentHaveNoEffect) {  // T-218
  WriteProviders("a.yaml",
                 "- identification: {name: n}\n"
                 "- {identification: {name: m}, inventories: {additional: []}, traits: {}}");
  const absl::StatusOr<ProviderFiles> files = Read();
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(files->entries, IsEmpty());
  EXPECT_THAT(files->warnings, ElementsAre(StartsWith(Path("a.yaml:3: the entry adds neither")),
                                           StartsWith(Path("a.yaml:4: the entry adds neither"))));
}

}  // namespace
}  // namespace berth::tracker
