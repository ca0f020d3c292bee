"""The debugger for editors: a server of the Debug Adapter Protocol."""
