"""Inside of ExecuTorch: `Memstow` for its suite of algorithms, `CadencePlanning` for its Cadence backend."""
