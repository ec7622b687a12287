"""``likewise cache``: results of networks that are kept across audits."""

from __future__ import annotations

import json

import click

from likewise.cli.help import Group


@click.group(cls=Group)
def cache() -> None:
    """Results of networks that are kept across audits: aligned images, latents, embeddings."""


@cache.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON on stdout.")
def list_(as_json: bool) -> None:
    """Show where the cache is, how many entries it has and how large it is."""
    from likewise.audit.folder.cached_work import content_cache

    held = content_cache()
    entries = sum(1 for _ in held.entries())
    images = sum(1 for path in held.root.glob("??/*") if path.is_dir())
    plain = {"folder": str(held.root), "images": images, "entries": entries, "bytes": held.size(), "limit": held.limit}
    if as_json:
        click.echo(json.dumps(plain, indent=1))
        return
    size, limit = held.size() / 1e6, held.limit / 1e6
    click.echo(f"{held.root}: {entries:,} entries of {images:,} images, {size:,.1f} MB of at most {limit:,.0f} MB")


@cache.command("clear")
def clear() -> None:
    """Remove all entries; results are then computed again."""
    from likewise.audit.folder.cached_work import content_cache

    click.echo(f"removed {content_cache().clear():,} entries")
