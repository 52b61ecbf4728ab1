// SPDX-License-Identifier: Apache-2.0
//
// Events of device memory and ranges out of a stream of JSON's tokens.
#include "profile_handler.h"

#include <algorithm>
#include <utility>

#include "profile_numbers.h"

namespace memsnap::snapshot {

namespace {

constexpr size_t kLongestText_bytes = 4096;  // of what is kept; names end there
constexpr int64_t kCuda = 1;                 // c10::DeviceType, of HIP's devices too
constexpr std::string_view kBlock = "[memory]";
constexpr std::string_view kOom = "[OutOfMemory]";
constexpr std::string_view kStep = "ProfilerStep#";

bool is_total(std::optional<int64_t> bytes) {
    return bytes && *bytes >= 0 && static_cast<uint64_t>(*bytes) <= kTotals_bytes_most;
}

}  // namespace

bool ProfileHandler::refuse(std::string detail) {
    refusal_ = std::move(detail);
    return false;
}

bool ProfileHandler::Key(const char* text, rapidjson::SizeType size, bool) {
    input_.token_taken();
    constexpr std::pair<std::string_view, Field> kTop[] = {{"traceEvents", Field::trace_events},
                                                           {"baseTimeNanoseconds", Field::base_time}};
    constexpr std::pair<std::string_view, Field> kEvent[] = {
        {"name", Field::name},    {"cat", Field::category}, {"ph", Field::phase},      {"ts", Field::begin},
        {"dur", Field::duration}, {"pid", Field::process},  {"args", Field::arguments}};
    constexpr std::pair<std::string_view, Field> kArguments[] = {{"Device Type", Field::device_type},
                                                                 {"Device Id", Field::device},
                                                                 {"Addr", Field::address},
                                                                 {"Bytes", Field::bytes},
                                                                 {"Total Allocated", Field::allocated},
                                                                 {"Total Reserved", Field::reserved}};
    const auto find = [name = std::string_view(text, size)](const auto& fields) {
        const auto found = std::ranges::find(fields, name, &std::pair<std::string_view, Field>::first);
        return found == std::end(fields) ? Field::none : found->second;
    };
    field_ = Field::none;
    if (events_depth_ == 0 && depth_ == 1) field_ = find(kTop);
    if (events_depth_ != 0 && depth_ == events_depth_ + 1) field_ = find(kEvent);
    if (arguments_depth_ != 0 && depth_ == arguments_depth_) field_ = find(kArguments);
    return true;
}

std::string* ProfileHandler::place(Field field) {
    switch (field) {
        case Field::name:
            return &draft_.name;
        case Field::category:
            return &draft_.category;
        case Field::phase:
            return &draft_.phase;
        case Field::begin:
            return &draft_.begin;
        case Field::duration:
            return &draft_.duration;
        case Field::process:
            return &draft_.process;
        case Field::device_type:
            return &draft_.device_type;
        case Field::device:
            return &draft_.device;
        case Field::address:
            return &draft_.address;
        case Field::bytes:
            return &draft_.bytes;
        case Field::allocated:
            return &draft_.allocated;
        case Field::reserved:
            return &draft_.reserved;
        case Field::none:
        case Field::trace_events:
        case Field::base_time:
        case Field::arguments:
            return nullptr;
    }
    return nullptr;
}

bool ProfileHandler::value(std::string_view text, bool is_number) {
    input_.token_taken();
    const Field field = std::exchange(field_, Field::none);
    if (field == Field::base_time && is_number) profile_.base_time_ns = trace_integer(text).value_or(0);
    if (std::string* const kept = place(field)) kept->assign(text.substr(0, kLongestText_bytes));
    return true;
}

bool ProfileHandler::open(bool is_object) {
    input_.token_taken();
    if (++depth_ > kDeepest) return refuse("the JSON is nested too deeply");
    const Field field = std::exchange(field_, Field::none);
    if (depth_ == 1) shape_ = is_object ? Shape::object : Shape::other;
    const bool is_events = field == Field::trace_events && !is_object;
    if (is_events || (depth_ == 1 && !is_object)) {  // Chrome also takes the array alone
        events_depth_ = depth_;
        if (is_events) shape_ = Shape::trace;
    } else if (events_depth_ != 0 && depth_ == events_depth_ + 1) {
        if (depth_ == 2) shape_ = is_object ? Shape::trace : Shape::number_rows;
        draft_ = {};
    } else if (field == Field::arguments && is_object) {
        arguments_depth_ = depth_;
    }
    return true;
}

bool ProfileHandler::close() {
    input_.token_taken();
    field_ = Field::none;
    const int closed = depth_--;
    if (closed == arguments_depth_) arguments_depth_ = 0;
    if (closed == events_depth_) events_depth_ = 0;
    return events_depth_ == 0 || closed != events_depth_ + 1 || finish();
}

bool ProfileHandler::finish() {
    if (draft_.name == kBlock || draft_.name == kOom) return finish_memory(draft_.name == kOom);
    const bool is_range = draft_.category == "user_annotation" ||
                          (draft_.name.starts_with(kStep) && draft_.category != "gpu_user_annotation");
    return !is_range || draft_.phase != "X" || finish_range();
}

bool ProfileHandler::finish_memory(bool is_oom) {
    const auto type = trace_integer(draft_.device_type);
    if (type != kCuda) {
        ++(type == 0 ? profile_.host_event_count : profile_.other_device_event_count);
        return true;
    }
    if (order_ == 0) memory_process_ = draft_.process;
    if (draft_.process != memory_process_)
        return refuse("device memory of more than one process is in it; each has a trace of its own");
    const auto time = trace_time_ns(draft_.begin), device = trace_integer(draft_.device);
    const auto bytes = trace_integer(draft_.bytes), address = trace_integer(draft_.address);
    const auto allocated = trace_integer(draft_.allocated), reserved = trace_integer(draft_.reserved);
    if (draft_.allocated.empty() || draft_.reserved.empty())
        return refuse("an event of device memory has no totals (before PyTorch 1.10)");
    if (!time || !device || *device < 0 || *device >= kMostDevices || !is_total(allocated) ||
        !is_total(reserved))
        return refuse("an event of device memory has no time, device or totals that can be");
    if (!is_oom && (!bytes || *bytes == 0 || *bytes == INT64_MIN || !address))
        return refuse("an event of device memory has no address or size that can be");
    if (!is_oom && *bytes > *allocated)
        return refuse("an event of device memory has a block that is larger than the total with it");
    ProfileEvent event;
    event.kind = is_oom ? ProfileEvent::Kind::oom : ProfileEvent::Kind::block;
    event.address = is_oom ? 0 : static_cast<uint64_t>(*address);
    event.bytes = is_oom ? std::max<int64_t>(bytes.value_or(0), 0) : *bytes;
    event.allocated_bytes = static_cast<uint64_t>(*allocated);
    event.reserved_bytes = static_cast<uint64_t>(*reserved);
    event.time_ns = *time;
    event.device = static_cast<int8_t>(*device);
    event.order = ++order_;
    if (event.order == UINT32_MAX) return refuse("more events of device memory than can be counted");
    profile_.events.push_back(event);
    return true;
}

// A range whose times cannot be read is left out: nothing of the memory hangs on it.
bool ProfileHandler::finish_range() {
    const auto begin = trace_time_ns(draft_.begin), duration = trace_time_ns(draft_.duration);
    int64_t end = 0;
    if (!begin || !duration || *duration < 0 || __builtin_add_overflow(*begin, *duration, &end)) return true;
    if (profile_.ranges.size() == kRanges_count_most) {
        ++profile_.left_out_range_count;
        return true;
    }
    profile_.ranges.push_back({*begin, end, profile_.texts.add(draft_.name)});
    return true;
}

}  // namespace memsnap::snapshot
