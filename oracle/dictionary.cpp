// SPDX-License-Identifier: Apache-2.0
//
// The dictionary, and what of a receipt's may differ from it. Rule: tokens are those of the ring; a receipt
// made with a key may have others, of which only the pattern can be checked here, for texts that the sidecar
// has.
#include "case.h"

namespace oracle {
namespace {

constexpr std::size_t kTokenDigits = 16;

bool is_token(std::string_view text, std::string_view kind) {
    bool begins =
        text.size() == kind.size() + 1 + kTokenDigits && text.starts_with(kind) && text[kind.size()] == '-';
    return begins && text.find_first_not_of("0123456789abcdef", kind.size() + 1) == std::string_view::npos;
}

bool text_is_known(const Case& c, std::string_view kind, u64 local_id) {
    if (!c.names) return true;  // whoever made the receipt may have had it
    if (kind == "site") return c.names->knows_stack(local_id);
    if (kind != "library") return c.names->knows_name(local_id);
    return local_id < c.file.libraries.size() && c.names->knows_library(c.file.libraries[local_id].name);
}

/// One of the four lists: each entry beside its local id.
class List {
  public:
    List(const Case& c, const char* kind) : case_(c), kind_(kind) {}

    void add(u64 ordinal, u64 local_id) {
        Json::Object entry{
            {kind_, ordinal}, {"token", token(case_.file.header, kind_, local_id)}, {"scope", "ring"}};
        if (kind_ == "phase")
            entry.emplace("word", case_.names ? Json(case_.names->word_of(local_id)) : Json());
        entries_.push_back(std::move(entry));
        local_ids_.push_back(local_id);
    }

    // What the receipt's entries may say instead.
    void allow(const Json& found) {
        const auto* items = found.array();
        for (std::size_t i = 0; items != nullptr && i < std::min(items->size(), entries_.size()); ++i) {
            const auto& item = (*items)[i];
            allow_key(i, item);
            if (kind_ == "phase") allow_word(i, item["word"]);
        }
    }

    Json document() && { return Json::Array(entries_.begin(), entries_.end()); }

  private:
    void allow_key(std::size_t i, const Json& item) {
        const auto *scope = item["scope"].text(), *text = item["token"].text();
        bool keyed = scope != nullptr && text != nullptr && *scope == "key" && is_token(*text, kind_) &&
                     text_is_known(case_, kind_, local_ids_[i]);
        if (!keyed) return;
        entries_[i]["scope"] = *scope;
        entries_[i]["token"] = *text;
    }
    void allow_word(std::size_t i, const Json& word) {
        bool untold = word.is_null();
        bool possible = !case_.names && word.text() != nullptr && is_phase_word(*word.text());
        if (untold || possible) entries_[i]["word"] = word;
    }

    const Case& case_;
    std::string kind_;
    std::vector<Json::Object> entries_;
    std::vector<u64> local_ids_;
};

}  // namespace

Json dictionary_of(const Case& c, const Dictionary& dictionary, const Json& receipts) {
    List sites(c, "site"), phases(c, "phase"), libraries(c, "library"), dimensions(c, "dimension");
    u64 ordinal = 0;
    for (const auto& [stack, size] : dictionary.sites.keys()) {
        ++ordinal;
        if (stack != 0) sites.add(ordinal, stack);
    }
    auto add_all = [](List& list, const auto& keys) {
        u64 next = 0;
        for (auto key : keys)
            list.add(++next, key);
    };
    add_all(phases, dictionary.phases.keys());
    add_all(libraries, dictionary.libraries.keys());
    add_all(dimensions, dictionary.dimensions.keys());
    sites.allow(receipts["sites"]);
    phases.allow(receipts["phases"]);
    libraries.allow(receipts["libraries"]);
    dimensions.allow(receipts["dimensions"]);
    return Json::Object{{"sites", std::move(sites).document()},
                        {"phases", std::move(phases).document()},
                        {"libraries", std::move(libraries).document()},
                        {"dimensions", std::move(dimensions).document()}};
}

}  // namespace oracle
