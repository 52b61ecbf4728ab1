// SPDX-License-Identifier: Apache-2.0
//
// Names and sentences of the validation rules and of the declared uncertainties.
#include "rules.h"

#include "window.h"

namespace memsnap {

std::string_view name(Rule rule) {
    switch (rule) {
#define MEMSNAP_CASE(name, layer, sentence) \
    case Rule::name:                        \
        return #name;
        MEMSNAP_RULES(MEMSNAP_CASE)
#undef MEMSNAP_CASE
    }
    return "unknown";
}

std::string_view sentence(Rule rule) {
    switch (rule) {
#define MEMSNAP_CASE(name, layer, sentence) \
    case Rule::name:                        \
        return sentence;
        MEMSNAP_RULES(MEMSNAP_CASE)
#undef MEMSNAP_CASE
    }
    return "unknown";
}

RuleLayer layer(Rule rule) {
    switch (rule) {
#define MEMSNAP_CASE(name, layer, sentence) \
    case Rule::name:                        \
        return RuleLayer::layer;
        MEMSNAP_RULES(MEMSNAP_CASE)
#undef MEMSNAP_CASE
    }
    return RuleLayer::allocator;
}

std::string_view name(Uncertainty uncertainty) {
    switch (uncertainty) {
        case Uncertainty::records_missing:
            return "records_missing";
        case Uncertainty::events_lost:
            return "events_lost";
        case Uncertainty::events_lapped:
            return "events_lapped";
        case Uncertainty::late_start:
            return "late_start";
        case Uncertainty::table_incomplete:
            return "table_incomplete";
        case Uncertainty::copied_while_written:
            return "copied_while_written";
        case Uncertainty::recording_dormant:
            return "recording_dormant";
        case Uncertainty::kinds_unknown:
            return "kinds_unknown";
    }
    return "unknown";
}

}  // namespace memsnap
