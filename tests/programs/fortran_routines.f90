! SPDX-License-Identifier: BSD-3-Clause
! Every procedure of the MPI I/O chapter but MPI_Register_datarep (fortran_datarep.f90), called from Fortran.
! usage: fortran_routines FOLDER
! Includes mpif.h; with -DUSE_MPI it uses the module mpi instead, with -DUSE_F08 mpi_f08. Each rank has its
! own part of the file, so that the data read back is known.
#ifdef USE_F08
#define HANDLE(kind) type(MPI_/**/kind)
#define STATUS_OF(name) type(MPI_Status) :: name
#else
#define HANDLE(kind) integer
#define STATUS_OF(name) integer :: name(MPI_STATUS_SIZE)
#endif
module shared
#ifdef USE_F08
    use mpi_f08
    implicit none
#elif defined(USE_MPI)
    use mpi
    implicit none
#else
    implicit none
    include 'mpif.h'
#endif
    integer :: calls = 0, rank, ranks, ierr
    HANDLE(File) :: file
    STATUS_OF(status)
contains
    subroutine on_error(where, code)
        HANDLE(File) :: where
        integer :: code
        calls = calls + 1
    end subroutine

    subroutine require(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what
        if (holds .and. ierr == MPI_SUCCESS) return
        print *, 'failed: ', what, ierr
        call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
    end subroutine

    integer function counted()
        call MPI_Get_count(status, MPI_INTEGER, counted, ierr)
    end function
end module

program fortran_routines
    use shared
    implicit none
    character(len=1024) :: folder, path

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    call get_command_argument(1, folder)
    path = trim(folder)//'/routines.dat'
    call MPI_File_open(MPI_COMM_WORLD, trim(path), ior(MPI_MODE_CREATE, MPI_MODE_RDWR), &
                       MPI_INFO_NULL, file, ierr)
    call require(.true., 'open')
    call manipulation()
    call explicit_offsets()
    call individual_pointer()
    call shared_pointer()
    call handlers()
    call MPI_File_close(file, ierr)
    call require(.true., 'close')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    if (rank == 0) call MPI_File_delete(trim(folder)//'/unwanted.dat', MPI_INFO_NULL, ierr)
    call require(.true., 'delete')
    call MPI_Finalize(ierr)
contains
    subroutine manipulation()
        HANDLE(Group) :: group
        HANDLE(Info) :: info
        HANDLE(Datatype) :: etype, filetype
        HANDLE(File) :: other
        integer :: mode, size
        logical :: flag
        integer(kind=MPI_OFFSET_KIND) :: bytes, displacement, at
        integer(kind=MPI_ADDRESS_KIND) :: extent
        character(len=MPI_MAX_DATAREP_STRING) :: representation

        call MPI_File_open(MPI_COMM_SELF, trim(folder)//'/unwanted.dat', &
                           ior(MPI_MODE_CREATE, MPI_MODE_WRONLY), MPI_INFO_NULL, other, ierr)
        call MPI_File_close(other, ierr)
        bytes = 4096
        call MPI_File_preallocate(file, bytes, ierr)
        call require(.true., 'preallocate')
        bytes = 400
        call MPI_File_set_size(file, bytes, ierr)
        bytes = 0
        call MPI_File_get_size(file, bytes, ierr)
        call require(bytes == 400, 'set_size and get_size')
        call MPI_File_get_group(file, group, ierr)
        call MPI_Group_size(group, size, ierr)
        call require(size == ranks, 'get_group')
        call MPI_Group_free(group, ierr)
        call MPI_File_get_amode(file, mode, ierr)
        call require(iand(mode, MPI_MODE_RDWR) /= 0, 'get_amode')
        call MPI_Info_create(info, ierr)
        call MPI_Info_set(info, 'cb_nodes', '1', ierr)
        call MPI_File_set_info(file, info, ierr)
        call MPI_Info_free(info, ierr)
        call MPI_File_get_info(file, info, ierr)
        call MPI_Info_free(info, ierr)
        call require(.true., 'set_info and get_info')
        displacement = 8
        call MPI_File_set_view(file, displacement, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
        call MPI_File_get_view(file, displacement, etype, filetype, representation, ierr)
        call require(displacement == 8 .and. etype == MPI_INTEGER .and. filetype == MPI_INTEGER &
                     .and. representation == 'native', 'set_view and get_view')
        at = 5
        call MPI_File_get_byte_offset(file, at, displacement, ierr)
        call require(displacement == 28, 'get_byte_offset')
        call MPI_File_get_type_extent(file, MPI_INTEGER, extent, ierr)
        call require(extent == 4, 'get_type_extent')
        call MPI_File_set_atomicity(file, .true., ierr)
        call MPI_File_get_atomicity(file, flag, ierr)
        call require(flag, 'set_atomicity and get_atomicity')
        call MPI_File_set_atomicity(file, .false., ierr)
        call MPI_File_sync(file, ierr)
        call require(.true., 'sync')
        displacement = 0
        call MPI_File_set_view(file, displacement, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
    end subroutine

    !> Syncs, so that a rank can read its data that another rank writes: a host's collective write may return earlier.
    subroutine settle()
        call MPI_File_sync(file, ierr)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call MPI_File_sync(file, ierr)
    end subroutine

    subroutine explicit_offsets()
        integer(kind=MPI_OFFSET_KIND) :: at
        integer, asynchronous :: sent(4), back(8)
        HANDLE(Request) :: request(4)
        integer :: i

        sent = [(rank * 10 + i, i = 1, 4)]
        back = 0
        at = 4 * rank
        call MPI_File_write_at(file, at, sent, 1, MPI_INTEGER, status, ierr)
        call require(counted() == 1, 'write_at')
        call MPI_File_write_at_all(file, at + 1, sent(2), 1, MPI_INTEGER, status, ierr)
        call require(counted() == 1, 'write_at_all')
        call MPI_File_iwrite_at(file, at + 2, sent(3), 1, MPI_INTEGER, request(1), ierr)
        call MPI_File_iwrite_at_all(file, at + 3, sent(4), 1, MPI_INTEGER, request(2), ierr)
        call MPI_Wait(request(1), status, ierr)
        call require(counted() == 1, 'iwrite_at')
        call MPI_Wait(request(2), status, ierr)
        call require(counted() == 1, 'iwrite_at_all')
        call MPI_File_write_at_all_begin(file, at, sent, 4, MPI_INTEGER, ierr)
        call MPI_File_write_at_all_end(file, sent, status, ierr)
        call require(counted() == 4, 'write_at_all_begin and _end')
        call settle()
        call MPI_File_read_at(file, at, back, 1, MPI_INTEGER, status, ierr)
        call MPI_File_read_at_all(file, at + 1, back(2), 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
        call MPI_File_iread_at(file, at + 2, back(3), 1, MPI_INTEGER, request(3), ierr)
        call MPI_Wait(request(3), MPI_STATUS_IGNORE, ierr)
        call MPI_File_iread_at_all(file, at + 3, back(4), 1, MPI_INTEGER, request(4), ierr)
        call MPI_Wait(request(4), status, ierr)
        call MPI_File_read_at_all_begin(file, at, back(5:8), 4, MPI_INTEGER, ierr)
        call MPI_File_read_at_all_end(file, back(5:8), MPI_STATUS_IGNORE, ierr)
        call require(all(back == [sent, sent]), 'reading at explicit offsets')
    end subroutine

    subroutine individual_pointer()
        integer(kind=MPI_OFFSET_KIND) :: base, at
        integer, asynchronous :: sent(5), back(5)
        HANDLE(Request) :: request
        integer :: i

        sent = [(rank * 100 + i, i = 1, 5)]
        back = 0
        base = 4 * ranks + 5 * rank
        call MPI_File_seek(file, base, MPI_SEEK_SET, ierr)
        call MPI_File_write(file, sent, 1, MPI_INTEGER, status, ierr)
        call MPI_File_write_all(file, sent(2), 1, MPI_INTEGER, status, ierr)
        call MPI_File_iwrite(file, sent(3), 1, MPI_INTEGER, request, ierr)
        call MPI_Wait(request, status, ierr)
        call MPI_File_iwrite_all(file, sent(4), 1, MPI_INTEGER, request, ierr)
        call MPI_Wait(request, status, ierr)
        call MPI_File_write_all_begin(file, sent(5), 1, MPI_INTEGER, ierr)
        call MPI_File_write_all_end(file, sent(5), status, ierr)
        call MPI_File_get_position(file, at, ierr)
        call require(at == base + 5, 'writing at the individual pointer')
        call settle()
        call MPI_File_seek(file, base, MPI_SEEK_SET, ierr)
        call MPI_File_read(file, back, 1, MPI_INTEGER, status, ierr)
        call MPI_File_read_all(file, back(2), 1, MPI_INTEGER, status, ierr)
        call MPI_File_iread(file, back(3), 1, MPI_INTEGER, request, ierr)
        call MPI_Wait(request, status, ierr)
        call MPI_File_iread_all(file, back(4), 1, MPI_INTEGER, request, ierr)
        call MPI_Wait(request, status, ierr)
        call MPI_File_read_all_begin(file, back(5), 1, MPI_INTEGER, ierr)
        call MPI_File_read_all_end(file, back(5), status, ierr)
        call require(all(back == sent), 'reading at the individual pointer')
    end subroutine

    subroutine shared_pointer()
        integer(kind=MPI_OFFSET_KIND) :: base, at
        integer, asynchronous :: seven, mine, back
        HANDLE(Request) :: request

        seven = 7 ! the same on all ranks, as their records come in any order
        mine = rank
        base = 9 * ranks
        call MPI_File_seek_shared(file, base, MPI_SEEK_SET, ierr)
        call MPI_File_write_shared(file, seven, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
        call MPI_File_iwrite_shared(file, seven, 1, MPI_INTEGER, request, ierr)
        call MPI_Wait(request, status, ierr)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call MPI_File_write_ordered(file, mine, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
        call MPI_File_write_ordered_begin(file, mine, 1, MPI_INTEGER, ierr)
        call MPI_File_write_ordered_end(file, mine, status, ierr)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call MPI_File_get_position_shared(file, at, ierr)
        call require(at == base + 4 * ranks, 'get_position_shared')
        call settle() ! its barrier also ensures that all ranks have read the pointer before one moves it
        call MPI_File_seek_shared(file, base, MPI_SEEK_SET, ierr)
        call MPI_File_read_shared(file, back, 1, MPI_INTEGER, status, ierr)
        call require(back == 7, 'read_shared')
        call MPI_File_iread_shared(file, back, 1, MPI_INTEGER, request, ierr)
        call MPI_Wait(request, status, ierr)
        call require(back == 7, 'iread_shared')
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call MPI_File_read_ordered(file, back, 1, MPI_INTEGER, status, ierr)
        call require(back == rank, 'read_ordered')
        back = -1
        call MPI_File_read_ordered_begin(file, back, 1, MPI_INTEGER, ierr)
        call MPI_File_read_ordered_end(file, back, status, ierr)
        call require(back == rank, 'read_ordered_begin and _end')
    end subroutine

    subroutine handlers()
        HANDLE(Errhandler) :: handler, same

        call MPI_File_create_errhandler(on_error, handler, ierr)
        call MPI_File_set_errhandler(file, handler, ierr)
        call MPI_File_get_errhandler(file, same, ierr)
        call require(same == handler, 'get_errhandler')
        call MPI_File_call_errhandler(file, MPI_ERR_IO, ierr)
        call require(calls == 1, 'call_errhandler')
        call MPI_Errhandler_free(same, ierr)
        call MPI_Errhandler_free(handler, ierr)
    end subroutine
end program
