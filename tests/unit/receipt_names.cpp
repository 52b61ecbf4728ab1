// SPDX-License-Identifier: Apache-2.0
//
// What a receipt makes of names: words, tokens with a key, and the texts themselves only with leave.
#include <fstream>

#include "check_receipt.h"
#include "named_recording.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

using namespace std::string_literals;

constexpr std::string_view kJob =
    "library_entry 2 role=program name=x\nsegment s1 700MiB\ncall nccl cudaMalloc 64MiB library=2\n"
    "note batch 32\nphase begin forward\nalloc a s1+0 100MiB site=7\nphase end\n"
    "alloc b s1+200MiB 30MiB site=8\nfailing 300MiB total=1GiB free=100MiB\n";

// The encoder's name ids, of its texts in the order of their appearance.
void job_names(SidecarWriter& sidecar) {
    two_functions(sidecar);
    sidecar.add(1, "libnccl.so.2");
    for (uint64_t id = 1; id < 8; ++id)
        sidecar.add(id, id == 2 ? "batch" : "forward", wire::NameKind::name);
}

std::string check(const NamedRecording& named, const std::string& receipt, const Naming& naming = {}) {
    const std::string path = named.recording.folder.file("receipt.json");
    std::ofstream(path, std::ios::binary | std::ios::trunc) << receipt;
    const auto checked = check_receipt_file(*named.recording.capture, path, naming);
    return checked ? "" : checked.error().detail;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    const size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("a phase whose name is one of the known words has it, no other text is in a receipt") {
    NamedRecording named(kJob, job_names);
    const std::string with = named.receipt();
    CHECK(with.find("\"word\":\"forward\"") != std::string::npos);
    for (const char* const text : {"train", "model", "main", "Net", "nccl", "batch", "someone"}) {
        INFO(text);
        CHECK(with.find(text) == std::string::npos);
    }
    CHECK(named.recording.receipt().find("\"word\":null") != std::string::npos);
}

TEST_CASE("tokens of a ring are the same with names and without") {
    NamedRecording named(kJob, job_names);
    const auto with = parsed(named.receipt());
    const auto without = parsed(named.recording.receipt());
    for (const char* const kind : {"sites", "libraries", "dimensions"})
        CHECK(canonical_text(with["dictionary"][kind]) == canonical_text(without["dictionary"][kind]));
    CHECK(text_of(with["dictionary"]["sites"][0]["scope"]) == "ring");
    CHECK(text_of(with["dictionary"]["phases"][0]["token"]) ==
          text_of(without["dictionary"]["phases"][0]["token"]));
}

TEST_CASE("with a key tokens are made of texts, and of ids where no text is known") {
    const TokenKey key = token_key("secret");
    NamedRecording named(kJob, job_names);
    const auto receipt = parsed(named.receipt(key));
    const auto& dictionary = receipt["dictionary"];
    CHECK(text_of(dictionary["sites"][0]["token"]) ==
          token("site", "model.py\0Net.forward\0002\0train.py\0main\0001\0"s, key));
    CHECK(text_of(dictionary["sites"][0]["scope"]) == "key");
    CHECK(text_of(dictionary["phases"][0]["token"]) == token("phase", "forward"s, key));
    CHECK(text_of(dictionary["libraries"][0]["token"]) == token("library", "libnccl.so.2"s, key));
    CHECK(text_of(dictionary["dimensions"][0]["token"]).starts_with("dimension-"));
    NamedRecording half(kJob, [](SidecarWriter& s) { s.stack(8, {frame_at(2, 3)}); });
    const auto unknown = parsed(half.receipt(key));
    CHECK(text_of(unknown["dictionary"]["sites"][0]["scope"]) == "ring");
    CHECK(text_of(unknown["dictionary"]["sites"][1]["scope"]) == "ring");
}

TEST_CASE("a token with a key is BLAKE2b-128 over kind, zero byte and text, keyed with that of the file") {
    const TokenKey key = token_key("secret");
    CHECK(token("phase", "forward"s, key) != token("library", "forward"s, key));
    CHECK(token("phase", "forward"s, key) != token("phase", "forward"s, token_key("other")));
    // hashlib.blake2b(b"phase\0forward", digest_size=16, key=hashlib.blake2b(b"secret",
    // digest_size=32).digest())
    CHECK(token("phase", "forward"s, key) == "phase-0484348af4f60fb6");
}

TEST_CASE("names are listed only when they were asked for, and outside the digests") {
    NamedRecording named(kJob, job_names);
    CHECK(!parsed(named.receipt()).HasMember("names"));
    const auto plain = parsed(named.receipt());
    const auto receipt = parsed(named.receipt({}, true));
    CHECK(text_of(plain["digest"]["receipt"]) == text_of(receipt["digest"]["receipt"]));
    const auto& names = receipt["names"];
    CHECK(canonical_text(names["sites"][0]) ==
          R"({"frames":[{"file":"/home/someone/model.py","function":"Net.forward","line":12},)"
          R"({"file":"/home/someone/train.py","function":"main","line":41}],"site":1})");
    CHECK(canonical_text(names["phases"]) == R"([{"name":"forward","phase":1}])");
    CHECK(canonical_text(names["libraries"]) == R"([{"library":1,"name":"libnccl.so.2"}])");
    CHECK(names["dimensions"].Size() == 1);
}

TEST_CASE("a name of any bytes is listed as UTF-8") {
    NamedRecording named(kJob, [](SidecarWriter& s) {
        add_function(s, 1, 10, "/tmp/\xc3\xa9\xff.py", "f\n");
        s.stack(7, {frame_at(1, 2)});
    });
    const auto receipt = parsed(named.receipt({}, true));
    CHECK(text_of(receipt["names"]["sites"][0]["frames"][0]["file"]) == "/tmp/\xc3\xa9\\xff.py");
}

TEST_CASE("check recomputes what it can, and takes as stated what only names or the key could tell") {
    const TokenKey key = token_key("secret");
    NamedRecording named(kJob, job_names);
    const Naming none, full = named.naming(), keyed = named.naming(key);
    for (const std::string& receipt :
         {named.receipt(), named.receipt(key), named.receipt({}, true), named.recording.receipt()}) {
        for (const Naming* const means : {&none, &full, &keyed})
            CHECK(check(named, receipt, *means).empty());
    }
}

TEST_CASE("check finds a wrong word, token, scope or name where it has the means") {
    const TokenKey key = token_key("secret");
    NamedRecording named(kJob, job_names);
    const auto found = [&](const std::string& receipt, const char* what, const char* by,
                           const Naming& means) {
        auto changed = parsed(replaced(receipt, what, by));
        return check(named, resealed(changed), means);
    };
    const std::string receipt = named.receipt();
    CHECK_THAT(found(receipt, "\"word\":\"forward\"", "\"word\":\"backward\"", named.naming()),
               ContainsSubstring("word"));
    CHECK(found(receipt, "\"word\":\"forward\"", "\"word\":\"backward\"", {}).empty());
    CHECK_THAT(found(receipt, "\"word\":\"forward\"", "\"word\":\"secret\"", {}), ContainsSubstring("word"));
    CHECK_THAT(found(receipt, "site-", "site-0", {}), ContainsSubstring("token"));
    const std::string with_key = named.receipt(key);
    const std::string token_text = std::string(text_of(parsed(with_key)["dictionary"]["sites"][0]["token"]));
    CHECK_THAT(found(with_key, token_text.c_str(), "site-0123456789abcdef", named.naming(key)),
               ContainsSubstring("token"));
    CHECK(found(with_key, token_text.c_str(), "site-0123456789abcdef", named.naming()).empty());
    CHECK_THAT(found(named.receipt({}, true), "\"main\"", "\"niam\"", named.naming()),
               ContainsSubstring("names"));
}
