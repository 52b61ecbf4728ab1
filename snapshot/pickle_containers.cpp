// SPDX-License-Identifier: Apache-2.0
//
// Lists, dictionaries, tuples and sets of the machine. The rule: a container is complete when another one
// takes it, or when a further one is begun right behind it, which its filling never is; whoever fills it
// later is refused.
#include <fmt/format.h>

#include <limits>

#include "pickle_machine.h"
#include "pickle_opcodes.h"

namespace memsnap::snapshot {

namespace {

constexpr size_t kBuilderKept_items = 4096;

}  // namespace

bool PickleMachine::push_open(Kind kind) {
    complete_covered();
    uint32_t node = 0;
    if (free_nodes_.empty()) {
        if (nodes_.size() > std::numeric_limits<uint32_t>::max()) return fail("more containers than fit");
        node = static_cast<uint32_t>(nodes_.size());
        nodes_.emplace_back();
    } else {
        node = free_nodes_.back();
        free_nodes_.pop_back();
    }
    nodes_[node] = {};
    nodes_[node].type = kind;
    return push({Kind::open, 0, 0, node});
}

// PyTorch's own writer puts a million dictionaries on the stack before one opcode appends them all. A
// dictionary that another container follows is no key and is not filled any more.
void PickleMachine::complete_covered() {
    if (stack_.size() == fence()) return;
    Value& top = stack_.back();
    if (is_open(top) && nodes_[top.wide].type == Kind::dict) top = completed(top);
}

// One more handle of the value is about to be made.
Value PickleMachine::shared(Value value) {
    if (is_open(value)) nodes_[value.wide].holders = Holders::any;
    return value;
}

// Of a handle that the caller replaces by what it gets.
Value PickleMachine::completed(Value value) {
    if (value.kind != Kind::open) return value;
    Node& node = nodes_[value.wide];
    if (!node.is_open) return node.became;
    Builder& builder = builders_[node.builder];
    node.became = complete(node.type, builder);
    node.is_open = false;
    if (node.builder != 0) {
        if (builder.items.capacity() > kBuilderKept_items) {
            builder.items = {};
        } else {
            builder.items.clear();
        }
        free_builders_.push_back(node.builder);
    }
    if (node.holders == Holders::any) return node.became;
    if (node.holders == Holders::stack_and_memo) {
        Value& in_memo = memo_[node.memo_index];
        if (in_memo.kind == Kind::open && in_memo.wide == value.wide) in_memo = node.became;
    }
    free_nodes_.push_back(static_cast<uint32_t>(value.wide));
    return node.became;
}

Value PickleMachine::complete(Kind kind, const Builder& builder) {
    const auto made = kind == Kind::dict ? completion_.dict(builder.items, builder.offset_bytes)
                                         : completion_.list(builder.items, builder.offset_bytes);
    return made ? *made : keep(kind, builder.items);
}

Value PickleMachine::keep(Kind kind, std::span<const Value> items) {
    if (items.empty()) return Value::container(kind, {});
    auto* const kept = static_cast<Value*>(kept_.allocate(items.size_bytes(), alignof(Value)));
    std::ranges::copy(items, kept);
    return Value::container(kind, {kept, items.size()});
}

// Moves the values from `first` on into the container below them.
bool PickleMachine::fill(size_t target, size_t first, Kind kind) {
    const Value handle = stack_[target];
    const char* const noun = kind == Kind::dict ? "dictionary" : "list";
    if (!is_open(handle))
        return fail(
            fmt::format("{} fills what is no {}, or one that is complete", opcode_name(opcode_), noun));
    if (nodes_[handle.wide].type != kind)
        return fail(fmt::format("{} fills what is no {}", opcode_name(opcode_), noun));
    for (size_t at = first; at < stack_.size(); ++at) {
        stack_[at] = completed(stack_[at]);
        if (!is_open(handle))
            return fail(fmt::format("{} puts a {} into itself", opcode_name(opcode_), noun));
    }
    uint32_t& slot = nodes_[handle.wide].builder;
    if (slot == 0 && first < stack_.size()) {
        if (free_builders_.empty()) {
            slot = static_cast<uint32_t>(builders_.size());
            builders_.emplace_back();
        } else {
            slot = free_builders_.back();
            free_builders_.pop_back();
        }
        builders_[slot].offset_bytes = opcode_offset_bytes_;
    }
    auto& items = builders_[slot].items;
    const std::span added = std::span(stack_).subspan(first);
    if (items.size() + added.size() > std::numeric_limits<uint32_t>::max())
        return fail("a container of more items than fit");
    items.insert(items.end(), added.begin(), added.end());
    stack_.resize(first);
    return true;
}

bool PickleMachine::push_tuple(size_t first) {
    const auto is_small = [](const Value& value) {
        return value.kind == Kind::integer && value.wide >> 32 == 0;
    };
    for (size_t at = first; at < stack_.size(); ++at)
        stack_[at] = completed(stack_[at]);
    const std::span items = std::span(stack_).subspan(first);
    if (items.size() > std::numeric_limits<uint32_t>::max()) return fail("a tuple of more items than fit");
    const Value tuple = items.size() == 2 && is_small(items[0]) && is_small(items[1])
                            ? Value{Kind::pair, 0, static_cast<uint32_t>(items[0].wide), items[1].wide}
                            : keep(Kind::tuple, items);
    stack_.resize(first);
    return push(tuple);
}

bool PickleMachine::container_step(uint8_t opcode) {
    size_t first = 0;
    switch (opcode) {
        case ']':
            return push_open(Kind::list);
        case '}':
            return push_open(Kind::dict);
        case 'l':
        case 'd': {
            // From a mark: the new container goes below what it takes.
            if (!to_mark(first)) return false;
            const Kind kind = opcode == 'l' ? Kind::list : Kind::dict;
            if (kind == Kind::dict && (stack_.size() - first) % 2 != 0) return fail("DICT with a key alone");
            const std::vector<Value> items(stack_.begin() + static_cast<ptrdiff_t>(first), stack_.end());
            stack_.resize(first);
            if (!push_open(kind)) return false;
            stack_.insert(stack_.end(), items.begin(), items.end());
            return fill(first, first + 1, kind);
        }
        case 'a':
            return needs(2) && fill(stack_.size() - 2, stack_.size() - 1, Kind::list);
        case 's':
            return needs(3) && fill(stack_.size() - 3, stack_.size() - 2, Kind::dict);
        case 'e':
        case 'u':
            if (!to_mark(first)) return false;
            if (first == fence()) return fail(fmt::format("{} has nothing to fill", opcode_name(opcode)));
            if (opcode == 'u' && (stack_.size() - first) % 2 != 0) return fail("SETITEMS with a key alone");
            return fill(first - 1, first, opcode == 'u' ? Kind::dict : Kind::list);
        case ')':
            return push_tuple(stack_.size());
        case 't':
            return to_mark(first) && push_tuple(first);
        case 0x85:
        case 0x86:
        case 0x87: {
            const size_t count = opcode - size_t{0x84};
            return needs(count) && push_tuple(stack_.size() - count);
        }
        case 0x8f:
            return push({Kind::set});
        case 0x91:
            if (!to_mark(first)) return false;
            stack_.resize(first);
            return push({Kind::set});
        default:  // ADDITEMS
            if (!to_mark(first)) return false;
            if (first == fence() || stack_[first - 1].kind != Kind::set)
                return fail("ADDITEMS to what is no set");
            stack_.resize(first);
            return true;
    }
}

}  // namespace memsnap::snapshot
