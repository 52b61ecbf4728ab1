// SPDX-License-Identifier: Apache-2.0
//
// Looks into folders, leaves out copies, chooses. Rule: the order of sources, and of paths within a folder,
// decides between equals.
#include "job_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "files.h"

namespace oracle {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 8;

struct Found {
    std::string path;
    std::optional<Identity> identity;
    fs::file_time_type written;
};

struct Unread {
    std::string path;
    Error error;
};

class Search {
  public:
    void look_into(const std::string& source) {
        if (!fs::is_directory(source, ignored_)) return take_named(source);
        any_folder_ = true;
        auto known = found_.size(), known_unread = unread_.size();
        list(source, 0);
        auto by_path = [](const auto& a, const auto& b) { return a.path < b.path; };
        std::sort(found_.begin() + static_cast<std::ptrdiff_t>(known), found_.end(), by_path);
        std::sort(unread_.begin() + static_cast<std::ptrdiff_t>(known_unread), unread_.end(), by_path);
    }

    // Of several files of one recording the fullest; of equals the first.
    void leave_out_copies() {
        std::map<std::array<std::byte, 16>, std::size_t> fullest;
        for (std::size_t i = 0; i < found_.size(); ++i) {
            if (!found_[i].identity) continue;
            auto [kept, is_new] = fullest.try_emplace(found_[i].identity->ring_id, i);
            if (!is_new && fullness(found_[kept->second]) < fullness(found_[i])) kept->second = i;
        }
        std::vector<Found> kept;
        for (std::size_t i = 0; i < found_.size(); ++i) {
            if (!found_[i].identity || fullest.at(found_[i].identity->ring_id) == i)
                kept.push_back(std::move(found_[i]));
        }
        found_ = std::move(kept);
    }

    bool any_folder() const { return any_folder_; }
    std::vector<Found>& found() { return found_; }
    const std::vector<Unread>& unread() const { return unread_; }

  private:
    static std::tuple<bool, u64, fs::file_time_type> fullness(const Found& file) {
        return {file.identity->exited, file.identity->head, file.written};
    }

    void take_named(const std::string& path) {
        auto head = read_head(path);
        found_.push_back({path, head ? *head : std::nullopt, fs::last_write_time(path, ignored_)});
    }

    void take(const fs::directory_entry& entry) {
        if (entry.path().extension() != ".bin" || !entry.is_regular_file(ignored_)) return;
        auto path = entry.path().lexically_normal().string();
        auto head = read_head(path);
        if (!head) {
            unread_.push_back({path, head.error()});
        } else if (*head) {
            found_.push_back({path, *head, entry.last_write_time(ignored_)});
        }
    }

    void list(const fs::path& folder, int depth) {
        std::error_code error;
        fs::directory_iterator entries(folder, error);
        for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
            bool is_folder = entries->is_directory(ignored_);
            if (is_folder && depth < kDeepest && !entries->is_symlink(ignored_))
                list(entries->path(), depth + 1);
            if (!is_folder) take(*entries);
        }
        if (!error) return;
        auto path = folder.lexically_normal().string();
        unread_.push_back(
            {path, {kExitIo, {}, kNoTicket, 0, "cannot list " + printable(path) + ": " + error.message()}});
    }

    bool any_folder_ = false;
    std::vector<Found> found_;
    std::vector<Unread> unread_;
    std::error_code ignored_;
};

struct FoundJob {
    JobKey key;
    std::vector<Found> files;
    fs::file_time_type written = fs::file_time_type::min();
};

// Newest first.
std::vector<FoundJob> jobs_of(std::vector<Found> found) {
    std::map<JobKey, FoundJob> by_key;
    for (auto& file : found) {
        auto key = job_key_of(file.identity.value_or(Identity{}));
        auto& job = by_key[key];
        job.key = key;
        job.written = std::max(job.written, file.written);
        job.files.push_back(std::move(file));
    }
    std::vector<FoundJob> jobs;
    for (auto& [key, job] : by_key)
        jobs.push_back(std::move(job));
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const FoundJob& a, const FoundJob& b) { return a.written > b.written; });
    return jobs;
}

bool is_wished(const JobKey& key, std::size_t number, const std::string& wish) {
    auto [source, value, host] = key;
    auto text = source == 0 ? std::string("none") : fmt::format("{:#x}", value);
    return wish == std::to_string(number) || wish == text;
}

}  // namespace

bool names_job(const std::vector<std::string>& sources) {
    std::error_code ignored;
    return sources.size() > 1 || (sources.size() == 1 && fs::is_directory(sources.front(), ignored));
}

Expected<JobFiles> find_job(const std::vector<std::string>& sources, const std::string& wish) {
    Search search;
    for (const auto& source : sources)
        search.look_into(source);
    if (search.found().empty() && !search.unread().empty())
        return std::unexpected(search.unread().front().error);
    if (search.found().empty()) return misused(printable(sources.front()) + " holds no recording");
    search.leave_out_copies();
    auto chosen = std::move(search.found());
    if (search.any_folder()) {
        auto jobs = jobs_of(std::move(chosen));
        std::size_t index = 0;
        while (!wish.empty() && index < jobs.size() && !is_wished(jobs[index].key, index + 1, wish))
            ++index;
        if (index == jobs.size())
            return misused(fmt::format("{} has no job {}: it has {}, newest first",
                                       printable(sources.front()), printable(wish), jobs.size()));
        chosen = std::move(jobs[index].files);
    }
    std::stable_sort(chosen.begin(), chosen.end(),
                     [](const Found& a, const Found& b) { return a.path < b.path; });
    JobFiles files;
    for (auto& file : chosen)
        files.recordings.push_back({file.identity, [path = file.path] { return copy_recording(path); }});
    for (const auto& unread : search.unread())
        files.unread.push_back(unread.error.exit_code);
    return files;
}

}  // namespace oracle
