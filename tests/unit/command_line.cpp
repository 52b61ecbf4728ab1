// SPDX-License-Identifier: Apache-2.0
//
// What the command line does with files: which recording it takes, and how it writes.
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <iterator>

#include "catch.h"
#include "newest_job.h"
#include "output_file.h"
#include "ring_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

std::string content_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// A ring of a job; with a failure when the time is not 0. Each is newer than the one before.
void put_ring(const Folder& folder, const std::string& name, uint64_t job, uint64_t failed_at = 0) {
    static int age = 0;
    RingWriter ring;
    ring.header().job_key = job;
    ring.header().job_key_source = wire::JobKey::launcher;
    ring.anchor(0, 0, 0);
    ring.anchor(1'000'000, 1'000'000, 1'000'000);
    ring.time = failed_at;
    ring.block_alloc(kBase, kMiB);
    if (failed_at != 0) ring.keyframe(0, ring.block_oom(kMiB));
    ring.write(folder.file(name));
    std::filesystem::last_write_time(
        folder.file(name), std::filesystem::file_time_type::clock::now() + std::chrono::seconds(++age));
}

}  // namespace

TEST_CASE("without a file argument the newest job is read, of its rings the one that failed first") {
    const Folder folder;
    put_ring(folder, "old.bin", 1, 10);
    put_ring(folder, "late.bin", 2, 500);
    put_ring(folder, "early.bin", 2, 300);
    put_ring(folder, "well.bin", 2);
    std::ofstream(folder.file("other.bin")) << "no ring";
    const auto choice = choose_ring(folder.file(""));
    REQUIRE(choice);
    CHECK(choice->path == folder.file("early.bin"));
    CHECK(choice->others == std::vector<std::string>{folder.file("late.bin"), folder.file("well.bin")});
    CHECK_THAT(choice->reason, ContainsSubstring("earliest failure"));
}

TEST_CASE("of a job without a failure the newest ring is read") {
    const Folder folder;
    put_ring(folder, "a.bin", 1);
    put_ring(folder, "b.bin", 1);
    CHECK(choose_ring(folder.file(""))->path == folder.file("b.bin"));
}

TEST_CASE("a folder without a recording is a usage error") {
    const Folder folder;
    const auto choice = choose_ring(folder.file(""));
    REQUIRE(!choice);
    CHECK(choice.error().code == ErrorCode::usage);
}

TEST_CASE("an output file appears whole with the user's permissions, and nothing beside it") {
    const Folder folder;
    REQUIRE(write_output(folder.file("out.json"), "text", false, {}));
    CHECK(content_of(folder.file("out.json")) == "text");
    struct stat status;
    REQUIRE(::stat(folder.file("out.json").c_str(), &status) == 0);
    const mode_t mask = ::umask(022);
    ::umask(mask);
    CHECK((status.st_mode & 0777) == (0666 & ~mask));
    const auto files = std::filesystem::directory_iterator(folder.file(""));
    CHECK(std::distance(begin(files), end(files)) == 1);
}

TEST_CASE("an existing output file is replaced only on demand") {
    const Folder folder;
    std::ofstream(folder.file("out.json")) << "precious";
    const auto refused = write_output(folder.file("out.json"), "text", false, {});
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::io);
    CHECK_THAT(refused.error().way_out, ContainsSubstring("--force"));
    CHECK(content_of(folder.file("out.json")) == "precious");
    CHECK(write_output(folder.file("out.json"), "text", true, {}));
    CHECK(content_of(folder.file("out.json")) == "text");
}

TEST_CASE("neither the recording, nor its names, nor a device is ever replaced by an output") {
    const Folder folder;
    std::ofstream(folder.file("ring.bin")) << "recording";
    REQUIRE(::link(folder.file("ring.bin").c_str(), folder.file("other.bin").c_str()) == 0);
    std::ofstream(folder.file("ring.bin.names")) << "names";
    REQUIRE(::mkfifo(folder.file("fifo").c_str(), 0600) == 0);
    std::ofstream(folder.file("second.bin.names")) << "names";
    for (const char* name : {"ring.bin", "other.bin", "ring.bin.names", "second.bin.names", "fifo"}) {
        const auto refused = write_output(folder.file(name), "text", true,
                                          {folder.file("ring.bin"), folder.file("second.bin")});
        REQUIRE(!refused);
        CHECK(refused.error().code == ErrorCode::io);
    }
    CHECK(content_of(folder.file("ring.bin")) == "recording");
    CHECK(content_of(folder.file("ring.bin.names")) == "names");
    CHECK(std::filesystem::is_fifo(folder.file("fifo")));
}

TEST_CASE("control characters of a file name do not reach the terminal") {
    CHECK(printable("a\x1b[31m\nb\x7f") == "a\\x1b[31m\\x0ab\\x7f");
    CHECK(printable("jobs/größe.bin") == "jobs/größe.bin");
}

TEST_CASE("an output file in a folder that is not there is an output error") {
    const Folder folder;
    const auto refused = write_output(folder.file("missing/out.json"), "text", false, {});
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::io);
    CHECK(refused.error().file == folder.file("missing/out.json"));
}
