"""What models must do, and the ones that ship with the package."""
