"""Makes recon/readers/inspection/ledger/documents.json from the golden models: the form of JSON documents of each kind.

    python tests/golden/harmless/documents.py

Per kind and path: the types that stand there, the most characters or entries; and which lists of one dict have always
the same length, but for a constant, as each other or as one of its numbers.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

from recon.readers.inspection.documents.documents import parsed_document
from recon.readers.inspection.ledger.forms import HERE, OF_CATEGORIES, OPAQUE, _below, _lengths, _letter

GOLDEN = Path(__file__).parents[1]
FORMS = ("*.json", "*.ubj", "*.txt", "*.gz", "*.cbm")
LEFT_OUT = {"inspect", "published"}


# What no golden model has: XGBoost 3.4 writes how much dropped trees weigh into the model, as long as its trees.
SETTINGS = """feature_names feature_types max_bins max_interaction_bins interactions exclude validation_size outer_bags
inner_bags learning_rate greedy_ratio smoothing_rounds interaction_smoothing_rounds max_rounds early_stopping_rounds
early_stopping_tolerance min_samples_leaf min_hessian reg_alpha reg_lambda max_delta_step max_leaves objective n_jobs
random_state epsilon delta composition bin_budget_frac"""


def additive():
    """Return the form of interpret's `to_json`, by its source (interpret 0.7.8, glassbox/_ebm/_json.py)."""
    settings = re.findall(r"\w+", SETTINGS)
    lists = {"feature_names", "feature_types", "interactions", "exclude"}
    form = {
        "": "d",
        ".version": "nt",
        ".ebm": "d",
        ".ebm.outputs": "l",
        ".ebm.outputs.*": "d",
        ".ebm.implementation": "t",
    }
    form |= {f".ebm.outputs.*.{key}": "nt" for key in ("task", "link", "link_param", "min_target", "max_target")}
    form |= {".ebm.outputs.*.classes": "l", ".ebm.outputs.*.classes.*": "nt", ".ebm.implementation_params": "d"}
    for key in ("intercept", "bagged_intercept", "bag_weights", "best_iteration"):
        form |= {f".ebm.{key}": "l", f".ebm.{key}.*": "lnt", f".ebm.{key}.*.*": "nt"}
    for key in settings:
        form[f".ebm.implementation_params.{key}"] = "lnt" if key in lists else "nt"
    for key in lists:
        form |= {f".ebm.implementation_params.{key}{'.*' * k}": "lnt" for k in (1, 2)}
    form |= {".ebm.features": "l", ".ebm.features.*": "d", ".ebm.terms": "l", ".ebm.terms.*": "d"}
    form |= {f".ebm.features.*.{key}": "nt" for key in ("name", "type", "num_unique_vals", "min", "max")}
    for key in ("cuts", "categories", "histogram_weights"):
        form |= {f".ebm.features.*.{key}{'.*' * k}": "l" if not k else "lnt" for k in range(3)}
    form |= {".ebm.terms.*.term_features": "l", ".ebm.terms.*.term_features.*": "nt"}
    for key in ("bin_weights", "scores", "standard_deviations", "bagged_scores"):
        form |= {f".ebm.terms.*.{key}{'.*' * k}": "l" if not k else "lnt" for k in range(6)}
    long = {".ebm.bag_weights": 64, ".ebm.bagged_intercept": 64, ".ebm.best_iteration": 64, ".ebm.best_iteration.*": 64}
    return {path: (types, long.get(path, 0)) for path, types in form.items()}


def treelite():
    """Return the form of treelite's `dump_as_json`, by its source (treelite 4.8, src/json_serializer.cc)."""
    form = {"": "d", ".trees": "l", ".trees.*": "d", ".trees.*.nodes": "l", ".trees.*.nodes.*": "dn"}
    for key in ("threshold_type", "leaf_output_type", "task_type", "postprocessor", "attributes"):
        form[f".{key}"] = "t"
    for key in ("num_feature", "num_target", "sigmoid_alpha", "ratio_c", "average_tree_output"):
        form[f".{key}"] = "bn"
    for key in ("num_class", "leaf_vector_shape", "target_id", "class_id", "base_scores"):
        form |= {f".{key}": "l", f".{key}.*": "n"}
    form |= {".trees.*.num_nodes": "n", ".trees.*.has_categorical_split": "b"}
    numbers = "node_id split_feature_id threshold left_child right_child data_count sum_hess gain"
    for key in numbers.split():
        form[f".trees.*.nodes.*.{key}"] = "n"
    form |= {".trees.*.nodes.*.node_type": "t", ".trees.*.nodes.*.comparison_op": "t"}
    form |= {".trees.*.nodes.*.default_left": "b", ".trees.*.nodes.*.leaf_value": "ln"}
    form[".trees.*.nodes.*.leaf_value.*"] = "n"
    sizes = {".threshold_type": 7, ".leaf_output_type": 7, ".task_type": 20, ".postprocessor": 24, ".attributes": 2,
             ".trees.*.nodes.*.node_type": 21, ".trees.*.nodes.*.comparison_op": 2, ".trees": 64,
             ".trees.*.nodes": 64, ".target_id": 64, ".class_id": 64}  # fmt: skip
    return {path: (types, sizes.get(path, 0)) for path, types in form.items()}


BY_HAND = {"treelite's JSON": treelite(),
           "XGBoost model": {".learner.gradient_booster.model.weight_drop": ("l", 0),
                             ".learner.gradient_booster.model.weight_drop.*": ("n", 0)},
           "Explainable Boosting Machine as JSON": additive()}  # fmt: skip
TIMES, DIFFERENT = 3, 2  # so many dicts, and so many lengths, before lists go together; of full lists one more


def documents():
    """Yield kind and content of every golden document that libraries wrote."""
    for form in FORMS:
        for file in sorted(GOLDEN.rglob(form)):
            if not LEFT_OUT & set(file.parts):
                found = parsed_document(file.read_bytes())
                if found is not None:
                    yield found


def together(samples, different=DIFFERENT):
    """Return the lists of dicts that have always one length, but for a constant, each with its length in the first."""
    keys = sorted({key for s in samples for key in s})
    whole = [key for key in keys if all(key in s for s in samples)]
    signatures = defaultdict(dict)
    for key in whole:
        sizes = [s[key] for s in samples]
        if len(sizes) >= TIMES and len(set(sizes)) >= different:
            signatures[tuple(v - sizes[0] for v in sizes)][key] = sizes[0]
    mine = list(signatures.values())
    beside = defaultdict(dict)  # keys of the same dicts only
    for key in set(keys) - set(whole):
        at = [i for i, s in enumerate(samples) if key in s]
        sizes = [samples[i][key] for i in at]
        if len(at) >= TIMES and len(set(sizes)) >= different:
            beside[tuple(at), tuple(v - sizes[0] for v in sizes)][key] = sizes[0]
    for key in set(keys) - set(whole):  # of some dicts only: with a group that it has always gone with
        of = [s for s in samples if key in s]
        if len(of) >= TIMES and len({s[key] for s in of}) >= different:
            for group in mine:
                first = min(set(group) & set(whole))
                if len({s[key] - s[first] for s in of}) == 1:
                    group[key] = group[first] + of[0][key] - of[0][first]
    mine += [one for one in beside.values() if not any(set(one) <= set(other) for other in mine)]
    return [g for g in mine if len(g) > 1 and any(k.endswith("[]") for k in g)]


def main():
    """Make the table, and write it."""
    paths, held = defaultdict(dict), defaultdict(lambda: defaultdict(list))
    for kind, content in documents():
        stack = [("", content)]
        while stack:
            path, value = stack.pop()
            form = _letter(value)
            size = len(value) if form in "tl" else 0
            types, most = paths[kind].get(path, ("", 0))
            paths[kind][path] = "".join(sorted({*types, form})), max(most, size)
            if path.rpartition(".")[2] not in OPAQUE and form in "ld":
                stack += _below(path, value)
            if form == "d":
                held[kind][path].append({k: n for k, n in _lengths(value).items() if k not in OF_CATEGORIES})
    out = {}
    for kind in [*paths, *(kind for kind in BY_HAND if kind not in paths)]:
        forms = paths[kind]
        forms |= {path: form for path, form in BY_HAND.get(kind, {}).items() if path not in forms}
        groups = {}
        for path, samples in held[kind].items():
            full = [{key: size for key, size in s.items() if size or not key.endswith("[]")} for s in samples]
            mine = together(samples)
            mine += [one for one in together(full, DIFFERENT + 1) if not any(set(one) <= set(other) for other in mine)]
            if mine:
                groups[path] = [{k: g[k] for k in sorted(g)} for g in mine]
        out[kind] = [{p: list(forms[p]) for p in sorted(forms)}, groups]
    (HERE / "documents.json").write_text(json.dumps(out, separators=(",", ":")), encoding="utf-8")


if __name__ == "__main__":
    main()
