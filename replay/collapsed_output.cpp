// SPDX-License-Identifier: Apache-2.0
//
// Lines of the collapsed form.
#include "collapsed_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "digest.h"
#include "site_label.h"

namespace memsnap {
namespace {

constexpr std::string_view kWithoutStack = "without-stack";
constexpr std::string_view kOtherSites = "other-sites";

// The one letter of a shown text that would end a frame.
std::string as_frame(const std::string& shown) {
    std::string text;
    for (const char c : shown) {
        if (c == ';') {
            text += "\\x3b";
        } else {
            text += c;
        }
    }
    return text;
}

class Lines {
  public:
    Lines(const Capture& capture, const Naming& naming) : capture_(capture), naming_(naming) {}

    void add(int device, const SiteKey& key, Wide bytes) {
        std::string frames;
        for (const std::string& frame : frames_of(key))
            frames += ';' + frame;
        line(device, frames, bytes);
    }
    void add_rest(int device, Wide bytes) {
        if (bytes > 0) line(device, fmt::format(";{}", kOtherSites), bytes);
    }
    std::string take() { return std::move(out_); }

  private:
    void line(int device, std::string_view frames, Wide bytes) {
        out_ += fmt::format("cuda:{}{} {}\n", device, frames, to_decimal(bytes));
    }

    // From the root.
    std::vector<std::string> frames_of(const SiteKey& key) {
        if (key.site == 0) return {std::string(kWithoutStack)};
        const SiteFrames known = naming_.sites == nullptr ? SiteFrames{} : naming_.sites->all(key.site);
        if (known.empty()) return {token("site", key.site, capture_.header.ring_id)};
        std::vector<std::string> frames;
        for (const SiteFrame& frame : std::views::reverse(known))
            frames.push_back(frame_name(frame));
        return frames;
    }

    std::string frame_name(const SiteFrame& frame) const {
        if (naming_.with_names) return as_frame(frame_label(frame, Letters::utf8));
        const auto text = naming_.key ? frame_text(frame) : std::nullopt;
        return text ? token("frame", std::string_view(*text), *naming_.key)
                    : token("frame", frame.local_id, capture_.header.ring_id);
    }

    const Capture& capture_;
    const Naming& naming_;
    std::string out_;
};

}  // namespace

std::string collapsed_text(const Capture& capture, const Analysis& analysis, const Naming& naming) {
    Lines lines(capture, naming);
    if (analysis.incident) {
        for (const SiteShare& share : analysis.incident->scene.sites)
            lines.add(analysis.incident->failure.event.device, share.key, share.bytes);
        return lines.take();
    }
    for (const PeakSites& peak : analysis.peak_sites) {
        Wide rest_bytes = peak.bytes;
        for (const SiteShare& share : peak.rows) {
            lines.add(peak.device, share.key, share.bytes);
            rest_bytes -= share.bytes;
        }
        lines.add_rest(peak.device, rest_bytes);
    }
    return lines.take();
}

}  // namespace memsnap
