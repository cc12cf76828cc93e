! SPDX-License-Identifier: BSD-3-Clause
! MPI_BOTTOM as the buffer, with a datatype of absolute addresses, through mpi_f08. usage: fortran_bottom FOLDER
program fortran_bottom
    use mpi_f08
    implicit none
    integer, asynchronous :: value
    integer(MPI_ADDRESS_KIND) :: address
    type(MPI_Datatype) :: absolute
    type(MPI_File) :: file
    type(MPI_Status) :: status
    integer :: rank, got
    character(len=1024) :: folder

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call get_command_argument(1, folder)
    call MPI_File_open(MPI_COMM_WORLD, trim(folder)//'/bottom.dat', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), &
                       MPI_INFO_NULL, file)
    call MPI_Get_address(value, address)
    call MPI_Type_create_hindexed(1, [1], [address], MPI_INTEGER, absolute)
    call MPI_Type_commit(absolute)
    value = rank + 1
    call MPI_File_write_at_all(file, 4_MPI_OFFSET_KIND * rank, MPI_BOTTOM, 1, absolute, MPI_STATUS_IGNORE)
    value = -1
    call MPI_File_read_at(file, 4_MPI_OFFSET_KIND * rank, MPI_BOTTOM, 1, absolute, status)
    call MPI_F_sync_reg(value)
    call MPI_Get_count(status, MPI_INTEGER, got)
    if (value /= rank + 1 .or. got /= 1) then
        print *, 'failed:', value, got
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
    call MPI_Type_free(absolute)
    call MPI_File_close(file)
    call MPI_Finalize()
end program
