#!/bin/bash
# Makes every model file of this folder again: one virtual environment per version below $1 (default /tmp/golden), then make.py in it.
# Needs Python 3.11, g++ and libgmp-dev (CORELS), Java (sklearn2pmml) and, for make.R: apt-get install r-base-core r-cran-rpart r-cran-jsonlite.
# Files of unseeded models (forest_unseeded) differ at every run; the others should not.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${1:-/tmp/golden}
python=${PYTHON:-python3.11}
mkdir -p "$root"

environment() { # NAME PACKAGES...: make it once
  local place=$root/$1
  shift
  [ -x "$place/bin/pip" ] || { $python -m venv "$place" && "$place/bin/pip" install -q "$@"; }
}
make_part() { # NAME PARTS...
  local place=$root/$1
  shift
  echo "$place: $*" && "$place/bin/python" -B -W ignore "$here/make.py" "$@"
}

environment sk-new scikit-learn==1.9.1 numpy==2.4.6 pandas==3.1.1 skops==0.16.0 joblib
environment sk-1.6.1 scikit-learn==1.6.1 'numpy<2.4' 'scipy<1.16' 'pandas<2.3' skops==0.11.0
for v in 1.2.2 1.3.2 1.4.2; do environment "sk-$v" "scikit-learn==$v" 'numpy<2' 'scipy<1.14' 'pandas<2.3' 'setuptools<81'; done
environment imodels imodels==3.0.4 six scikit-learn==1.9.1
environment gbm lightgbm==4.7.0 xgboost==3.2.0 scikit-learn==1.9.1 pandas==3.1.1
environment catboost catboost==1.2.10 pandas==3.1.1
environment dl pydl8.5==0.1.8 pystreed==1.4.0 scikit-learn==1.9.1 pandas==3.1.1
environment nyoka nyoka==5.5.0 scikit-learn==1.9.1 pandas==3.1.1
environment jpmml sklearn2pmml==0.133.1 scikit-learn==1.8.0 pandas==3.1.1 # refuses scikit-learn 1.9

# CORELS 1.1.29 cannot be installed by pip: take the source that pip leaves behind, drop the numpy of 2019, compile in place.
environment corels 'numpy<2' 'setuptools<66' wheel 'cython<3' 'pandas<2.3'
if ! ls "$root"/csrc/corels/_corels.*.so >/dev/null 2>&1; then
  mkdir -p "$root/ctmp"
  TMPDIR=$root/ctmp "$root/corels/bin/pip" install -q --no-clean --no-deps corels==1.1.29 >/dev/null 2>&1 || true
  rm -rf "$root/csrc" && cp -r "$root"/ctmp/pip-install-*/corels_* "$root/csrc"
  cd "$root/csrc"
  sed -i 's/__builtins__.__NUMPY_SETUP__ = False/pass/; s/setup_requires = .*//' setup.py
  sed -i 's/np\.bool\b/bool/' corels/corels.py corels/utils.py
  "$root/corels/bin/cython" --cplus -3 corels/_corels.pyx -o corels/_corels.cpp
  "$root/corels/bin/python" setup.py -q build_ext --inplace >build.log 2>&1
fi

make_part sk-new data
for v in 1.2.2 1.3.2 1.4.2 1.6.1 new; do make_part "sk-$v" sklearn; done
make_part sk-new leaky written
make_part imodels imodels
PYTHONPATH=$root/csrc make_part corels corels
make_part dl dl85 streed
make_part gbm lightgbm xgboost
make_part catboost catboost
make_part nyoka nyoka
make_part jpmml sklearn2pmml 2>/dev/null
Rscript "$here/make.R" "$here"
make_part sk-new r tidy
