// SPDX-License-Identifier: Apache-2.0
//
// One row an option.
#include "command_table.h"

namespace oracle {

Json command_table(const CLI::App& app) {
    Json::Array rows;
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty()) continue;
        Json::Array names;
        for (const std::string& name : option->get_snames())
            names.emplace_back("-" + name);
        for (const std::string& name : option->get_lnames())
            names.emplace_back("--" + name);
        const bool positional = option->get_positional();
        rows.emplace_back(Json::Object{
            {"names", std::move(names)},
            {"positional", positional ? Json(option->get_name(true, false)) : Json()},
            {"type", option->get_type_name()},
            {"help", option->get_description()},
            {"default", option->get_default_str()},
            {"required", option->get_required()},
            {"repeatable", option->get_items_expected_max() > 1},
        });
    }
    return Json::Object{{"name", app.get_name()},
                        {"description", app.get_description()},
                        {"footer", app.get_footer()},
                        {"options", std::move(rows)},
                        {"commands", Json::Array()}};
}

}  // namespace oracle
