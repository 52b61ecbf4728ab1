// SPDX-License-Identifier: Apache-2.0
//
// What a receipt may consist of, member by member: names, types, vocabularies and bounds. The rule: closed;
// what is not described here is not a receipt. docs/receipt.schema.json is the same in JSON Schema.
#pragma once

#include <string_view>
#include <vector>

#include "measure.h"
#include "names.h"

namespace memsnap {

struct Member;

struct ReceiptShape {
    enum class Type : uint8_t {
        object,      // exactly `members`, but for optional ones
        keyed,       // any of the keys `words`, each with the one of `items`
        list,        // of the one of `items`
        table,       // `columns` = `words`, `rows` of one of each of `items`
        integer,     // [least, most]
        boolean,     //
        word,        // of `words`
        token,       // `prefix`, "-" and 16 hexadecimal digits
        version,     // numbers and points
        digest,      // 64 hexadecimal digits
        inequality,  // receipt_inequality.h
        text,        // of any content: names, where they were asked for
    };
    Type type = Type::boolean;
    bool nullable = false;
    std::vector<Member> members;
    std::vector<ReceiptShape> items;
    Words words;
    std::string_view prefix;
    Wide least = 0;
    Wide most = 0;
};

struct Member {
    std::string_view name;
    ReceiptShape shape;
    bool optional = false;
};

const ReceiptShape& receipt_shape();

inline constexpr size_t kTokenDigits_count = 16;
inline constexpr size_t kDigestDigits_count = 64;
inline constexpr size_t kVersionNumbers_most = 3;
inline constexpr size_t kVersionNumberDigits_most = 7;

}  // namespace memsnap
