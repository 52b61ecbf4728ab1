// SPDX-License-Identifier: Apache-2.0
//
// Balances as JSON: what adds up to the card, and what stands beside it.
#include "receipt_holders.h"

#include "names.h"

namespace memsnap {

Json holders_json(const std::vector<Balance>& holders, const Dictionary& dictionary) {
    Json::Array list;
    for (const Balance& balance : holders) {
        Json::Array libraries;
        for (const ForeignBytes& held : balance.libraries) {
            libraries.push_back(
                Json::Object{{"library", dictionary.library(held.library)}, {"bytes", held.bytes}});
        }
        list.push_back(Json::Object{{"device", balance.device},
                                    {"instant", name(balance.instant)},
                                    {"ticket", balance.ticket},
                                    {"source", name(balance.source)},
                                    {"total_bytes", balance.total_bytes},
                                    {"active_bytes", balance.active_bytes},
                                    {"reusable_free_bytes", balance.reusable_bytes},
                                    {"fragmented_free_bytes", balance.fragmented_bytes},
                                    {"incompatible_free_bytes", balance.incompatible_bytes},
                                    {"libraries", std::move(libraries)},
                                    {"others_bytes", balance.others_bytes},
                                    {"unattributed_bytes", balance.unattributed_bytes},
                                    {"free_bytes", balance.free_bytes},
                                    {"managed_bytes", balance.beside.managed_bytes},
                                    {"pinned_bytes", balance.beside.pinned_bytes},
                                    {"imported_count", balance.beside.imported_count},
                                    {"imported_bytes", balance.beside.imported_bytes},
                                    {"graph_bytes", balance.beside.graph_bytes}});
    }
    return list;
}

}  // namespace memsnap
