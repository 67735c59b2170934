# rpart trees as R users release them: print() in two precisions, the JSON line we recommend, .rds, and PMML as the R package
# `pmml` (2.5, not installable here) writes them. Run by make.sh: Rscript make.R FOLDER; writes truth.json for `make.py r`.
library(rpart)
here <- commandArgs(trailingOnly = TRUE)[1]
place <- file.path(here, paste0("rpart-", packageVersion("rpart")))
dir.create(place, showWarnings = FALSE)
library_name <- paste0("rpart ", packageVersion("rpart"), " of R ", getRversion())
truth <- list()

# The line for users: everything a reader needs and no row of the data. as.integer(row.names()) are the node numbers.
to_json <- function(m) jsonlite::toJSON(list(frame = m$frame, node = as.integer(row.names(m$frame)), splits = m$splits,
  split_names = row.names(m$splits), csplit = m$csplit, xlevels = attr(m, "xlevels"), ylevels = attr(m, "ylevels"),
  method = m$method, na = length(m$na.action)), digits = NA, dataframe = "columns")

record <- function(file, data, m, rows) {
  leaves <- m$frame$var == "<leaf>"
  where <- factor(m$where, levels = which(leaves))
  label <- if (length(m$na.action)) rows[-m$na.action] else rows
  counts <- unclass(table(where, label)); dimnames(counts) <- NULL
  shown <- paste(deparse(m$call), collapse = " ")
  truth[[length(truth) + 1]] <<- list(file = file, data = data, library = library_name, model = shown, truth = list(
    classes = attr(m, "ylevels"), leaves = as.integer(row.names(m$frame))[leaves], counts = counts, na = length(m$na.action)))
}

# ---- PMML in the form of pmml::pmml.rpart: counts and confidence on every node, surrogates where rpart kept some
escape <- function(x) gsub('"', "&quot;", gsub("<", "&lt;", gsub("&", "&amp;", x, fixed = TRUE), fixed = TRUE), fixed = TRUE)
set <- function(field, values) sprintf('<SimpleSetPredicate field="%s" booleanOperator="isIn"><Array n="%d" type="string">%s</Array></SimpleSetPredicate>',
  escape(field), length(values), paste0("&quot;", escape(values), "&quot;", collapse = " "))
test <- function(m, k, left) {
  field <- row.names(m$splits)[k]; kind <- m$splits[k, "ncat"]; cut <- m$splits[k, "index"]
  if (abs(kind) == 1) {
    less <- (kind == -1) == left
    return(sprintf('<SimplePredicate field="%s" operator="%s" value="%s"/>', escape(field),
      if (less) "lessThan" else "greaterOrEqual", format(cut, digits = 7)))
  }
  levels <- attr(m, "xlevels")[[field]]
  set(field, levels[m$csplit[cut, seq_along(levels)] == (if (left) 1 else 3)])
}
pmml <- function(m, x, target) {
  f <- m$frame; node <- as.integer(row.names(f)); classes <- attr(m, "ylevels"); k <- length(classes)
  first <- cumsum(c(1, f$ncompete + f$nsurrogate + (f$var != "<leaf>")))
  out <- c('<?xml version="1.0"?>', '<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4">',
    ' <Header copyright="synthetic data" description="RPart Decision Tree Model">',
    '  <Application name="SoftwareAG PMML Generator" version="2.5.2"/>', ' </Header>',
    sprintf(' <DataDictionary numberOfFields="%d">', ncol(x) + 1))
  field <- function(name, values) if (is.factor(values)) c(
    sprintf('  <DataField name="%s" optype="categorical" dataType="string">', escape(name)),
    sprintf('   <Value value="%s"/>', escape(levels(values))), "  </DataField>") else
    sprintf('  <DataField name="%s" optype="continuous" dataType="double"/>', escape(name))
  out <- c(out, field(target, factor(classes, levels = classes)), unlist(lapply(names(x), function(n) field(n, x[[n]]))),
    " </DataDictionary>", paste0(' <TreeModel modelName="RPart_Model" functionName="classification" algorithmName="rpart"',
    ' splitCharacteristic="binarySplit" missingValueStrategy="defaultChild" noTrueChildStrategy="returnLastPrediction">'),
    "  <MiningSchema>", sprintf('   <MiningField name="%s" usageType="%s" invalidValueTreatment="returnInvalid"/>',
    escape(c(target, names(x))), c("predicted", rep("active", ncol(x)))), "  </MiningSchema>", "  <Output>",
    sprintf('   <OutputField name="Predicted_%s" optype="categorical" dataType="string" feature="predictedValue"/>', target),
    sprintf('   <OutputField name="Probability_%s" optype="continuous" dataType="double" feature="probability" value="%s"/>',
    classes, classes), "  </Output>")
  walk <- function(id) {
    i <- match(id, node); leaf <- f$var[i] == "<leaf>"
    best <- if (leaf) "" else sprintf(' defaultChild="%d"', if (f$n[match(2 * id, node)] >= f$n[match(2 * id + 1, node)]) 2 * id else 2 * id + 1)
    lines <- sprintf('<Node id="%d" score="%s" recordCount="%d"%s>', id, classes[f$yval[i]], f$n[i], best)
    if (id == 1) lines <- c(lines, "<True/>") else {
      up <- match(id %/% 2, node); left <- id %% 2 == 0
      more <- if (f$nsurrogate[up] > 0) first[up] + f$ncompete[up] + seq_len(f$nsurrogate[up]) else integer(0)
      tests <- vapply(c(first[up], more), function(s) test(m, s, left), "")
      lines <- c(lines, if (length(more)) c('<CompoundPredicate booleanOperator="surrogate">', tests, "</CompoundPredicate>") else tests)
    }
    lines <- c(lines, sprintf('<ScoreDistribution value="%s" recordCount="%s" confidence="%s"/>', escape(classes),
      format(f$yval2[i, 1 + seq_len(k)], trim = TRUE, digits = 15, drop0trailing = TRUE),
      format(f$yval2[i, 1 + k + seq_len(k)], trim = TRUE, digits = 15)))
    if (!leaf) lines <- c(lines, walk(2 * id), walk(2 * id + 1))
    c(lines, "</Node>")
  }
  c(out, walk(1), " </TreeModel>", "</PMML>")
}

save_all <- function(name, data, m, x, label, target) {
  forms <- list(txt = capture.output(print(m)), "10.txt" = capture.output(print(m, digits = 10)), json = to_json(m))
  forms$pmml <- pmml(m, x, target)
  for (end in names(forms)) {
    writeLines(forms[[end]], file.path(place, paste0(name, ".", end)))
    record(paste0(name, ".", end), data, m, label)
  }
  saveRDS(m, file.path(place, paste0(name, ".rds")))
  record(paste0(name, ".rds"), data, m, label)
}

read <- function(data) read.csv(file.path(here, "data", paste0(data, ".csv")), stringsAsFactors = TRUE, check.names = FALSE)
shop <- read("shop"); plants <- read("plants"); people <- read("people"); gaps <- read("gaps")
plants$kind <- factor(plants$kind); gaps$sick <- factor(gaps$sick)
small <- rpart.control(minsplit = 10)
bare <- rpart.control(minsplit = 10, maxsurrogate = 0, maxcompete = 0)
save_all("shop", "shop", rpart(buys ~ ., shop, method = "class", control = small), shop[-5], shop$buys, "buys")
save_all("shop_bare", "shop", rpart(buys ~ ., shop, method = "class", control = bare), shop[-5], shop$buys, "buys")
save_all("plants", "plants", rpart(kind ~ ., plants, method = "class", control = bare), plants[-5], plants$kind, "kind")
save_all("people", "people", rpart(sick ~ ., people, method = "class"), people[-6], people$sick, "sick")
save_all("gaps", "gaps", rpart(sick ~ ., gaps, method = "class", control = small), gaps[-6], gaps$sick, "sick")
save_all("people_prior", "people", rpart(sick ~ ., people, method = "class", parms = list(prior = c(0.8, 0.2)), control = bare),
  people[-6], people$sick, "sick")
# fitted inside a function: the formula keeps that function's variables, so the .rds holds the whole data frame
inside <- function(rows) rpart(buys ~ ., rows, method = "class", control = small)
kept <- inside(shop)
saveRDS(kept, file.path(place, "shop_in_function.rds")); record("shop_in_function.rds", "shop", kept, shop$buys)
saveRDS(kept, file.path(place, "shop_ascii.rds"), ascii = TRUE, compress = FALSE); record("shop_ascii.rds", "shop", kept, shop$buys)
writeLines(jsonlite::toJSON(truth, auto_unbox = TRUE, digits = NA), file.path(place, "truth.json"))
