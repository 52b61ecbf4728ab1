// SPDX-License-Identifier: Apache-2.0
//
// Lists folders, reads and prints one recording after the other.
#include "cli_live.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "job_files.h"

namespace memsnap {
namespace {

constexpr int kLiveSites_most = 64;

namespace files = std::filesystem;

struct Place {
    std::string path;
    bool listed = false;         // found in a folder, and not named by anybody
    std::error_code error = {};  // of a folder that cannot be listed
};

std::vector<Place> recordings_in(const std::string& folder) {
    std::vector<Place> places;
    std::error_code error, unknown;
    files::directory_iterator entry(folder, error);
    for (; !error && entry != files::directory_iterator(); entry.increment(error)) {
        if (entry->path().extension() == ".bin" && entry->is_regular_file(unknown))
            places.push_back({.path = entry->path().lexically_normal().string(), .listed = true});
    }
    std::ranges::sort(places, {}, &Place::path);
    if (error) places.push_back({.path = folder, .error = error});
    return places;
}

std::vector<Place> places_of(std::vector<std::string> paths) {
    if (paths.empty()) paths.push_back(".");
    std::vector<Place> places;
    for (std::string& path : paths) {
        std::error_code error;
        if (files::is_directory(path, error)) {
            std::ranges::move(recordings_in(path), std::back_inserter(places));
        } else {
            places.push_back({.path = std::move(path)});
        }
    }
    return places;
}

Result<LiveFacts> look_at(const Place& place) {
    return place.error ? failure(unreadable_folder(place.path, place.error)) : read_live(place.path);
}

uint64_t monotonic_now_ns() {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void print_line(const Json& json) {
    fmt::print("{}\n", json.text());
    std::fflush(stdout);
}

}  // namespace

CLI::App* add_live(CLI::App& app, LiveTaskOptions& options) {
    CLI::App* const live =
        app.add_subcommand("live",
                           "print a line of JSON for each recording, as it is now, also while it is "
                           "written");
    live->add_option("recordings", options.paths, "recordings and folders of them; without any this folder");
    live->add_option("--sites", options.live.sites_count, "most sites of live blocks a device")
        ->capture_default_str()
        ->check(CLI::Range(0, kLiveSites_most));
    live->add_flag("--no-names", options.names.hidden, "do not look for names of sites");
    add_token_key(*live, options.names);
    return live;
}

Result<int> run_live(const LiveTaskOptions& options) {
    const auto key = chosen_key(options.names);
    if (!key) return failure(key.error());
    LiveOptions shown = options.live;
    shown.with_names = !options.names.hidden;
    int status = 0;
    for (const Place& place : places_of(options.paths)) {
        const auto facts = look_at(place);
        if (!facts) {
            if (place.listed && facts.error().code == ErrorCode::not_memsnap) continue;
            if (status == 0) status = static_cast<int>(facts.error().code);
            print_line(live_error_json(facts.error()));
            continue;
        }
        const bool named = shown.sites_count != 0 && (shown.with_names || *key);
        const Names names = named ? read_names(facts->capture) : Names{};
        SiteNames sites(names);
        print_line(live_json(*facts, shown, {named ? &sites : nullptr, *key, false}, monotonic_now_ns()));
    }
    return status;
}

}  // namespace memsnap
