"""What every SVG picture here begins with: the page, and words on it that cannot break the markup."""


def escape(text: str) -> str:
    """The text with the characters that mean something in XML written as entities.

    `xml.sax.saxutils` has the same function, but loads urllib, http and ssl.
    """
    return text.replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")


def px(value: float) -> str:
    """Pixels to a tenth, as short as can be."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def page(width: int, height: int, title: str, description: str | None, lines: list[str]) -> str:
    """The whole picture on white paper; the description is for those who cannot see the picture."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="sans-serif" font-size="11" role="img">',
            f"<title>{escape(title)}</title>",
            *([] if description is None else [f"<desc>{escape(description)}</desc>"]),
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *lines,
            "</svg>\n",
        ]
    )


def text(x: str | float, y: str | float, words: str, **style: str | int | None) -> str:
    """Words at a point; `style` has the attributes in order, with `_` for `-`, and None where there is none.

    Names of classes come first, before the point, as `kind`.
    """
    kind = style.pop("kind", None)
    before = "" if kind is None else f'class="{kind}" '
    after = "".join(
        f' {name.replace("_", "-")}="{value}"' for name, value in style.items() if value is not None
    )
    return f'<text {before}x="{x}" y="{y}"{after}>{escape(words)}</text>'
