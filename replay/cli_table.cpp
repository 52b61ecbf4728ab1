// SPDX-License-Identifier: Apache-2.0
//
// Walks the parser's options and subcommands.
#include "cli_table.h"

namespace memsnap {

namespace {

Json option_row(const CLI::Option& option) {
    Json::Array names;
    for (const std::string& name : option.get_snames())
        names.emplace_back("-" + name);
    for (const std::string& name : option.get_lnames())
        names.emplace_back("--" + name);
    const bool positional = option.get_positional();
    return Json::Object{
        {"names", std::move(names)},
        {"positional", positional ? Json(option.get_name(true, false)) : Json()},
        {"type", option.get_type_name()},
        {"help", option.get_description()},
        {"default", option.get_default_str()},
        {"required", option.get_required()},
        {"repeatable", option.get_items_expected_max() > 1},
    };
}

}  // namespace

Json command_table(const CLI::App& app) {
    Json::Array options, commands;
    for (const CLI::Option* option : app.get_options()) {
        if (!option->get_group().empty()) options.push_back(option_row(*option));
    }
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        if (!command->get_group().empty()) commands.push_back(command_table(*command));
    }
    return Json::Object{
        {"name", app.get_name()},        {"description", app.get_description()}, {"footer", app.get_footer()},
        {"options", std::move(options)}, {"commands", std::move(commands)},
    };
}

}  // namespace memsnap
