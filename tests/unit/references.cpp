// SPDX-License-Identifier: Apache-2.0
//
// References to other artifacts: their text, how a file gets one, and what a receipt says of them.
#include <fstream>

#include "check_receipt.h"
#include "digest.h"
#include "receipt_check.h"
#include "receipt_fixture.h"
#include "reference.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

const std::string kHash(64, 'a');

std::string wrong(const std::string& text) {
    const auto reference = parse_reference(text);
    REQUIRE_FALSE(reference);
    CHECK(reference.error().code == ErrorCode::usage);
    return reference.error().detail;
}

Reference reference_to(std::string_view content, const std::string& kind = {}) {
    const Folder folder;
    std::ofstream(folder.file("artifact"), std::ios::binary) << content;
    const auto reference = reference_of(folder.file("artifact"), kind);
    REQUIRE(reference);
    CHECK(reference->sha256 == sha256_hex(content));
    CHECK(reference->size_bytes == content.size());
    return *reference;
}

std::string receipt_with(const Recording& recording, const References& references) {
    const auto text = write_receipt(*recording.capture, recording.analysis, {}, references);
    REQUIRE(text);
    return *text;
}

}  // namespace

TEST_CASE("a reference is its own text again") {
    const std::string text = "profiler_trace:" + kHash + ":18446744073709551615";
    const auto reference = parse_reference(text);
    REQUIRE(reference);
    CHECK(reference->size_bytes == UINT64_MAX);
    CHECK(text_of(*reference) == text);
}

TEST_CASE("what is wrong with a reference is said") {
    CHECK(wrong("log").find("KIND:SHA256:BYTES") != std::string::npos);
    CHECK(wrong("picture:" + kHash + ":1").find("'picture' is no kind") != std::string::npos);
    CHECK(wrong("log:" + kHash.substr(1) + ":1").find("64 lower-case") != std::string::npos);
    CHECK(wrong("log:" + std::string(64, 'A') + ":1").find("64 lower-case") != std::string::npos);
    for (const char* const number : {"", "-1", "01", "1x", "18446744073709551616", " 1"})
        CHECK(wrong("log:" + kHash + ":" + number).find("number of bytes") != std::string::npos);
}

TEST_CASE("a file's kind is told by how it begins") {
    using namespace std::string_view_literals;
    CHECK(reference_to("\x89MEMSNAP and more").kind == "recording");
    CHECK(reference_to("\x80\x04\x95").kind == "torch_snapshot");
    CHECK(reference_to("\x80\x06\x95").kind == "torch_snapshot");  // of a protocol still to come
    CHECK(reference_to("\x80\x7f\x95").kind == "other");
    CHECK(reference_to("").kind == "other");
    CHECK(reference_to(Recording(kQuietJob).receipt()).kind == "receipt");
    CHECK(reference_to("\n {\"schemaVersion\": 1, \"traceEvents\": [").kind == "profiler_trace");
    CHECK(reference_to("{\"allocated_bytes.all.current\": 1}").kind == "memory_stats");
    CHECK(reference_to("step 1 \"traceEvents\"").kind == "other");
    CHECK(reference_to("step 1", "log").kind == "log");
    CHECK_FALSE(reference_of("/nonexistent/file"));
}

TEST_CASE("a file is hashed as far as it goes, in pieces") {
    reference_to(std::string(1 << 20, 'x'));
    reference_to(std::string((1 << 20) + 1, 'x'));
}

TEST_CASE("a receipt lists references in their order, outside the evidence's digest") {
    const Recording recording(kFullJob);
    const References references = {{"log", kHash, 7}, {"log", std::string(64, 'b'), 7}};
    const std::string text = receipt_with(recording, references);
    CHECK(text.find(R"("references":[{"kind":"log","sha256":")" + kHash) != std::string::npos);
    CHECK(evidence_digest(parsed(text)) == evidence_digest(parsed(recording.receipt())));
    CHECK(receipt_digest(parsed(text)) != receipt_digest(parsed(recording.receipt())));
    const auto twice =
        write_receipt(*recording.capture, recording.analysis, {}, {{"log", kHash, 7}, {"log", kHash, 7}});
    REQUIRE_FALSE(twice);
    CHECK(twice.error().detail.find("listed once") != std::string::npos);
}

TEST_CASE("references are taken as stated, as long as they are references") {
    const Recording recording(kFullJob);
    const auto checked = [&](const std::string& text) {
        const std::string path = recording.folder.file("receipt.json");
        std::ofstream(path, std::ios::binary) << text;
        return check_receipt_file(*recording.capture, path);
    };
    const std::string text = receipt_with(recording, {{"log", kHash, 7}});
    CHECK(checked(text));
    rapidjson::Document changed = parsed(text);
    changed["references"][0]["kind"].SetString("picture");
    CHECK_FALSE(checked(resealed(changed)));
    changed = parsed(text);
    changed["references"].PushBack(rapidjson::Value(changed["references"][0], changed.GetAllocator()),
                                   changed.GetAllocator());
    const auto twice = checked(resealed(changed));
    REQUIRE_FALSE(twice);
    CHECK(twice.error().detail.starts_with("references"));
}
