-- Oratorio, a drop-in MPI-IO. Put it as oratorio/@VERSION@.lua into a folder of MODULEPATH, and name the prefix here or
-- by the variable ORATORIO_ROOT of the site. Versions side by side have the prefixes ROOT/VERSION.
local prefix = os.getenv("ORATORIO_ROOT") or "/opt/oratorio"
if isDir(pathJoin(prefix, "@VERSION@")) then
    prefix = pathJoin(prefix, "@VERSION@")
end

help([[
Oratorio serves MPI_File_* under unchanged programs:

    oratorio run mpiexec -n 16 ./app
    oratorio run srun --mpi=pmi2 ./app

Loading this module preloads nothing; only programs that are started by `oratorio run` are touched.
ORATORIO_DISABLE=1 hands every call to the MPI's own MPI-IO. Pages: ]] .. pathJoin(prefix, "share/doc/oratorio") .. [[

]])
whatis("Name: oratorio")
whatis("Version: @VERSION@")
whatis("Category: library, I/O, MPI")
whatis("Description: drop-in MPI-IO for programs of MPICH, Open MPI and their relatives")

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man") .. ":")
prepend_path("CMAKE_PREFIX_PATH", prefix)
for _, folder in ipairs({ "lib", "lib64" }) do
    local libraries = pathJoin(prefix, folder)
    if isFile(pathJoin(libraries, "liboratorio.so")) then
        prepend_path("PKG_CONFIG_PATH", pathJoin(libraries, "pkgconfig"))
    end
end
