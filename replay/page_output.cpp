// SPDX-License-Identifier: Apache-2.0
//
// Parts in their order, between the two halves of the template.
#include "page_output.h"

#include <memory>
#include <utility>

#include "page_levels.h"
#include "page_names.h"
#include "page_outline.h"
#include "page_template.h"

namespace memsnap {

void Page::add_text(std::string_view name, PageSide side, std::string text) {
    parts_ += page_part(name, side, text);
    MeantPart& meant = meant_.emplace_back();
    meant.name = name;
    meant.side = side;
    meant.bytes = text.size();
    meant.text = std::move(text);
}

void Page::add_table(std::string_view name, PageSide side, const MadeTable& table) {
    parts_ += page_part(name, side, table.bytes);
    MeantPart& meant = meant_.emplace_back();
    meant.name = name;
    meant.side = side;
    meant.bytes = table.bytes.size();
    meant.row_count = table.row_count;
    meant.columns = table.columns;
    meant.sums = table.sums;
}

Result<void> Page::add(const PageIncident& incident, PageSide side) {
    const Capture& capture = incident.capture;
    const Analysis& analysis = incident.analysis;
    std::unique_ptr<Keyframe> keyframe;
    std::optional<uint64_t> failure_ticket;
    if (analysis.incident) {
        failure_ticket = analysis.incident->failure.event.ticket;
        if (analysis.incident->from_keyframe) {
            auto read = capture.read_keyframe(*analysis.incident->failure.keyframe_slot);
            if (!read) return failure(std::move(read.error()));
            keyframe = std::move(*read);
        }
    }
    const Window& window = keyframe ? keyframe->window : capture.window;
    const ExactRange range = exact_range(window, failure_ticket, incident.events_most);
    const auto tables = page_tables(capture, window, analysis, range);
    if (!tables) return failure(tables.error());
    with_names_ |= incident.naming.with_names;
    tells_names_ |= incident.naming.with_names && incident.naming.sites != nullptr;
    add_text("outline", side,
             page_outline(capture, window, analysis, incident.naming,
                          {.memsnap_version = incident.memsnap_version,
                           .command = incident.command,
                           .exact_first_ticket = range.first_ticket,
                           .exact_event_count = range.event_count}));
    add_text("receipt", side, incident.receipt);
    add_text("names", side, page_names(capture, tables->numbers, incident.naming));
    add_table("levels", side, made(page_levels(capture, analysis.levels)));
    add_table("begin", side, tables->begin);
    add_table("events", side, tables->events);
    add_table("derived", side, tables->derived);
    return {};
}

void Page::add_receipt(const std::string& receipt, PageSide side) {
    add_text("receipt", side, receipt);
}

void Page::add_comparison(const std::string& json) {
    add_text("diff", PageSide::only, json);
}

Result<void> Page::write(const std::string& path, bool replace, const Inputs& inputs) const {
    if (const std::string problem = problem_of_page(parts_, meant_, with_names_); !problem.empty()) {
        return failure({.code = ErrorCode::io,
                        .file = path,
                        .offset_bytes = std::nullopt,
                        .ticket = std::nullopt,
                        .rule = "page_self_check",
                        .detail = problem,
                        .way_out = "no file was written; please report this"});
    }
    auto file = OutputFile::create(path, replace, inputs);
    if (!file) return failure(std::move(file.error()));
    if (tells_names_) file->keep_private();  // as the file of names is
    const PageTemplate page = page_template();
    for (const std::string_view piece :
         {page.head, std::string_view("\n"), std::string_view(parts_), page.tail}) {
        if (auto written = file->write(piece); !written) return written;
    }
    return file->finish();
}

}  // namespace memsnap
