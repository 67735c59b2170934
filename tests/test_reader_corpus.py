"""The table of docs/readers.md: each row has files that are read as it says, or refused with advice that works."""

from __future__ import annotations

import inspect
import io
import pickle
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import recon
from recon.readers.formats import detection
from recon.readers.formats.detection import FOREIGN
from recon.readers.frames.world import violations
from recon.readers.loading.loading import read_domain
from solvers.foundation.errors import ReconError

HERE = Path(__file__).parent
CORPUS, GOLDEN = HERE / "corpus", HERE / "golden"
PAGE = (HERE.parent / "docs" / "readers.md").read_text(encoding="utf-8")
IRIS = (
    "part.txt",
    "partykit.txt",
    "rtree.txt",
    "c50_rules.txt",
    "plot_tree.txt",
    "orange.txt",
)  # printed of Fisher's 150 flowers


def stored(name: str, *changes: tuple[str, str]) -> bytes:
    """Return a file of tests/corpus, or one below tests/golden, with texts replaced."""
    content = (CORPUS / name if (CORPUS / name).exists() else GOLDEN / name).read_bytes()
    for old, new in changes:
        assert old.encode() in content
        content = content.replace(old.encode(), new.encode())
    return content


@dataclass(frozen=True)
class Case:
    """A file of a row: what it is read as (format, kind, rows), or why it is refused and what follows the advice."""

    row: str  # how the first cell of the row in docs/readers.md begins
    file: str
    form: str = ""
    kind: str = ""
    rows: int | None = None
    refused: str = ""
    instead: Callable[[], bytes] | None = None
    changes: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """Return the row and the file."""
        return f"{self.row}: {self.file} {self.kind or self.refused}"


def r_object(name: str) -> bytes:
    """Return the .rds file of an empty R list of a class."""
    texts = [name.encode()]
    chars = b"".join(b"\x00\x04\x00\x09" + len(t).to_bytes(4, "big") + t for t in texts)
    pair = b"\x00\x00\x04\x02\x00\x00\x00\x01\x00\x04\x00\x09\x00\x00\x00\x05class"
    values = b"\x00\x00\x00\x10\x00\x00\x00\x01" + chars
    return (
        b"X\n\x00\x00\x00\x02\x00\x04\x00\x00\x00\x02\x03\x00\x00\x00\x02\x13\x00\x00\x00\x00"
        + pair
        + values
        + b"\x00\x00\x00\xfe"
    )


def model_of(name: str) -> bytes:
    """Return what recon's own inert pickle of a pipeline with another class name would be: its bytes with the name."""
    tree = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    return pickle.dumps(
        make_pipeline(StandardScaler(), tree).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]), 2
    ).replace(b"csklearn.pipeline\nPipeline\n", name.encode())


def unfitted_looking() -> bytes:
    """Return a pipeline as scikit-learn before 0.24 wrote it: no step says on how many columns it was fitted."""
    pipeline = pickle.loads(model_of("csklearn.pipeline\nPipeline\n"))
    for step in pipeline:
        del step.n_features_in_
    pipeline[-1].n_features_ = 1
    return pickle.dumps(pipeline)


C50_TREE, J48_TREE, PARTY = "C5.0, printed tree", "Weka J48, printed tree", "R partykit, printed tree"
WEKA, C50, PIPES, DRAWN = "Weka J48 and PART", "C5.0", "pipelines, searches", "scikit-learn, printed or drawn"
TREES, FORESTS, BOOSTS = "scikit-learn, stored trees", "scikit-learn, stored forests", "scikit-learn, stored boosting"
SEVERAL, OTHERS, RULES = "PMML, several models", "PMML, other models", "PMML rule sets"
LGB, XGB, RDS, PART = "LightGBM: model text", "XGBoost: `save_model`", "other R objects", "Weka PART, printed rules"
SK, GOES, SEVERAL_GOES = "models/sklearn-1.9.1", "readers/continued", "boosters trained in several runs"


def method(name: str) -> tuple[tuple[str, str], ...]:
    """Return the change of a PMML file of two trees to another way of joining them."""
    return (('"average"', f'"{name}"'),)


CASES = (
    Case(TREES, f"{SK}/tree_monotonic.pkl", "scikit-learn 1.9.1 DecisionTreeClassifier (pickle)", "exact", 90),
    Case(TREES, f"{SK}/tree_weight_any.pkl", "scikit-learn 1.9.1 DecisionTreeClassifier (pickle)", "size", 90),
    Case(TREES, f"{SK}/tree_two_outputs.pkl", refused="fit one tree per output",
         instead=lambda: stored(f"{SK}/tree.pkl")),
    Case(FORESTS, f"{SK}/forest.skops", "scikit-learn 1.9.1 RandomForestClassifier (skops)", "bag", 90),
    Case(FORESTS, f"{SK}/forest_no_bootstrap.pkl", "scikit-learn 1.9.1 RandomForestClassifier (pickle)", "exact", 90),
    Case(BOOSTS, f"{SK}/ada_boost.pkl", "scikit-learn 1.9.1 AdaBoostClassifier (pickle)", "exact", 90),
    Case(BOOSTS, "models/sklearn-1.2.2/gradient_boosting.pkl",
         "scikit-learn 1.2.2 GradientBoostingClassifier (pickle)", "exact", 90),
    Case(BOOSTS, "models/sklearn-1.2.2/hist_boosting_categories.pkl",
         "scikit-learn 1.2.2 HistGradientBoostingClassifier (pickle)", "exact", 90),
    Case(PIPES, f"{SK}/pipeline_scaler.pkl",
         "scikit-learn 1.9.1 DecisionTreeClassifier (pickle), behind StandardScaler in a Pipeline", "exact", 80),
    Case(PIPES, "pipeline_xgboost.pkl", "XGBoost, UBJSON in a pickle, in a Pipeline", "size", 80),
    Case(PIPES, "models/sklearn-1.2.2/calibrated.pkl",
         "scikit-learn 1.2.2 DecisionTreeClassifier (pickle), fold 1 of 3 in a CalibratedClassifierCV", "exact", 90),
    Case("imbalanced-learn", "readers/imb_smote.joblib", refused="SMOTE makes up, copies or drops rows",
         instead=lambda: stored(f"{SK}/tree.pkl")),
    Case(DRAWN, "plot_tree.txt", "scikit-learn, plot_tree", "exact", 150),
    Case(DRAWN, "graphviz_0.14.dot", "scikit-learn, export_graphviz", "exact", 150),
    Case(DRAWN, f"{SK}/dot_people_proportion.dot", "scikit-learn, export_graphviz", "ratio", 9),
    Case(DRAWN, f"{SK}/text_people_10.txt", "scikit-learn, export_text", "exact", 90),
    Case(DRAWN, f"{SK}/text_people_default.txt", "scikit-learn, export_text", "label", 9),
    Case(DRAWN, "readers/export_text_class_weight_2_3.txt", "scikit-learn, export_text", "ratio", 120),
    Case("imodels", "models/imodels-3.0.4/greedy.pkl", "imodels GreedyRuleListClassifier (pickle)", "exact", 90),
    Case("imodels", "models/imodels-3.0.4/rule_fit.pkl", refused="shares of subsamples"),
    Case("CORELS", "models/corels-1.1.29/list.txt", "CORELS, printed rule list", "label", 1),
    Case("CORELS", "models/corels-1.1.29/list_with_counts.txt", "CORELS, printed rule list", "exact", 120),
    Case("pydl8.5", "models/pydl8.5-0.1.8/depth_2.pkl", "pydl8.5 DL85Classifier (pickle)", "exact", 120),
    Case("pydl8.5", "models/pystreed-1.4.0/people.dot", "pystreed export_dot", "exact", 90),
    Case("PMML trees", "readers/norootcount.pmml", "PMML by JPMML-SkLearn", "exact", 70),
    Case("PMML trees", "readers/scoredistribution_only.pmml", "PMML by x", "exact", 100),
    Case("PMML trees", "rapidminer_zero.pmml", "PMML by RapidMiner", "exact", 75),
    Case("PMML trees", "verification.pmml", "PMML by x", "exact", 70),
    Case("PMML trees", "models/sklearn2pmml-0.133.1/tree.pmml", "PMML by SkLearn2PMML package", "ratio", 0),
    Case("PMML trees", "verification.pmml", refused="not whole numbers: its rows were weighted",
         changes=(('recordCount="20"', 'recordCount="19.5"'), ('recordCount="30"', 'recordCount="29.5"')),
         instead=lambda: stored("verification.pmml")),
    Case(RULES, "rules_nosum.pmml", "PMML by x", "size", 73),
    Case(RULES, "readers/ruleset_default.pmml", "PMML", "size", 100),
    Case(RULES, "readers/clementine_ruleset.pmml", "PMML by Clementine", "exact", 40),
    Case(RULES, "readers/rapidminer_ruleset.pmml", "PMML by RapidMiner", "exact", 90),
    Case(RULES, "rules_nosum.pmml", refused="has no recordCount: it says nothing about rows",
         changes=(('recordCount="33"', ""), ('value="p" recordCount="20"', 'value="p"')),
         instead=lambda: stored("leaves.csv")),
    *(Case(SEVERAL, "two_trees.pmml", "PMML by x", "bag", 1, changes=method(how))
      for how in ("average", "weightedAverage", "median", "max", "majorityVote", "weightedMajorityVote")),
    Case(SEVERAL, "chain_of_average.pmml", "PMML by x", "bag", 1),
    Case(SEVERAL, "chain_reg.pmml", refused="save a segment's TreeModel as a file of its own",
         instead=lambda: stored("verification.pmml")),
    *(Case(SEVERAL, "two_trees.pmml", refused=why, changes=method(how), instead=lambda: stored("verification.pmml"))
      for how, why in (("sum", "fitted on residuals"), ("modelChain", "is fed what an earlier one predicts"),
                       ("selectFirst", "on those it is for"), ("selectAll", "on those it is for"))),
    *(Case(OTHERS, "rules_nosum.pmml", refused=why, changes=(("RuleSetModel", name),))
      for name, why in (("Scorecard", "PMML's Scorecard publishes no counts of rows"),
                        ("NeuralNetwork", "PMML's NeuralNetwork publishes no counts"),
                        ("NearestNeighborModel", "holds training rows as they are, which recon inspect shows"),
                        ("NaiveBayesModel", "counts of rows per value and class (PairCounts)"))),
    Case("R rpart", "models/rpart-4.1.19/people.txt", "R rpart, printed text", "exact", 90),
    Case("R rpart", "models/rpart-4.1.19/people.json", "R rpart, JSON", "exact", 90),
    Case("R rpart", "models/rpart-4.1.19/shop.rds", "R rpart object (.rds)", "exact", 100),
    Case("R rpart", "readers/rpart_knitr.txt", "R rpart, printed text", "exact", 3821),
    Case("R's package tree", "rtree.txt", "R tree, printed text", "exact", 150),
    Case("R's package tree", "rtree_reprex.txt", "R tree, printed text", "exact", 150),
    Case("Orange", "orange.txt", "Orange, printed tree", "exact", 150),
    Case("Orange", "orange_titanic.txt", "Orange, printed tree", "exact", 2201),
    Case("Orange", "orange_titanic.txt", refused="1 row stops here (missing values)",
         changes=(("[  4. 141.]", "[  3. 141.]"),), instead=lambda: stored("orange_titanic.txt")),
    Case("Orange", "orange.txt", refused="no numbers of rows per class",
         changes=(("[50.  0.  0.]", "[14.956 9.276 1.5]"),), instead=lambda: stored("leaves.csv")),
    Case("R partykit", "partykit.txt", PARTY, "size", 150),
    Case("R partykit", "partykit_mean.txt", PARTY, "size", 192),
    Case("R partykit", "partykit_weighted.txt", refused="counts weights, no rows: fit it without weights",
         instead=lambda: stored("partykit_weighted.txt", ("(w =", "(n ="))),
    Case(WEKA, "j48_nominal.txt", J48_TREE, "exact", 14),
    Case(WEKA, "readers/j48.txt", J48_TREE, "size", 150),
    Case(WEKA, "part.txt", PART, "size", 150),
    Case(WEKA, "part.txt", PART, "exact", 150, changes=(("/1.0", ""), ("/3.0", ""))),
    Case(WEKA, "j48_held_out.txt", refused="150 cases and its leaves have 100",
         instead=lambda: stored("j48_held_out.txt", ("34.0", "50.0"), ("66.0/32.0", "100.0/50.0"))),
    Case(WEKA, "part.txt", refused="fractions of rows", changes=(("48.0/1.0", "47.6/1.0"),),
         instead=lambda: stored("part.txt")),
    Case(C50, "readers/c50.txt", C50_TREE, "size", 150),
    Case(C50, "c50_apart.txt", C50_TREE, "size", 74),
    Case(C50, "c50_boost.txt", C50_TREE, "size", 150),
    Case(C50, "c50_rules.txt", "C5.0, printed rules", "size", 150),
    Case(C50, "c50_sets.txt", refused="some levels of an ordered factor",
         instead=lambda: stored("c50_sets.txt", ("Pclass in [2-1]", "Pclass in {2,1}"))),
    Case(C50, "c50_rules.txt", refused="fit it with trials = 1",
         changes=(("Rules:", "-----  Trial 1:  -----\n\nRules:"),), instead=lambda: stored("c50_rules.txt")),
    Case(LGB, "models/lightgbm-4.7.0/binary.txt", "LightGBM, model file", "exact", 90),
    Case(LGB, "models/lightgbm-4.7.0/binary.json", "LightGBM, dump_model() JSON", "exact", 90),
    Case(LGB, "readers/lgb_v2.txt", "LightGBM, model file", "size", 100),
    Case(LGB, "readers/lgb_missing_split.txt", "LightGBM, model file", "exact", 200),
    Case(LGB, "lgb_linear.txt", "LightGBM, model file", "size", 120),
    Case(LGB, "lgb_rare_category.txt", "LightGBM, model file", "exact", 120),
    Case(LGB, "readers/lgb_json_bagging/model.json", "LightGBM, dump_model() JSON", "size", 21),
    Case(XGB, "boosted/xgb_honest.json", "XGBoost, save_model JSON", "exact", 160),
    Case(XGB, "readers/xgb_reg_absoluteerror.json", "XGBoost, save_model JSON", "size", 100),
    Case(XGB, "models/xgboost-3.2.0/classes.dump.txt", refused="save_model('model.json')",
         instead=lambda: stored("models/xgboost-3.2.0/classes.json")),
    Case("CatBoost", "models/catboost-1.2.10/binary.cbm", "CatBoost, .cbm", "exact", 90),
    Case("CatBoost", "models/catboost-1.2.10/weighted_classes.cbm", refused="weighs its classes",
         instead=lambda: stored("models/catboost-1.2.10/binary.cbm")),
    Case(SEVERAL_GOES, f"{GOES}/lightgbm_binary_second.txt", "LightGBM, model file", "exact", 80),
    Case(SEVERAL_GOES, f"{GOES}/xgboost_squarederror_second.json", "XGBoost, save_model JSON", "size", 80),
    Case(SEVERAL_GOES, f"{GOES}/xgboost_logistic_second.json", "XGBoost, save_model JSON", "exact", 80),
    Case(SEVERAL_GOES, f"{GOES}/catboost_continued_second.cbm", "CatBoost, .cbm", "exact", 80),
    Case(SEVERAL_GOES, f"{GOES}/catboost_sum_fewer.cbm", "CatBoost, .cbm", "size", 80),
    Case("frequent itemsets", "itemsets.csv", "table of counts: frequent itemsets (CSV)", "exact", 60),
    Case("frequent itemsets", "itemsets.csv", refused="no more rows than a wider one",
         changes=(("0.43333333333333335", "0.6333333333333333"),),
         instead=lambda: stored("itemsets.csv")),
    Case("model cards", "model_card.json", refused="give it beside the file of its model",
         instead=lambda: stored("tree_classes.json")),
    Case("Explainable Boosting Machines", "../../examples/releases/people_ebm.joblib",
         "Explainable Boosting Machine (joblib, xz)",
         "size", 40),
    Case("Explainable Boosting Machines", "additive_mixed.json.gz", "Explainable Boosting Machine (JSON)", "size", 40),
    Case("scorecards and binning", "scorecardpy.csv", "table of counts: bins of variables (CSV)", "exact", 569),
    Case("scorecards and binning", "optbinning_scorecard.csv", "table of counts: bins of variables (CSV)", "exact",
         569),
    Case("scorecards and binning", "toad_bins.csv", "table of counts: bins of variables (CSV)", "exact", 569),
    Case("scorecards and binning", "scorecardpy.csv", refused="rows are not the sum of both classes",
         changes=(("107,0.18", "108,0.18"),), instead=lambda: stored("scorecardpy.csv")),
    Case("quantile_forest", "../../examples/releases/quantile_forest.joblib",
         "scikit-learn RandomForestQuantileRegressor (joblib, zlib)", "distinct", 40),
    Case("generalised linear models", "statsmodels_logit.pkl", refused="give --known-columns"),
    Case("generalised linear models", "glm_summary.rds", refused="give --known-columns"),
    Case("generalised linear models", "statsmodels_mnlogit.pkl", refused="give --known-columns"),
    Case("discriminant analyses", "qda.rds", "R MASS qda object (.rds)", "exact", 60),
    Case("printed regressions", "glm_r.txt", refused="give --known-columns"),
    Case("linear regressions", "statsmodels_ols.pkl", "statsmodels OLS (pickle)", "size", 60),
    Case("linear regressions", "regression.csv", "table of counts: coefficients and covariances (CSV)", "size", 60),
    Case("linear regressions", "lm_summary.rds", "R summary.lm object (.rds)", "size", 60),
    Case("linear regressions", "regression.csv", refused="standard error 0.123112 of 'const' is not the root",
         changes=(("0.0151566,", "0.0161566,"),), instead=lambda: stored("regression.csv")),
    Case("linear regressions", "statsmodels_wls.pkl", refused="OLS is read, not WLS",
         instead=lambda: stored("statsmodels_ols.pkl")),
    Case("treelite", "treelite_forest.json", "treelite's JSON", "distinct", 40),
    Case("Spark ML", "spark_pipeline.zip", "Spark ML DecisionTreeClassificationModel (folder)", "exact", 60),
    Case("Spark ML", "spark_forest.zip", "Spark ML RandomForestClassificationModel (folder)", "bag"),
    Case("Spark ML", "spark_boosted.zip", "Spark ML GBTClassificationModel (folder)", "exact", 60),
    Case("H2O", "h2o_forest.zip", "H2O MOJO of drf", "exact", 80),
    Case("H2O", "h2o_drawn.zip", "H2O MOJO of drf", "exact", 80),
    Case("H2O", "h2o_boosted.zip", "H2O MOJO of gbm", "exact", 80),
    Case("H2O", "h2o_numbers.zip", "H2O MOJO of gbm", "size", 80),
    Case("YDF", "ydf_tree.zip", "YDF model (zip of its folder)", "exact", 60),
    Case("YDF", "ydf_forest.zip", "YDF model (zip of its folder)", "bag", 60),
    Case("scikit-survival", "survival_tree.joblib", "scikit-survival SurvivalTree (joblib, xz)", "size", 500),
    Case("scikit-survival", "survival_forest.joblib", "scikit-survival RandomSurvivalForest (joblib, xz)", "distinct",
         60),
    Case("R ranger", "ranger_survival.rds", "R ranger object (.rds)", "size", 60),
    Case("R ranger", "ranger_bag.rds", "R ranger object (.rds)", "distinct", 60),
    Case("R ranger", "ranger_shares.rds", "R ranger object (.rds)", "ratio", 60),
    Case("R ranger", "ranger_classes.rds", "R ranger object (.rds)", "label", 60),
    Case("survival curves", "survfit.rds", "table of counts: survival curve (R survfit object (.rds))", "exact", 228),
    Case("survival curves", "survfit.txt", "table of counts: survival curve (R summary of survfit)", "exact", 228),
    Case("survival curves", "survival_whas500.csv", "table of counts: survival curve (CSV)", "exact", 500),
    Case("survival curves", "survival_whas500.csv", refused="line 3: the time 1 does not follow on 1",
         changes=(("\n2,492", "\n1,492"),), instead=lambda: stored("survival_whas500.csv")),
    Case("records of acro", "acro_results.json", refused="ask about its tables together, `recon audit output_1_0.csv"),
    Case("naive Bayes", "naive_bayes.pkl", "scikit-learn CategoricalNB (pickle)", "exact", 40),
    Case("naive Bayes", "bayes_gaussian.pkl", "scikit-learn GaussianNB (pickle)", "exact", 50),
    Case("naive Bayes", "bayes_e1071.rds", "R e1071 naiveBayes object (.rds)", "exact", 80),
    Case("target encoders", "target_encoder.pkl", "scikit-learn TargetEncoder (pickle)", "exact", 120),
    Case("fitted preprocessing", "prepared.pkl", "scikit-learn StandardScaler (pickle)", "exact", 30),
    Case("target encoders", "target_encoder_ce.joblib", "category_encoders TargetEncoder (joblib)", "exact", 1000),
    Case("tables of counts", "leaves.csv", "table of counts", "exact", 70),
    Case("tables of counts", "leaves_drawn.csv", "table of counts", "exact", 3),
    Case("tables of counts", "leaves.csv", refused="no column of counts", changes=(("count", "stock"),),
         instead=lambda: stored("leaves.csv")),
    Case("release JSON", "tree_classes.json"),
)  # fmt: skip


def loaded(content: bytes, folder: Path, **options: object) -> recon.Release:
    """Return the release that a file with this content is read as."""
    path = folder / "file"
    path.write_bytes(content)
    return recon.load(path, **options)


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_row_of_the_table_is_read_or_refused_as_it_says(case, tmp_path):
    content = stored(case.file, *case.changes)
    if case.refused:
        with pytest.raises(ReconError) as error:
            loaded(content, tmp_path)
        assert case.refused in str(error.value)
        assert case.instead is None or loaded(case.instead(), tmp_path).models
        return
    release = loaded(content, tmp_path)
    origin = release.models[0].origin
    assert (origin.format, origin.counts[0]) == (case.form, case.kind) if case.form else origin is None
    assert case.rows is None or release.rows.low == case.rows


def test_every_row_of_the_table_has_a_file_and_every_file_a_row():
    files = PAGE.partition("## Files\n")[2].partition("\n### ")[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in files.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    assert [
        row for row in rows if not any(row.startswith(case.row) for case in CASES) and not row.startswith(RDS)
    ] == []
    assert [case.row for case in CASES if not any(row.startswith(case.row) for row in rows)] == []


# Rows of the table by the reader behind them: modules of recon.readers.formats that detection calls.
READERS = {
    "sklearn.trees.trees": (TREES, FORESTS, "quantile_forest"),
    "boosters.spark": ("Spark ML",), "boosters.ranger": ("R ranger",), "boosters.treelite": ("treelite",),
    "boosters.yggdrasil": ("YDF",), "boosters.h2o": ("H2O",), "sklearn.boosting.boosting": (BOOSTS,),
    "sklearn.trees.survival": ("scikit-survival",),
    "sklearn.pipelines.pipeline": (PIPES, "imbalanced-learn"), "rules.imodels_lists": ("imodels",),
    "rules.imodels_figs": ("imodels",), "rules.imodels_trees": ("imodels",), "rules.corels_saved": ("CORELS",),
    "rules.dl85": ("pydl8.5",), "rules.streed": ("pydl8.5",), "boosters.pickled": (LGB, XGB, "CatBoost"),
    "pmml.document": ("PMML trees", RULES, SEVERAL, OTHERS), "printed.streed_text": ("pydl8.5",),
    "printed.graphviz_dot": (DRAWN,), "printed.export_text": (DRAWN,), "printed.rpart_rds": ("R rpart", RDS),
    "printed.rpart_text": ("R rpart", "R's package tree"), "printed.orange_text": ("Orange",),
    "printed.weka_text": (WEKA, C50, "R partykit"), "printed.corels_text": ("CORELS",),
    "printed.count_table": ("tables of counts",), "boosters.lightgbm.model": (LGB, SEVERAL_GOES),
    "statistics.itemsets": ("frequent itemsets",),
    "statistics.binning_tables": ("scorecards and binning",),
    "statistics.naive_bayes": ("naive Bayes",), "regressions.generalised_models": ("generalised linear models",),
    "regressions.discriminants": ("discriminant analyses",),
    "regressions.printed_coefficients": ("printed regressions",),
    "regressions.least_squares": ("linear regressions",), "regressions.regression_tables": ("linear regressions",),
    "statistics.survival_curves": ("survival curves",),
    "statistics.acro_records": ("records of acro",),
     "statistics.target_encoders": ("target encoders",),
    "sklearn.pipelines.prepared": ("fitted preprocessing",),
    "statistics.model_card": ("model cards",),
    "statistics.additive_models": ("Explainable Boosting Machines",),
    "boosters.xgboost.model": (XGB, SEVERAL_GOES), "boosters.catboost_model": ("CatBoost", SEVERAL_GOES),
    "release.reading": ("release JSON",),
}  # fmt: skip
# Rows of the table of assumptions, each with the test that shows it broken, or told by the file's figures.
ASSUMED = {
    "XGBoost |": "test_readers_cases:test_subsample_with_the_old_base_score_gives_least_numbers",
    "XGBoost, sparse": "test_readers_cases:test_rows_of_a_sparse_matrix_go_the_default_way_and_are_not_certain",
    "XGBoost dump": "test_readers_cases:test_features_that_a_dump_only_numbers_are_those_at_their_places",
    "LightGBM, model file": "test_readers_cases:test_trees_of_other_rows_are_a_release_of_their_own",
    "boosters trained": "test_readers_cases:test_every_training_of_a_booster_is_a_release_of_its_own",
    "LightGBM, `dump": "test_readers_cases:test_a_pickle_like_dump_without_parameters_does_not_hide_bagging",
    "LightGBM before 2.3": "test_reader_corpus:test_a_row_of_the_table_is_read_or_refused_as_it_says",
    "CatBoost": "test_boosted_catboost:test_weighted_rows_are_not_taken_for_rows",
    "scikit-learn models": "test_classes_that_occur:test_where_counts_or_leaf_values_say_which_classes",
    "one tree, stored": "test_readers_cases:test_a_stored_tree_of_a_bootstrap_forest_counts_drawn_rows",
    "`export_text`": "test_readers_cases:test_counts_with_a_common_divisor_are_not_numbers_of_rows",
    "PMML rule sets": "test_readers_cases:test_counts_of_overlapping_rules_do_not_add_up_to_rows",
    "PMML, averages": "test_readers_cases:test_an_average_of_trees_is_a_forest",
    "Weka J48": "test_reader_corpus:test_a_class_that_no_leaf_predicts_may_have_the_rows_of_others",
    "Orange": "test_text_readers:test_branches_of_a_tree_that_orange_printed",
    "imbalanced-learn": "test_readers_cases:test_made_up_rows_are_no_training_rows",
}


def test_every_reader_has_a_row_and_every_assumption_a_test():
    called = re.findall(r"from recon\.readers\.formats\.([\w.]+) import [^\n]*\bread\w*", inspect.getsource(detection))
    own = {"release.reading"}  # `recon.readers.loading.loading` reads what detection leaves
    own |= {one.module for one in detection.JSONS}
    assert {*detection.OBJECTS, *(module for module, _, _ in detection.TEXTS), *called, *own} == set(READERS)
    rows = [row for of in READERS.values() for row in of]
    assert [row for row in rows if f"\n| {row}" not in PAGE] == []
    assert {case.row for case in CASES} <= set(rows)
    table = PAGE.partition("## What each reader assumes\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert [line for line in lines if sum(line.startswith(f"| {row}") for row in ASSUMED) != 1] == []
    assert len(lines) == len(ASSUMED)
    for test in ASSUMED.values():
        module, _, name = test.partition(":")
        assert f"def {name}" in (HERE / f"{module}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "advice"),
    [("constparty", "print(m)"), ("C5.0", "cat(m$output)"), ("PART", "print(m)"), ("gam", "recon inspect")],
)
def test_r_objects_are_told_to_be_printed_where_the_print_is_read(name, advice, tmp_path):
    with pytest.raises(recon.Unsupported, match=f"class '{name}' are not read") as error:
        loaded(r_object(name), tmp_path)
    assert advice in str(error.value)
    assert ("sink(" in str(error.value)) == (name != "gam")
    assert recon.inspect(tmp_path / "file").format


def test_pipelines_of_other_classes_and_before_scikit_learn_024_are_read(tmp_path):
    for content in (model_of("csklearn2pmml.pipeline\nPMMLPipeline\n"), unfitted_looking()):
        release = loaded(content, tmp_path)
        assert (release.rows.low, release.models[0].origin.counts) == (4, ("exact",))


def zipped(*names: str, content: bytes = b"x") -> bytes:
    """Return an archive with files of these names."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, content)
    return out.getvalue()


def spark_nodes() -> bytes:
    """Return Parquet with the columns that Spark ML writes of a tree's nodes."""
    out = io.BytesIO()
    nodes = pd.DataFrame({"id": [0, 1, 2], "impurityStats": [[35.0, 35.0], [20.0, 10.0], [15.0, 25.0]]})
    nodes.to_parquet(out)
    return out.getvalue()


def parquet_of(*names: str) -> bytes:
    """Return Parquet with such columns."""
    out = io.BytesIO()
    pd.DataFrame({name: [1, 2] for name in names}).to_parquet(out)
    return out.getvalue()


def parquet() -> bytes:
    """Return rows of people as Parquet."""
    out = io.BytesIO()
    pd.read_csv(CORPUS / "rows.csv").to_parquet(out)
    return out.getvalue()


HONEST, CBM, LIGHT = "boosted/xgb_honest.json", "models/catboost-1.2.10/binary.cbm", "models/lightgbm-4.7.0/binary.txt"
TREE, DRAWING = f"{SK}/tree.pkl", f"{SK}/dot_people_default.dot"
# Per row of the table of first bytes: heads as their programs write them, and the file that its advice leads to.
ROWS_AS_DOMAIN, NOTHING = "rows.csv", ""
FIRST_BYTES: dict[str, tuple[tuple[bytes, ...], str]] = {
    "an XGBoost model in its old binary format": (
        (b"binf" + bytes(200), bytes(136) + b"\x0f" + bytes(7) + b"binary:logistic\x06" + bytes(7) + b"gbtree\x01"),
        HONEST),
    "a table of XGBoost's trees_to_dataframe": ((b",Tree,Node,ID,Feature,Split\n0,0,0,0-0,a,6.0\n",), HONEST),
    "a table of LightGBM's trees_to_dataframe": ((b",tree_index,node_depth,node_index,left_child\n0,0,1,\n",), LIGHT),
    "CatBoost's code of a model": (
        (b"###  Model data\nclass catboost_model(object):\n", b"#include <string>\nstruct CatboostModel {"),
        CBM),
    "a combiner of toad": (((CORPUS / "toad_combiner.pkl").read_bytes(),), "toad_bins.csv"),
    "a scorecard of toad as an object": ((b"\x80\x04\x95\0\0\0\0\x8c\x0etoad.scorecard",), "toad_bins.csv"),
    "a summary of optbinning's variables": (
        (b",name,dtype,status,selected,n_bins,iv\n0,age,numerical,OPTIMAL,True,6,0.39\n",), "optbinning_bins.csv"),
    "a scorecard of toad": (
        (b"name,value,score\nage,[-inf ~ 30),20\n", b'{"age": {"[-inf ~ 30)": 20.0}}'), "toad_bins.csv"),
    "a table of a score's bins by toad (KS_bucket)": (
        (b",min,max,bads,goods,total,bad_rate,good_rate,odds\n0,20,23,4,6,10,0.4,0.6,0.7\n",), "toad_bins.csv"),
    "a table of toad's quality": ((b",iv,gini,entropy,unique\nage,5.4,0.2,0.6,522.0\n",), "toad_bins.csv"),
    "a printed naiveBayes of e1071": ((b"\nNaive Bayes Classifier for Discrete Predictors\n\n",), "bayes_e1071.rds"),
    "an H2O POJO": (
        (b"/*\n  Licensed under the Apache License, Version 2.0\n    http://www.apache.org/licenses/LICENSE-2.0.html\n\n"
         b"  AUTOGENERATED BY H2O at 2026-11-28T16:48:55.484Z\n  3.44.0.3\n",), "h2o_forest.zip"),
    "a model in H2O's own form (h2o.save_model)": (
        (b"\x1c\xed\x093.44.0.3\x01\xff\x07\x01\xa2\x05 BAD\x03[B\x0bwater.Iced",), "h2o_forest.zip"),
    "a KNIME workflow": ((zipped("flow/workflow.knime"),), "models/pmml-written/knime_sets.pmml"),
    "a PyTorch file": ((zipped("archive/data.pkl", content=pickle.dumps({"w": [1.0]})),), NOTHING),
    "an old Office file (.xls, .doc)": ((b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",), "leaves.csv"),
    "a NumPy archive (.npz)": ((zipped("a.npy"),), TREE),
    "a NumPy array (.npy)": ((b"\x93NUMPY\x01\x00" + bytes(120),), TREE),
    "a Java object (Weka's .model, for instance)": ((b"\xac\xed\x00\x05sr",), "part.txt"),
    "an HDF5 file (Keras, pandas)": ((b"\x89HDF\r\n\x1a\n" + bytes(40),), TREE),
    "the data of a Spark ML tree (Parquet)": ((spark_nodes(),), "spark_pipeline.zip"),
    "a table of itemsets by Spark (Parquet)": ((parquet_of("items", "freq"),), "encoders/spark_sets.jsonl"),
    "a table of association rules by Spark (Parquet)": (
        (parquet_of("antecedent", "consequent", "support"),), "encoders/spark_sets.jsonl"),
    "a Parquet file": ((parquet(),), ROWS_AS_DOMAIN),
    "an Arrow or Feather file": ((b"ARROW1\x00\x00",), ROWS_AS_DOMAIN),
    "a treelite checkpoint": ((bytes.fromhex("0400000008000000010000000303030000000000"),), "treelite_forest.json"),
    "an ONNX model": ((b"\x08\x0a\x12\x08skl2onnx\x1a\x061.20.0", b'\x08\x03\x12\x08CatBoost"\x07ai.onnx'), TREE),
    "a Core ML model": ((bytes.fromhex("0801128f300a0f0a09666561747572655f301a021200"),), CBM),
    "Spark ML metadata": (
        (b'{"class":"org.apache.spark.ml.classification.DecisionTreeClassificationModel"}',), "spark_pipeline.zip"),
    "a file of a model of YDF or TensorFlow Decision Forests": (
        (bytes.fromhex("4253010000000000550000000a270802"), b"\x0a\x0dRANDOM_FOREST\x10\x01"), "ydf_tree.zip"),
    "a PDF": ((b"%PDF-1.7\n",), "leaves.csv"),
    "a picture": ((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"GIF89a"), DRAWING),
    "an SPSS data file": ((b"$FL2@(#) SPSS",), ROWS_AS_DOMAIN),
    "an SQLite database": ((b"SQLite format 3\x00",), "leaves.csv"),
}  # fmt: skip


@pytest.mark.parametrize("row", FOREIGN, ids=[row.name for row in FOREIGN])
def test_a_file_is_named_by_its_first_bytes_and_its_advice_leads_to_one_that_is_read(row, tmp_path):
    files, instead = FIRST_BYTES[row.name]
    for content in files:
        with pytest.raises(recon.Unsupported, match=re.escape(f"is {row.name}, which is not read")) as refused:
            loaded(content, tmp_path)
        assert row.instead in str(refused.value)
        assert f"| {row.name} | {row.holds} | {row.instead} |" in PAGE
    if instead == NOTHING:
        with pytest.raises(ReconError):
            recon.inspect(tmp_path / "file")
        return
    if instead != ROWS_AS_DOMAIN:
        assert loaded(stored(instead), tmp_path).models
        return
    rows = tmp_path / f"rows.{'parquet' if row.name == 'a Parquet file' else 'csv'}"
    rows.write_bytes(files[0] if rows.suffix == ".parquet" else stored(instead))
    domain = read_domain(str(rows), label="label")
    assert [one.name for one in domain.all] == ["a", "b", "label"]
    tree = b"J48 pruned tree\n------------------\n\na <= 3: p (20.0)\na > 3: q (30.0)\n"
    assert recon.bound(loaded(tree, tmp_path, domain=domain), {"a": 1, "label": "p"}).max == 20


@pytest.mark.parametrize("file", IRIS)
def test_the_flowers_that_a_text_was_printed_of_are_among_its_worlds(file, tmp_path):
    flowers = load_iris(as_frame=True)
    columns = ["Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width"]
    frame = flowers.data.set_axis(columns, axis=1)
    names = flowers.target_names[flowers.target]
    frame["label"] = flowers.target if file == "plot_tree.txt" else names
    domain = recon.Domain.from_frame(frame, label="label")
    release = loaded(stored(file), tmp_path, domain=domain)
    assert not list(violations(release, frame))
    assert recon.bound(release, {"label": domain.all[-1].value(0)}).min <= 50


def test_lines_that_do_not_fit_are_no_end_of_a_tree(tmp_path):
    with pytest.raises(recon.ReleaseError, match="not a branch of a printed tree"):
        loaded(stored("j48_nominal.txt", ("outlook = overcast: yes (4.0)", "outlook: overcast yes")), tmp_path)
    with pytest.raises(recon.ReleaseError, match="SubTree"):
        loaded(stored("c50_apart.txt", ("SubTree [S1]", "SubTree [S2]")), tmp_path)


def test_a_class_that_no_leaf_predicts_may_have_the_rows_of_others(tmp_path):
    frame = pd.DataFrame({"x": [1] * 50 + [2] * 100, "label": ["a"] * 50 + ["b"] * 50 + ["c"] * 50})
    domain = recon.Domain.from_frame(frame, label="label")
    tree = b"J48 pruned tree\n------------------\n\nx <= 1: a (50.0)\nx > 1: b (100.0/50.0)\n\n"
    rules = b"PART decision list\n------------------\n\nx <= 1: a (50.0)\n\n: b (100.0/50.0)\n"
    for content in (tree, rules):
        release = loaded(content, tmp_path, domain=domain)
        assert not list(violations(release, frame))
        assert (recon.bound(release, {"label": "c"}).max, recon.bound(release, {"label": "a"}).min) == (50, 50)


def test_rows_of_others_than_the_only_class_that_a_text_names_are_of_a_class(tmp_path):
    frame = pd.DataFrame({"x": [1] * 50 + [2] * 100, "label": ["a"] * 110 + ["b"] * 40})
    domain = recon.Domain.from_frame(frame, label="label")
    tree = b"J48 pruned tree\n------------------\n\nx <= 1: a (50.0)\nx > 1: a (100.0/40.0)\n\n"
    rules = b"PART decision list\n------------------\n\nx <= 1: a (50.0)\n\n: a (100.0/40.0)\n"
    for content in (tree, rules):
        assert recon.certify(loaded(content, tmp_path), pd.DataFrame({"x": [1]}))["verdict"].tolist() == ["possible"]
        assert not list(violations(loaded(content, tmp_path, domain=domain), frame))
    assert recon.bound(loaded(tree, tmp_path, domain=domain), {"label": "b"}).min == 40
