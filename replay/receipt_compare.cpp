// SPDX-License-Identifier: Apache-2.0
//
// A walk over both documents at once; it goes no deeper than the recomputed one.
#include "receipt_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace memsnap {
namespace {

constexpr size_t kShown_bytes = 120;

std::string shown(const JsonValue* value) {
    if (value == nullptr) return "nothing";
    if (value->IsObject()) return "an object";
    if (value->IsArray()) return fmt::format("a list of {}", value->Size());
    if (value->IsDouble()) return "a number that is no integer";
    std::string text = value->IsString() ? std::string(text_of(*value)) : canonical_text(*value);
    if (text.size() > kShown_bytes) text = text.substr(0, kShown_bytes) + "...";
    return text;
}

std::vector<const JsonValue::Member*> sorted_members(const JsonValue& object) {
    std::vector<const JsonValue::Member*> members;
    for (const auto& one : object.GetObject())
        members.push_back(&one);
    std::ranges::stable_sort(members, {}, [](const JsonValue::Member* one) { return text_of(one->name); });
    return members;
}

class Comparison {
  public:
    std::optional<ReceiptDifference> run(const JsonValue& receipt, const JsonValue& recomputed) {
        compare(receipt, recomputed);
        return std::move(difference_);
    }

  private:
    void differ(const JsonValue* stated, const JsonValue* found) {
        if (!difference_) difference_ = {path_, shown(stated), shown(found)};
    }

    template <class F>
    void below(const std::string& name, F&& f) {
        const size_t length = path_.size();
        path_ += name;
        f();
        path_.resize(length);
    }

    void compare(const JsonValue& stated, const JsonValue& found) {
        if (difference_) return;
        if (found.IsObject() && stated.IsObject()) return compare_objects(stated, found);
        if (found.IsArray() && stated.IsArray()) return compare_lists(stated, found);
        const bool scalars = !found.IsObject() && !found.IsArray() && !stated.IsObject() && !stated.IsArray();
        if (!scalars || stated.IsDouble() || canonical_text(stated) != canonical_text(found)) {
            differ(&stated, &found);
        }
    }

    void compare_objects(const JsonValue& stated, const JsonValue& found) {
        const auto theirs = sorted_members(stated);
        const auto ours = sorted_members(found);
        const JsonValue::Member *stated_digest = nullptr, *found_digest = nullptr;
        auto at = theirs.begin();
        for (auto to = ours.begin(); at != theirs.end() || to != ours.end();) {
            if (difference_) return;
            const bool only_ours =
                at == theirs.end() || (to != ours.end() && text_of((*to)->name) < text_of((*at)->name));
            const bool only_theirs =
                to == ours.end() || (at != theirs.end() && text_of((*at)->name) < text_of((*to)->name));
            const auto* const stated_member = only_ours ? nullptr : *at;
            const auto* const found_member = only_theirs ? nullptr : *to;
            at += only_ours ? 0 : 1;
            to += only_theirs ? 0 : 1;
            const std::string name(text_of((only_ours ? found_member : stated_member)->name));
            if (path_.empty() && name == "digest" && stated_member != nullptr && found_member != nullptr) {
                stated_digest = stated_member;
                found_digest = found_member;
                continue;
            }
            compare_members(name, stated_member, found_member);
        }
        if (stated_digest != nullptr) compare_members("digest", stated_digest, found_digest);
    }

    void compare_members(const std::string& name, const JsonValue::Member* stated,
                         const JsonValue::Member* found) {
        below(path_.empty() ? name : "." + name, [&] {
            if (stated != nullptr && found != nullptr) {
                compare(stated->value, found->value);
            } else {
                differ(stated == nullptr ? nullptr : &stated->value,
                       found == nullptr ? nullptr : &found->value);
            }
        });
    }

    void compare_lists(const JsonValue& stated, const JsonValue& found) {
        const auto common = std::min(stated.Size(), found.Size());
        for (rapidjson::SizeType at = 0; at < common && !difference_; ++at)
            below(fmt::format("[{}]", at), [&] { compare(stated[at], found[at]); });
        if (difference_ || stated.Size() == found.Size()) return;
        below(fmt::format("[{}]", common), [&] {
            differ(common < stated.Size() ? &stated[common] : nullptr,
                   common < found.Size() ? &found[common] : nullptr);
        });
    }

    std::string path_;
    std::optional<ReceiptDifference> difference_;
};

}  // namespace

std::optional<ReceiptDifference> first_difference(const JsonValue& receipt, const JsonValue& recomputed) {
    return Comparison().run(receipt, recomputed);
}

}  // namespace memsnap
