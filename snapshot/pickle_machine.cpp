// SPDX-License-Identifier: Apache-2.0
//
// The loop over opcodes, the stack and the memo. The rule: an opcode that needs what is not there is refused
// with its name and place.
#include "pickle_machine.h"

#include <fmt/format.h>

#include "pickle_opcodes.h"
#include "pickle_scalars.h"

namespace memsnap::snapshot {

namespace {

constexpr uint64_t kMemoGap_most = 1024;
constexpr Value kNothingPut = {Kind::none, 1};

bool is_nothing(const Value& value) {
    return value.kind == Kind::none && value.flags != 0;
}

}  // namespace

PickleMachine::PickleMachine(PickleInput& input, Texts& texts, Completion& completion)
    : input_(input), texts_(texts), completion_(completion), builders_(1) {}

Result<Value> PickleMachine::run() {
    while (true) {
        opcode_offset_bytes_ = input_.offset_bytes();
        const uint8_t* const byte = input_.take(1);
        if (byte == nullptr) {
            fail_end();
            break;
        }
        opcode_ = *byte;
        if (opcode_ == '.') {
            if (!needs(1)) break;
            const Value whole = completed(stack_.back());
            memo_ = {};
            nodes_ = {};
            stack_ = {};
            return whole;
        }
        if (!step(opcode_)) break;
    }
    return failure(std::move(*error_));
}

bool PickleMachine::fail(std::string detail) {
    Error error;
    error.offset_bytes = opcode_offset_bytes_;
    error.rule = "pickle";
    error.detail = std::move(detail);
    error.way_out =
        "the file is damaged or no memory snapshot; save one with torch.cuda.memory._dump_snapshot";
    error_ = std::move(error);
    return false;
}

bool PickleMachine::fail_end() {
    if (input_.error()) {
        error_ = input_.error();
        return false;
    }
    fail(input_.left_bytes() == 0
             ? "the pickle has no end: the file ends before its STOP"
             : fmt::format("{} needs more bytes than the file has left", opcode_name(opcode_)));
    error_->way_out = "the file was not written to its end: take a whole copy, or save the snapshot again";
    return false;
}

template <class Number>
bool PickleMachine::argument(Number& number) {
    const uint8_t* const bytes = input_.take(sizeof(Number));
    if (bytes == nullptr) return fail_end();
    number = little_endian<Number>(bytes);
    return true;
}

bool PickleMachine::push(Value value) {
    stack_.push_back(value);
    return true;
}

bool PickleMachine::needs(size_t count) {
    if (stack_.size() - fence() >= count) return true;
    return fail(fmt::format("{} needs a value that is not there", opcode_name(opcode_)));
}

// Takes the newest mark away; `first` is the first value above it.
bool PickleMachine::to_mark(size_t& first) {
    if (marks_.empty()) return fail(fmt::format("{} needs a MARK that is not there", opcode_name(opcode_)));
    first = marks_.back();
    marks_.pop_back();
    return true;
}

bool PickleMachine::step(uint8_t opcode) {
    size_t first = 0;
    switch (opcode) {
        case '(':
            if (marks_.size() == kMarksMost)
                return fail(fmt::format("containers within containers, more than {} deep", kMarksMost));
            marks_.push_back(stack_.size());
            return true;
        case '0':  // POP: a value, or the mark if nothing lies above it
            if (stack_.size() == fence()) return to_mark(first);
            stack_.pop_back();
            return true;
        case '1':  // POP_MARK
            if (!to_mark(first)) return false;
            stack_.resize(first);
            return true;
        case '2':  // DUP
            if (!needs(1)) return false;
            return push(shared(stack_.back()));
        case 0x80: {  // PROTO
            uint8_t version = 0;
            if (!argument(version)) return false;
            return version <= 5 || fail(fmt::format("pickle protocol {} is not known", version));
        }
        case 0x95: {  // FRAME
            uint64_t length = 0;
            if (!argument(length)) return false;
            return length <= input_.left_bytes() || fail_end();
        }
        case 'p':
        case 'q':
        case 'r':
        case 0x94:
        case 'g':
        case 'h':
        case 'j':
            return memo_step(opcode);
        case ']':
        case '}':
        case 'l':
        case 'd':
        case 'a':
        case 'e':
        case 's':
        case 'u':
        case ')':
        case 't':
        case 0x85:
        case 0x86:
        case 0x87:
        case 0x8f:
        case 0x90:
        case 0x91:
            return container_step(opcode);
        default:
            return refused_deed(opcode) != nullptr ? refuse(opcode) : scalar_step(opcode);
    }
}

bool PickleMachine::refuse(uint8_t opcode) {
    std::string name;
    if (opcode == 'c' || opcode == 'i') {
        const auto module = input_.line();
        if (!module) return fail_end();
        name = " " + plain_ascii(module->text.substr(0, 100));
        const auto member = input_.line();
        if (!member) return fail_end();
        name += "." + plain_ascii(member->text.substr(0, 100));
    } else if (opcode == 0x93 && stack_.size() - fence() >= 2) {
        const Value module = stack_[stack_.size() - 2], member = stack_.back();
        if (module.kind == Kind::text && member.kind == Kind::text)
            name = fmt::format(" {}.{}", plain_ascii(texts_.text(module.low).substr(0, 100)),
                               plain_ascii(texts_.text(member.low).substr(0, 100)));
    }
    fail(fmt::format("the opcode {} is refused: it would have {}{}", opcode_name(opcode),
                     refused_deed(opcode), name));
    error_->way_out =
        "nothing was called; a memory snapshot is plain data: save it with torch.cuda.memory._dump_snapshot";
    return false;
}

bool PickleMachine::memo_step(uint8_t opcode) {
    uint64_t index = 0;
    if (opcode == 'p' || opcode == 'g') {
        const auto line = input_.line();
        if (!line) return fail_end();
        const auto number = int_of_text(line->whole ? line->text : "");
        if (!number || number->kind != Kind::integer || number->as_integer() < 0)
            return fail(fmt::format("{} without a number", opcode_name(opcode)));
        index = number->wide;
    } else if (opcode == 'r' || opcode == 'j') {
        uint32_t wide = 0;
        if (!argument(wide)) return false;
        index = wide;
    } else if (opcode == 'q' || opcode == 'h') {
        uint8_t narrow = 0;
        if (!argument(narrow)) return false;
        index = narrow;
    } else {
        index = memo_count_;
    }
    const bool is_put = opcode == 'p' || opcode == 'q' || opcode == 'r' || opcode == 0x94;
    return is_put ? memo_put(index) : memo_get(index);
}

bool PickleMachine::memo_put(uint64_t index) {
    if (!needs(1)) return false;
    // Every writer counts; a number far beyond the count is made up.
    if (index > memo_count_ + kMemoGap_most)
        return fail(fmt::format("{} under {} after {} others", opcode_name(opcode_), index, memo_count_));
    while (memo_.size() <= index)
        memo_.push_back(kNothingPut);
    if (is_nothing(memo_[index])) ++memo_count_;
    const Value value = stack_.back();
    if (is_open(value)) {
        Node& node = nodes_[value.wide];
        node.holders = node.holders == Holders::stack ? Holders::stack_and_memo : Holders::any;
        node.memo_index = index;
    }
    memo_[index] = value;
    return true;
}

bool PickleMachine::memo_get(uint64_t index) {
    if (index < memo_.size() && !is_nothing(memo_[index])) return push(shared(memo_[index]));
    return fail(fmt::format("{} of {}, which nothing was put under", opcode_name(opcode_), index));
}

bool PickleMachine::push_text(uint64_t length) {
    if (length > PickleInput::kPiece_bytes) return input_.skip(length) ? push({Kind::long_text}) : fail_end();
    const uint8_t* const bytes = input_.take(length);
    if (bytes == nullptr) return fail_end();
    return push(Value::text(texts_.add({reinterpret_cast<const char*>(bytes), length})));
}

bool PickleMachine::push_line_text(uint8_t opcode) {
    const auto line = input_.line();
    if (!line) return fail_end();
    if (!line->whole) return push({Kind::long_text});
    const auto text = opcode == 'S' ? quoted_text(line->text) : raw_unicode_text(line->text);
    if (!text) return fail(fmt::format("{} that is spelled wrong", opcode_name(opcode)));
    return push(Value::text(texts_.add(*text)));
}

bool PickleMachine::skip_bytes(uint64_t length) {
    return input_.skip(length) ? push({Kind::bytes}) : fail_end();
}

bool PickleMachine::scalar_step(uint8_t opcode) {
    uint8_t one = 0;
    uint16_t two = 0;
    uint32_t four = 0;
    uint64_t eight = 0;
    switch (opcode) {
        case 'N':
            return push({Kind::none});
        case 0x88:
        case 0x89:
            return push(Value::boolean(opcode == 0x88));
        case 'K':
            return argument(one) && push(Value::integer(one));
        case 'M':
            return argument(two) && push(Value::integer(two));
        case 'J':
            return argument(four) && push(Value::integer(static_cast<int32_t>(four)));
        case 0x8a:
        case 0x8b: {
            if (opcode == 0x8a ? !argument(one) : !argument(four)) return false;
            if (four > 255) return input_.skip(four) ? push({Kind::huge}) : fail_end();
            const uint8_t* const bytes = input_.take(one + four);
            return bytes != nullptr ? push(long_of_bytes(bytes, one + four)) : fail_end();
        }
        case 'G': {
            const uint8_t* const bytes = input_.take(8);
            return bytes != nullptr ? push(Value::real(big_endian_real(bytes))) : fail_end();
        }
        case 'I':
        case 'L':
        case 'F': {
            const auto line = input_.line();
            if (!line) return fail_end();
            if (!line->whole && opcode != 'F') return push({Kind::huge});
            const auto number = opcode == 'I'   ? int_of_text(line->text)
                                : opcode == 'L' ? long_of_text(line->text)
                                                : real_of_text(line->text);
            return number ? push(*number) : fail(fmt::format("{} without a number", opcode_name(opcode)));
        }
        case 'S':
        case 'V':
            return push_line_text(opcode);
        case 'U':
        case 0x8c:
            return argument(one) && push_text(one);
        case 'T':
        case 'X':
            return argument(four) && push_text(four);
        case 0x8d:
            return argument(eight) && push_text(eight);
        case 'C':
            return argument(one) && skip_bytes(one);
        case 'B':
            return argument(four) && skip_bytes(four);
        case 0x8e:
        case 0x96:
            return argument(eight) && skip_bytes(eight);
        default:
            return fail(fmt::format("the byte {} is no opcode", opcode_name(opcode)));
    }
}

}  // namespace memsnap::snapshot
