// SPDX-License-Identifier: Apache-2.0
//
// The events of a Chrome trace as RapidJSON comes past them. The rule: what is not asked for is not kept, and
// an event is judged when it is whole, for its members come in any order.
#pragma once

#include <rapidjson/reader.h>

#include <optional>
#include <string>
#include <string_view>

#include "json_input.h"
#include "profile.h"

namespace memsnap::snapshot {

class ProfileHandler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, ProfileHandler> {
  public:
    static constexpr int kDeepest = 256;

    ProfileHandler(JsonInput& input, Profile& profile) : input_(input), profile_(profile) {}

    // How the text begins, for what is no trace.
    enum class Shape : uint8_t {
        other,
        object,       // without traceEvents
        trace,        // with them
        number_rows,  // an array of arrays: an exported memory timeline
    };
    Shape shape() const { return shape_; }
    // What an event says that cannot be; the offset is the event's end.
    const std::optional<std::string>& refusal() const { return refusal_; }

    bool Null() { return value({}, false); }
    bool Bool(bool) { return value({}, false); }
    bool Double(double) { return value({}, false); }  // not a number, or beyond all of them
    bool RawNumber(const char* text, rapidjson::SizeType size, bool) { return value({text, size}, true); }
    bool String(const char* text, rapidjson::SizeType size, bool) { return value({text, size}, false); }
    bool Key(const char* text, rapidjson::SizeType size, bool);
    bool StartObject() { return open(true); }
    bool EndObject(rapidjson::SizeType) { return close(); }
    bool StartArray() { return open(false); }
    bool EndArray(rapidjson::SizeType) { return close(); }

  private:
    enum class Field : uint8_t {
        none,
        trace_events,
        base_time,
        name,
        category,
        phase,
        begin,
        duration,
        process,
        arguments,
        device_type,
        device,
        address,
        bytes,
        allocated,
        reserved,
    };
    // An event so far.
    struct Draft {
        std::string name, category, phase, process;
        std::string begin, duration, device_type, device, address, bytes, allocated, reserved;
    };

    bool value(std::string_view text, bool is_number);
    bool open(bool is_object);
    bool close();
    std::string* place(Field field);
    bool finish();
    bool finish_memory(bool is_oom);
    bool finish_range();
    bool refuse(std::string detail);

    JsonInput& input_;
    Profile& profile_;
    Draft draft_;
    std::string memory_process_;
    std::optional<std::string> refusal_;
    int depth_ = 0;
    int events_depth_ = 0;  // of the array of events; 0: not in it
    int arguments_depth_ = 0;
    Shape shape_ = Shape::other;
    Field field_ = Field::none;  // of the value that comes
    uint32_t order_ = 0;
};

}  // namespace memsnap::snapshot
