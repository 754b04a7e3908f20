"""The command line: app.py runs it, command_line.py defines it, commands/ holds what it does."""
