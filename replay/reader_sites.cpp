// SPDX-License-Identifier: Apache-2.0
//
// Entries read on demand. The walk over the sidecar has seen that each one's parts fit its payload; since the
// file may have changed meanwhile, that is looked at again here.
#include "reader_sites.h"

#include <algorithm>
#include <cstring>

#include "../interpose/wire_names.h"
#include "reader_decode.h"

namespace memsnap {

namespace {

std::string text_at(std::span<const std::byte> bytes, uint64_t offset_bytes, uint64_t size_bytes) {
    return {reinterpret_cast<const char*>(bytes.data()) + offset_bytes, size_bytes};
}

}  // namespace

const SiteRecords::Place* SiteRecords::find(const std::vector<Place>& places, uint64_t id) {
    const auto found = std::ranges::lower_bound(places, id, {}, &Place::id);
    return found == places.end() || found->id != id ? nullptr : &*found;
}

std::vector<std::byte> SiteRecords::payload(uint64_t offset_bytes) const {
    wire::NameEntry entry = {};
    if (!file_->read(offset_bytes, std::as_writable_bytes(std::span(&entry, 1)))) return {};
    std::vector<std::byte> bytes(entry.payload_bytes);
    if (!file_->read(offset_bytes + sizeof entry, bytes)) return {};
    return bytes;
}

// Counts modulo 2^16, of which the one nearest to that of the last object written before is meant.
int64_t SiteRecords::generation_at(uint64_t offset_bytes, uint16_t generation) const {
    const auto next = std::ranges::lower_bound(objects_, offset_bytes, {}, &ObjectPlace::offset_bytes);
    const int64_t last = next == objects_.begin() ? 0 : std::prev(next)->generation;
    return last + static_cast<int16_t>(generation - static_cast<uint16_t>(last));
}

std::optional<RecordedStack> SiteRecords::stack(uint64_t token) const {
    const Place* const place = token == 0 ? nullptr : find(stacks_, token);
    if (place == nullptr) return std::nullopt;
    const std::vector<std::byte> bytes = payload(place->offset_bytes);
    if (bytes.size() < sizeof(wire::StackEntry)) return std::nullopt;
    const auto entry = load<wire::StackEntry>(bytes, 0);
    const uint64_t word_count = uint64_t{entry.python_count} + entry.native_count;
    if (bytes.size() - sizeof entry < word_count * sizeof(uint64_t)) return std::nullopt;
    RecordedStack stack;
    for (uint64_t index = 0; index < word_count; ++index) {
        const auto word = load<uint64_t>(bytes, sizeof entry + index * sizeof(uint64_t));
        if (index < entry.python_count) {
            stack.python.push_back({static_cast<uint32_t>(word >> 32), static_cast<uint32_t>(word)});
        } else {
            stack.native.push_back(word);
        }
    }
    stack.python_cut = (entry.flags & wire::kStackPythonCut) != 0;
    stack.native_cut = (entry.flags & wire::kStackNativeCut) != 0;
    stack.generation = generation_at(place->offset_bytes, entry.generation);
    return stack;
}

std::optional<CodeObject> SiteRecords::code(uint32_t id) const {
    const Place* const place = id == 0 ? nullptr : find(codes_, id);
    if (place == nullptr) return std::nullopt;
    const std::vector<std::byte> bytes = payload(place->offset_bytes);
    if (bytes.size() < sizeof(wire::CodeEntry)) return std::nullopt;
    const auto entry = load<wire::CodeEntry>(bytes, 0);
    const uint64_t file_at = sizeof entry;
    const uint64_t name_at = file_at + entry.file_name_bytes;
    const uint64_t table_at = name_at + entry.name_bytes;
    if (bytes.size() < table_at + entry.line_table_bytes) return std::nullopt;
    CodeObject code;
    code.first_line = entry.first_line;
    code.python_major = static_cast<uint8_t>(entry.python_version >> 8);
    code.python_minor = static_cast<uint8_t>(entry.python_version);
    code.told = entry.python_version == wire::kFrameTold;
    code.file = text_at(bytes, file_at, entry.file_name_bytes);
    code.function = text_at(bytes, name_at, entry.name_bytes);
    const auto table = std::span(bytes).subspan(table_at, entry.line_table_bytes);
    code.line_table.assign(table.begin(), table.end());
    return code;
}

std::optional<size_t> SiteRecords::object_at(uint64_t return_address, const RecordedStack& stack) const {
    if (return_address == 0) return std::nullopt;
    // The call is what the address returns behind.
    return object_index_.last_at(return_address - 1, stack.generation);
}

std::optional<LoadedObject> SiteRecords::object(size_t number) const {
    const ObjectPlace& place = objects_[number];
    const std::vector<std::byte> bytes = payload(place.offset_bytes);
    if (bytes.size() < sizeof(wire::ObjectEntry)) return std::nullopt;
    const auto entry = load<wire::ObjectEntry>(bytes, 0);
    const uint64_t path_at = sizeof entry + entry.build_id_bytes;
    if (bytes.size() < path_at + entry.path_bytes) return std::nullopt;
    LoadedObject object = {place.begin, place.end, place.bias, {}, {}};
    const auto build_id = std::span(bytes).subspan(sizeof entry, entry.build_id_bytes);
    object.build_id.assign(build_id.begin(), build_id.end());
    object.path = text_at(bytes, path_at, entry.path_bytes);
    return object;
}

}  // namespace memsnap
