// SPDX-License-Identifier: Apache-2.0
//
// Recordings from text for the tests of what leaves the machine, and a receipt that can be changed anywhere.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include "analysis.h"
#include "catch.h"
#include "encode.h"
#include "receipt.h"
#include "receipt_text.h"
#include "ring_fixture.h"

namespace memsnap::test {

// A ring file of a text, read and analysed.
struct Recording {
    explicit Recording(std::string_view events, const AnalysisOptions& options = {}) {
        const Encoded bytes = encode(events);
        if (!bytes) FAIL("line " << bytes.error().line << ": " << bytes.error().message);
        std::ofstream(path(), std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes->data()), static_cast<std::streamsize>(bytes->size()));
        auto read = Capture::read(path());
        if (!read) FAIL(read.error().detail);
        capture = std::make_unique<Capture>(std::move(*read));
        auto analysed = analyse(*capture, options);
        if (!analysed) FAIL(analysed.error().detail);
        analysis = std::move(*analysed);
    }
    std::string path() const { return folder.file("ring.bin"); }
    std::string receipt() const {
        const auto text = write_receipt(*capture, analysis);
        if (!text) FAIL(text.error().detail);
        return *text;
    }

    Folder folder;
    std::unique_ptr<Capture> capture;
    Analysis analysis;
};

inline rapidjson::Document parsed(const std::string& text) {
    rapidjson::Document document;
    const std::string problem = parse_json(text, document);
    if (!problem.empty()) FAIL(problem);
    return document;
}

// The text of a changed receipt whose digests fit again, so that they do not give the change away.
inline std::string resealed(rapidjson::Document& receipt) {
    auto& pool = receipt.GetAllocator();
    if (receipt.IsObject() && receipt.HasMember("digest") && receipt["digest"].IsObject()) {
        for (const auto& [which, digest] : {std::pair{"evidence", evidence_digest(receipt)},
                                            std::pair{"receipt", receipt_digest(receipt)}}) {
            if (receipt["digest"].HasMember(which)) receipt["digest"][which].SetString(digest.c_str(), pool);
        }
    }
    return canonical_text(receipt);
}

// A job that has something in every member of a receipt: ranges, notes, another library, a recovered
// refusal, a deferred block, and a failure that steps led to.
inline constexpr std::string_view kFullJob = R"(memsnap-events 1
header torch_version=21401 rank=0 world_size=8 expandable max_split_size=200MiB
library_entry 2 role=program
anchor counter=1000 monotonic_ns=1000 realtime_ns=1700000000000000000
anchor counter=2000 monotonic_ns=2000 realtime_ns=1700000000000001000
segment s1 400MiB
mem_info total=1GiB free=500MiB
alloc weights s1+0 100MiB site=9
note batch 32
note offset none-4
call nccl cudaMalloc 64MiB library=2
phase begin forward
alloc a s1+100MiB 10MiB site=7
phase end
step
fail cudaMalloc 500MiB operation=no
alloc b s1+120MiB 10MiB site=7
tap_alloc b requested=9MiB stream=7 pool=1
tap_free_requested b stream=7 pool=1
free b
step
alloc c s1+140MiB 1MiB
process_sample own=500MiB others=100MiB count=1
device_sample total=1GiB free=400MiB
failing 300MiB total=1GiB free=20MiB
exit 1
)";

inline constexpr std::string_view kQuietJob = R"(memsnap-events 1
segment s1 100MiB
mem_info total=1GiB free=900MiB
alloc a s1+0 50MiB site=3
note batch 32
exit 0
)";

inline constexpr std::string_view kLostFailureJob = R"(memsnap-events 1
header failure_count=2
segment s1 100MiB
alloc a s1+0 50MiB site=3
)";

}  // namespace memsnap::test
