// SPDX-License-Identifier: Apache-2.0
//
// One pass of RapidJSON over the text, and what is wrong with a file in words.
#include "read_profile.h"

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <utility>

#include "json_input.h"
#include "profile_handler.h"

namespace memsnap::snapshot {

namespace {

constexpr unsigned kParsing =
    rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag;
constexpr const char* kProfileAnew =
    "profile with profile_memory=True and write the trace with export_chrome_trace()";

Error not_a_trace(const std::string& path, ProfileHandler::Shape shape) {
    const bool rows = shape == ProfileHandler::Shape::number_rows;
    return file_error(ErrorCode::not_memsnap, path, "profile",
                      rows ? "is an exported memory timeline: it has sizes by category and no addresses, so "
                             "which block ended cannot be told"
                           : "is JSON, but not a trace of PyTorch's profiler",
                      rows ? "write the trace of the same profile with export_chrome_trace()"
                           : "give a recording, a memory snapshot or a profiler's trace");
}

Error without_events(const std::string& path, const Profile& profile) {
    std::string detail = "no device memory events in it";
    if (profile.host_event_count != 0)
        detail += " (" + std::to_string(profile.host_event_count) + " of the CPU's memory)";
    if (profile.other_device_event_count != 0)
        detail +=
            " (" + std::to_string(profile.other_device_event_count) + " of devices that are not CUDA's)";
    return file_error(ErrorCode::not_memsnap, path, "profile", std::move(detail), kProfileAnew);
}

Error broken(const std::string& path, const JsonInput& input, const ProfileHandler& handler,
             const rapidjson::ParseResult& result) {
    if (input.error()) return *input.error();
    const char* const where = input.is_compressed() ? " (an offset of the uncompressed text)" : "";
    Error error = file_error(ErrorCode::corrupt, path, "json", {});
    error.offset_bytes = result.Offset();
    if (handler.refusal()) {
        error.rule = "profile";
        error.detail = *handler.refusal() + where;
        error.way_out = kProfileAnew;
    } else if (input.is_token_too_long()) {
        error.detail = std::string("a text or number is longer than any of a trace") + where;
        error.way_out = kProfileAnew;
    } else {
        error.detail = std::string(rapidjson::GetParseError_En(result.Code())) + where;
        error.way_out = "copy the file anew, or write the trace again: this one ends early or is damaged";
    }
    return error;
}

}  // namespace

bool looks_like_profile(std::string_view head) {
    if (head.starts_with("\x1F\x8B")) return true;
    const size_t first = head.find_first_not_of(" \t\r\n");
    return first != head.npos && (head[first] == '{' || head[first] == '[');
}

Result<Profile> read_profile(const std::string& path) {
    const auto file = RingFile::open(path);
    if (!file) return failure(file.error());
    return read_profile(*file);
}

Result<Profile> read_profile(const RingFile& file) {
    JsonInput input(file);
    Profile profile;
    ProfileHandler handler(input, profile);
    rapidjson::Reader reader;
    const rapidjson::ParseResult result = reader.Parse<kParsing>(input, handler);
    if (!result || input.error()) return failure(broken(file.path(), input, handler, result));
    if (handler.shape() != ProfileHandler::Shape::trace)
        return failure(not_a_trace(file.path(), handler.shape()));
    if (profile.events.empty()) return failure(without_events(file.path(), profile));
    return profile;
}

}  // namespace memsnap::snapshot
