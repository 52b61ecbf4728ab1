// SPDX-License-Identifier: Apache-2.0
//
// Reads a receipt, finds the incident it is about in the recording, and compares.
#include "check_receipt.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis.h"
#include "names.h"
#include "receipt.h"
#include "receipt_compare.h"
#include "receipt_file.h"
#include "receipt_text.h"
#include "receipt_unverified.h"
#include "ring_file.h"

namespace memsnap {
namespace {

Result<std::string> read_text(const std::string& path) {
    const auto file = RingFile::open(path);
    if (!file) return failure(file.error());
    return read_receipt_file(*file);
}

bool states_schema(const JsonValue& document) {
    const JsonValue* const schema = member(document, "schema");
    return schema != nullptr && schema->IsString() && text_of(*schema) == kReceiptSchema;
}

// The failure that the receipt explains; without one, the only device that it describes.
AnalysisOptions incident_of(const JsonValue& receipt) {
    AnalysisOptions options;
    const JsonValue* const evidence = member(receipt, "evidence");
    if (evidence == nullptr) return options;
    const auto device_in = [&](const JsonValue& holder) {
        const JsonValue* const device = member(holder, "device");
        const auto number = device == nullptr ? std::nullopt : integer_of(*device);
        if (number && *number >= 0 && *number < kDeviceCapacity) options.device = static_cast<int>(*number);
    };
    if (const JsonValue* const failed = member(*evidence, "failure");
        failed != nullptr && failed->IsObject()) {
        device_in(*failed);
        const JsonValue* const ticket = member(*failed, "ticket");
        const auto number = ticket == nullptr ? std::nullopt : integer_of(*ticket);
        if (number && *number >= 0 && *number <= Wide{UINT64_MAX})
            options.at_ticket = static_cast<uint64_t>(*number);
        return options;
    }
    const JsonValue* const shapes = member(*evidence, "shapes");
    if (shapes != nullptr && shapes->IsArray() && shapes->Size() == 1) device_in((*shapes)[0]);
    return options;
}

// What may be made of names so that the receipt comes out as it is stated.
Naming naming_of(const JsonValue& receipt, const Naming& known) {
    Naming naming = known;
    naming.with_names = member(receipt, "names") != nullptr;
    const JsonValue* const dictionary = member(receipt, "dictionary");
    // A token that was made with a key says so; without one the key is not used.
    if (dictionary == nullptr || canonical_text(*dictionary).find(R"("scope":"key")") == std::string::npos)
        naming.key.reset();
    return naming;
}

}  // namespace

Result<std::string> check_receipt_file(const Capture& capture, const std::string& receipt_path,
                                       const Naming& known) {
    const auto text = read_text(receipt_path);
    if (!text) return failure(text.error());
    rapidjson::Document stated;
    if (std::string problem = parse_json(*text, stated); !problem.empty()) {
        return failure(
            file_error(ErrorCode::not_memsnap, receipt_path, "receipt", "is no receipt: " + problem));
    }
    if (!states_schema(stated)) {
        return failure(file_error(ErrorCode::not_memsnap, receipt_path, "receipt",
                                  fmt::format("is no receipt of the schema {}", kReceiptSchema)));
    }
    const AnalysisOptions options = incident_of(stated);
    const auto analysis = analyse(capture, options);
    if (!analysis && analysis.error().code == ErrorCode::usage) {
        return failure(
            file_error(ErrorCode::disagreed, receipt_path, "receipt_differs",
                       "explains an incident that the recording does not have: " + analysis.error().detail));
    }
    if (!analysis) return failure(analysis.error());
    const Naming naming = naming_of(stated, known);
    const auto written = write_receipt(capture, *analysis, naming);
    if (!written) return failure(written.error());
    rapidjson::Document recomputed;
    if (std::string problem = parse_json(*written, recomputed); !problem.empty())
        return failure(file_error(ErrorCode::io, capture.path, "receipt_self_check", std::move(problem)));
    take_unverified(stated, {.names = naming.sites != nullptr, .key = naming.key.has_value()}, recomputed);
    if (const auto difference = first_difference(stated, recomputed)) {
        return failure(
            file_error(ErrorCode::disagreed, receipt_path, "receipt_differs",
                       fmt::format("{}: the receipt says {}, the recording {}", printable(difference->path),
                                   printable(difference->stated), printable(difference->found))));
    }
    // What no field holds could carry something too.
    if (const std::string follows = canonical_text(recomputed); *text != follows) {
        const auto [here, there] = std::ranges::mismatch(*text, follows);
        return failure(file_error(ErrorCode::disagreed, receipt_path, "receipt_differs",
                                  fmt::format("byte {}: every field agrees, but the text is not as it was "
                                              "written",
                                              here - text->begin())));
    }
    return fmt::format("OK  {} follows from {} in every field\n", printable(receipt_path),
                       printable(capture.path));
}

bool is_receipt_file(const std::string& path) {
    const auto text = read_text(path);
    rapidjson::Document document;
    return text && parse_json(*text, document).empty() && states_schema(document);
}

}  // namespace memsnap
