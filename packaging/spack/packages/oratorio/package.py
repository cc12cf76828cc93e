# SPDX-License-Identifier: BSD-3-Clause

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Oratorio(CMakePackage):
    """Oratorio is a drop-in MPI-IO library: it provides the MPI_File routines to
    unchanged programs of MPICH, Open MPI and related MPIs. `oratorio run` starts
    a program with it; loading the package preloads nothing."""

    homepage = "@URL@"
    url = "@URL@"

    license("BSD-3-Clause AND MIT")

    test_requires_compiler = True

    version("@VERSION@", sha256="@SHA256@", url="@URL@")

    variant("abi", default=False, description="Serve the MPI-5 ABI, too", when="^[virtuals=mpi] mpich@5:")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("liburing@2.3:", type=("build", "link"))
    depends_on("mpi@3:")

    requires("platform=linux")
    requires("^[virtuals=mpi] mpich@4:", "^[virtuals=mpi] openmpi@4.1:", policy="one_of")

    def cmake_args(self):
        mpi = self.spec["mpi"]
        args = [self.define("ORATORIO_TESTS", False)]
        if mpi.name == "mpich":
            flavours = ["mpich"] + (["abi"] if self.spec.satisfies("+abi") else [])
            args.append(self.define("ORATORIO_MPICH_ROOT", mpi.prefix))
        else:
            flavours = ["ompi"]
            args.append(self.define("ORATORIO_OPENMPI_ROOT", mpi.prefix))
        args.append(self.define("ORATORIO_FLAVOURS", ";".join(flavours)))
        return args

    @run_after("install")
    def keep_test_program(self):
        cache_extra_test_sources(self, ["packaging"])

    def test_preload(self):
        """a program that knows nothing of Oratorio writes and reads through it"""
        cc = Executable(self.spec["mpi"].mpicc)
        source = join_path(self.test_suite.current_test_cache_dir, "packaging", "smoke.c")
        cc("-o", "smoke", source)
        env["LD_PRELOAD"] = find_libraries("liboratorio", self.prefix, recursive=True)[0]
        env["ORATORIO_EXPLAIN"] = "1"
        out = which(join_path(".", "smoke"), required=True)(
            "out.dat", output=str.split, error=str.split
        )
        env.pop("LD_PRELOAD")
        env.pop("ORATORIO_EXPLAIN")
        check_outputs(["smoke: rank 0 ok", "oratorio"], out)
