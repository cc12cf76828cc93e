! SPDX-License-Identifier: BSD-3-Clause
! MPI-IO through mpif.h, or with -DUSE_MPI through the module mpi. usage: fortran_mpif FOLDER
! Interleaved integers through a file view, read back by the neighbour; an error handler of the
! program's own must be called for a file that does not exist.
module handled
#ifdef USE_MPI
    use mpi
    implicit none
#else
    implicit none
    include 'mpif.h'
#endif
    integer :: calls = 0, class_seen = 0
contains
    subroutine on_error(file, code)
        integer :: file, code, ierr
        calls = calls + 1
        call MPI_Error_class(code, class_seen, ierr)
    end subroutine
end module

program fortran_mpif
    use handled
    implicit none
    integer, parameter :: count = 100, block = 4
    integer :: rank, ranks, ierr, file, filetype, handler, i, got
    integer :: status(MPI_STATUS_SIZE)
    integer :: mine(count), theirs(count)
    integer(kind=MPI_OFFSET_KIND) :: displacement, bytes
    character(len=1024) :: folder, path

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    call get_command_argument(1, folder)
    path = trim(folder)//'/mpif.dat'

    call MPI_Type_vector(count / block, block, block * ranks, MPI_INTEGER, filetype, ierr)
    call MPI_Type_commit(filetype, ierr)
    mine = [(rank * 1000 + i, i = 1, count)]
    call MPI_File_open(MPI_COMM_WORLD, trim(path), ior(MPI_MODE_CREATE, MPI_MODE_RDWR), &
                       MPI_INFO_NULL, file, ierr)
    call require(ierr == MPI_SUCCESS, 'open')
    displacement = 4 * block * rank
    call MPI_File_set_view(file, displacement, MPI_INTEGER, filetype, 'native', MPI_INFO_NULL, ierr)
    call MPI_File_write_at_all(file, 0_MPI_OFFSET_KIND, mine, count, MPI_INTEGER, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, got, ierr)
    call require(got == count, 'write_at_all')
    call MPI_File_sync(file, ierr)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)

    displacement = 4 * block * mod(rank + 1, ranks)
    call MPI_File_set_view(file, displacement, MPI_INTEGER, filetype, 'native', MPI_INFO_NULL, ierr)
    call MPI_File_read(file, theirs, count, MPI_INTEGER, status, ierr)
    call require(all(theirs == [(mod(rank + 1, ranks) * 1000 + i, i = 1, count)]), 'read')
    call MPI_File_get_size(file, bytes, ierr)
    call require(bytes == 4_MPI_OFFSET_KIND * count * ranks, 'get_size')
    call MPI_File_close(file, ierr)
    call require(file == MPI_FILE_NULL, 'close')

    call MPI_File_create_errhandler(on_error, handler, ierr)
    call MPI_File_set_errhandler(MPI_FILE_NULL, handler, ierr)
    call MPI_File_open(MPI_COMM_SELF, trim(folder)//'/none', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierr)
    call require(ierr /= MPI_SUCCESS .and. calls == 1, 'calling the error handler')
    call require(class_seen == MPI_ERR_NO_SUCH_FILE, 'telling the error class')
    call MPI_Errhandler_free(handler, ierr)
    call MPI_Type_free(filetype, ierr)
    call MPI_Finalize(ierr)
contains
    subroutine require(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what
        if (holds) return
        print *, 'failed: ', what
        call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
    end subroutine
end program
