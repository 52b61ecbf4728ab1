// SPDX-License-Identifier: Apache-2.0
//
// Words, keyed tokens, names and references of a stated receipt.
#include "receipt_unverified.h"

#include <algorithm>
#include <array>
#include <string>

#include "names.h"
#include "receipt_check.h"
#include "receipt_text.h"

namespace memsnap {
namespace {

JsonValue* changeable(JsonValue& object, const char* name) {
    if (!object.IsObject()) return nullptr;
    const auto found = object.FindMember(name);
    return found == object.MemberEnd() ? nullptr : &found->value;
}

bool is_text(const JsonValue* value, std::string_view text) {
    return value != nullptr && value->IsString() && text_of(*value) == text;
}

class Taking {
  public:
    Taking(const rapidjson::Document& stated, const ReceiptMeans& means, rapidjson::Document& recomputed)
        : stated_(stated), means_(means), recomputed_(recomputed) {}

    void run() {
        for (const char* const kind : {"sites", "phases", "libraries", "dimensions"})
            take_entries(kind);
        take_names();
        take_references();
        seal();
    }

  private:
    void take_entries(const char* kind) {
        const JsonValue* const dictionary = member(stated_, "dictionary");
        const JsonValue* const stated = dictionary == nullptr ? nullptr : member(*dictionary, kind);
        JsonValue* const own_dictionary = changeable(recomputed_, "dictionary");
        JsonValue* const own = own_dictionary == nullptr ? nullptr : changeable(*own_dictionary, kind);
        if (stated == nullptr || !stated->IsArray() || own == nullptr || !own->IsArray()) return;
        const auto count = std::min(stated->Size(), own->Size());
        for (rapidjson::SizeType at = 0; at < count; ++at)
            take_entry((*stated)[at], (*own)[at]);
    }

    void take_entry(const JsonValue& stated, JsonValue& own) {
        const JsonValue* const scope = member(stated, "scope");
        // A ring's own token is always known; a keyed one needs the key and the text.
        if (is_text(scope, "key") && !(means_.key && means_.names)) {
            copy(stated, own, "scope");
            copy(stated, own, "token");
        }
        const JsonValue* const word = member(stated, "word");
        if (word == nullptr) return;
        const bool is_word_here = word->IsString() && is_word(Vocabulary::phase_word, text_of(*word));
        if (word->IsNull() || (is_word_here && !means_.names)) copy(stated, own, "word");
    }

    // Texts are stated or not; where they are known here they must be the right ones.
    void take_names() {
        const JsonValue* const stated = member(stated_, "names");
        if (stated == nullptr) {
            recomputed_.RemoveMember("names");
        } else if (!means_.names) {
            recomputed_.RemoveMember("names");
            recomputed_.AddMember("names", JsonValue(*stated, pool()), pool());
        }
    }

    // Nothing here tells of other artifacts; what is no reference is not taken.
    void take_references() {
        const JsonValue* const stated = member(stated_, "references");
        if (stated != nullptr && check_references(*stated).empty()) copy(stated_, recomputed_, "references");
    }

    void copy(const JsonValue& stated, JsonValue& own, const char* name) {
        const JsonValue* const from = member(stated, name);
        JsonValue* const to = changeable(own, name);
        if (from != nullptr && to != nullptr) to->CopyFrom(*from, pool());
    }

    void seal() {
        JsonValue* const digest = changeable(recomputed_, "digest");
        JsonValue* const receipt = digest == nullptr ? nullptr : changeable(*digest, "receipt");
        if (receipt != nullptr) receipt->SetString(receipt_digest(recomputed_).c_str(), pool());
    }

    rapidjson::Document::AllocatorType& pool() { return recomputed_.GetAllocator(); }

    const rapidjson::Document& stated_;
    const ReceiptMeans means_;
    rapidjson::Document& recomputed_;
};

}  // namespace

void take_unverified(const rapidjson::Document& stated, const ReceiptMeans& means,
                     rapidjson::Document& recomputed) {
    Taking(stated, means, recomputed).run();
}

}  // namespace memsnap
