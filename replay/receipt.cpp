// SPDX-License-Identifier: Apache-2.0
//
// Assembles the receipt, digests it, and checks what was written before handing it out.
#include "receipt.h"

#include "digest.h"
#include "names.h"
#include "receipt_capture.h"
#include "receipt_check.h"
#include "receipt_dictionary.h"
#include "receipt_evidence.h"
#include "receipt_verdict.h"

namespace memsnap {

namespace {

Json::Array references_json(const References& references) {
    Json::Array list;
    for (const Reference& one : references) {
        list.push_back(
            Json::Object{{"kind", one.kind}, {"sha256", one.sha256}, {"size_bytes", one.size_bytes}});
    }
    return list;
}

}  // namespace

Result<std::string> write_receipt(const Capture& capture, const Analysis& analysis, const Naming& naming,
                                  const References& references) {
    const Dictionary dictionary(analysis);
    const Words removed = words(Vocabulary::removed_field);
    Json evidence = evidence_json(capture, analysis, dictionary);
    const std::string evidence_digest = sha256_hex(evidence.text());
    Json::Object receipt{{"schema", kReceiptSchema},
                         {"capture", capture_json(capture, analysis)},
                         {"environment", environment_json(capture.header, analysis, dictionary)},
                         {"dictionary", dictionary.json(capture, naming)},
                         {"evidence", std::move(evidence)},
                         {"verdict", verdict_json(analysis)},
                         {"references", references_json(references)},
                         {"removed_fields", Json::Array(removed.begin(), removed.end())}};
    const std::string receipt_digest = sha256_hex(Json(receipt).text());
    if (naming.with_names && naming.sites != nullptr)
        receipt["names"] = dictionary.names_json(capture, naming);
    receipt["times"] = times_json(capture, analysis);
    receipt["digest"] =
        Json::Object{{"algorithm", "sha256"}, {"evidence", evidence_digest}, {"receipt", receipt_digest}};
    std::string text = Json(std::move(receipt)).text();
    std::string problem = check_receipt(text);
    if (problem.empty()) return text;
    return failure({.code = ErrorCode::io,
                    .file = capture.path,
                    .offset_bytes = std::nullopt,
                    .ticket = std::nullopt,
                    .rule = "receipt_self_check",
                    .detail = std::move(problem),
                    .way_out = "nothing was written; please report this"});
}

}  // namespace memsnap
