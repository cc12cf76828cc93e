; The dielectric function of a square lattice of rods, and its inverse, as HDF5. The fields are not written:
; their last digits differ from run to run.
(set! geometry-lattice (make lattice (size 1 1 no-size)))
(set! geometry (list (make cylinder (center 0 0 0) (radius 0.2) (height infinity)
                       (material (make dielectric (epsilon 12))))))
(set! resolution 128)
(init-params TM true)
(output-epsilon)
