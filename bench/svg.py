"""The few shapes that the plots of the page are made of, as SVG that reads well on light and on dark paper."""

from xml.sax.saxutils import escape, quoteattr

STYLE = """
    svg { --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --rule: #d1d9e0; --ckpt: #0969da; --python: #bc4c00;
      --copy: #1a7f37; --tool: #8250df; }
    @media (prefers-color-scheme: dark) {
      svg { --paper: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --rule: #3d444d; --ckpt: #58a6ff; --python: #f0883e;
        --copy: #3fb950; --tool: #bc8cff; }
    }
    text { font: 12px system-ui, sans-serif; fill: var(--ink); }
    .faint { fill: var(--faint); font-size: 11px; } .head { font-size: 15px; font-weight: 600; }
    .paper { fill: var(--paper); } .rule { stroke: var(--rule); } .limit { stroke: var(--faint); stroke-dasharray: 5 4; }
    .line { fill: none; stroke-width: 1.5; opacity: 0.75; } .leader { stroke: var(--rule); fill: none; }
    .ckpt { fill: var(--ckpt); } .python { fill: var(--python); } .copy { fill: var(--copy); } .tool { fill: var(--tool); }
    .line.ckpt { fill: none; stroke: var(--ckpt); } .line.python { fill: none; stroke: var(--python); }
"""


class Drawing:
    def __init__(self, width, height, title):
        self.width, self.height, self.title = width, height, title
        self.parts = []

    def add(self, part):
        self.parts.append(part)

    def text(self, x, y, text, kind="", anchor="start"):
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>')

    def rule(self, x1, y1, x2, y2, kind="rule"):
        self.add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def path(self, points, kind):
        self.add(f'<polyline class="{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')

    def mark(self, x, y, kind, says, shape=""):
        """A command's: a bar for ckpt, a disc for Python, a square for what copies, a rhomb for other tools."""
        outline = {
            "ckpt": f"M{x - 2:.1f} {y - 7:.1f}h4v14h-4z",
            "python": f"M{x - 4.5:.1f} {y:.1f}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
            "copy": f"M{x - 4:.1f} {y - 4:.1f}h8v8h-8z",
            "tool": f"M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
        }[shape or kind]
        self.add(f'<path class="mark {kind}" d="{outline}"><title>{escape(says)}</title></path>')

    def text_of(self):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height:.0f}" '
                f'width="{self.width}" height="{self.height:.0f}" role="img" aria-label={quoteattr(self.title)}>')
        paper = f'<rect class="paper" width="{self.width}" height="{self.height:.0f}"/>'
        body = "\n".join(f"  {part}" for part in [paper, *self.parts])
        return f"{head}\n  <title>{escape(self.title)}</title>\n  <style>{STYLE}  </style>\n{body}\n</svg>\n"
