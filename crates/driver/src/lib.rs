//! The load driver: clock, connections, slices, histograms, the hot loop.
