// SPDX-License-Identifier: Apache-2.0
//
// The receipt: names that others rely on, canonical text and digests.
#include "receipt.h"

#include <rapidjson/document.h>

#include "digest.h"
#include "failing_job.h"
#include "json.h"
#include "receipt_check.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

std::string receipt_of(RingWriter& ring) {
    const Analysed result = analysed(ring);
    INFO(result.error);
    REQUIRE(result.analysis);
    const Result<std::string> text = write_receipt(*result.capture, *result.analysis);
    if (!text) FAIL(text.error().detail);
    return *text;
}

RingWriter failing() {
    RingWriter ring;
    ring.segment(place(0), 900 * kUnit);
    ring.block_alloc(place(0), 880 * kUnit);
    oom(ring, 100, 24);
    return ring;
}

rapidjson::Document parsed(const std::string& text) {
    rapidjson::Document document;
    document.Parse(text.c_str());
    REQUIRE_FALSE(document.HasParseError());
    return document;
}

bool has_all(const rapidjson::Value& object, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        INFO(name);
        CHECK(object.HasMember(name));
        if (!object.HasMember(name)) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("a receipt has the names that others rely on") {
    RingWriter ring = failing();
    const rapidjson::Document receipt = parsed(receipt_of(ring));
    REQUIRE(has_all(receipt, {"schema", "verdict", "evidence", "environment", "capture", "digest",
                              "removed_fields", "dictionary", "times"}));
    REQUIRE(
        has_all(receipt["verdict"], {"primary", "contributing", "rejected", "undecidable", "qualifiers"}));
    CHECK(std::string(receipt["verdict"]["primary"].GetString()) == "live_set");
    const rapidjson::Value& evidence = receipt["evidence"];
    REQUIRE(has_all(evidence, {"failure", "ledgers", "provenance", "extents", "sites"}));
    CHECK(has_all(evidence["failure"], {"device", "allocator", "request_bytes", "segment_request_bytes"}));
    CHECK(
        has_all(evidence["ledgers"], {"total_bytes", "device_free_bytes", "reserved_bytes", "allocated_bytes",
                                      "active_bytes", "outside_bytes", "largest_free_extent_bytes",
                                      "largest_compatible_extent_bytes", "margin_bytes", "threshold_bytes"}));
    for (const char* hypothesis : {"live_set", "retention", "fragmentation", "external"}) {
        REQUIRE(receipt["verdict"]["hypotheses"].HasMember(hypothesis));
        CHECK(has_all(receipt["verdict"]["hypotheses"][hypothesis],
                      {"status", "margin_bytes", "qualifiers", "inequality", "inputs"}));
    }
    CHECK(evidence["ledgers"]["outside_bytes"].GetUint64() == 100 * kUnit);
    CHECK(evidence["ledgers"]["margin_bytes"].GetInt64() == -56 * static_cast<int64_t>(kUnit));
    CHECK(std::string(evidence["provenance"]["ledgers.total_bytes"].GetString()) == "observed");
    CHECK(std::string(evidence["provenance"]["ledgers.deferred_bytes"].GetString()) == "unknown");
    CHECK(evidence["ledgers"]["deferred_bytes"].IsNull());
}

TEST_CASE("an inequality is one line of bytes that says what was compared") {
    RingWriter ring = failing();
    const rapidjson::Document receipt = parsed(receipt_of(ring));
    CHECK(std::string(receipt["verdict"]["hypotheses"]["fragmentation"]["inequality"].GetString()) ==
          "available 968884224 - active 922746880 - request 104857600 = -58720256 < threshold 16106127 and "
          "largest_free_extent 20971520 < request 104857600 and fragmented_free 20971520 >= threshold "
          "16106127");
}

TEST_CASE("without an incident the verdict is empty and the shapes are there") {
    RingWriter ring;
    ring.segment(place(0), 100 * kUnit);
    ring.block_alloc(place(0), 50 * kUnit);
    ring.exit(0);
    const rapidjson::Document receipt = parsed(receipt_of(ring));
    CHECK(receipt["verdict"]["primary"].IsNull());
    for (const char* list : {"contributing", "rejected", "undecidable", "qualifiers"}) {
        CHECK(receipt["verdict"][list].Empty());
    }
    CHECK(receipt["evidence"]["failure"].IsNull());
    CHECK(receipt["verdict"]["hypotheses"].IsNull());
    CHECK(receipt["evidence"]["shapes"].Size() == 1);
}

TEST_CASE("the same ring gives the same receipt, byte for byte") {
    RingWriter ring = failing();
    CHECK(receipt_of(ring) == receipt_of(ring));
}

TEST_CASE("canonical text sorts members, has no spaces and turns big integers into strings") {
    const Json json = Json::Object{{"b", uint64_t{1} << 53},
                                   {"a", Json::Array{true, Json(), "x\"\n\x01"}},
                                   {"c", (uint64_t{1} << 53) + 1},
                                   {"d", -(Wide{1} << 60)}};
    CHECK(json.text() ==
          "{\"a\":[true,null,\"x\\\"\\n\\u0001\"],\"b\":9007199254740992,"
          "\"c\":\"9007199254740993\",\"d\":\"-1152921504606846976\"}");
}

TEST_CASE("the digests cover evidence and receipt") {
    RingWriter ring = failing();
    const std::string text = receipt_of(ring);
    CHECK(check_receipt(text).empty());
    const size_t margin = text.find("\"margin_bytes\":");
    std::string altered = text;
    altered[margin + 16] = altered[margin + 16] == '9' ? '8' : '9';
    CHECK(check_receipt(altered) == "digest.evidence: does not fit");
    altered = text;
    altered.replace(altered.find("\"lost_count\":0"), 14, "\"lost_count\":1");
    CHECK(check_receipt(altered) == "digest.receipt: does not fit");
}
