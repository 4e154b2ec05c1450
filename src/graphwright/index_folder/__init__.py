"""The public class `Index`, and the snapshots that its queries read."""
