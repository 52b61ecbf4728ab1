// SPDX-License-Identifier: Apache-2.0
//
// `check --receipt`: a receipt follows from its recording, and whatever does not is named.
#include <filesystem>
#include <fstream>
#include <functional>

#include "check_receipt.h"
#include "receipt_compare.h"
#include "receipt_fixture.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

using rapidjson::Document;
using rapidjson::Value;

Result<std::string> checked(const Recording& recording, const std::string& text) {
    const std::string path = recording.folder.file("receipt.json");
    std::ofstream(path, std::ios::binary) << text;
    return check_receipt_file(*recording.capture, path);
}

std::string difference_of(const Recording& recording, const std::function<void(Document&)>& change,
                          bool reseal = true) {
    Document document = parsed(recording.receipt());
    change(document);
    const auto outcome = checked(recording, reseal ? resealed(document) : canonical_text(document));
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == ErrorCode::disagreed);
    return outcome.error().detail;
}

// A path for each scalar, as the comparison writes it.
void scalars(Value& value, const std::string& path,
             const std::function<void(Value&, const std::string&)>& f) {
    if (value.IsObject()) {
        for (auto& one : value.GetObject())
            scalars(one.value, path + (path.empty() ? "" : ".") + one.name.GetString(), f);
    } else if (value.IsArray()) {
        for (rapidjson::SizeType at = 0; at < value.Size(); ++at)
            scalars(value[at], path + "[" + std::to_string(at) + "]", f);
    } else {
        f(value, path);
    }
}

}  // namespace

TEST_CASE("a receipt follows from its recording") {
    for (const std::string_view job : {kFullJob, kQuietJob, kLostFailureJob}) {
        const Recording recording(job);
        const auto outcome = checked(recording, recording.receipt());
        REQUIRE(outcome);
        CHECK(outcome->starts_with("OK  "));
    }
}

TEST_CASE("whichever value of a receipt is changed, that one is named") {
    const Recording recording(kFullJob);
    const Document recomputed = parsed(recording.receipt());
    size_t count = 0;
    {
        Document all = parsed(recording.receipt());
        scalars(all, "", [&](Value&, const std::string&) { ++count; });
    }
    for (size_t index = 0; index < count; ++index) {
        Document changed = parsed(recording.receipt());
        std::string path;
        size_t at = 0;
        scalars(changed, "", [&](Value& value, const std::string& here) {
            if (at++ != index) return;
            path = here;
            value.SetString("changed");
        });
        const auto difference = first_difference(changed, recomputed);
        REQUIRE(difference);
        CHECK(difference->path == path);
        CHECK(difference->stated == "changed");
    }
}

TEST_CASE("a changed number is named with both values although the digests fit again") {
    const Recording recording(kFullJob);
    CHECK(difference_of(recording, [](Document& receipt) {
              receipt["evidence"]["ledgers"]["total_bytes"].SetUint64(1);
          }) == "evidence.ledgers.total_bytes: the receipt says 1, the recording 1073741824");
}

TEST_CASE("a changed digest is named where nothing else differs") {
    const Recording recording(kFullJob);
    const std::string detail = difference_of(
        recording, [](Document& receipt) { receipt["digest"]["evidence"].SetString("0"); }, false);
    CHECK(detail.starts_with("digest.evidence: the receipt says 0, the recording "));
}

TEST_CASE("a member too many and a member too few are differences") {
    const Recording recording(kFullJob);
    CHECK(difference_of(recording, [](Document& receipt) {
              receipt["evidence"].AddMember("extra", 1, receipt.GetAllocator());
          }) == "evidence.extra: the receipt says 1, the recording nothing");
    CHECK(difference_of(recording, [](Document& receipt) {
              receipt["capture"].RemoveMember("lost_count");
          }) == "capture.lost_count: the receipt says nothing, the recording 0");
    CHECK(difference_of(recording, [](Document& receipt) {
              receipt["evidence"]["extents"]["rows"].PopBack();
          }).ends_with("the receipt says nothing, the recording a list of 9"));
    CHECK(difference_of(recording, [](Document& receipt) {
              receipt["evidence"]["sites"].SetNull();
          }).starts_with("evidence.sites: the receipt says null, the recording a list of "));
}

TEST_CASE("a receipt about a failure that the recording does not have is a difference") {
    const Recording recording(kFullJob);
    CHECK(difference_of(recording, [](Document& receipt) {
              receipt["evidence"]["failure"]["ticket"].SetUint64(1);
          }).starts_with("explains an incident that the recording does not have"));
}

TEST_CASE("what is no receipt, or one of another schema, is refused as such") {
    const Recording recording(kQuietJob);
    for (const std::string text : {"", "{", "[]", "{\"schema\":\"memsnap.receipt.v2\"}", "{\"schema\":1}"}) {
        INFO(text);
        const auto outcome = checked(recording, text);
        REQUIRE_FALSE(outcome);
        CHECK(outcome.error().code == ErrorCode::not_memsnap);
    }
}

TEST_CASE("a text that is not as it was written differs although every field agrees") {
    using namespace std::string_literals;
    const Recording recording(kFullJob);
    const std::string text = recording.receipt();
    std::string spaced = text;
    spaced.insert(1, " ");
    const std::string after = "byte " + std::to_string(text.size()) + ":";
    for (const auto& [changed, place] : {std::pair{text + "\n", after}, std::pair{text + "\0alice"s, after},
                                         std::pair{spaced, "byte 1:"s}}) {
        const auto outcome = checked(recording, changed);
        REQUIRE_FALSE(outcome);
        CHECK(outcome.error().code == ErrorCode::disagreed);
        CHECK(outcome.error().detail.starts_with(place));
    }
}

TEST_CASE("what cannot be a receipt is refused before it is read") {
    const Recording recording(kQuietJob);
    const std::string path = recording.folder.file("huge");
    for (const std::string begin : {"{", "x"}) {
        std::ofstream(path, std::ios::binary) << begin;
        std::filesystem::resize_file(path, uint64_t{3} << 40);
        const auto outcome = check_receipt_file(*recording.capture, path);
        REQUIRE_FALSE(outcome);
        CHECK(outcome.error().code == ErrorCode::not_memsnap);
        CHECK_FALSE(is_receipt_file(path));
    }
}

TEST_CASE("a receipt is recognised as one, and a recording is not") {
    const Recording recording(kQuietJob);
    REQUIRE(checked(recording, recording.receipt()));
    CHECK(is_receipt_file(recording.folder.file("receipt.json")));
    CHECK_FALSE(is_receipt_file(recording.path()));
    CHECK_FALSE(is_receipt_file(recording.folder.file("missing")));
}
