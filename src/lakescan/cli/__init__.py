"""The command `lakescan`. Each module in `commands/` is one subcommand, by its name; nothing else lists them."""
