// SPDX-License-Identifier: Apache-2.0
//
// Symbol tables through libelf. Only .symtab, or else .dynsym, and its strings are read, of the objects asked
// for.
#include "native_symbols.h"

#include <cxxabi.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <span>

namespace memsnap {

namespace {

// A demangler may need very long for a very long name.
constexpr size_t kMangled_bytes_most = 4096;

// The path is whatever the sidecar says, and opening a device or a pipe may already do something. -1: no
// such file.
int open_regular_file(const std::string& path) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return -1;
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    // It may have been replaced meanwhile.
    if (descriptor < 0 || (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))) return descriptor;
    ::close(descriptor);
    return -1;
}

class ElfFile {
  public:
    explicit ElfFile(const std::string& path) : descriptor_(open_regular_file(path)) {
        if (descriptor_ < 0) return;
        // Not mapped: the file may be replaced while it is read.
        elf_ = ::elf_begin(descriptor_, ELF_C_READ, nullptr);
    }
    ElfFile(const ElfFile&) = delete;
    ElfFile& operator=(const ElfFile&) = delete;
    ~ElfFile() {
        if (elf_ != nullptr) ::elf_end(elf_);
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    Elf* elf() const { return elf_; }

    bool has_build_id(std::span<const std::byte> wanted) const {
        const void* found = nullptr;
        const ssize_t size = elf_ == nullptr ? -1 : ::dwelf_elf_gnu_build_id(elf_, &found);
        return size > 0 &&
               std::ranges::equal(std::span(static_cast<const std::byte*>(found), static_cast<size_t>(size)),
                                  wanted);
    }

    // The first section of the type, or nullptr.
    Elf_Scn* section(GElf_Word type, GElf_Shdr& header) const {
        Elf_Scn* found = nullptr;
        while ((found = ::elf_nextscn(elf_, found)) != nullptr) {
            if (::gelf_getshdr(found, &header) != nullptr && header.sh_type == type) return found;
        }
        return nullptr;
    }

  private:
    int descriptor_;
    Elf* elf_ = nullptr;
};

std::string debug_path(std::span<const std::byte> build_id) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string path = "/usr/lib/debug/.build-id/";
    for (size_t index = 0; index < build_id.size(); ++index) {
        const auto byte = static_cast<unsigned>(build_id[index]);
        path.push_back(kHex[byte >> 4]);
        path.push_back(kHex[byte & 15]);
        if (index == 0) path.push_back('/');
    }
    return path + ".debug";
}

std::string demangled(const char* name) {
    if (std::string_view(name).size() > kMangled_bytes_most) return name;
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                      std::free);
    return text ? text.get() : name;
}

}  // namespace

// Functions of one file, by address in the file. The file stays open: names are looked up in it.
class SymbolTable {
  public:
    // nullptr: no such file, another build, or it has no functions in a table of this type.
    static std::unique_ptr<SymbolTable> read(const std::string& path, std::span<const std::byte> build_id,
                                             GElf_Word table_type) {
        auto table = std::make_unique<SymbolTable>(path);
        if (!table->file_.has_build_id(build_id)) return nullptr;
        table->take(table_type);
        return table->functions_.empty() ? nullptr : std::move(table);
    }

    explicit SymbolTable(const std::string& path) : file_(path) {}

    std::string function_at(uint64_t address) const {
        const auto next = std::ranges::upper_bound(functions_, address, {}, &Function::begin);
        if (next == functions_.begin()) return {};
        const Function& found = *std::prev(next);  // of several with one begin the largest comes last
        if (address - found.begin >= found.size_bytes) return {};
        const char* const name = ::elf_strptr(file_.elf(), names_section_, found.name_offset_bytes);
        return name == nullptr ? std::string() : demangled(name);
    }

  private:
    struct Function {
        uint64_t begin = 0;
        uint64_t size_bytes = 0;
        size_t name_offset_bytes = 0;
    };

    void take(GElf_Word table_type) {
        GElf_Shdr header;
        Elf_Scn* const section = file_.section(table_type, header);
        Elf_Data* const data = section == nullptr ? nullptr : ::elf_getdata(section, nullptr);
        if (data == nullptr || header.sh_entsize == 0) return;
        names_section_ = header.sh_link;
        const auto count = static_cast<int>(std::min<uint64_t>(data->d_size / header.sh_entsize, INT32_MAX));
        for (int index = 0; index < count; ++index) {
            GElf_Sym symbol;
            if (::gelf_getsym(data, index, &symbol) == nullptr) break;
            const auto type = GELF_ST_TYPE(symbol.st_info);
            const bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
            if (!function || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
            functions_.push_back({symbol.st_value, symbol.st_size, symbol.st_name});
        }
        std::ranges::stable_sort(functions_, [](const Function& one, const Function& other) {
            return std::pair(one.begin, one.size_bytes) < std::pair(other.begin, other.size_bytes);
        });
    }

    ElfFile file_;
    size_t names_section_ = 0;
    std::vector<Function> functions_;
};

namespace {

// A whole table before one of exported functions alone, wherever it lies.
std::unique_ptr<SymbolTable> find_table(const LoadedObject& object) {
    if (object.build_id.empty()) return nullptr;
    for (const GElf_Word type : {SHT_SYMTAB, SHT_DYNSYM}) {
        for (const std::string& path : {object.path, debug_path(object.build_id)}) {
            if (auto table = SymbolTable::read(path, object.build_id, type)) return table;
        }
    }
    return nullptr;
}

}  // namespace

NativeSymbols::NativeSymbols() {
    ::elf_version(EV_CURRENT);
}

NativeSymbols::~NativeSymbols() = default;

std::string NativeSymbols::function_at(const LoadedObject& object, uint64_t address) {
    const auto [known, fresh] = tables_.try_emplace(object.build_id);
    if (fresh) known->second = find_table(object);
    return known->second ? known->second->function_at(address - object.bias) : std::string();
}

}  // namespace memsnap
