"""The index folder that users hold: `Index`, and the snapshots that its queries read."""
