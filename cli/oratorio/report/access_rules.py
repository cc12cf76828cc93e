# SPDX-License-Identifier: BSD-3-Clause
"""Rules that apply to a recording of Oratorio and to a Darshan log, by the facts in access_facts.py.

A rule returns at most one piece of advice, with the line to change in C, h5py and netCDF.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from oratorio.quantity import amount, counted
from oratorio.report.access_facts import Balance, Dataset, FileFacts, JobFacts, Stream
from oratorio.report.finding import KIB, LARGE, MANY_CALLS, NOTED, SMALL_PIECE, Advice

SMALL_CALL = 64 * KIB  # moving this many bytes takes about as long as the overhead of a collective call
DATA_LEAST = 1 << 20  # HDF5's metadata has fewer bytes
UNEVEN = 4  # a rank that moves this many times the bytes of a typical rank is reported
UNEVEN_TIME = 3  # a rank that takes this many times the seconds of a typical rank is reported
OPENS_PER_SECOND = 10  # limit for one rank
OPENS_PER_SECOND_OF_ALL = 1000  # limit for all ranks together


# Whether the program selected collective access (None: unknown) -> why HDF5 accesses data independently.
INDEPENDENT_WHY = {
    True: "although it selected collective access: other calls did not select it, or HDF5 converts the type.",
    False: "because it did not select collective access.",
    None: "because it did not select collective access, or because HDF5 converts the data's type.",
}


Part = TypeVar("Part", Stream, Dataset)


def _costliest(found: Sequence[tuple[FileFacts, Part]]) -> tuple[FileFacts, Part, float]:
    """Returns the file and the part that took longest, and the seconds of all parts together."""
    file, part = max(found, key=lambda one: one[1].seconds)
    return file, part, sum(one.seconds for _, one in found)


def _is_independent_data(file: FileFacts, stream: Stream) -> bool:
    """Returns true if independent accesses to an HDF5 file move data, and not only metadata."""
    if file.library != "HDF5" or stream.ranks < 2:
        return False
    together = sum(s.moved for s in file.streams if s.is_collective and s.direction == stream.direction)
    if file.collective_selected:
        return stream.moved > NOTED * together
    # Without collective access only the number of bytes distinguishes data from metadata.
    return stream.moved > together and (stream.mean >= SMALL_PIECE or stream.moved >= DATA_LEAST)


def small_independent(job: JobFacts) -> Advice | None:
    """Reports many small independent accesses, except those that hdf5_independent reports."""
    found = [
        (file, stream) for file, stream in job.streams(False)
        if stream.calls >= MANY_CALLS and stream.mean < SMALL_PIECE
        and not _is_independent_data(file, stream)
    ]  # fmt: skip
    if not found:
        return None
    file, stream, seconds = _costliest(found)
    direction, put = stream.direction, "put" if stream.direction == "write" else "get"
    return Advice(
        "small_independent",
        f"{file.name}: {stream.accesses} independent {direction}s, of {amount(stream.mean)} on average.",
        f"Describe them by a file view and make one collective call (MPI_File_{direction}_all); "
        "in HDF5 and netCDF, select collective access.",
        seconds=seconds,
        changes={
            "C": f"MPI_File_{direction}_all(file, data, count, type, MPI_STATUS_IGNORE); in HDF5: "
            "H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);",
            "h5py": "with dataset.collective:",
            "netCDF": "nc_var_par_access(file, variable, NC_COLLECTIVE); in PnetCDF: "
            f"ncmpi_{put}_vara_double_all(...)",
        },
    )


def small_collective(job: JobFacts) -> Advice | None:
    """Reports many collective calls that each move little."""
    found = [
        (file, stream) for file, stream in job.streams(True)
        if stream.calls >= MANY_CALLS and stream.mean < SMALL_CALL
    ]  # fmt: skip
    if not found:
        return None
    file, stream, seconds = _costliest(found)
    writes = stream.direction == "write"
    put = "put" if writes else "get"
    return Advice(
        "small_collective",
        f"{file.name}: each rank makes {stream.calls} collective {stream.direction}s of "
        f"{amount(stream.mean)} on average.",
        "All ranks wait for each other in every call: make one call for the whole array.",
        seconds=seconds,
        changes={
            "C": "MPI_Type_create_subarray(...), MPI_File_set_view(...), then one "
            f"MPI_File_{stream.direction}_all in place of the loop; in HDF5: one H5Sselect_hyperslab and one "
            f"H5D{stream.direction}",
            "h5py": (
                "dataset[:, begin:end] = numpy.full((rows, end - begin), value)  # h5py writes one value "
                "row by row" if writes else "part = dataset[:, begin:end]  # in place of a loop over rows"
            ),
            "netCDF": f"nc_{put}_vara_double(file, variable, start, count, data) with the count of the whole "
            f"block; in PnetCDF: ncmpi_i{put}_vara_double(...) and one ncmpi_wait_all",
        },
    )  # fmt: skip


def uneven(job: JobFacts) -> Advice | None:
    """Reports a rank that moves much more than the others."""
    found = [b for b in job.balances if b.moved >= UNEVEN * max(b.typical_moved, KIB)]
    if not found:
        return None
    most = max(found, key=lambda one: one.seconds)
    return Advice(
        "uneven",
        f"{most.where}: rank {most.rank} moved {amount(most.moved)}, another rank typically "
        f"{amount(most.typical_moved)}.",
        "Spread the data over all ranks: let each rank access its own part.",
        seconds=most.seconds,
        changes={
            "C": "MPI_File_write_at_all(file, rank * part, data, count, type, MPI_STATUS_IGNORE); on all "
            "ranks, in place of MPI_Gather and a write of one rank",
            "h5py": "dataset[begin:end] = mine  # on all ranks, in place of: if rank == 0: dataset[:] = all",
            "netCDF": "nc_put_vara_double(file, variable, start, count, mine) on all ranks, with each rank's "
            "own start and count",
        },
    )


def _is_slow(balance: Balance) -> bool:
    return (
        balance.seconds >= UNEVEN_TIME * balance.typical_seconds > 0
        and balance.moved < UNEVEN * max(balance.typical_moved, KIB)
    )  # fmt: skip


def uneven_time(job: JobFacts) -> Advice | None:
    """Reports a rank that takes much longer than the others although it does not move much more."""
    found = [balance for balance in job.balances if _is_slow(balance)]
    if not found:
        return None
    most = max(found, key=lambda one: one.seconds)
    return Advice(
        "uneven_time",
        f"{most.where}: rank {most.rank} took {most.seconds:.3g} s for {amount(most.moved)}, another rank "
        f"typically {most.typical_seconds:.3g} s for {amount(most.typical_moved)}.",
        "Find out what is different about this rank: its node, the storage server of its data (lfs getstripe "
        "on Lustre), or small pieces. Collective calls spread the storage calls over several ranks.",
        # The others wait for this rank, at the latest at the end of the job.
        seconds=(most.seconds - most.typical_seconds) * max(1, job.ranks - 1),
        changes={
            "C": 'MPI_Info_set(info, "cb_nodes", "4");  // more aggregators, and MPI_File_write_all',
            "h5py": 'info = MPI.Info.Create(); info["cb_nodes"] = "4"; '
            'h5py.File(name, "w", driver="mpio", comm=world, info=info)',
            "netCDF": "nc_create_par(name, NC_NETCDF4, world, info, &file); with the same info",
        },
    )


def hdf5_independent(job: JobFacts) -> Advice | None:
    """Reports HDF5 data that ranks access independently. HDF5 makes independent accesses if it must convert
    types, even if the program selected collective access."""
    found = [(file, stream) for file, stream in job.streams(False) if _is_independent_data(file, stream)]
    if not found:
        return None
    file, stream, seconds = _costliest(found)
    verb = "wrote" if stream.direction == "write" else "read"
    return Advice(
        "hdf5_independent",
        f"{file.name}: the program {verb} {amount(stream.moved)} independently, with "
        f"{counted(stream.accesses, 'call')}, " + INDEPENDENT_WHY[file.collective_selected],
        "Select collective access, and use the same type in memory and in the file. "
        "H5Pget_mpio_no_collective_cause returns HDF5's own reason.",
        "user/guides/hdf5.md",
        seconds,
        {
            "C": "H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE); and in H5Dcreate2 the type of the data "
            "in memory, such as H5T_NATIVE_FLOAT",
            "h5py": "with dataset.collective: dataset[...] = data.astype(dataset.dtype)",
            "netCDF": "nc_var_par_access(file, variable, NC_COLLECTIVE);",
        },
    )


def _crosses_chunks(dataset: Dataset) -> bool:
    return any(dataset.selected[i] % extent for i, extent in enumerate(dataset.chunk))


def shared_chunks(job: JobFacts) -> Advice | None:
    """Reports chunks of HDF5 datasets that several ranks write or read parts of."""
    found = [
        (file, dataset) for file in job.files if file.ranks > 1
        for dataset in file.datasets if _crosses_chunks(dataset)
    ]  # fmt: skip
    if not found:
        return None
    file, dataset, seconds = _costliest(found)
    chunk = ", ".join(map(str, dataset.selected))
    dimensions = len(dataset.chunk)
    return Advice(
        "shared_chunks",
        f"{file.name}: the chunks of {dataset.name} are {' x '.join(map(str, dataset.chunk))}, but a rank "
        f"accesses {' x '.join(map(str, dataset.selected))} elements, so ranks share chunks.",
        "Choose chunks whose extents divide those of a rank's part, and of about 1 MiB at least. Shared "
        "chunks are sent between ranks before each write if they are compressed, and accessed in small "
        "pieces if not.",
        "user/guides/hdf5.md",
        seconds,
        {
            "C": f"hsize_t chunk[] = {{{chunk}}}; H5Pset_chunk(create, {dimensions}, chunk);",
            "h5py": f"file.create_dataset(name, shape, dtype, chunks=({chunk}{',' * (dimensions == 1)}))",
            "netCDF": f"size_t chunk[] = {{{chunk}}}; "
            "nc_def_var_chunking(file, variable, NC_CHUNKED, chunk);",
        },
    )


def metadata(job: JobFacts) -> Advice | None:
    """Reports metadata that takes a large part of a file's time, or many small reads of bytes that several
    ranks read."""
    slow = [f for f in job.files if f.metadata_calls >= MANY_CALLS
            and f.metadata_seconds > LARGE * (f.metadata_seconds + f.seconds)]  # fmt: skip
    again = [file for file in job.files if file.repeated_reads >= MANY_CALLS]
    if not slow and not again:
        return None
    if slow:
        file = max(slow, key=lambda one: one.metadata_seconds)
        sees = (
            f"{file.name}: opens, closes and {counted(file.metadata_calls, 'call')} such as stat, seek and "
            f"set_view took {file.metadata_seconds:.3g} s, summed over all ranks; its data took "
            f"{file.seconds:.3g} s."
        )
    else:
        file = max(again, key=lambda one: one.repeated_seconds)
        sees = (
            f"{file.name}: {file.repeated_reads} reads of less than {amount(SMALL_PIECE)} are of bytes that "
            "other ranks read, too, as the metadata of HDF5 is."
        )
    return Advice(
        "metadata",
        sees,
        "Let one rank read or look up what all need, and open files and datasets once.",
        "user/guides/hdf5.md",
        sum(one.metadata_seconds for one in slow) + sum(one.repeated_seconds for one in again),
        {
            "C": "H5Pset_all_coll_metadata_ops(access, 1); H5Pset_coll_metadata_write(access, 1); without "
            "HDF5: MPI_File_read on rank 0 and MPI_Bcast",
            "h5py": 'dataset = file["field"]  # once, before the loop over steps',
            "netCDF": "nc_inq_varid(file, name, &variable); once, before the loop over steps",
        },
    )


def frequent_opens(job: JobFacts) -> Advice | None:
    """Reports that files are opened many times per second."""
    of_all = sum(file.opens * file.ranks for file in job.files)
    if job.seconds <= 0 or of_all < MANY_CALLS:
        return None
    most = max(job.files, key=lambda one: one.opens)
    per_rank = most.opens / job.seconds if most.opens >= MANY_CALLS else 0.0
    if per_rank < OPENS_PER_SECOND and of_all / job.seconds < OPENS_PER_SECOND_OF_ALL:
        return None
    sees = f"The ranks opened files {of_all} times, {of_all / job.seconds:.0f} times per second"
    if most.opens > 1:
        sees += f"; a rank opened {most.name} {most.opens} times"
    return Advice(
        "frequent_opens",
        sees + ".",
        "Keep a file open for all steps, and write one file for all ranks in place of one for each.",
        # A recording of Oratorio 0.2 has no times of opens.
        seconds=sum(file.metadata_seconds for file in job.files) or NOTED * job.seconds * job.ranks,
        changes={
            "C": "MPI_File_open before the loop over steps; MPI_File_sync(file) in it",
            "h5py": 'file = h5py.File(name, "w", driver="mpio", comm=world) before the loop; '
            "file.flush() in it",
            "netCDF": "nc_create_par before the loop over steps; nc_sync(file) in it",
        },
    )


def unaligned(job: JobFacts) -> Advice | None:
    """Reports large accesses that do not begin at the file system's stripes or blocks."""
    found = [file for file in job.files if file.large >= MANY_CALLS and file.unaligned > LARGE * file.large]
    if not found:
        return None
    file = max(found, key=lambda one: one.unaligned_seconds)
    return Advice(
        "unaligned",
        f"{file.name}: {file.unaligned} of {file.large} accesses do not begin at a multiple of "
        f"{amount(file.stripe)}, so neighbouring accesses share a stripe with its server and its lock.",
        "Align the data to stripes. Collective accesses of Oratorio are aligned already.",
        "user/hints.md",
        sum(one.unaligned_seconds for one in found),
        {
            "C": f"H5Pset_alignment(access, {file.stripe}, {file.stripe}); without HDF5: place data at "
            f"multiples of {file.stripe} bytes, or MPI_File_write_all",
            "h5py": 'h5py.File(name, "w", driver="mpio", comm=world, '
            f"alignment_threshold={file.stripe}, alignment_interval={file.stripe})",
            "netCDF": f"nc_set_alignment({file.stripe}, {file.stripe}); before nc_create_par; in PnetCDF: "
            f"the hint nc_var_align_size={file.stripe}",
        },
    )


RULES: tuple[Callable[[JobFacts], Advice | None], ...] = (
    small_independent, small_collective, uneven, uneven_time, hdf5_independent, shared_chunks, metadata,
    frequent_opens, unaligned,
)  # fmt: skip
