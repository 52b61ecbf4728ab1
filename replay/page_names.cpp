// SPDX-License-Identifier: Apache-2.0
//
// Sites as lists of frames; a frame that many stacks go through stands there once.
#include "page_names.h"

#include <fmt/format.h>

#include <map>
#include <ranges>
#include <utility>

#include "json.h"
#include "names.h"
#include "site_labels.h"
#include "utf8.h"

namespace memsnap {
namespace {

class FrameList {
  public:
    FrameList(const Capture& capture, const Naming& naming) : capture_(capture), naming_(naming) {}

    size_t place_of(const SiteFrame& frame) {
        const auto [found, fresh] = places_.try_emplace({frame.native, frame.local_id}, frames_.size());
        if (fresh) frames_.push_back(naming_.with_names ? names_of(frame) : token_of(frame));
        return found->second;
    }
    Json::Array take() { return std::move(frames_); }

  private:
    Json token_of(const SiteFrame& frame) const {
        const auto text = naming_.key ? frame_text(frame) : std::nullopt;
        return Json::Object{{"token", name_token("frame", frame.local_id, text, capture_, naming_)}};
    }

    // What is known of a native place without a function is where it lies in its object.
    static Json names_of(const SiteFrame& frame) {
        const bool by_place = frame.native && frame.known && frame.function.empty();
        const std::string function =
            by_place ? fmt::format("+0x{:x}", frame.offset_bytes) : utf8_text(frame.function);
        return Json::Object{{"function", function},
                            {"file", utf8_text(frame.file)},
                            {"line", frame.line},
                            {"native", frame.native}};
    }

    const Capture& capture_;
    const Naming& naming_;
    std::map<std::pair<bool, uint64_t>, size_t> places_;
    Json::Array frames_;
};

class PageNames {
  public:
    PageNames(const Capture& capture, const LedgerNumbers& numbers, const Naming& naming)
        : capture_(capture), numbers_(numbers), naming_(naming), frames_(capture, naming) {}

    std::string run() {
        Json::Object names;
        names.emplace("sites", sites());
        names.emplace("frames", frames_.take());
        names.emplace("phases", phases());
        names.emplace("libraries", libraries());
        names.emplace("dimensions", dimensions());
        return Json(std::move(names)).text();
    }

  private:
    bool tells() const { return naming_.with_names && naming_.sites != nullptr; }

    // Empty, where names may not be told or nothing is known.
    std::vector<std::string> labels() const {
        if (!tells()) return std::vector<std::string>(numbers_.sites.size());
        std::vector<uint64_t> tokens;
        for (const SiteKey& key : numbers_.sites)
            tokens.push_back(key.site);
        return site_labels(*naming_.sites, tokens, kPageLabelColumns, Letters::utf8);
    }

    Json::Array sites() {
        const std::vector<std::string> label = labels();
        Json::Array list;
        for (size_t at = 0; at < numbers_.sites.size(); ++at) {
            const SiteKey& key = numbers_.sites[at];
            Json::Object site = {{"site", uint64_t{at} + 1}};
            if (key.site == 0) {
                site.emplace("size_bytes", key.granted_bytes);
            } else {
                add_stack(site, key.site);
                if (!label[at].empty()) site.emplace("label", label[at]);
            }
            list.emplace_back(std::move(site));
        }
        return list;
    }

    void add_stack(Json::Object& site, uint64_t id) {
        const SiteFrames frames = naming_.sites == nullptr ? SiteFrames{} : naming_.sites->all(id);
        site.emplace("token", site_token(id, capture_, naming_));
        if (frames.empty()) return;
        std::string places;
        for (const SiteFrame& frame : std::views::reverse(frames))
            places += fmt::format("{}{}", places.empty() ? '[' : ',', frames_.place_of(frame));
        site.emplace("frames", Json::canonical(places + ']'));
    }

    // {kind: ordinal, "token": ..., "name": ...}
    Json::Object named(std::string_view kind, size_t at, uint64_t id, const std::string* text) const {
        const auto known = text == nullptr ? std::nullopt : std::optional<std::string_view>(*text);
        Json::Object entry = {{std::string(kind), uint64_t{at} + 1},
                              {"token", name_token(kind, id, known, capture_, naming_)}};
        if (tells() && text != nullptr) entry.emplace("name", utf8_text(*text));
        return entry;
    }

    Json::Array phases() const {
        Json::Array list;
        for (size_t at = 0; at < numbers_.phases.size(); ++at) {
            const std::string* const text = text_of_name(naming_, numbers_.phases[at]);
            Json::Object phase = named("phase", at, numbers_.phases[at], text);
            const bool word = text != nullptr && is_word(Vocabulary::phase_word, *text);
            phase.emplace("word", word ? Json(*text) : Json());
            list.emplace_back(std::move(phase));
        }
        return list;
    }

    Json::Array libraries() const {
        Json::Array list;
        for (size_t at = 0; at < numbers_.libraries.size(); ++at) {
            const uint64_t number = numbers_.libraries[at];
            Json::Object library = named("library", at, number, text_of_library(capture_, naming_, number));
            library.emplace("role", name(capture_.library_role(static_cast<uint16_t>(number))));
            list.emplace_back(std::move(library));
        }
        return list;
    }

    Json::Array dimensions() const {
        Json::Array list;
        for (size_t at = 0; at < numbers_.dimensions.size(); ++at) {
            const uint64_t id = numbers_.dimensions[at];
            list.emplace_back(named("dimension", at, id, text_of_name(naming_, id)));
        }
        return list;
    }

    const Capture& capture_;
    const LedgerNumbers& numbers_;
    const Naming& naming_;
    FrameList frames_;
};

}  // namespace

std::string page_names(const Capture& capture, const LedgerNumbers& numbers, const Naming& naming) {
    return PageNames(capture, numbers, naming).run();
}

}  // namespace memsnap
