// SPDX-License-Identifier: Apache-2.0
//
// The pickle language, as far as it makes data. The rule: nothing is ever imported, called or built; each
// container is complete before another one takes it, so that nothing is ever walked twice or in a circle.
#pragma once

#include <deque>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pickle_input.h"
#include "pickle_value.h"

namespace memsnap::snapshot {

// What a complete container becomes; nullopt: it is kept as it is.
class Completion {
  public:
    virtual std::optional<Value> list(std::span<const Value> items, uint64_t offset_bytes) = 0;
    virtual std::optional<Value> dict(std::span<const Value> pairs, uint64_t offset_bytes) = 0;

  protected:
    ~Completion() = default;
};

class PickleMachine {
  public:
    static constexpr size_t kMarksMost = 1000;

    // Texts go to `texts`; kept containers lie in this object.
    PickleMachine(PickleInput& input, Texts& texts, Completion& completion);

    // The value at STOP. Errors: corrupt (rule `pickle`), io; without the file's name.
    Result<Value> run();

  private:
    // Who has a handle of an open container: only then can all of them get what it becomes.
    enum class Holders : uint8_t {
        stack,
        stack_and_memo,  // one handle in each
        any
    };
    // An open container; or what it became, if others may still ask.
    struct Node {
        Value became;
        uint64_t memo_index = 0;
        uint32_t builder = 0;
        Kind type = Kind::list;
        Holders holders = Holders::stack;
        bool is_open = true;
    };
    struct Builder {
        std::vector<Value> items;
        uint64_t offset_bytes = 0;
    };

    bool step(uint8_t opcode);
    bool scalar_step(uint8_t opcode);
    bool memo_step(uint8_t opcode);
    bool container_step(uint8_t opcode);
    bool refuse(uint8_t opcode);

    bool fail(std::string detail);
    bool fail_end();
    template <class Number>
    bool argument(Number& number);

    // ---- the stack
    bool push(Value value);
    size_t fence() const { return marks_.empty() ? 0 : marks_.back(); }
    bool needs(size_t count);
    bool to_mark(size_t& first);

    // ---- texts
    bool push_text(uint64_t length);
    bool push_line_text(uint8_t opcode);
    bool skip_bytes(uint64_t length);

    // ---- memo
    bool memo_put(uint64_t index);
    bool memo_get(uint64_t index);

    // ---- containers
    bool push_open(Kind kind);
    void complete_covered();
    Value shared(Value value);
    Value completed(Value value);
    Value complete(Kind kind, const Builder& builder);
    bool is_open(const Value& value) const { return value.kind == Kind::open && nodes_[value.wide].is_open; }
    bool fill(size_t target, size_t first, Kind kind);
    bool push_tuple(size_t first);
    Value keep(Kind kind, std::span<const Value> items);

    PickleInput& input_;
    Texts& texts_;
    Completion& completion_;
    std::pmr::monotonic_buffer_resource kept_;
    std::vector<Value> stack_;
    std::vector<size_t> marks_;
    std::deque<Value> memo_;
    uint64_t memo_count_ = 0;
    std::deque<Node> nodes_;
    std::vector<uint32_t> free_nodes_;
    std::vector<Builder> builders_;  // the first is no one's
    std::vector<uint32_t> free_builders_;
    uint64_t opcode_offset_bytes_ = 0;
    uint8_t opcode_ = 0;
    std::optional<Error> error_;
};

}  // namespace memsnap::snapshot
