-- Oratorio under every MPI program that the shell starts, without `oratorio run`. Put this file next to
-- oratorio/@VERSION@.lua as oratorio-on/@VERSION@.lua. A site's default module may load it for a group of users
-- (docs/user/guides/sites.md).
local prefix = os.getenv("ORATORIO_ROOT") or "/opt/oratorio"
if isDir(pathJoin(prefix, "@VERSION@")) then
    prefix = pathJoin(prefix, "@VERSION@")
end

help([[
Oratorio serves MPI_File_* in all MPI programs that start from this shell and in jobs that get its environment.

    ORATORIO_DISABLE=1                     hands every call to the MPI's own MPI-IO
    module --force unload oratorio-on      takes it out of the shell
]])
whatis("Name: oratorio-on")
whatis("Version: @VERSION@")
whatis("Description: Oratorio under all MPI programs")

family("mpiio")
-- A sticky module stays loaded after `module purge`.
add_property("lmod", "sticky")
depends_on("oratorio/@VERSION@")
for _, folder in ipairs({ "lib", "lib64" }) do
    local library = pathJoin(prefix, folder, "liboratorio.so")
    if isFile(library) then
        -- Profilers such as Darshan must come before the library, so it is appended.
        append_path("LD_PRELOAD", library)
    end
end
