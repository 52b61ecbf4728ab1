// SPDX-License-Identifier: Apache-2.0
//
// A receipt against its ring. Rule: a receipt that says everything the ring says passes, and any one change
// fails with its path.
#include "catch.h"
#include "ring_builder.h"

using namespace oracle;
using namespace oracle::test;

namespace {

Json::Object sealed(Json::Object receipt) {
    receipt.erase("digest");
    auto body = receipt;
    body.erase("times");
    receipt["digest"] = Json::Object{{"algorithm", "sha256"},
                                     {"evidence", sha256_hex(receipt["evidence"].canonical())},
                                     {"receipt", sha256_hex(Json(body).canonical())}};
    return receipt;
}

Json::Object sound_receipt() {
    auto ring = small_failure();
    auto result = examine(ring.bytes());
    REQUIRE(result);
    auto receipt = *result->document.object();
    receipt["schema"] = "memsnap.receipt.v1";
    receipt["times"] = result->times;
    receipt["references"] = Json::Array{};
    receipt["removed_fields"] =
        Json::Array{"addresses",   "file_names", "host_name",    "job_key",    "module_names", "phase_names",
                    "process_ids", "ring_id",    "stack_tokens", "thread_ids", "user_name"};
    return sealed(receipt);
}

std::string first_path(const Json::Object& receipt) {
    auto ring = small_failure();
    auto difference = compare(Json(receipt).canonical(), ring.bytes());
    REQUIRE(difference);
    return *difference ? (*difference)->path : "";
}

Json::Object member(const Json::Object& object, const char* name) {
    return *object.at(name).object();
}

}  // namespace

TEST_CASE("a receipt that says what the ring says passes") {
    CHECK(first_path(sound_receipt()).empty());
}

TEST_CASE("a changed value is named, whether the digests were made anew or not") {
    auto receipt = sound_receipt();
    auto evidence = member(receipt, "evidence");
    auto ledgers = member(evidence, "ledgers");
    ledgers["total_bytes"] = 1;
    evidence["ledgers"] = ledgers;
    receipt["evidence"] = evidence;
    CHECK(first_path(receipt) == "evidence.ledgers.total_bytes");
    CHECK(first_path(sealed(receipt)) == "evidence.ledgers.total_bytes");
}

TEST_CASE("a missing and an unknown field are differences") {
    auto missing = sound_receipt();
    auto capture = member(missing, "capture");
    capture.erase("torn_count");
    missing["capture"] = capture;
    CHECK(first_path(sealed(missing)) == "capture.torn_count");
    auto unknown = sound_receipt();
    capture = member(unknown, "capture");
    capture["host"] = "node1";
    unknown["capture"] = capture;
    CHECK(first_path(sealed(unknown)) == "capture.host");
    auto top = sound_receipt();
    top["comment"] = "hello";
    CHECK(first_path(sealed(top)) == "comment");
}

namespace {

Json reference(const char* kind, const std::string& hash, Json size) {
    return Json::Object{{"kind", kind}, {"sha256", hash}, {"size_bytes", std::move(size)}};
}
std::string path_with_references(Json references) {
    auto receipt = sound_receipt();
    receipt["references"] = std::move(references);
    return first_path(sealed(receipt));
}

}  // namespace

TEST_CASE("references are taken as stated, when each is one and none is there twice") {
    const std::string hash(64, 'a'), other(64, '0');
    const auto snapshot = reference("torch_snapshot", hash, 7);
    CHECK(path_with_references(Json::Array{}).empty());
    CHECK(path_with_references(Json::Array{snapshot, reference("torch_snapshot", other, 7)}).empty());
    CHECK(path_with_references(Json::Array{reference("other", hash, "9007199254740993")}).empty());
    CHECK(path_with_references(Json::Array{snapshot, snapshot}) == "references[1]");
    for (const auto& wrong :
         {reference("core_dump", hash, 7), reference("log", hash.substr(1), 7),
          reference("log", std::string(64, 'A'), 7), reference("log", hash, -1), reference("log", hash, "7"),
          reference("log", hash, "18446744073709551616"), reference("log", hash, Json()), Json("log")})
        CHECK(path_with_references(Json::Array{snapshot, wrong}) == "references[1]");
    auto longer = *snapshot.object();
    longer["path"] = "/home/me/snapshot.pickle";
    CHECK(path_with_references(Json::Array{Json(longer)}) == "references[0]");
    CHECK(path_with_references(Json()) == "references");
    auto without = sound_receipt();
    without.erase("references");
    CHECK(first_path(sealed(without)) == "references");
}

TEST_CASE("times, removed fields, schema and digests are compared too") {
    auto receipt = sound_receipt();
    receipt["times"] = Json::Object{};
    CHECK(first_path(receipt) == "times.failure_unix_ns");
    receipt = sound_receipt();
    receipt["removed_fields"] = Json::Array{};
    CHECK(first_path(sealed(receipt)) == "removed_fields (length)");
    receipt = sound_receipt();
    receipt["schema"] = "memsnap.receipt.v2";
    CHECK(first_path(sealed(receipt)) == "schema");
    receipt = sound_receipt();
    auto digest = member(receipt, "digest");
    digest["receipt"] = std::string(64, '0');
    receipt["digest"] = digest;
    CHECK(first_path(receipt) == "digest.receipt");
}

TEST_CASE("text that is no receipt is a difference and no crash") {
    auto ring = small_failure();
    for (std::string text : {std::string("{"), std::string("[]"), std::string("1.5"),
                             std::string("{\"a\":1,\"a\":2}"), std::string(100000, '[')}) {
        auto difference = compare(text, ring.bytes());
        REQUIRE(difference);
        CHECK(difference->has_value());
    }
}

TEST_CASE("a receipt that is not in canonical form is refused, and one line end is not a part of it") {
    auto ring = small_failure();
    auto text = Json(sound_receipt()).canonical();
    auto differs = [&](const std::string& given) {
        auto difference = compare(given, ring.bytes());
        REQUIRE(difference);
        return difference->has_value();
    };
    CHECK_FALSE(differs(text + "\n"));
    for (const std::string& odd : {text + "\n\n", text + " ", " " + text, text + "{}",
                                   text + std::string(1, '\0') + "x", "{ " + text.substr(1)})
        CHECK(differs(odd));
}

TEST_CASE("a receipt about a failure that the ring does not have is a difference") {
    auto receipt = sound_receipt();
    auto evidence = member(receipt, "evidence");
    auto failure = member(evidence, "failure");
    failure["ticket"] = 1;
    evidence["failure"] = failure;
    receipt["evidence"] = evidence;
    CHECK(first_path(sealed(receipt)) == "evidence.failure.ticket");
}

TEST_CASE("integers beyond 2^53 are strings of digits") {
    CHECK(Json(Int{1} << 53).canonical() == "9007199254740992");
    CHECK(Json((Int{1} << 53) + 1).canonical() == "\"9007199254740993\"");
    CHECK(Json(-(Int{1} << 53) - 1).canonical() == "\"-9007199254740993\"");
    CHECK(Json("a\"\\\n\x01").canonical() == "\"a\\\"\\\\\\n\\u0001\"");
}
