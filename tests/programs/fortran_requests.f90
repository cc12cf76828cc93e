! SPDX-License-Identifier: BSD-3-Clause
! Nonblocking accesses that are completed by each of Fortran's calls that complete requests or ask about them.
! Includes mpif.h; with -DUSE_MPI it uses mpi instead, with -DUSE_F08 mpi_f08. usage: fortran_requests FOLDER
program fortran_requests
#ifdef USE_F08
    use mpi_f08
#define HANDLE(kind) type(kind)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, count) type(MPI_Status) :: name(count)
#else
#ifdef USE_MPI
    use mpi
#endif
#define HANDLE(kind) integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, count) integer :: name(MPI_STATUS_SIZE, count)
#endif
    implicit none
#if !defined(USE_MPI) && !defined(USE_F08)
    include 'mpif.h'
#endif
    integer, parameter :: length = 100000
    integer, asynchronous :: values(length, 2)
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Request) :: requests(2)
    STATUS(status)
    STATUSES(statuses, 2)
    integer(MPI_OFFSET_KIND) :: bytes
    integer :: rank, how, i, ierror, place, places(2), done, left
    logical :: flag
    character(len=1024) :: folder

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call get_command_argument(1, folder)
    call MPI_File_open(MPI_COMM_WORLD, trim(folder)//'/requests.dat', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), &
                       MPI_INFO_NULL, file, ierror)
    values = rank
    do how = 1, 9
        bytes = 8_MPI_OFFSET_KIND * length * rank
        call MPI_File_iwrite_at_all(file, bytes, values(:, 1), length, MPI_INTEGER, requests(1), ierror)
        bytes = bytes + 4_MPI_OFFSET_KIND * length
        call MPI_File_iwrite_at(file, bytes, values(:, 2), length, MPI_INTEGER, requests(2), ierror)
        flag = .false.
        left = 2
        select case (how)
        case (1)
            do i = 1, 2
                call MPI_Wait(requests(i), status, ierror)
            end do
        case (2)
            do i = 1, 2
                call MPI_Waitany(2, requests, place, status, ierror)
            end do
        case (3)
            call MPI_Waitall(2, requests, statuses, ierror)
        case (4)
            do while (left > 0)
                call MPI_Waitsome(2, requests, done, places, statuses, ierror)
                left = left - done
            end do
        case (5)
            do i = 1, 2
                flag = .false.
                do while (.not. flag)
                    call MPI_Test(requests(i), flag, status, ierror)
                end do
            end do
        case (6)
            do while (left > 0)
                call MPI_Testany(2, requests, place, flag, status, ierror)
                if (flag) left = left - 1
            end do
        case (7)
            do while (.not. flag)
                call MPI_Testall(2, requests, flag, statuses, ierror)
            end do
        case (8)
            do while (left > 0)
                call MPI_Testsome(2, requests, done, places, statuses, ierror)
                left = left - done
            end do
        case (9)
            do i = 1, 2
                flag = .false.
                do while (.not. flag)
                    call MPI_Request_get_status(requests(i), flag, status, ierror)
                end do
                call MPI_Request_free(requests(i), ierror)
            end do
        end select
        if (requests(1) /= MPI_REQUEST_NULL .or. requests(2) /= MPI_REQUEST_NULL .or. ierror /= MPI_SUCCESS) then
            print *, 'failed:', how, ierror
            call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
        end if
    end do
    call MPI_File_close(file, ierror)
    call MPI_Finalize(ierror)
end program
