// SPDX-License-Identifier: Apache-2.0
//
// Who holds the card, as a document: at the peak, and at the failure or the end. Rule: what lies beside the
// card (managed, pinned, imported, graph memory) stands apart and belongs to no sum.
#include "balance.h"
#include "case.h"

namespace oracle {
namespace {

std::string_view source_name(Source source) {
    switch (source) {
        case Source::kObserved:
            return "observed";
        case Source::kCarried:
            return "carried";
        case Source::kCarriedBack:
            return "carried_back";
        case Source::kUnknown:
            break;
    }
    return "unknown";
}

struct Beside {
    Int managed = 0, pinned = 0, graph = 0;
    std::map<std::pair<Class, u64>, Int> imported;  // one each, however many references it has
};

Beside beside(const Scene& scene, int device, u64 ticket) {
    Beside found;
    for (const auto& life : scene.lives) {
        if (!life.alive_at(ticket)) continue;
        if (life.object == kHost) found.pinned += life.size;
        if (life.device != device) continue;
        if (life.object == kManaged) found.managed += life.size;
        if (life.object == kGraphNode) found.graph += life.size;
        bool imported = (life.object == kImport || life.object == kHandle) && is_imported(life);
        if (!imported) continue;
        auto& told = found.imported[{life.object, life.address}];
        told = std::max<Int>(told, life.size);
    }
    return found;
}

Json balance_document(const Scene& scene, const Balance& balance, std::string_view instant,
                      Dictionary& dictionary) {
    Json::Array libraries;
    for (const auto& [library, bytes] : balance.libraries)
        libraries.emplace_back(Json::Object{
            {"library", library == 0 ? u64{0} : dictionary.libraries.of(library)}, {"bytes", bytes}});
    auto applied = balance.instant.applied();
    auto besides = applied ? beside(scene, balance.device, *applied) : Beside{};
    Int imported = 0;
    for (const auto& [object, bytes] : besides.imported)
        imported += bytes;
    return Json::Object{{"device", balance.device},
                        {"instant", instant},
                        {"ticket", balance.instant.ticket},
                        {"source", source_name(balance.source)},
                        {"total_bytes", balance.total_bytes},
                        {"active_bytes", balance.active_bytes},
                        {"reusable_free_bytes", balance.reusable_bytes},
                        {"fragmented_free_bytes", balance.fragmented_bytes},
                        {"incompatible_free_bytes", balance.incompatible_bytes},
                        {"libraries", std::move(libraries)},
                        {"others_bytes", balance.others_bytes},
                        {"unattributed_bytes", balance.unattributed_bytes},
                        {"free_bytes", balance.free_bytes},
                        {"managed_bytes", besides.managed},
                        {"pinned_bytes", besides.pinned},
                        {"imported_count", u64{besides.imported.size()}},
                        {"imported_bytes", imported},
                        {"graph_bytes", besides.graph}};
}

}  // namespace

void add_holders(const Case& c, Dictionary& dictionary, Json::Object& evidence) {
    Json::Array list;
    auto add = [&](const Weighing& weighing, const Sums::Peak& peak, std::string_view last) {
        const auto& scene = *weighing.scene;
        // A peak that is the failing instant is looked at as that is.
        Instant at_peak{peak.ticket, peak.at_begin && !weighing.fails_at(peak.ticket)};
        list.push_back(balance_document(scene, weighing.at(at_peak), "peak", dictionary));
        list.push_back(balance_document(scene, weighing.at({weighing.limit}), last, dictionary));
    };
    if (c.incident) {
        add({c.incident->scene, c.incident->inputs}, c.incident->peak, "failure");
    } else if (c.failures.lost_count == 0) {
        for (int device : devices_with_shapes(c, c.only_device))
            add({c.ring, device}, c.ring.live_blocks(device).peak_by(c.ring.recording.last_ticket()), "end");
    }
    evidence["holders"] = std::move(list);
}

}  // namespace oracle
