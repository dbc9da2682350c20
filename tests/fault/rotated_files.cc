#include "tests/fault/rotated_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth::fault {
namespace {

using testing::WriteText;

constexpr std::array<RotatedFile, 3> kAllFiles = {RotatedFile::kCertificate, RotatedFile::kKey,
                                                  RotatedFile::kCa};
// By RotatedFile: as in a secret of Kubernetes, and for people.
constexpr const char* kFileNames[] = {"tls.crt", "tls.key", "ca.crt"};
constexpr const char* kFileWords[] = {"certificate", "key", "CA"};
constexpr char kData[] = "..data";

constexpr std::pair<WritingWay, const char*> kOneByOne[] = {
    {WritingWay::kInPlace, "in place"},
    {WritingWay::kInParts, "in parts"},
    {WritingWay::kByRename, "by rename"},
    {WritingWay::kDeleteThenCreate, "deleted, then created"},
};

size_t IndexOf(RotatedFile file) { return static_cast<size_t>(file); }

// Makes a link that replaces what is at `path`, at once.
void LinkOver(const std::string& target, const std::string& path) {
  const std::string made = path + ".new";
  std::filesystem::create_symlink(target, made);
  std::filesystem::rename(made, path);
}

}  // namespace

std::vector<WritingManner> AllManners() {
  std::vector<WritingManner> manners = {{WritingWay::kDirectorySwap, kAllFiles}};
  for (const auto& one : kOneByOne) {
    std::array<RotatedFile, 3> order = kAllFiles;
    do {
      manners.push_back({one.first, order});
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return manners;
}

std::string NameOf(const WritingManner& manner) {
  std::string name = "directory swap";
  for (const auto& [way, words] : kOneByOne) {
    if (manner.way != way) continue;
    name = absl::StrCat(words, ":");
    for (const RotatedFile file : manner.order) {
      absl::StrAppend(&name, file == manner.order[0] ? " " : ", ", kFileWords[IndexOf(file)]);
    }
  }
  return name;
}

RotatedFiles::RotatedFiles(std::string directory, const Texts& texts)
    : directory_(std::move(directory)), texts_(texts) {
  for (const RotatedFile file : kAllFiles) WriteText(PathOf(file), texts_[IndexOf(file)]);
}

testing::CertificatePaths RotatedFiles::paths() const {
  return {PathOf(RotatedFile::kCertificate), PathOf(RotatedFile::kKey), PathOf(RotatedFile::kCa)};
}

std::string RotatedFiles::PathOf(RotatedFile file) const {
  return absl::StrCat(directory_, "/", kFileNames[IndexOf(file)]);
}

void RotatedFiles::Replace(const Texts& texts, const WritingManner& manner,
                           const std::function<void()>& between) {
  if (manner.way == WritingWay::kDirectorySwap) {
    BecomeLinks();
    between();
    Swap(texts);
    between();
  } else {
    for (const RotatedFile file : manner.order) {
      Write(file, texts[IndexOf(file)], manner.way, between);
    }
  }
  texts_ = texts;
}

void RotatedFiles::Write(RotatedFile file, const std::string& text, WritingWay way,
                         const std::function<void()>& between) {
  const std::string path = PathOf(file);
  const size_t part = text.size() / 3;
  if (way == WritingWay::kInPlace) {
    WriteText(path, text);
  } else if (way == WritingWay::kInParts) {
    WriteText(path, text.substr(0, part));
    between();
    std::ofstream(path, std::ios::binary | std::ios::app) << text.substr(part);
  } else if (way == WritingWay::kByRename) {
    WriteText(path + ".new", text);
    std::filesystem::rename(path + ".new", path);
  } else {
    std::filesystem::remove(path);
    between();
    WriteText(path, text);
  }
  between();
}

void RotatedFiles::BecomeLinks() {
  Swap(texts_);
  for (const RotatedFile file : kAllFiles) {
    LinkOver(absl::StrCat(kData, "/", kFileNames[IndexOf(file)]), PathOf(file));
  }
}

void RotatedFiles::Swap(const Texts& texts) {
  const std::string name = absl::StrCat("..version_", ++version_);
  std::filesystem::create_directory(absl::StrCat(directory_, "/", name));
  for (const RotatedFile file : kAllFiles) {
    WriteText(absl::StrCat(directory_, "/", name, "/", kFileNames[IndexOf(file)]),
              texts[IndexOf(file)]);
  }
  LinkOver(name, absl::StrCat(directory_, "/", kData));
}

}  // namespace berth::fault
