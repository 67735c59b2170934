"""The version of recon, where everything that names it can import it."""

VERSION = "0.1.0"
