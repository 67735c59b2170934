"""What all charts share: colours, scales, escaped text that fits, the frame of an SVG."""

from __future__ import annotations

# What the page defines as custom properties: name -> (light, dark). Charts carry the light ones as fallbacks.
PALETTE: dict[str, tuple[str, str]] = {
    "--paper": ("#ffffff", "#16191d"),
    "--ink": ("#1b1f24", "#e8eaed"),
    "--muted": ("#565e68", "#a6aeb8"),
    "--line": ("#cfd5dc", "#3b424b"),
    "--accent": ("#1f5f8b", "#7fb8e0"),
    "--exposure-0": ("#f1f3f5", "#2a3037"),
    "--exposure-1": ("#f9dcc4", "#5a4632"),
    "--exposure-2": ("#f0a878", "#9a5c2e"),
    "--exposure-3": ("#c4512d", "#f0996a"),
    "--exposure-4": ("#7d1d1d", "#ffd2bd"),
}
