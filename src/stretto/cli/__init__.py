"""The `stretto` command: one small module per subcommand."""
