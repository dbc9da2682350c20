#include "tracker/hypervisor/storage_probes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/hypervisor/storage.h"

namespace berth::tracker {
namespace {

// Makes the Probe for one read. `ran`: OK if the read ended in time; only then `answer` is valid.
template <typename T>
Probe<T> Judge(const absl::Status& ran, const absl::StatusOr<T>& answer, std::optional<T>* last) {
  const absl::Status status = ran.ok() ? answer.status() : ran;
  if (status.ok()) {
    *last = *answer;
  } else if (!absl::IsDeadlineExceeded(status) && !absl::IsUnavailable(status)) {
    last->reset();  // the storage has answered: the last reading is outdated
  }
  return {status, *last};
}

}  // namespace

StorageProbes::StorageProbes(const Options& options)
    : options_(options),
      image_pool_({options.parallel_max, options.hung_max}),
      storage_pool_({1, 1}) {}

std::map<std::string, Probe<ImageReading>> StorageProbes::Images(
    const std::set<std::string>& paths) {
  std::erase_if(images_, [&](const auto& image) {
    return paths.count(image.first) == 0 && image.second.running.expired();
  });
  std::map<std::string, Probe<ImageReading>> probes;
  std::vector<ImageAtPath*> together;
  for (const std::string& path : paths) {
    ImageAtPath* const image = &*images_.try_emplace(path).first;
    if (!image->second.running.expired()) {
      probes[path] = {
          absl::UnavailableError(absl::StrCat(
              path, ": was not read, because an earlier read still waits for an answer")),
          image->second.last};
      continue;
    }
    together.push_back(image);
    if (static_cast<int>(together.size()) < options_.parallel_max) continue;
    ReadTogether(together, &probes);
    together.clear();
  }
  ReadTogether(together, &probes);
  return probes;
}

void StorageProbes::ReadTogether(const std::vector<ImageAtPath*>& images,
                                 std::map<std::string, Probe<ImageReading>>* probes) {
  std::vector<std::shared_ptr<absl::StatusOr<ImageReading>>> answers;
  std::vector<std::function<void()>> reads;
  for (ImageAtPath* const image : images) {
    const auto answer = std::make_shared<absl::StatusOr<ImageReading>>(ImageReading());
    image->second.running = answer;
    reads.push_back([answer, path = image->first] { *answer = ReadImage(path); });
    answers.push_back(answer);
  }
  const std::vector<absl::Status> ran =
      image_pool_.RunAll("image", std::move(reads), options_.read_timeout);
  for (size_t i = 0; i < images.size(); ++i) {
    (*probes)[images[i]->first] = Judge(ran[i], *answers[i], &images[i]->second.last);
  }
}

Probe<StorageReading> StorageProbes::Storage(const NodeConfiguration& configuration,
                                             const std::string& instances_path) {
  const bool file = configuration.disk_backend == DiskBackend::kFile;
  const absl::StatusOr<StorageReading> answer = storage_pool_.Call<StorageReading>(
      "storage",
      [configuration, instances_path, timeout = options_.command_timeout] {
        return ReadStorage(configuration, instances_path, timeout);
      },
      file ? options_.read_timeout : options_.command_timeout);
  return Judge(absl::OkStatus(), answer, &last_storage_);
}

}  // namespace berth::tracker
