// SPDX-License-Identifier: BSD-3-Clause
//! MPI-IO through rsmpi, which has the routines only in `ffi`, with C signatures. usage: rust_blocks FOLDER
//!
//! Each rank writes a block and reads its neighbour's.
use mpi::ffi;
use mpi::traits::*;
use std::ffi::{c_void, CString};

const COUNT: usize = 1000;

fn require(code: i32, what: &str) {
    assert_eq!(code, ffi::MPI_SUCCESS as i32, "{what}");
}

fn main() {
    let universe = mpi::initialize().expect("MPI begins");
    let world = universe.world();
    let (rank, ranks) = (world.rank(), world.size());
    let folder = std::env::args().nth(1).expect("a folder");
    let path = CString::new(format!("{folder}/blocks.dat")).unwrap();
    let block = |of: i32| -> Vec<i32> { (0..COUNT as i32).map(|at| of * 10_000 + at).collect() };
    let place = |of: i32| of as ffi::MPI_Offset * (COUNT * size_of::<i32>()) as ffi::MPI_Offset;
    let (mine, mut found) = (block(rank), vec![0i32; COUNT]);
    let other = (rank + 1) % ranks;
    let int = i32::equivalent_datatype().as_raw();
    unsafe {
        let mut file: ffi::MPI_File = std::mem::zeroed();
        let mode = (ffi::MPI_MODE_CREATE | ffi::MPI_MODE_RDWR) as i32;
        let (comm, info, status) = (world.as_raw(), ffi::RSMPI_INFO_NULL, ffi::RSMPI_STATUS_IGNORE);
        require(ffi::MPI_File_open(comm, path.as_ptr(), mode, info, &mut file), "open");
        let from = mine.as_ptr() as *const c_void;
        require(ffi::MPI_File_write_at_all(file, place(rank), from, COUNT as i32, int, status), "write");
        require(ffi::MPI_File_sync(file), "sync");
        world.barrier();
        let to = found.as_mut_ptr() as *mut c_void;
        require(ffi::MPI_File_read_at_all(file, place(other), to, COUNT as i32, int, status), "read");
        require(ffi::MPI_File_close(&mut file), "close");
    }
    assert_eq!(found, block(other), "comparing");
}
