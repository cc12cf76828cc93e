! SPDX-License-Identifier: BSD-3-Clause
! MPI-IO through mpi_f08. usage: fortran_f08 FOLDER
! A block-distributed matrix through a subarray view, read back by the neighbour; an error handler of the
! program's own on an open file must be called.
module handled
    use mpi_f08
    implicit none
    integer :: calls = 0
contains
    subroutine on_error(file, code)
        type(MPI_File) :: file
        integer :: code
        calls = calls + 1
    end subroutine
end module

program fortran_f08
    use handled
    implicit none
    integer, parameter :: rows = 24, columns = 10
    integer :: rank, ranks, ierr, i, got
    type(MPI_File) :: file
    type(MPI_Datatype) :: filetype
    type(MPI_Errhandler) :: handler
    type(MPI_Status) :: status
    double precision :: mine(rows, columns), theirs(rows, columns)
    character(len=1024) :: folder

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call get_command_argument(1, folder)

    mine = reshape([(rank + i / 1024d0, i = 1, rows * columns)], [rows, columns])
    call MPI_File_open(MPI_COMM_WORLD, trim(folder)//'/f08.dat', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), &
                       MPI_INFO_NULL, file, ierr)
    call require(ierr == MPI_SUCCESS, 'open')
    call set_view_of(rank)
    call MPI_File_write_at_all(file, 0_MPI_OFFSET_KIND, mine, rows * columns, MPI_DOUBLE_PRECISION, status)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, got)
    call require(got == rows * columns, 'write_at_all')
    call MPI_File_sync(file)
    call MPI_Barrier(MPI_COMM_WORLD)
    call set_view_of(mod(rank + 1, ranks))
    call MPI_File_read_all(file, theirs, rows * columns, MPI_DOUBLE_PRECISION, status)
    call require(all(theirs == mine - rank + mod(rank + 1, ranks)), 'read_all')

    call MPI_File_create_errhandler(on_error, handler)
    call MPI_File_set_errhandler(file, handler)
    call MPI_File_seek(file, -1000000_MPI_OFFSET_KIND, MPI_SEEK_SET, ierr)
    call require(ierr /= MPI_SUCCESS .and. calls == 1, 'calling the error handler')
    call MPI_File_close(file)
    call MPI_Errhandler_free(handler)
    call MPI_Finalize()
contains
    subroutine set_view_of(who)
        integer, intent(in) :: who
        call MPI_Type_create_subarray(2, [rows * ranks, columns], [rows, columns], [rows * who, 0], &
                                      MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, filetype)
        call MPI_Type_commit(filetype)
        call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_DOUBLE_PRECISION, filetype, 'native', &
                               MPI_INFO_NULL)
        call MPI_Type_free(filetype)
    end subroutine

    subroutine require(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what
        if (holds) return
        print *, 'failed: ', what
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end subroutine
end program
