; The fields of a small cavity, written as HDF5.
(set! geometry-lattice (make lattice (size 8 8 no-size)))
(set! geometry (list (make block (center 0 0) (size 2 2 infinity)
                       (material (make dielectric (epsilon 12))))))
(set! sources (list (make source (src (make continuous-src (frequency 0.15)))
                      (component Ez) (center -1 0))))
(set! pml-layers (list (make pml (thickness 1.0))))
(set! resolution 20)
(run-until 10 (at-beginning output-epsilon) (at-every 5 output-efield-z))
