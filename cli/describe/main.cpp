// SPDX-License-Identifier: BSD-3-Clause
// oratorio_describe FILE: writes the description of the library to FILE.
#include <cstdio>
#include <fstream>

#include "describe/description.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    std::ofstream file(argv[1]);
    file << oratorio::description();
    file.close();
    if (file) return 0;
    std::perror(argv[1]);
    return 1;
}
