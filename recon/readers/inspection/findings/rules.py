"""Which attributes of which classes hold what of the training data: a table, read off the libraries' sources.

One line per leak: the classes, the attributes (the first one present is named, the others go with it), how bad it is,
what follows, what to do, and whether an edited copy can leave it out. `claim` names the function of
`recon.readers.inspection.claims` that computes what follows from the file itself, and may find that nothing
does. An attribute is only taken out where no method of the class that predicts, transforms or scores reads it (checked
in the sources of scikit-learn 1.2 to 1.9 and imodels 3.0, and by tests that predict from both files).
"""

from __future__ import annotations

from dataclasses import dataclass

from recon.readers.inspection.findings.findings import Level

KEPT = "cannot be taken out: predictions are made with it"
RESULT = "cannot be taken out: it is what the object was made for; do not release the object"


@dataclass(frozen=True)
class LeakRule:
    """One leak; `each`: the attribute has one entry per training row, so that its length is their number."""

    name: str
    classes: str
    attributes: str
    level: Level
    follows: str
    remove: str = KEPT
    removable: bool = False
    claim: str = ""
    each: bool = False


_NEIGHBOURS = (
    "KNeighborsClassifier KNeighborsRegressor KNeighborsTransformer RadiusNeighborsClassifier "
    "RadiusNeighborsRegressor RadiusNeighborsTransformer NearestNeighbors LocalOutlierFactor KNNImputer"
)
_VECTORS = "SVC NuSVC SVR NuSVR OneClassSVM"
_FORESTS = "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor RandomTreesEmbedding"
_BAGGING = "BaggingClassifier BaggingRegressor IsolationForest"
_PREDICTING_CLUSTERS = "KMeans MiniBatchKMeans BisectingKMeans MeanShift Birch AffinityPropagation"
_OTHER_CLUSTERS = (
    "DBSCAN HDBSCAN OPTICS AgglomerativeClustering SpectralClustering SpectralBiclustering SpectralCoclustering"
)
_EMBEDDINGS = "TSNE MDS ClassicalMDS Isomap LocallyLinearEmbedding SpectralEmbedding UMAP"
_PLS = "PLSRegression PLSCanonical CCA PLSSVD"
_COVARIANCE = (
    "EllipticEnvelope MinCovDet EmpiricalCovariance ShrunkCovariance LedoitWolf OAS GraphicalLasso GraphicalLassoCV"
)
_FIGS = (
    "FIGS FIGSClassifier FIGSRegressor FIGSExt FIGSExtClassifier FIGSExtRegressor FIGSCV FIGSRegressorCV "
    "FIGSClassifierCV FIGSHydraTree"
)
_REGRESSIONS = "OLSResults RegressionResults GLMResults LogitResults PoissonResults MultinomialResults"
_OUT = "take it out (recon inspect --strip): predictions do not read it"
_ADDITIVE = "ExplainableBoostingClassifier ExplainableBoostingRegressor"
_EXPLAINED = (
    "take it out (recon inspect --strip): predict, predict_proba and decision_function do not read it, explain_global, "
    "explain_local, term_importances and to_json do; or release to_json(detail='minimal')"
)
_OTHER_MODEL = "cannot be taken out, the rows are the model: release a model that does not keep them"

RULES = (
    # ------------------------------------------------------------------ the training rows themselves
    LeakRule("neighbours", _NEIGHBOURS, "_fit_X", "critical",
         "these are the training rows, complete and in file order", _OTHER_MODEL, each=True),
    LeakRule("neighbours-labels", _NEIGHBOURS, "_y", "critical",
         "the label of every training row, in file order", _OTHER_MODEL, claim="class_index", each=True),
    LeakRule("neighbours-tree", f"{_NEIGHBOURS} KernelDensity", "_tree tree_", "critical",
         "the search tree holds a copy of the training rows", _OTHER_MODEL, claim="present"),
    LeakRule("neighbours-missing", "KNNImputer", "_mask_fit_X", "high",
         "which values of every training row were missing", each=True),
    LeakRule("outlier-factors", "LocalOutlierFactor", "negative_outlier_factor_", "high",
         "how much of an outlier every training row is", _OUT, True, each=True),
    LeakRule("outlier-distances", "LocalOutlierFactor",
         "_distances_fit_X_ _lrd _neighbors_indices_fit_X_", "high",
         "the nearest neighbours of every training row, and how far they are", each=True),
    LeakRule("support-vectors", _VECTORS, "support_vectors_", "critical",
         "every support vector is a training row", _OTHER_MODEL, claim="support_vectors"),
    LeakRule("support-positions", _VECTORS, "support_", "high",
         "the positions of the support vectors in the training file", claim="support_positions"),
    LeakRule("support-weights", _VECTORS, "dual_coef_ _dual_coef_", "high",
         "the weight of every support vector; of a classifier with two classes its sign is the label", claim="present"),
    LeakRule("gaussian-process", "GaussianProcessRegressor _BinaryGaussianProcessClassifierLaplace", "X_train_",
         "critical", "these are the training rows, complete and in file order", _OTHER_MODEL, each=True),
    LeakRule("gaussian-process-labels", "GaussianProcessRegressor _BinaryGaussianProcessClassifierLaplace", "y_train_",
         "critical", "the label or target of every training row (standardised where normalize_y is set)",
         _OTHER_MODEL, each=True),
    LeakRule("gaussian-process-rows", "GaussianProcessRegressor _BinaryGaussianProcessClassifierLaplace",
         "alpha_ L_ f_cached pi_ W_sr_", "high", "one value per training row", each=True),
    LeakRule("quantile-targets", "RandomForestQuantileRegressor ExtraTreesQuantileRegressor", "sorter_", "critical",
         "the target of every training row, in file order", "cannot be taken out, quantiles are read off it: release "
         "a RandomForestRegressor, which has means", claim="quantile_targets", each=True),
    LeakRule("kernel-rows", "KernelRidge KernelPCA", "X_fit_", "critical",
         "these are the training rows (or all kernel values between them), in file order", _OTHER_MODEL, each=True),
    LeakRule("kernel-targets", "KernelRidge", "dual_coef_", "critical",
         "the target of every training row is (K + alpha I) dual_coef_, K the kernel between the rows of X_fit_",
         _OTHER_MODEL, claim="kernel_targets"),
    LeakRule("kernel-components", "KernelPCA", "eigenvectors_ alphas_ X_transformed_fit_", "high",
         "the coordinates of every training row", each=True),
    LeakRule("kernel-centre", "KernelCenterer", "K_fit_rows_", "high",
         "the mean kernel value of every training row", each=True),
    LeakRule("kernel-sample", "Nystroem", "components_ normalization_", "critical",
         "these are n_components of the training rows", _OTHER_MODEL),
    LeakRule("kernel-sample-positions", "Nystroem", "component_indices_", "high",
         "the positions of these rows in the training file", _OUT, True),
    LeakRule("label-propagation", "LabelSpreading LabelPropagation", "X_", "critical",
         "these are the training rows, complete and in file order", _OTHER_MODEL, each=True),
    LeakRule("label-propagation-labels", "LabelSpreading LabelPropagation",
         "transduction_ label_distributions_", "critical",
         "the label of every training row, given or inferred, in file order", _OTHER_MODEL, each=True),
    LeakRule("self-training", "SelfTrainingClassifier", "transduction_", "critical",
         "the label of every training row, given or inferred, in file order", _OUT, True, each=True),
    LeakRule("self-training-rounds", "SelfTrainingClassifier", "labeled_iter_", "high",
         "which training rows came with a label (0) and which were labelled in which round", _OUT, True, each=True),
    LeakRule("raw-data", "HDBSCAN UMAP", "_raw_data", "critical",
         "these are the training rows, complete and in file order", RESULT, each=True),
    LeakRule("core-rows", "DBSCAN", "components_", "critical", "these are training rows (the core samples)", RESULT),
    LeakRule("core-positions", "DBSCAN", "core_sample_indices_", "high",
         "the positions of the core samples in the training file", RESULT),
    LeakRule("exemplars", "AffinityPropagation", "cluster_centers_", "critical",
         "every centre is a training row", _OTHER_MODEL),
    LeakRule("exemplar-positions", "AffinityPropagation", "cluster_centers_indices_", "high",
         "the positions of the centres in the training file", _OUT, True),
    LeakRule("subclusters", "_CFSubcluster", "linear_sum_ centroid_ squared_sum_ sq_norm_ n_samples_", "critical",
         "the exact sum of the rows of a small group; of a group of one it is the row itself",
         "not taken out here: release the centres (subcluster_centers_) instead", claim="subcluster"),
    LeakRule("subcluster-nodes", "_CFNode", "init_centroids_ centroids_ init_sq_norm_ squared_norm_", "critical",
         "the mean of the rows of every small group; of a group of one it is the row itself",
         "not taken out here: release the centres (subcluster_centers_) instead"),
    LeakRule("bunch", "Bunch", "data frame individual", "critical",
             "these are rows of data, complete and in file order",
         "release the model, not the data"),
    LeakRule("bunch-labels", "Bunch", "target", "critical", "the label or target of every row, in file order",
         "release the model, not the data", claim="present"),
    LeakRule("bunch-statistics", "Bunch", "average grid_values values importances importances_mean importances_std",
         "medium", "means of predictions over the rows, at values that the columns have", claim="present"),
    LeakRule("search-tree", "KDTree BinaryTree BallTree KDTree64 BallTree64 KDTree32 BallTree32 cKDTree",
             "(state) data",
         "critical", "the search tree holds a copy of the rows that it was made from", _OTHER_MODEL, claim="present"),
    LeakRule("kernel-density", "gaussian_kde", "dataset", "critical", "these are the rows, complete and in file order",
         _OTHER_MODEL, claim="present"),
    LeakRule("kernel-density-weights", "gaussian_kde", "_weights n neff _neff d", "high",
         "the weight of every row, in file order", _OTHER_MODEL, claim="present"),
    LeakRule("interpolation",
             "RBFInterpolator Rbf LinearNDInterpolator NearestNDInterpolator CloughTocher2DInterpolator "
         "RegularGridInterpolator", "y xi nodes points tree d di values _coeffs _shift _scale powers", "critical",
         "the points that are interpolated, and their values: rows of data", _OTHER_MODEL, claim="present"),
    LeakRule("spline-data", "UnivariateSpline InterpolatedUnivariateSpline LSQUnivariateSpline SmoothBivariateSpline",
         "_data _eval_args fpi tck fp degrees", "critical", "the points that the curve was fitted to", _OTHER_MODEL,
         claim="present"),
    LeakRule("spline-points", "CubicSpline PchipInterpolator Akima1DInterpolator interp1d PPoly CubicHermiteSpline",
         "x c y _y _x _y_extra_shape", "critical", "the points that the curve goes through: values of rows",
         remove=_OTHER_MODEL, claim="present"),
    LeakRule("spline-knots", "BSpline", "_t t", "critical", "the points that the curve goes through: values of rows",
         remove=_OTHER_MODEL, claim="spline_knots"),
    LeakRule("step-function", "ECDF StepFunction monotone_fn_inverter", "x y n", "critical",
         "the sorted values of a column: with their heights, the value of every row", _OTHER_MODEL, claim="present"),
    LeakRule("mixture-rows", "GaussianMixture BayesianGaussianMixture", "means_ covariances_ weights_", "medium",
         "the mean and the spread of the rows of every component", claim="mixture"),
    # ------------------------------------------------------------------ something about single rows
    LeakRule("given-folds", "PredefinedSplit", "test_fold unique_folds", "high",
         "which row is in which fold, in file order", "give the number of folds instead", claim="present"),
    LeakRule("multinomial-labels", "MNLogit", "wendog", "critical",
         "the class of every training row, in file order; remove_data leaves it",
         "set wendog of the model to None before saving: predict and summary do not read it", each=True),
    LeakRule("cached-statistics", _REGRESSIONS, "_cache", "high",
         "statistics that were asked for: fitted values and residuals of every training row may be among them",
         "call remove_data before saving, or set _cache to {}: predict does not read it", claim="cached_statistics"),
    LeakRule("row-weights", f"{_FORESTS} {_BAGGING}", "_sample_weight", "high",
         "the weight of every training row, in file order", _OUT, True, claim="row_weights", each=True),
    LeakRule("out-of-bag", f"{_FORESTS} {_BAGGING}",
         "oob_decision_function_ oob_prediction_", "high",
         "the prediction for every training row by the trees that have not seen it; in a row of NaN the row is in "
         "every bag", _OUT, True, each=True),
    LeakRule("clusters", _PREDICTING_CLUSTERS, "labels_", "high",
         "the cluster of every training row, in file order", _OUT, True, claim="clusters", each=True),
    LeakRule("clusters", _OTHER_CLUSTERS, "labels_ row_labels_", "high",
         "the cluster of every training row, in file order", RESULT, each=True),
    LeakRule("biclusters", _OTHER_CLUSTERS, "rows_", "high", "the bicluster of every training row", RESULT),
    LeakRule("cluster-order", "OPTICS HDBSCAN",
         "ordering_ core_distances_ reachability_ predecessor_ probabilities_ _single_linkage_tree_ "
         "cluster_hierarchy_", "high", "how near every training row is to others", RESULT),
    LeakRule("cluster-merges", "AgglomerativeClustering", "children_ distances_", "high",
         "in which order the training rows were merged", RESULT),
    LeakRule("affinities", "AffinityPropagation", "affinity_matrix_", "high",
         "how near every two training rows are", _OUT, True, each=True),
    LeakRule("affinities", "SpectralClustering SpectralEmbedding MDS ClassicalMDS Isomap",
         "affinity_matrix_ dissimilarity_matrix_ dist_matrix_", "high", "how near every two training rows are", RESULT,
         each=True),
    LeakRule("embedding", _EMBEDDINGS, "embedding_", "high",
         "one point per training row, in file order: near rows have near points", RESULT, each=True),
    LeakRule("scores", _PLS, "x_scores_ _x_scores y_scores_ _y_scores", "high",
         "the projection of every training row, in file order", _OUT, True, each=True),
    LeakRule("inliers", "RANSACRegressor", "inlier_mask_", "high",
         "which training rows the model was fitted on", _OUT, True, each=True),
    LeakRule("inliers", "HuberRegressor", "outliers_", "high",
         "which training rows are outliers of the regression", _OUT, True, each=True),
    LeakRule("inliers", "EllipticEnvelope MinCovDet", "support_ raw_support_ dist_", "high",
         "which training rows are outliers, and how far each is from the centre", _OUT, True, each=True),
    LeakRule("errors-per-row", "RidgeCV RidgeClassifierCV", "cv_results_ cv_values_", "high",
         "the squared error (or prediction) of every training row, left out of the fit", _OUT, True,
         claim="present"),
    LeakRule("drawn-rows", "SkopeRulesClassifier SkopeRules FPSkopeClassifier", "estimators_samples_", "high",
         "which training rows each tree has seen", _OUT, True, claim="present"),
    # ------------------------------------------------------------------ imodels
    LeakRule("figs-labels", _FIGS, "Y y_train y", "critical",
         "the label of every training row, in file order", _OUT, True, each=True),
    LeakRule("figs-data", _FIGS, "X X_train", "critical",
         "these are the training rows, in file order", _OUT, True, each=True),
    LeakRule("figs-masks", "Node NodeXd", "idxs", "high",
         "which training rows are in the node: with all nodes, the leaf of every row", _OUT, True, each=True),
    LeakRule("figs-counts", "Node", "value_sklearn", "medium",
         "the training rows of every class in the node (of a regression their mean)",
         "inherent in the model: round or suppress the counts, or set value_sklearn to the shares"),
    LeakRule("rule-matrix", "BayesianRuleSetClassifier", "RMatrix", "high",
         "which rules every training row satisfies", _OUT, True, each=True),
    LeakRule("rule-labels", "BayesianRuleSetClassifier", "Y y", "critical",
         "the label of every training row, in file order", _OUT, True, each=True),
    LeakRule("row-weights", "SkopeRulesClassifier", "sample_weight", "high",
         "the weight of every training row, in file order", _OUT, True, each=True),
    LeakRule("rule-counts", "GreedyRuleListClassifier OneRClassifier FastFrugalTreeClassifier", "rules_", "medium",
         "the training rows that every rule captures, and how many of them are of class 1",
         "inherent in the model: round or suppress the counts"),
    LeakRule("rule-counts", "BayesianRuleListClassifier", "theta ci_theta", "medium",
         "the share of class 1 under every rule, (rows of class 1 + alpha) / (rows + alphas): often both follow"),
    LeakRule("rule-shares", "Rule", "support args", "medium",
         "the share of (a sample of) the training rows that every rule captures, or its precision and recall on them"),
    LeakRule("column-means", "RuleFitClassifier RuleFitRegressor", "mean stddev", "medium",
         "mean and standard deviation of every column"),
    LeakRule("quantiles", "Winsorizer", "winsor_lims", "medium",
             "quantiles of every column: values of the training data"),
    # ------------------------------------------------------------------ exact sums, extremes and counts
    LeakRule("moments", "StandardScaler", "mean_ var_ scale_ n_samples_seen_", "medium",
         "sum and sum of squares of every column", claim="scaler"),
    LeakRule("extremes", "MinMaxScaler", "data_min_ data_max_ data_range_ scale_ min_", "medium",
         "the smallest and the largest value of every column (they also follow from min_ and scale_)"),
    LeakRule("extremes", "MaxAbsScaler", "max_abs_ scale_", "medium", "the largest absolute value of every column"),
    LeakRule("medians", "RobustScaler", "center_ scale_", "medium", "the median and quantile range of every column"),
    LeakRule("quantiles", "QuantileTransformer", "quantiles_ references_", "medium",
         "quantiles of every column, among them its smallest and largest value", claim="quantiles"),
    LeakRule("bins", "KBinsDiscretizer", "bin_edges_", "medium",
         "the outer edges are the smallest and the largest value of the column", claim="bins"),
    LeakRule("bins", "_BinMapper", "bin_thresholds_ n_bins_non_missing_", "medium",
         "a column with at most max_bins different values has a threshold halfway between any two neighbouring ones: "
         "the values follow where they lie on a grid; other columns give quantiles",
         "not taken out here: categories are looked up in it"),
    LeakRule("shape", "PowerTransformer", "lambdas_", "medium",
         "the power that makes each column most like a normal one: a function of its values"),
    LeakRule("fill-values", "SimpleImputer", "statistics_", "medium",
         "the mean, median or most frequent value of every column's known values", claim="imputer"),
    LeakRule("knots", "SplineTransformer", "bsplines_", "medium",
             "the outer knots: extremes or quantiles of the column"),
    LeakRule("variances", "VarianceThreshold", "variances_", "medium", "the variance (or the range) of every column"),
    LeakRule("column-scores", "SelectKBest SelectPercentile SelectFpr SelectFdr SelectFwe GenericUnivariateSelect",
         "scores_ pvalues_", "medium", "a statistic of every column against the label"),
    LeakRule("categories", "OneHotEncoder OrdinalEncoder TargetEncoder", "categories_", "medium",
         "every value that the column has in the training data", claim="categories"),
    LeakRule("encodings", "TargetEncoder", "encodings_ target_mean_", "medium",
         "the mean of the target in every category, drawn towards target_mean_, the mean of all rows",
         claim="target_mean"),
    LeakRule("label-values", "LabelEncoder LabelBinarizer MultiLabelBinarizer", "classes_", "medium",
         "every value that the column has in the training data"),
    LeakRule("vocabulary", "CountVectorizer TfidfVectorizer DictVectorizer", "vocabulary_ feature_names_", "medium",
         "the words (or values) that occur in the training data, names and rare words among them", claim="vocabulary"),
    LeakRule("stop-words", "CountVectorizer TfidfVectorizer", "stop_words_", "high",
         "the words of the training texts that were too rare or too frequent to be used", _OUT, True),
    LeakRule("document-counts", "TfidfTransformer", "idf_ _idf_diag", "medium",
         "the number of training texts with each word: with smooth_idf (n + 1) / exp(idf_ - 1) - 1"),
    LeakRule("contingency", "GaussianNB", "class_count_", "medium", "the rows of every class",
         remove="taking it out would not help: class_prior_ says the same"),
    LeakRule("contingency", "BernoulliNB MultinomialNB ComplementNB CategoricalNB",
         "feature_count_ category_count_ class_count_ feature_all_", "medium",
         "the table of every column against the class", claim="contingency",
         remove="taking it out would not help: feature_log_prob_ says the same"),
    LeakRule("class-moments", "GaussianNB", "theta_ var_ sigma_ class_prior_ epsilon_", "medium",
         "the sum and sum of squares of every column in every class, and the rows of every class",
         claim="class_moments"),
    LeakRule("regression-rows", "OLS WLS GLS", "exog wexog endog wendog pinv_wexog", "critical",
         "these are the training rows, in file order", "save(..., remove_data=True) leaves them out"),
    LeakRule("regression-sums", "OLS OLSResults RegressionResults",
         "normalized_cov_params params wexog_singular_values _wexog_singular_values nobs df_resid _df_resid scale",
         "medium",
         "the inverse of X'X: the sum of every product of two columns, of columns of 0 and 1 how many rows have both; "
         "recon count and recon audit work out what follows", "release coefficients with few digits, no covariances"),
    LeakRule("class-means", "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis NearestCentroid",
         "means_ centroids_ xbar_ covariance_ priors_ class_prior_", "medium",
         "the mean of every column in every class, and the classes' shares of the rows"),
    LeakRule("class-shares", "DummyClassifier", "class_prior_ constant_", "medium",
         "the classes' exact shares of the training rows", claim="class_shares"),
    LeakRule("class-shares", "HistGradientBoostingClassifier HistGradientBoostingRegressor", "_baseline_prediction",
         "medium", "the mean (for classes: the log odds of the shares) of the training labels"),
    LeakRule("class-shares", "DummyRegressor", "constant_", "medium", "the mean or a quantile of the training targets"),
    LeakRule("column-means", "PCA IncrementalPCA FactorAnalysis FastICA", "mean_ var_ n_samples_ n_samples_seen_",
             "medium",
         "the mean of every column", claim="column_means"),
    LeakRule("column-means", _PLS, "_x_mean _y_mean _x_std _y_std", "medium",
         "mean and standard deviation of every column and target"),
    LeakRule("column-means", "BayesianRidge ARDRegression", "X_offset_ X_scale_", "medium", "the mean of every column"),
    LeakRule("column-means", _COVARIANCE, "location_ covariance_ raw_location_ raw_covariance_", "medium",
         "means and covariances of the columns"),
    LeakRule("centres", "KMeans MiniBatchKMeans BisectingKMeans MeanShift", "cluster_centers_ _counts", "medium",
         "the mean of the rows of every cluster", claim="centres"),
    LeakRule("centres", "Birch", "subcluster_centers_ subcluster_labels_ _subcluster_norms", "medium",
         "the mean of the rows of every subcluster", claim="centres"),
    LeakRule("isotonic", "IsotonicRegression", "X_thresholds_ y_thresholds_ X_min_ X_max_", "critical",
         "values of the training column, among them the smallest and the largest, and exact means of the target"),
    LeakRule("tree", "Tree", "nodes values", "medium",
         "the training rows of every node, per class (or their mean and spread): recon count and recon audit work out "
         "what follows; most thresholds lie halfway between two training values",
         "inherent in the model: round or suppress the counts, or release predictions only", claim="tree"),
    LeakRule("histogram-tree", "TreePredictor", "nodes", "medium",
         "the training rows of every node; in the first tree also their labels' sum",
         "inherent in the model; leaves need only their values"),
    LeakRule("categories", "Booster", "pandas_categorical", "medium",
         "the values that the columns' pandas categories have (all that occur, unless more were declared)",
         claim="present"),
    LeakRule("bin-counts", _ADDITIVE, "bin_weights_ histogram_weights_", "medium",
         "the rows of every bin of every column, and of pairs of columns: recon count and recon audit work out what "
         "follows", _EXPLAINED, True),
    LeakRule("bin-statistics", _ADDITIVE,
         "feature_bounds_ unique_val_counts_ bag_weights_ best_iteration_ standard_deviations_ bagged_scores_ "
         "bagged_intercept_ histogram_edges_", "medium",
         "the smallest and the largest value of every column, how many different ones it has, and scores of every bag",
         _EXPLAINED, True),
    LeakRule("search", "GridSearchCV RandomizedSearchCV HalvingGridSearchCV HalvingRandomSearchCV",
         "cv_results_ best_score_ best_index_", "info",
         "scores of every fold: times the rows of the fold, whole numbers of right predictions", _OUT, True),
    LeakRule("losses", "GradientBoostingClassifier GradientBoostingRegressor HistGradientBoostingClassifier "
         "HistGradientBoostingRegressor", "oob_improvement_ oob_scores_ train_score_ validation_score_ ", "info",
         "the loss after every stage: one number on all rows each"),
    LeakRule("names", "*", "feature_names_in_", "info", "the names of the training columns",
         "rename the columns before fitting if the names say too much"),
)  # fmt: skip
