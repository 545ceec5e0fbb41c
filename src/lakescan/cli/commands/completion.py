"""`lakescan completion`: what a shell needs to complete subcommands, options and paths."""

import click
from click.shell_completion import get_completion_class


@click.command(short_help="The script by which a shell completes this command.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes this command: eval "$(lakescan completion bash)"."""
    kind = get_completion_class(shell)
    assert kind is not None, "click knows these shells"
    root = ctx.find_root()
    click.echo(kind(root.command, {}, "lakescan", "_LAKESCAN_COMPLETE").source())
