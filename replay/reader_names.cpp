// SPDX-License-Identifier: Apache-2.0
//
// One pass over the sidecar, entry by entry: texts are copied, of the rest it is noted where it lies.
#include "reader_names.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "../interpose/wire_names.h"
#include "reader_decode.h"

namespace memsnap {

namespace {

// What a recorder may be told to write, and what of it is kept in memory.
constexpr uint64_t kSidecar_bytes_most = uint64_t{1} << 30;
constexpr uint64_t kTexts_bytes_most = uint64_t{64} << 20;
constexpr size_t kTexts_count_most = size_t{1} << 16;  // of one kind: their numbers have 16 bits
constexpr size_t kStacks_count_most = size_t{1} << 24;
constexpr size_t kCodes_count_most = size_t{1} << 24;
constexpr size_t kObjects_count_most = size_t{1} << 16;

// Beside those of frames.
constexpr uint16_t kBuildId_bytes_most = 64;
constexpr uint16_t kPath_bytes_most = 4095;

constexpr uint64_t kEntry_bytes_most = sizeof(wire::NameEntry) + UINT16_MAX;  // without what fills it up
constexpr uint64_t kRead_bytes = uint64_t{1} << 20;

// Empty: it belongs to the ring.
std::string wrong_header(const wire::NamesHeader& header, const Capture& capture, uint64_t size_bytes) {
    if (!std::ranges::equal(header.magic, wire::kNamesMagic) || header.byte_order != wire::kByteOrder)
        return "is no such file";
    if (header.version_major != wire::kNamesVersionMajor) return "has another version";
    if (!std::ranges::equal(header.ring_id, capture.header.ring_id)) return "belongs to another recording";
    if (header.file_bytes < sizeof header || header.file_bytes > size_bytes) return "is truncated";
    return {};
}

const std::string* found_text(const std::map<uint64_t, std::string>& texts, uint64_t id) {
    const auto found = texts.find(id);
    return found == texts.end() || found->second.empty() ? nullptr : &found->second;
}

}  // namespace

// Entries up to the first that was not finished.
class SidecarWalk {
  public:
    SidecarWalk(std::shared_ptr<const RingFile> file, Names& names) : names_(names) {
        names_.sites.file_ = std::move(file);
    }

    // Empty, or why there is no sidecar.
    std::string run(uint64_t used_bytes) {
        uint64_t at = sizeof(wire::NamesHeader);
        while (problem_.empty() && used_bytes - at >= sizeof(wire::NameEntry)) {
            const auto bytes = bytes_at(at, used_bytes);
            if (bytes.empty()) return "cannot be read";
            const auto entry = load<wire::NameEntry>(bytes, 0);
            if (entry.entry_bytes == 0) break;
            const uint64_t needed_bytes = sizeof entry + uint64_t{entry.payload_bytes};
            if (entry.entry_bytes % 8 != 0 || entry.entry_bytes < needed_bytes ||
                entry.entry_bytes > used_bytes - at)
                return "is damaged";
            take(entry, bytes.subspan(sizeof entry, entry.payload_bytes), at);
            at += entry.entry_bytes;
        }
        const auto by_id = [](auto& places) {
            std::ranges::stable_sort(places, {}, &SiteRecords::Place::id);
        };
        by_id(names_.sites.stacks_);
        by_id(names_.sites.codes_);
        index_objects();
        return problem_;
    }

  private:
    // The entry there with its payload, as far as the sidecar goes. Empty: the system refuses.
    std::span<const std::byte> bytes_at(uint64_t at, uint64_t used_bytes) {
        const uint64_t wanted_bytes = std::min(kEntry_bytes_most, used_bytes - at);
        if (at < read_from_ || at + wanted_bytes > read_from_ + read_.size()) {
            read_from_ = at;
            read_.resize(std::min(kRead_bytes, used_bytes - at));
            if (!names_.sites.file_->read(at, read_)) return {};
        }
        return std::span(read_).subspan(at - read_from_, wanted_bytes);
    }

    void take(const wire::NameEntry& entry, std::span<const std::byte> payload, uint64_t at) {
        switch (entry.kind) {
            case wire::NameKind::library:
                return take_text(names_.libraries, entry.id, payload, true);
            case wire::NameKind::name:
                if (entry.id != 0 && entry.id <= UINT16_MAX)
                    take_text(names_.texts, entry.id, payload, false);
                return;
            case wire::NameKind::code:
                return take_code(entry.id, payload, at);
            case wire::NameKind::stack:
                return take_stack(entry.id, payload, at);
            case wire::NameKind::object:
                return take_object(payload, at);
            case wire::NameKind::none:
                break;
        }
    }

    void take_text(std::map<uint64_t, std::string>& texts, uint64_t id, std::span<const std::byte> payload,
                   bool without_folder) {
        std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
        if (without_folder) text.remove_prefix(text.rfind('/') + 1);  // whoever wrote it
        text_bytes_ += text.size();
        if (text_bytes_ > kTexts_bytes_most || texts.size() > kTexts_count_most)
            problem_ = "is too large";
        else
            texts.try_emplace(id, text);
    }

    void take_place(std::vector<SiteRecords::Place>& places, size_t count_most, uint64_t id, uint64_t at) {
        if (places.size() == count_most)
            problem_ = "is too large";
        else
            places.push_back({id, at});
    }

    void take_code(uint64_t id, std::span<const std::byte> payload, uint64_t at) {
        if (payload.size() < sizeof(wire::CodeEntry)) return damaged();
        const auto code = load<wire::CodeEntry>(payload, 0);
        const uint64_t needed_bytes =
            uint64_t{code.file_name_bytes} + code.name_bytes + code.line_table_bytes;
        if (payload.size() - sizeof code < needed_bytes || code.file_name_bytes > kFileName_bytes_most ||
            code.name_bytes > kFunctionName_bytes_most)
            return damaged();
        take_place(names_.sites.codes_, kCodes_count_most, id, at);
    }

    void take_stack(uint64_t token, std::span<const std::byte> payload, uint64_t at) {
        if (payload.size() < sizeof(wire::StackEntry)) return damaged();
        const auto stack = load<wire::StackEntry>(payload, 0);
        const uint64_t needed_bytes = (uint64_t{stack.python_count} + stack.native_count) * sizeof(uint64_t);
        if (payload.size() - sizeof stack < needed_bytes ||
            std::max(stack.python_count, stack.native_count) > kFrames_count_most)
            return damaged();
        take_place(names_.sites.stacks_, kStacks_count_most, token, at);
    }

    void take_object(std::span<const std::byte> payload, uint64_t at) {
        if (payload.size() < sizeof(wire::ObjectEntry)) return damaged();
        const auto object = load<wire::ObjectEntry>(payload, 0);
        const uint64_t needed_bytes = uint64_t{object.build_id_bytes} + object.path_bytes;
        if (payload.size() - sizeof object < needed_bytes || object.begin > object.end ||
            object.build_id_bytes > kBuildId_bytes_most || object.path_bytes > kPath_bytes_most)
            return damaged();
        auto& objects = names_.sites.objects_;
        if (objects.size() == kObjects_count_most) {
            problem_ = "is too large";
            return;
        }
        objects.push_back(
            {object.begin, object.end, object.bias, names_.sites.generation_at(at, object.generation), at});
    }

    void index_objects() {
        std::vector<ObjectIndex::Range> ranges;
        for (const SiteRecords::ObjectPlace& object : names_.sites.objects_)
            ranges.push_back({object.begin, object.end, object.generation});
        names_.sites.object_index_ = ObjectIndex(ranges);
    }

    void damaged() { problem_ = "is damaged"; }

    Names& names_;
    std::vector<std::byte> read_;
    uint64_t read_from_ = 0;
    uint64_t text_bytes_ = 0;
    std::string problem_;
};

namespace {

std::string read_into(const Capture& capture, Names& names) {
    auto opened = RingFile::open(capture.names_path);
    if (!opened) return "cannot be read";
    const auto file = std::make_shared<const RingFile>(std::move(*opened));
    const uint64_t size_bytes = file->size_bytes();
    if (size_bytes < sizeof(wire::NamesHeader)) return "is truncated";
    wire::NamesHeader header = {};
    if (!file->read(0, std::as_writable_bytes(std::span(&header, 1)))) return "cannot be read";
    if (std::string wrong = wrong_header(header, capture, size_bytes); !wrong.empty()) return wrong;
    if (header.file_bytes > kSidecar_bytes_most) return "is too large";
    const uint64_t used_bytes = std::clamp<uint64_t>(header.used_bytes, sizeof header, header.file_bytes);
    return SidecarWalk(file, names).run(used_bytes);
}

}  // namespace

const std::string* Names::of_library(const Capture& capture, uint16_t library) const {
    return library >= capture.libraries.size() ? nullptr
                                               : found_text(libraries, capture.libraries[library].name);
}

const std::string* Names::text(uint64_t name) const {
    return found_text(texts, name);
}

Names read_names(const Capture& capture) {
    Names names;
    if (!capture.header.has_sidecar) return names;
    std::string problem = read_into(capture, names);
    if (!problem.empty()) {
        names = {};
        names.problem = std::move(problem);
    }
    return names;
}

}  // namespace memsnap
