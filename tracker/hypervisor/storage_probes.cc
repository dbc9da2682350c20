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
  const bool had_one = last->has_value();
  if (status.ok()) {
    *last = *answer;
  } else if (!absl::IsDeadlineExceeded(status) && !absl::IsUnavailable(status)) {
    last->reset();  // the storage has answered: the last reading is outdated
  }
  return {status, *last, had_one && !last->has_value()};
}

}  // namespace

StorageProbes::StorageProbes(const Options& options)
    : options_(options),
      image_pool_({options.parallel_max, options.hung_max}),
      capacity_pool_({options.parallel_max, options.parallel_max}),
      storage_pool_({1, 1}) {}

std::map<std::string, Probe<ImageReading>> StorageProbes::Images(const std::set<std::string>& paths,
                                                                 const std::vector<Mount>& mounts) {
  std::vector<Read<ImageReading>> reads;
  for (const std::string& path : paths) {
    const auto past = images_.find(path);
    std::optional<ImageReading> last;
    if (past != images_.end()) last = past->second.last;
    const Mount* const mount = FindMount(mounts, last ? last->real_path : path);
    reads.push_back({path, mount == nullptr ? path : ServerOf(*mount),
                     [path, last] { return ReadImage(path, last); }});
  }
  return ReadAll(reads, &image_pool_, &images_);
}

std::vector<Probe<int64_t>> StorageProbes::Capacities(
    const std::vector<CapacityQuestion>& questions) {
  std::vector<Read<int64_t>> reads;
  reads.reserve(questions.size());
  for (const CapacityQuestion& question : questions) {
    reads.push_back({absl::StrCat("guest ", question.guest_uuid.ToString(), " disk ",
                                  question.target, " (", question.path, ")"),
                     question.guest_uuid.ToString(), question.ask, question.wanted});
  }
  const std::map<std::string, Probe<int64_t>> probes =
      ReadAll(reads, &capacity_pool_, &capacities_);
  std::vector<Probe<int64_t>> answers;
  answers.reserve(reads.size());
  for (const Read<int64_t>& read : reads) answers.push_back(probes.at(read.key));
  return answers;
}

template <typename T>
std::map<std::string, Probe<T>> StorageProbes::ReadAll(const std::vector<Read<T>>& reads,
                                                       DeadlinePool* pool, Pasts<T>* pasts) {
  std::set<std::string> keys;
  for (const Read<T>& read : reads) keys.insert(read.key);
  std::erase_if(*pasts, [&](const auto& past) {
    return keys.count(past.first) == 0 && past.second.running.expired();
  });
  std::map<std::string, std::string> hanging;  // for each group of which a read hangs: the read
  for (const auto& [key, past] : *pasts) {
    if (!past.running.expired()) hanging[past.group] = key;
  }
  std::map<std::string, Probe<T>> probes;
  std::set<std::string> groups;
  std::vector<const Read<T>*> firsts;
  std::vector<const Read<T>*> others;
  for (const Read<T>& read : reads) {
    Past<T>& past = (*pasts)[read.key];
    if (!read.wanted && past.last) {
      probes[read.key] = {absl::OkStatus(), past.last};
      continue;
    }
    if (past.running.expired()) past.group = read.group;
    (groups.insert(past.group).second ? firsts : others).push_back(&read);
  }
  ReadRound(firsts, pool, pasts, &hanging, &probes);
  ReadRound(others, pool, pasts, &hanging, &probes);
  return probes;
}

template <typename T>
void StorageProbes::ReadRound(const std::vector<const Read<T>*>& reads, DeadlinePool* pool,
                              Pasts<T>* pasts, std::map<std::string, std::string>* hanging,
                              std::map<std::string, Probe<T>>* probes) {
  std::vector<const Read<T>*> together;
  for (const Read<T>* const read : reads) {
    const Past<T>& past = pasts->at(read->key);
    const auto found = hanging->find(past.group);
    if (found == hanging->end()) {
      together.push_back(read);
    } else {
      (*probes)[read->key] = {absl::UnavailableError(absl::StrCat(
                                  read->key, ": was not read, because an earlier read of ",
                                  found->second, " still waits for an answer")),
                              past.last};
    }
    if (static_cast<int>(together.size()) < options_.parallel_max && read != reads.back()) {
      continue;
    }
    ReadTogether(together, pool, pasts, probes);
    for (const Read<T>* const one : together) {
      if (!pasts->at(one->key).running.expired()) (*hanging)[one->group] = one->key;
    }
    together.clear();
  }
}

template <typename T>
void StorageProbes::ReadTogether(const std::vector<const Read<T>*>& reads, DeadlinePool* pool,
                                 Pasts<T>* pasts, std::map<std::string, Probe<T>>* probes) {
  std::vector<std::shared_ptr<absl::StatusOr<T>>> answers;
  std::vector<std::function<void()>> works;
  for (const Read<T>* const read : reads) {
    const auto answer = std::make_shared<absl::StatusOr<T>>(T());
    (*pasts)[read->key].running = answer;
    works.push_back([answer, work = read->work] { *answer = work(); });
    answers.push_back(answer);
  }
  const std::vector<absl::Status> ran =
      pool->RunAll("the read", std::move(works), options_.read_timeout);
  for (size_t i = 0; i < reads.size(); ++i) {
    (*probes)[reads[i]->key] = Judge(ran[i], *answers[i], &(*pasts)[reads[i]->key].last);
  }
}

Probe<StorageReading> StorageProbes::Storage(const NodeConfiguration& configuration,
                                             const std::string& instances_path) {
  const bool file = configuration.disk_backend == DiskBackend::kFile;
  const absl::StatusOr<StorageReading> answer = storage_pool_.Call<StorageReading>(
      "storage",
      [configuration, instances_path, timeout = options_.command_timeout,
       cluster_id = cluster_id_] {
        return ReadStorage(configuration, instances_path, cluster_id, timeout);
      },
      file ? options_.read_timeout : options_.command_timeout);
  // Kept apart from the reading: a reading that fails does not make the id unknown (T-393).
  if (answer.ok() && !answer->cluster_id.empty()) cluster_id_ = answer->cluster_id;
  return Judge(absl::OkStatus(), answer, &last_storage_);
}

}  // namespace berth::tracker
