// SPDX-License-Identifier: Apache-2.0
//
// Traces of PyTorch's profiler to tables: every release's way of writing them, and what is refused.
#include <zlib.h>

#include "../../snapshot/json_input.h"
#include "../../snapshot/profile_numbers.h"
#include "profile_trace.h"

using namespace memsnap;
using namespace memsnap::test;
using snapshot::Profile;
using snapshot::ProfileEvent;
using snapshot::trace_integer;
using snapshot::trace_time_ns;

namespace {

Profile read(const std::string& content) {
    auto profile = read_text(content);
    INFO((profile ? "" : describe(profile.error())));
    REQUIRE(profile);
    return std::move(*profile);
}

Error refused(const std::string& content) {
    const auto profile = read_text(content);
    REQUIRE(!profile);
    CHECK(profile.error().file.ends_with("trace.json"));
    CHECK(!profile.error().way_out.empty());
    return profile.error();
}

std::string compressed(const std::string& text) {
    std::string out(text.size() + 1000, '\0');
    z_stream stream = {};
    REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    std::string in = text;
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    out.resize(out.size() - stream.avail_out);
    deflateEnd(&stream);
    return out;
}

std::string one_block() {
    return TraceText().memory("5.5", 4096, 512, 512, 2097152).text();
}

}  // namespace

TEST_CASE("an event of device memory is read with its numbers exact, and the CPU's is counted") {
    TraceText trace;
    trace.memory("5221140813296.455", uint64_t{1} << 63, 65536, 34607104, 35651584, 2);
    trace.memory("7", 4096, -512, 0, 2097152);
    trace.add(
        R"({"name": "[memory]", "ts": 1, "args": {"Device Type": 0, "Device Id": -1, "Addr": 1, "Bytes": 4}})");
    trace.add(
        R"({"name": "[memory]", "ts": 1, "args": {"Device Type": 12, "Device Id": 0, "Addr": 1, "Bytes": 4}})");
    trace.add(R"({"name": "aten::empty", "ts": 1, "args": {"Device Type": 1, "Bytes": 4}})");

    const Profile profile = read(trace.text());

    REQUIRE(profile.events.size() == 2);
    const ProfileEvent& born = profile.events[0];
    CHECK(born.address == uint64_t{1} << 63);
    CHECK(born.bytes == 65536);
    CHECK(born.allocated_bytes == 34607104);
    CHECK(born.reserved_bytes == 35651584);
    CHECK(born.time_ns == 5221140813296455);
    CHECK(int{born.device} == 2);
    CHECK(profile.events[1].bytes == -512);
    CHECK(profile.events[1].time_ns == 7000);
    CHECK(profile.base_time_ns == 1000);
    CHECK(profile.host_event_count == 1);
    CHECK(profile.other_device_event_count == 1);
}

TEST_CASE("a failure's request is read where it was told, and is none where it was not") {
    TraceText trace;
    trace.oom("1", R"(, "Bytes": 1099511627776)", 512, 1024).oom("2", "", 512, 1024);

    const Profile profile = read(trace.text());

    REQUIRE(profile.events.size() == 2);
    CHECK(profile.events[0].kind == ProfileEvent::Kind::oom);
    CHECK(profile.events[0].bytes == 1099511627776);
    CHECK(profile.events[1].bytes == 0);
}

TEST_CASE("members come in any order, numbers also as texts, and what is nested is passed over") {
    const Profile profile =
        read(R"({"traceEvents": [{"args": {"Call stack": {"Bytes": 9, "args": [1, {"Addr": 2}]},
        "Addr": "4096", "Device Type": "1", "Device Id": "0", "Bytes": "512", "Total Allocated": "512",
        "Total Reserved": "1024"}, "later": {"Addr": 7, "Bytes": 9}, "ts": "3", "name": "[memory]", "more": [{"name": "x"}], "ph": "i"}],
        "baseTimeNanoseconds": 12, "traceEventsOfAnother": [{"name": "[memory]"}]})");

    REQUIRE(profile.events.size() == 1);
    CHECK(profile.events[0].address == 4096);
    CHECK(profile.events[0].bytes == 512);
    CHECK(profile.events[0].time_ns == 3000);
    CHECK(profile.base_time_ns == 12);
}

TEST_CASE("the array of events alone is a trace too") {
    CHECK(read("[" + TraceText().memory("1", 4096, 512, 512, 1024).events + "]").events.size() == 1);
}

TEST_CASE("steps of the profiler and the program's own annotations are ranges, and nothing else is") {
    TraceText trace;
    trace.memory("1", 4096, 512, 512, 1024)
        .range("my label", "2", "3.5")
        .range("ProfilerStep#4", "1", "9", "cpu_op");
    trace.range("ProfilerStep#4", "1", "9", "gpu_user_annotation").range("aten::mm", "1", "9", "cpu_op");
    trace.range("no time", "1", "\"x\"").range("backwards", "1", "-2");

    const Profile profile = read(trace.text());

    REQUIRE(profile.ranges.size() == 2);
    CHECK(profile.texts.text(profile.ranges[0].name) == "my label");
    CHECK(profile.ranges[0].begin_ns == 2000);
    CHECK(profile.ranges[0].end_ns == 5500);
    CHECK(profile.texts.text(profile.ranges[1].name) == "ProfilerStep#4");
}

TEST_CASE("a compressed trace, also of several members, is read as what it holds") {
    CHECK(read(compressed(one_block())).events.size() == 1);
    const std::string text = one_block();
    CHECK(read(compressed(text.substr(0, 40)) + compressed(text.substr(40))).events.size() == 1);
}

TEST_CASE("a trace longer than a piece is read whole, plain and compressed") {
    TraceText trace;
    constexpr uint64_t kCount = 20000;
    for (uint64_t i = 0; i < kCount; ++i)
        trace.memory(std::to_string(i), 4096 + i * 512, 512, (i + 1) * 512, kCount * 512);
    REQUIRE(trace.events.size() > 8 * snapshot::JsonInput::kPiece_bytes);

    for (const Profile& profile : {read(trace.text()), read(compressed(trace.text()))}) {
        REQUIRE(profile.events.size() == kCount);
        for (uint64_t i = 0; i < kCount; ++i)
            REQUIRE(profile.events[i].address == 4096 + i * 512);
    }
}

TEST_CASE("a trace without events of device memory says what it has") {
    const Error empty = refused(R"({"traceEvents": []})");
    CHECK(empty.code == ErrorCode::not_memsnap);
    CHECK(empty.detail == "no device memory events in it");
    const Error host = refused(
        R"({"traceEvents": [{"name": "[memory]", "args": {"Device Type": 0}}, {"name": "[memory]", "args": {"Device Type": 12}}]})");
    CHECK(host.detail ==
          "no device memory events in it (1 of the CPU's memory) (1 of devices that are not CUDA's)");
}

TEST_CASE("JSON that is no trace, and an exported memory timeline, are told from each other") {
    CHECK(refused(R"({"schema": "x", "evidence": {"traceEvents": []}})")
              .detail.starts_with("is JSON, but not"));
    CHECK(refused("[]").detail.starts_with("is JSON, but not"));
    CHECK(refused("3").detail.starts_with("is JSON, but not"));
    CHECK(
        refused("[[-1, 1, 262144, 0], [5, 2, 512, 4]]").detail.starts_with("is an exported memory timeline"));
    CHECK(refused("[[1, 2], [[0, 1], [0, 2]]]").code == ErrorCode::not_memsnap);
}

TEST_CASE("damaged JSON is refused with its offset") {
    const std::string text = one_block();
    const Error early = refused(text.substr(0, text.size() - 40));
    CHECK(early.code == ErrorCode::corrupt);
    CHECK(early.rule == "json");
    CHECK(early.offset_bytes == text.size() - 40);
    CHECK(refused("{\"traceEvents\": [}").offset_bytes == 17);
    CHECK(refused(text + "x").offset_bytes == text.size());
    CHECK(refused("").code == ErrorCode::corrupt);
    CHECK(refused(R"({"traceEvents": [{"name": "\x"}]})").rule == "json");
    CHECK(refused(compressed(text + "x")).detail.ends_with("(an offset of the uncompressed text)"));
}

TEST_CASE("a damaged compressed file is refused as that") {
    const std::string file = compressed(one_block());
    const Error early = refused(file.substr(0, file.size() - 20));
    CHECK(early.rule == "gzip");
    CHECK(early.detail == "the compressed file ends early");
    std::string damaged = file;
    damaged[14] = static_cast<char>(damaged[14] ^ 0x55);
    CHECK(refused(damaged).code == ErrorCode::corrupt);
    std::string wrong_sum = file;
    wrong_sum[file.size() - 6] = static_cast<char>(wrong_sum[file.size() - 6] ^ 1);
    CHECK(refused(wrong_sum).detail == "the compressed bytes are damaged");
    CHECK(refused("\x1F\x8B").rule == "gzip");
}

TEST_CASE("depth and texts without bounds are refused, not followed") {
    const Error deep = refused(R"({"traceEvents": )" + std::string(100000, '['));
    CHECK(deep.rule == "profile");
    CHECK(deep.detail == "the JSON is nested too deeply");
    const Error lengthy =
        refused(R"({"a": ")" + std::string(snapshot::JsonInput::kLongestToken_bytes * 2, 'x') + "\"}");
    CHECK(lengthy.detail == "a text or number is longer than any of a trace");
}

TEST_CASE("an event of device memory that cannot be is refused") {
    const auto refused_with = [](const std::string& arguments) {
        return refused(R"({"traceEvents": [{"name": "[memory]", "ts": 1, "args": {"Device Type": 1, )" +
                       arguments + "}}]}");
    };
    const std::string totals = R"("Total Allocated": 512, "Total Reserved": 512)";
    CHECK(refused_with(R"("Device Id": 0, "Addr": 1, "Bytes": 512)").detail ==
          "an event of device memory has no totals (before PyTorch 1.10)");
    for (const char* arguments :
         {R"("Device Id": 32, "Addr": 1, "Bytes": 512, )", R"("Device Id": -1, "Addr": 1, "Bytes": 512, )",
          R"("Addr": 1, "Bytes": 512, )"})
        CHECK(refused_with(arguments + totals).detail ==
              "an event of device memory has no time, device or totals that can be");
    for (const char* arguments :
         {R"("Device Id": 0, "Addr": 1, "Bytes": 0, )", R"("Device Id": 0, "Bytes": 512, )",
          R"("Device Id": 0, "Addr": 1, "Bytes": 5.5, )",
          R"("Device Id": 0, "Addr": 1, "Bytes": -9223372036854775808, )"})
        CHECK(refused_with(arguments + totals).detail ==
              "an event of device memory has no address or size that can be");
    CHECK(refused_with(R"("Device Id": 0, "Addr": 1, "Bytes": 1024, )" + totals).detail ==
          "an event of device memory has a block that is larger than the total with it");
    CHECK(
        refused_with(
            R"("Device Id": 0, "Addr": 1, "Bytes": 512, "Total Allocated": 5, "Total Reserved": 562949953421312)")
            .rule == "profile");
    CHECK(
        refused_with(R"("Device Id": 0, "Addr": 1, "Bytes": 512, "Total Allocated": -1, "Total Reserved": 5)")
            .rule == "profile");
}

TEST_CASE("traces of several processes in one file are refused") {
    TraceText trace;
    trace.memory("1", 4096, 512, 512, 1024);
    const std::string other = R"({"name": "[memory]", "pid": 8, "ts": 1, "args": {"Device Type": 1}})";
    CHECK(refused(trace.add(other).text()).detail ==
          "device memory of more than one process is in it; each has a trace of its own");
}

TEST_CASE("numbers of a trace are exact or none") {
    CHECK(trace_integer("-5") == -5);
    CHECK(trace_integer("18446744073709551615") == -1);
    CHECK(!trace_integer("18446744073709551616"));
    CHECK(!trace_integer("5.0"));
    CHECK(!trace_integer(""));
    CHECK(trace_time_ns("12") == 12000);
    CHECK(trace_time_ns("12.3") == 12300);
    CHECK(trace_time_ns("12.3456") == 12345);
    CHECK(trace_time_ns("-12.345") == -12345);
    CHECK(trace_time_ns("-0.5") == -500);
    CHECK(trace_time_ns("1.5e3") == 1500000);
    CHECK(!trace_time_ns("1e300"));
    CHECK(!trace_time_ns("9223372036854775807"));
    CHECK(!trace_time_ns("x"));
    CHECK(!trace_time_ns(""));
}

TEST_CASE("what begins like JSON or a compressed file may be a trace") {
    for (const char* head : {"{", " \n[", "\x1F\x8B\x08"})
        CHECK(snapshot::looks_like_profile(head));
    for (const char* head : {"", "\x80\x04", "(lp0", "x{"})
        CHECK(!snapshot::looks_like_profile(head));
}
