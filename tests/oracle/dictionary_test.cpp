// SPDX-License-Identifier: Apache-2.0
//
// What a receipt's dictionary may say beside the ring's own tokens, with a sidecar and without. Rule: the
// sidecar's bytes are written by hand from WIRE.md.
#include "job.h"

using namespace oracle;
using namespace oracle::test;

namespace {

class Sidecar {
  public:
    Sidecar() : bytes_(64) {
        const std::array<u8, 8> magic{0x89, 0x4D, 0x45, 0x4D, 0x4E, 0x41, 0x4D, 0x45};
        std::memcpy(bytes_.data(), magic.data(), magic.size());
        put(8, 1, 2);
        put(12, 0x01020304, 4);
        put(40, 64, 8);
    }
    Sidecar& entry(u16 kind, u64 id, std::string_view payload) {
        u64 at = bytes_.size();
        u64 size = (16 + payload.size() + 7) / 8 * 8;
        bytes_.resize(at + size);
        put(at, size, 4);
        put(at + 4, kind, 2);
        put(at + 6, payload.size(), 2);
        put(at + 8, id, 8);
        std::memcpy(bytes_.data() + at + 16, payload.data(), payload.size());
        put(32, bytes_.size(), 8);
        put(40, bytes_.size(), 8);
        return *this;
    }
    void put(u64 offset, u64 value, unsigned width) {
        for (unsigned i = 0; i < width; ++i)
            bytes_[offset + i] = static_cast<std::byte>(value >> (8 * i) & 0xFFU);
    }
    Bytes bytes() const { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

// A failed job with a site, a phase, a library and a dimension in its dictionary.
Job named_job() {
    Job job;
    job.ring.put(320, 1, 4);
    job.ring.put(736, 3, 4);
    job.ring.put(10 * RingBuilder::kAlign + 2 * 16 + 8, 77, 8);
    job.note(5, 1);
    job.begin(3);
    job.alloc(1, 1, 1234);
    job.ring.entry(
        40, kDevice, 4 * kSegmentAt, kMiB,
        job.ring.record({.kind = kOk, .address = 4 * kSegmentAt, .size = kMiB, .call = 1, .library = 2}));
    job.ring.put(2 * RingBuilder::kAlign + 40 * 64 + 59, 0, 1);  // not PyTorch's
    job.ring.put(2 * RingBuilder::kAlign + 40 * 64 + 54, 2, 2);
    u64 at = 2 * RingBuilder::kAlign + 40 * 64;
    job.ring.put(at + 60, crc32c(job.ring.bytes().subspan(at + 8, 52)), 4);
    job.ring.oom(900 * kMiB, kGiB, 24 * kMiB);
    return job;
}

Json::Object with_digests(Json::Object receipt) {
    receipt.erase("digest");
    auto body = receipt;
    body.erase("times");
    body.erase("names");
    receipt["digest"] = Json::Object{{"algorithm", "sha256"},
                                     {"evidence", sha256_hex(receipt["evidence"].canonical())},
                                     {"receipt", sha256_hex(Json(body).canonical())}};
    return receipt;
}

Json::Object receipt_of(const Job& job, std::optional<Bytes> sidecar = std::nullopt) {
    Options options;
    options.sidecar = sidecar;
    auto result = examine(job.ring.bytes(), options);
    REQUIRE(result);
    auto receipt = *result->document.object();
    receipt["schema"] = "memsnap.receipt.v1";
    receipt["times"] = result->times;
    receipt["references"] = Json::Array{};
    receipt["removed_fields"] =
        Json::Array{"addresses",   "file_names", "host_name",    "job_key",    "module_names", "phase_names",
                    "process_ids", "ring_id",    "stack_tokens", "thread_ids", "user_name"};
    return with_digests(receipt);
}

// The receipt with one member of the first entry of a list changed.
Json::Object changed(Json::Object receipt, const char* name, const char* key, Json value) {
    auto dictionary = *receipt["dictionary"].object();
    auto entries = *dictionary[name].array();
    REQUIRE_FALSE(entries.empty());
    auto entry = *entries[0].object();
    entry[key] = std::move(value);
    entries[0] = entry;
    dictionary[name] = entries;
    receipt["dictionary"] = dictionary;
    return with_digests(receipt);
}

std::string difference(const Job& job, const Json::Object& receipt,
                       std::optional<Bytes> sidecar = std::nullopt) {
    Options options;
    options.sidecar = sidecar;
    auto found = compare(Json(receipt).canonical(), job.ring.bytes(), options);
    REQUIRE(found);
    return *found ? (*found)->path : "";
}

Json word_of(const Job& job, Bytes sidecar) {
    auto receipt = receipt_of(job, sidecar);
    return list(receipt["dictionary"], "phases")[0]["word"];
}

}  // namespace

TEST_CASE("the names of a receipt are outside its digests and no difference") {
    auto job = named_job();
    auto receipt = receipt_of(job);
    CHECK(difference(job, receipt).empty());
    receipt["names"] = Json::Object{{"sites", Json::Array{}}};
    CHECK(difference(job, receipt).empty());
    receipt["notes"] = Json::Object{};
    CHECK(difference(job, receipt) == "notes");
}

TEST_CASE("a phase has the word that its sidecar tells") {
    auto job = named_job();
    CHECK(word_of(job, Sidecar().entry(2, 3, "forward").bytes()) == Json("forward"));
    CHECK(word_of(job, Sidecar().entry(2, 4, "forward").bytes()).is_null());
    CHECK(word_of(job, Sidecar().entry(1, 3, "forward").bytes()).is_null());
    CHECK(word_of(job, Sidecar().entry(2, 3, "Forward").bytes()).is_null());
    CHECK(word_of(job, Sidecar().entry(9, 3, "x").entry(2, 3, "data").entry(2, 3, "warmup").bytes()) ==
          Json("data"));
}

TEST_CASE("a sidecar of another ring, and junk, is none") {
    auto job = named_job();
    for (u64 offset : {u64{0}, u64{8}, u64{12}, u64{16}, u64{31}, u64{40}}) {
        auto sidecar = Sidecar().entry(2, 3, "forward");
        sidecar.put(offset, 3, offset == 40 ? 8 : 1);
        INFO(offset);
        CHECK(word_of(job, sidecar.bytes()).is_null());
    }
    auto sidecar = Sidecar().entry(2, 3, "forward");
    for (u64 size = 0; size < sidecar.bytes().size(); ++size)
        CHECK(word_of(job, sidecar.bytes().first(size)).is_null());
    job.ring.put(320, 0, 4);
    CHECK(word_of(job, sidecar.bytes()).is_null());
}

TEST_CASE("what lies behind an entry that is not finished or does not fit is not read") {
    auto job = named_job();
    for (u64 bytes : {u64{0}, u64{8}, u64{20}, u64{1} << 31}) {
        auto sidecar = Sidecar().entry(2, 9, "x").entry(2, 3, "forward");
        sidecar.put(64, bytes, 4);
        INFO(bytes);
        CHECK(word_of(job, sidecar.bytes()).is_null());
    }
}

TEST_CASE("a receipt's word may be null, else it is the right one or, without a sidecar, one of the list") {
    auto job = named_job();
    auto sidecar = Sidecar().entry(2, 3, "forward");
    auto other = Sidecar().entry(2, 3, "my secret phase");
    auto right = receipt_of(job, sidecar.bytes());
    auto wrong = changed(right, "phases", "word", "backward");
    auto untold = changed(right, "phases", "word", Json());
    auto free_text = changed(right, "phases", "word", "my secret phase");
    CHECK(difference(job, right, sidecar.bytes()).empty());
    CHECK(difference(job, untold, sidecar.bytes()).empty());
    CHECK(difference(job, wrong, sidecar.bytes()) == "dictionary.phases[0].word");
    CHECK(difference(job, right, other.bytes()) == "dictionary.phases[0].word");
    CHECK(difference(job, wrong).empty());
    CHECK(difference(job, free_text) == "dictionary.phases[0].word");
    CHECK(difference(job, free_text, other.bytes()) == "dictionary.phases[0].word");
}

TEST_CASE("a token of a key has the pattern of its kind, and its text is in the sidecar") {
    auto job = named_job();
    auto receipt = receipt_of(job);
    struct Kind {
        const char* list;
        std::string kind;
        u16 entry;
        u64 id;
    };
    for (const auto& [name, kind, entry, id] :
         {Kind{"sites", "site", 4, 1234}, Kind{"phases", "phase", 2, 3}, Kind{"libraries", "library", 1, 77},
          Kind{"dimensions", "dimension", 2, 5}}) {
        INFO(name);
        auto with = [&](const std::string& token, const char* scope = "key") {
            return changed(changed(receipt, name, "scope", scope), name, "token", token);
        };
        std::string path = std::string("dictionary.") + name + "[0].";
        auto good = with(kind + "-0123456789abcdef");
        auto known = Sidecar().entry(entry, id, "12345678");
        auto unknown = Sidecar().entry(entry, id + 1, "12345678");
        CHECK(difference(job, good).empty());
        CHECK(difference(job, good, known.bytes()).empty());
        CHECK(difference(job, good, unknown.bytes()) == path + "scope");
        CHECK(difference(job, with(kind + "-0123456789abcde")) == path + "scope");
        CHECK(difference(job, with(kind + "-0123456789abcdeF")) == path + "scope");
        CHECK(difference(job, with("host-0123456789abcdef")) == path + "scope");
        CHECK(difference(job, with(kind + "-0123456789abcdef", "ring")) == path + "token");
        CHECK(difference(job, with(kind + "-0123456789abcdef", "job")) == path + "scope");
    }
}
