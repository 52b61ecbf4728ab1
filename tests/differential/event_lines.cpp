// SPDX-License-Identifier: Apache-2.0
//
// Lines of the events text.
#include "event_lines.h"

#include <fmt/format.h>

namespace memsnap::differential {

namespace {

// Handles and other libraries' objects get addresses of their own, far from those of segments.
constexpr uint64_t kFirstHandle = uint64_t{0x51} << 40;
constexpr uint64_t kFirstForeign = uint64_t{0x61} << 40;
constexpr uint64_t kAlignment_bytes = 2 * kMiB;

// The words that say who did it; device 0, thread 1, no site and no library are what a line says by itself.
std::string by(const Actor& actor) {
    std::string words;
    if (actor.device != 0) words += fmt::format(" device={}", actor.device);
    if (actor.thread != 1) words += fmt::format(" thread={}", actor.thread);
    if (actor.site != 0) words += fmt::format(" site={}", actor.site);
    if (actor.library != 0) words += fmt::format(" library={}", actor.library);
    return words;
}

std::string number_or_none(const std::optional<uint64_t>& number) {
    return number ? std::to_string(*number) : "none";
}

}  // namespace

EventLines::EventLines() : next_handle_(kFirstHandle), next_foreign_(kFirstForeign) {
    add("memsnap-events 1");
}

void EventLines::header(std::string_view setting) {
    add(fmt::format("header {}", setting));
}

void EventLines::segment(const std::string& name, const Actor& actor, uint64_t address, uint64_t bytes) {
    add(fmt::format("segment {} {} at={:#x}{}", name, bytes, address, by(actor)));
}

void EventLines::mapping(const std::string& name, const Actor& actor, uint64_t address, uint64_t bytes) {
    add(fmt::format("create h{} {} at={:#x}{}", name, bytes, next_handle_, by(actor)));
    add(fmt::format("map {0} {1:#x} h{0}{2}", name, address, by(actor)));
    next_handle_ += bytes + kAlignment_bytes;
}

void EventLines::release_segment(const std::string& name, const Actor& actor) {
    add(fmt::format("free {}{}", name, by(actor)));
}

void EventLines::release_mapping(const std::string& name, const Actor& actor) {
    add(fmt::format("free {}{}", name, by(actor)));
    add(fmt::format("free h{}{}", name, by(actor)));
}

void EventLines::alloc(const std::string& name, const Actor& actor, uint64_t address, uint64_t bytes) {
    add(fmt::format("alloc {} {:#x} {}{}", name, address, bytes, by(actor)));
}

void EventLines::free(const std::string& name, const Actor& actor) {
    add(fmt::format("free {}{}", name, by(actor)));
}

void EventLines::refused(const Actor& actor, std::string_view call, uint64_t bytes, bool from_torch) {
    add(fmt::format("fail {} {}{}{}", call, bytes, from_torch ? "" : " foreign", by(actor)));
}

void EventLines::question(const Actor& actor, uint64_t total_bytes, uint64_t free_bytes, bool from_torch) {
    add(fmt::format("mem_info total={} free={}{}{}", total_bytes, free_bytes, from_torch ? "" : " foreign",
                    by(actor)));
}

void EventLines::out_of_memory(const Actor& actor, uint64_t request_bytes, bool with_operation,
                               bool capturing) {
    add(fmt::format("oom {}{}{}{}", request_bytes, with_operation ? "" : " operation=no",
                    capturing ? " capturing" : "", by(actor)));
}

void EventLines::tap(std::string_view kind, const Actor& actor, std::string_view name, uint64_t bytes,
                     uint64_t stream, uint64_t pool) {
    add(fmt::format("{} {} requested={} stream={} pool={}{}", kind, name, bytes, stream, pool, by(actor)));
}

void EventLines::tap_request(const Actor& actor, uint64_t address, uint64_t bytes, uint64_t stream,
                             uint64_t pool) {
    add(fmt::format("record tap_alloc address={:#x} size={} extra={} extra16={}{}", address, bytes, stream,
                    pool, by(actor)));
}

void EventLines::tap_again(const Actor& actor, std::string_view name, bool pages, uint64_t bytes,
                           uint64_t stream, uint64_t pool) {
    add(fmt::format("{} {} requested={} stream={} pool={} told_again{}",
                    pages ? "tap_segment_map" : "tap_segment_alloc", name, bytes, stream, pool, by(actor)));
}

void EventLines::tap_failure(const Actor& actor, uint64_t request_bytes, uint64_t stream, uint64_t pool,
                             const Told& told) {
    add(fmt::format("tap_oom {} stream={} pool={} free={} requested={}{}", request_bytes, stream, pool,
                    number_or_none(told.free_bytes), number_or_none(told.requested_bytes), by(actor)));
}

void EventLines::foreign(const std::string& name, const Actor& actor, std::string_view call, uint64_t bytes,
                         std::string_view flags) {
    add(fmt::format("call {} {} {} at={:#x}{}{}", name, call, bytes, next_foreign_, flags, by(actor)));
    next_foreign_ += (bytes + 2 * kAlignment_bytes) / kAlignment_bytes * kAlignment_bytes;
}

void EventLines::release_foreign(const std::string& name, const Actor& actor) {
    add(fmt::format("free {}{}", name, by(actor)));
}

void EventLines::device_sample(const Actor& actor, uint64_t total_bytes, uint64_t free_bytes) {
    add(fmt::format("device_sample total={} free={}{}", total_bytes, free_bytes, by(actor)));
}

void EventLines::process_sample(const Actor& actor, uint64_t own_bytes, uint64_t others_bytes) {
    add(fmt::format("process_sample own={} others={}{}", own_bytes, others_bytes, by(actor)));
}

void EventLines::cap(const Actor& actor, uint64_t limit_bytes) {
    add(fmt::format("cap {}{}", limit_bytes, by(actor)));
}

void EventLines::step(const Actor& actor, std::string_view flags) {
    add(fmt::format("step{}{}", flags, actor.thread == 1 ? "" : fmt::format(" thread={}", actor.thread)));
}

void EventLines::begin_range(const Actor& actor, std::string_view family, std::string_view name) {
    add(fmt::format("phase begin {} family={} thread={}", name, family, actor.thread));
}

void EventLines::end_range(const Actor& actor, std::string_view name) {
    add(fmt::format("phase end{}{} thread={}", name.empty() ? "" : " ", name, actor.thread));
}

void EventLines::end_of_ticket(const Actor& actor, uint64_t ticket) {
    add(fmt::format("record phase_end address={} device=-1 thread={}", ticket, actor.thread));
}

void EventLines::note(std::string_view dimension, int64_t value) {
    add(fmt::format("note {} {}", dimension, value));
}

void EventLines::category(const Actor& actor, const std::string& block, std::string_view word,
                          uint64_t offset_bytes) {
    add(fmt::format("category {} {} offset={}{}", block, word, offset_bytes, by(actor)));
}

std::string join(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += line;
        text += '\n';
    }
    return text;
}

}  // namespace memsnap::differential
