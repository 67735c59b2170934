"""What the binary forms of boosters give away: CatBoost's .cbm (and its JSON), XGBoost's UBJSON."""

from __future__ import annotations

from recon.readers.formats.boosters.catboost.file import cbm_booster, looks_like_cbm
from recon.readers.formats.boosters.xgboost.model import looks_like_xgboost_ubj
from recon.readers.inspection.documents.catboost_findings import Found, catboost_findings, catboost_values
from recon.readers.inspection.documents.json_models import json_findings
from recon.readers.inspection.documents.leftovers import name_findings
from recon.readers.inspection.findings.findings import not_understood
from recon.readers.inspection.ledger.forms import document_ledger, more_than_settings, size_of_json
from recon.readers.stored.binary.ubjson import read_ubjson


def binary_findings(data: bytes, memory: int) -> Found | None:
    """Return kind, number of rows (left to the reader) and findings of a booster's bytes; None for other bytes.

    Raises `ReleaseError` where they are broken.
    """
    if looks_like_cbm(data[:64]):
        booster = cbm_booster(data, memory)
        said = catboost_values({"model_info": booster.stated})
        odd = document_ledger("CatBoost model as JSON", said).findings()
        return "CatBoost model", None, [*catboost_findings(booster), *odd, *name_findings(booster.names, "features")]
    if looks_like_xgboost_ubj(data[:128]):
        found = read_ubjson(data, memory)
        whole = found.get("Model", found) if isinstance(found, dict) else None
        known = json_findings(whole)
        if known is None:
            return "UBJSON", None, [not_understood("", len(data), "UBJSON")]
        more = [k for k in found if whole is not found and k not in {"Model", "Config"}]
        unread = [not_understood(k, len(str(found[k])), "a part of the booster") for k in more]
        if more_than_settings(found.get("Config") if whole is not found else None):
            unread.append(not_understood("Config", size_of_json(found["Config"]), "what should be settings,"))
        return f"{known[0]} (UBJSON)", known[1], [*known[2], *unread]
    return None
