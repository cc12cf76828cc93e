! SPDX-License-Identifier: BSD-3-Clause
! Data representations with functions in Fortran. In `wide`, integers have eight bytes in the file, the most
! significant first. `plain` has MPI_CONVERSION_FN_NULL: data is stored as in memory. In `broken`, reading fails.
! usage: fortran_datarep FOLDER
module wide
#ifdef USE_F08
    use mpi_f08
    use, intrinsic :: iso_c_binding
#elif defined(USE_MPI)
    use mpi
#endif
    implicit none
#if !defined(USE_F08) && !defined(USE_MPI)
    include 'mpif.h'
#endif
    integer, parameter :: byte = selected_int_kind(2), wide_bytes = 8
    integer(MPI_ADDRESS_KIND), parameter :: kept = 4711
#ifdef USE_F08
#define BUFFERS type(c_ptr), value :: userbuf, filebuf
#define DATATYPE type(MPI_Datatype) :: datatype
#else
#define BUFFERS integer(byte) :: userbuf(*), filebuf(*)
#define DATATYPE integer :: datatype
#endif

contains
    subroutine extent(datatype, file_extent, extra_state, ierror)
        DATATYPE
        integer(MPI_ADDRESS_KIND) :: file_extent, extra_state
        integer :: ierror
        file_extent = wide_bytes
        ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra_state == kept)
    end subroutine

    subroutine memory_extent(datatype, file_extent, extra_state, ierror)
        DATATYPE
        integer(MPI_ADDRESS_KIND) :: file_extent, extra_state, lower
        integer :: ierror
        call MPI_Type_get_extent(datatype, lower, file_extent, ierror)
    end subroutine

    subroutine write_wide(userbuf, datatype, count, filebuf, position, extra_state, ierror)
        BUFFERS
        DATATYPE
        integer :: count, ierror, i, at
        integer(MPI_OFFSET_KIND) :: position
        integer(MPI_ADDRESS_KIND) :: extra_state
#ifdef USE_F08
        integer(byte), pointer :: user(:), file(:)
        call c_f_pointer(userbuf, user, [4 * (int(position) + count)])
        call c_f_pointer(filebuf, file, [wide_bytes * count])
#define user_byte(i) user(i)
#define file_byte(i) file(i)
#else
#define user_byte(i) userbuf(i)
#define file_byte(i) filebuf(i)
#endif
        do i = 0, wide_bytes * count - 1
            at = wide_bytes - mod(i, wide_bytes)
            file_byte(i + 1) = 0
            if (at <= 4) file_byte(i + 1) = user_byte(4 * (int(position) + i / wide_bytes) + at)
        end do
        ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra_state == kept)
    end subroutine

    subroutine read_wide(userbuf, datatype, count, filebuf, position, extra_state, ierror)
        BUFFERS
        DATATYPE
        integer :: count, ierror, i, at
        integer(MPI_OFFSET_KIND) :: position
        integer(MPI_ADDRESS_KIND) :: extra_state
#ifdef USE_F08
        integer(byte), pointer :: user(:), file(:)
        call c_f_pointer(userbuf, user, [4 * (int(position) + count)])
        call c_f_pointer(filebuf, file, [wide_bytes * count])
#endif
        do i = 0, wide_bytes * count - 1
            at = wide_bytes - mod(i, wide_bytes)
            if (at <= 4) user_byte(4 * (int(position) + i / wide_bytes) + at) = file_byte(i + 1)
        end do
        ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra_state == kept)
    end subroutine

    subroutine read_fails(userbuf, datatype, count, filebuf, position, extra_state, ierror)
        BUFFERS
        DATATYPE
        integer :: count, ierror
        integer(MPI_OFFSET_KIND) :: position
        integer(MPI_ADDRESS_KIND) :: extra_state
        ierror = MPI_ERR_OTHER
    end subroutine

    subroutine register()
#ifdef USE_MPI
        external MPI_CONVERSION_FN_NULL  ! not every module mpi declares it
#endif
        ! MPI must copy its value, because the variable no longer exists when the functions are called.
        integer(MPI_ADDRESS_KIND) :: extra
        integer :: code
        extra = kept
        call MPI_Register_datarep('wide  ', read_wide, write_wide, extent, extra, code)
        call check(code == MPI_SUCCESS, 'registering')
        call MPI_Register_datarep('broken', read_fails, write_wide, extent, extra, code)
        call MPI_Register_datarep('plain', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, memory_extent, extra, code)
        call check(code == MPI_SUCCESS, 'registering without functions')
        call MPI_Register_datarep('wide', read_wide, write_wide, extent, extra, code)
        call check(code /= MPI_SUCCESS, 'registering twice')
        extra = 0
    end subroutine

    subroutine check(fine, what)
        logical, intent(in) :: fine
        character(len=*), intent(in) :: what
        integer :: ierror
        if (fine) return
        print *, 'failed: ', what
        call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    end subroutine
end module

program fortran_datarep
    use wide
    implicit none
    integer, parameter :: values = 5
#ifdef USE_F08
    type(MPI_File) :: file
    type(MPI_Status) :: status
#else
    integer :: file, status(MPI_STATUS_SIZE)
#endif
    integer :: rank, ierror
    character(len=1024) :: folder

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call get_command_argument(1, folder)
    call register()
    call leave('wide', 'wide', MPI_SUCCESS)
    call leave('plain', 'plain', MPI_SUCCESS)
    call leave('broken', 'broken', MPI_ERR_CONVERSION)
    call MPI_Finalize(ierror)

contains
    subroutine leave(name, representation, read_class)
        character(len=*), intent(in) :: name, representation
        integer, intent(in) :: read_class
        integer :: mine(values), back(values), got, class, code, i
        integer(MPI_OFFSET_KIND) :: start
        call MPI_File_open(MPI_COMM_WORLD, trim(folder)//'/'//name, ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, &
                           file, ierror)
        call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, representation, MPI_INFO_NULL, ierror)
        call check(ierror == MPI_SUCCESS, 'setting the view '//name)
        mine = [(1000000 * (rank + 1) + i, i = 1, values)]
        back = -1
        start = values * rank
        call MPI_File_write_at_all(file, start, mine, values, MPI_INTEGER, status, ierror)
        call check(ierror == MPI_SUCCESS, 'writing '//name)
        call MPI_File_read_at(file, start, back, values, MPI_INTEGER, status, code)
        call MPI_Error_class(code, class, ierror)
        call check(class == read_class, 'reading '//name)
        call MPI_Get_count(status, MPI_INTEGER, got, ierror)
        if (read_class == MPI_SUCCESS) call check(got == values .and. all(back == mine), 'what was read, '//name)
        call MPI_File_close(file, ierror)
    end subroutine
end program
