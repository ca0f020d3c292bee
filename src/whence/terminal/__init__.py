"""The debugger in a terminal: commands, what they show, and a screen that keeps it in view."""
