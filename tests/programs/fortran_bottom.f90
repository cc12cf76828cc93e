! SPDX-License-Identifier: BSD-3-Clause
! MPI_BOTTOM as the buffer, with a datatype of absolute addresses, in blocking, nonblocking and split accesses.
! Includes mpif.h; with -DUSE_MPI it uses mpi instead, with -DUSE_F08 mpi_f08. usage: fortran_bottom FOLDER
program fortran_bottom
#ifdef USE_F08
    use mpi_f08
#define HANDLE(kind) type(kind)
#define STATUS type(MPI_Status) :: status
#else
#ifdef USE_MPI
    use mpi
#endif
#define HANDLE(kind) integer
#define STATUS integer :: status(MPI_STATUS_SIZE)
#endif
    implicit none
#if !defined(USE_MPI) && !defined(USE_F08)
    include 'mpif.h'
#endif
    integer, asynchronous :: value
    integer(MPI_ADDRESS_KIND) :: address(1)
    integer(MPI_OFFSET_KIND) :: mine
    HANDLE(MPI_Datatype) :: absolute
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Request) :: request
    STATUS
    integer :: rank, ierror
    character(len=1024) :: folder

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call get_command_argument(1, folder)
    call MPI_File_open(MPI_COMM_WORLD, trim(folder)//'/bottom.dat', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), &
                       MPI_INFO_NULL, file, ierror)
    call MPI_Get_address(value, address(1), ierror)
    call MPI_Type_create_hindexed(1, [1], address, MPI_INTEGER, absolute, ierror)
    call MPI_Type_commit(absolute, ierror)
    mine = 4_MPI_OFFSET_KIND * rank

    value = rank + 1
    call MPI_File_write_at_all(file, mine, MPI_BOTTOM, 1, absolute, status, ierror)
    call require('write_at_all')
    value = -1
    call MPI_File_read_at(file, mine, MPI_BOTTOM, 1, absolute, status, ierror)
    call require_read('read_at', rank + 1)

    value = rank + 10
    call MPI_File_iwrite_at(file, mine, MPI_BOTTOM, 1, absolute, request, ierror)
    call require('iwrite_at')
    call MPI_Wait(request, status, ierror)
    value = -1
    call MPI_File_iread_at(file, mine, MPI_BOTTOM, 1, absolute, request, ierror)
    call require('iread_at')
    call MPI_Wait(request, status, ierror)
    call require_read('iread_at', rank + 10)

    value = rank + 100
    call MPI_File_write_at_all_begin(file, mine, MPI_BOTTOM, 1, absolute, ierror)
    call require('write_at_all_begin')
    call MPI_File_write_at_all_end(file, MPI_BOTTOM, status, ierror)
    call require('write_at_all_end')
    value = -1
    call MPI_File_read_at_all_begin(file, mine, MPI_BOTTOM, 1, absolute, ierror)
    call require('read_at_all_begin')
    call MPI_File_read_at_all_end(file, MPI_BOTTOM, status, ierror)
    call require_read('read_at_all_end', rank + 100)

    call MPI_Type_free(absolute, ierror)
    call MPI_File_close(file, ierror)
    call MPI_Finalize(ierror)

contains
    subroutine require(call_of)
        character(len=*), intent(in) :: call_of
        if (ierror == MPI_SUCCESS) return
        print *, 'failed: ', call_of, ierror
        call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    end subroutine

    subroutine require_read(call_of, wanted)
        character(len=*), intent(in) :: call_of
        integer, intent(in) :: wanted
        integer :: got
        call require(call_of)
        call MPI_Get_count(status, MPI_INTEGER, got, ierror)
        call touch(value)
        if (value == wanted .and. got == 1) return
        print *, 'failed: ', call_of, value, got
        call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    end subroutine

    ! MPI has written the variable through its address, so the compiler must reload it.
    subroutine touch(of)
        integer, asynchronous, intent(inout) :: of
    end subroutine
end program
