// SPDX-License-Identifier: Apache-2.0
//
// The receipt's self-check: parses the text with another parser than the one that wrote it, and allows each
// string only where and as its kind may be. The rule: what is not known to be harmless is refused.
#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <array>
#include <string>

#include "advice.h"
#include "digest.h"
#include "names.h"
#include "receipt.h"

namespace memsnap {
namespace {

using rapidjson::Value;

constexpr size_t kDigestLength = 64;

std::string_view view(const Value& value) {
    return {value.GetString(), value.GetStringLength()};
}

bool all_of(std::string_view text, std::string_view allowed) {
    return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_integer(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return text.size() <= 40 && all_of(text, "0123456789");
}

// Words of the terms, numbers and relations; the grammar of an inequality has nothing else.
bool is_inequality(std::string_view text) {
    if (text == "unknown: the numbers settle nothing") return true;
    constexpr std::array<std::string_view, 20> kTokens = {"+",
                                                          "-",
                                                          "=",
                                                          "<",
                                                          "<=",
                                                          ">",
                                                          ">=",
                                                          "and",
                                                          "available",
                                                          "active",
                                                          "request",
                                                          "threshold",
                                                          "deficit",
                                                          "retained",
                                                          "retained_upper",
                                                          "removable_outside",
                                                          "removable_outside_upper",
                                                          "largest_free_extent",
                                                          "fragmented_free",
                                                          "contribution_floor"};
    while (!text.empty()) {
        const size_t space = std::min(text.find(' '), text.size());
        const std::string_view token = text.substr(0, space);
        if (token.empty() || (std::ranges::find(kTokens, token) == kTokens.end() && !is_integer(token))) {
            return false;
        }
        text.remove_prefix(std::min(space + 1, text.size()));
    }
    return true;
}

// The last named part of a path like "evidence.hypotheses.external.fix".
std::string_view leaf(std::string_view path) {
    while (path.ends_with("[]"))
        path.remove_suffix(2);
    const size_t dot = path.rfind('.');
    return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

bool allowed(std::string_view path, std::string_view text) {
    const std::string_view field = leaf(path);
    if (path.starts_with("digest.") && field != "algorithm") {
        return text.size() == kDigestLength && all_of(text, "0123456789abcdef");
    }
    if (field == "fix" || field == "proof" || field == "probe") return is_advice(text);
    if (field == "inequality") return is_inequality(text);
    if (field == "removed_fields") return is_removed_field(text);
    if (field.ends_with("_version")) return text.size() <= 16 && all_of(text, "0123456789.");
    return is_receipt_word(text) || (is_integer(text) && text.size() >= 16);
}

// Names of members are ours too: lower case, and nothing like a path.
bool allowed_key(std::string_view key) {
    return key.size() <= 64 && all_of(key, "abcdefghijklmnopqrstuvwxyz0123456789_.");
}

class Checker {
  public:
    std::string run(std::string_view text) {
        rapidjson::Document document;
        document.Parse<rapidjson::kParseFullPrecisionFlag>(text.data(), text.size());
        if (document.HasParseError()) {
            return fmt::format("not JSON at byte {}: {}", document.GetErrorOffset(),
                               rapidjson::GetParseError_En(document.GetParseError()));
        }
        visit(document, "");
        if (problem_.empty() && document.IsObject()) check_rows(document);
        if (problem_.empty()) check_digests(document, text);
        return problem_;
    }

  private:
    void refuse(std::string_view path, std::string_view what) {
        if (problem_.empty()) problem_ = fmt::format("{}: {}", path, what);
    }

    void visit(const Value& value, const std::string& path) {
        if (!problem_.empty()) return;
        if (value.IsString()) {
            if (!allowed(path, view(value))) refuse(path, "a text that no vocabulary has");
        } else if (value.IsDouble()) {
            refuse(path, "a number that is no integer");
        } else if (value.IsArray()) {
            for (const Value& item : value.GetArray())
                visit(item, path + "[]");
        } else if (value.IsObject()) {
            for (const auto& member : value.GetObject()) {
                if (!allowed_key(view(member.name))) return refuse(path, "a member name that is not ours");
                const std::string name(view(member.name));
                visit(member.value, path.empty() ? name : path + "." + name);
            }
        }
    }

    void check_rows(const Value& receipt) {
        const auto evidence = receipt.FindMember("evidence");
        if (evidence == receipt.MemberEnd() || !evidence->value.IsObject()) return;
        const auto extents = evidence->value.FindMember("extents");
        if (extents == evidence->value.MemberEnd() || !extents->value.IsObject()) return;
        const auto columns = extents->value.FindMember("columns");
        const auto rows = extents->value.FindMember("rows");
        const bool table = columns != extents->value.MemberEnd() && columns->value.IsArray() &&
                           rows != extents->value.MemberEnd() && rows->value.IsArray();
        if (!table) return refuse("evidence.extents", "no columns and rows");
        for (const Value& row : rows->value.GetArray()) {
            if (!row.IsArray() || row.Size() != columns->value.Size()) {
                return refuse("evidence.extents", "a row that has not one cell a column");
            }
        }
    }

    // The members are sorted, so `digest` and `evidence` can be cut out of the text as they stand.
    void check_digests(const Value& receipt, std::string_view text) {
        const auto digest = receipt.IsObject() ? receipt.FindMember("digest") : Value::ConstMemberIterator();
        if (!receipt.IsObject() || digest == receipt.MemberEnd() || !digest->value.IsObject()) {
            return refuse("digest", "missing");
        }
        const auto stated = [&](const char* which) {
            const auto found = digest->value.FindMember(which);
            return found != digest->value.MemberEnd() && found->value.IsString() ? view(found->value)
                                                                                 : std::string_view();
        };
        const size_t digest_at = text.find("\"digest\":{");
        const size_t digest_end = text.find("},", digest_at);
        const size_t evidence_at = text.find("\"evidence\":{", digest_end);
        const size_t evidence_end = text.rfind(",\"removed_fields\":");
        const bool found = digest_at != text.npos && digest_end != text.npos && evidence_at != text.npos &&
                           evidence_end != text.npos && evidence_at < evidence_end;
        if (!found) return refuse("digest", "members are not in canonical order");
        constexpr size_t kKeyLength = std::string_view("\"evidence\":").size();
        const std::string_view evidence =
            text.substr(evidence_at + kKeyLength, evidence_end - evidence_at - kKeyLength);
        if (sha256_hex(evidence) != stated("evidence")) refuse("digest.evidence", "does not fit");
        const std::string rest =
            std::string(text.substr(0, digest_at)) + std::string(text.substr(digest_end + 2));
        if (sha256_hex(rest) != stated("receipt")) refuse("digest.receipt", "does not fit");
    }

    std::string problem_;
};

}  // namespace

std::string check_receipt(std::string_view text) {
    return Checker().run(text);
}

}  // namespace memsnap
