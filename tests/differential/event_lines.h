// SPDX-License-Identifier: Apache-2.0
//
// A trace as lines of the events text (docs/events.md). The rule: this is the only file here that knows the
// words of that text; whoever builds a trace says what happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memsnap::differential {

inline constexpr uint64_t kKiB = uint64_t{1} << 10;
inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;
inline constexpr uint64_t kGranule_bytes = 512;

// Who does something, and where.
struct Actor {
    int device = 0;
    unsigned thread = 1;
    uint64_t site = 0;
    unsigned library = 0;
};

class EventLines {
  public:
    EventLines();

    void header(std::string_view setting);
    void add(std::string line) { lines_.push_back(std::move(line)); }
    // A name that no earlier line has.
    std::string fresh(char prefix) { return prefix + std::to_string(++names_); }

    // PyTorch's allocator.
    void segment(const std::string& name, const Actor& actor, uint64_t address, uint64_t bytes);
    void mapping(const std::string& name, const Actor& actor, uint64_t address, uint64_t bytes);
    void release_segment(const std::string& name, const Actor& actor);
    void release_mapping(const std::string& name, const Actor& actor);
    void alloc(const std::string& name, const Actor& actor, uint64_t address, uint64_t bytes);
    void free(const std::string& name, const Actor& actor);
    void refused(const Actor& actor, std::string_view call, uint64_t bytes, bool from_torch);
    void question(const Actor& actor, uint64_t total_bytes, uint64_t free_bytes, bool from_torch);
    void out_of_memory(const Actor& actor, uint64_t request_bytes, bool with_operation, bool capturing);
    // `name`: of the block, segment or mapping.
    void tap(std::string_view kind, const Actor& actor, std::string_view name, uint64_t bytes,
             uint64_t stream, uint64_t pool);
    // What is asked for, before a block is there.
    void tap_request(const Actor& actor, uint64_t address, uint64_t bytes, uint64_t stream, uint64_t pool);
    // A segment or a range of pages that was told of before.
    void tap_again(const Actor& actor, std::string_view name, bool pages, uint64_t bytes, uint64_t stream,
                   uint64_t pool);
    struct Told {
        std::optional<uint64_t> free_bytes;
        std::optional<uint64_t> requested_bytes;  // by all live blocks
    };
    void tap_failure(const Actor& actor, uint64_t request_bytes, uint64_t stream, uint64_t pool,
                     const Told& told);

    // Others. `flags`: words of the line, each after a space.
    void foreign(const std::string& name, const Actor& actor, std::string_view call, uint64_t bytes,
                 std::string_view flags = {});
    void release_foreign(const std::string& name, const Actor& actor);
    void device_sample(const Actor& actor, uint64_t total_bytes, uint64_t free_bytes);
    void process_sample(const Actor& actor, uint64_t own_bytes, uint64_t others_bytes);
    void cap(const Actor& actor, uint64_t limit_bytes);
    // `flags`: words of the line, each after a space.
    void step(const Actor& actor, std::string_view flags = {});
    void begin_range(const Actor& actor, std::string_view family, std::string_view name);
    // The innermost, or the innermost of that name.
    void end_range(const Actor& actor, std::string_view name = {});
    // An end that names the record of this ticket, whatever it is.
    void end_of_ticket(const Actor& actor, uint64_t ticket);
    void note(std::string_view dimension, int64_t value);
    void category(const Actor& actor, const std::string& block, std::string_view word, uint64_t offset_bytes);
    void pass_time(uint64_t nanoseconds) { add("time +" + std::to_string(nanoseconds)); }
    void keyframe() { add("keyframe"); }
    void exit(int status) { add("exit " + std::to_string(status)); }

    size_t size() const { return lines_.size(); }
    const std::vector<std::string>& lines() const { return lines_; }

  private:
    std::vector<std::string> lines_;
    unsigned names_ = 0;
    uint64_t next_handle_;
    uint64_t next_foreign_;
};

std::string join(const std::vector<std::string>& lines);

}  // namespace memsnap::differential
