#!/usr/bin/env bash
# What ckpt is for, on one file: a checkpoint saved on a GPU under DataParallel, in gzip, becomes a plain one for the
# CPU, and it is proved that no weight changed. Then, where ckpt-eval was built, the models that ship are evaluated.
# Usage: demo.sh FILE   (ckpt on PATH; no Python)
set -euo pipefail

samples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
in=$(basename "$1")
out=${in%.gz}
out=${out%.pt}.cpu.pt
cp "$1" "$folder/$in"
cd "$folder"

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}
fail() {
  printf '\nNOT proved: %s\n' "$1"
  exit 1
}
total() { ckpt digest --json "$1" | grep -o '"digest": *"[0-9a-f]\{64\}"' | tail -n 1 | grep -o '[0-9a-f]\{64\}'; }
count() { ckpt inspect --json "$2" | grep -o "$1" | wc -l; }

show ckpt inspect "$in"
show ckpt convert --to cpu --strip-prefix --no-gzip "$in" "$out"
show ckpt inspect "$out"
show ckpt verify "$out"

# Names count in a digest. So the proof compares with the source under its new names: still gzip, still on its GPU.
printf '\nIs every weight the same? Beside the source with its names changed and nothing else:\n'
show ckpt strip-prefix "$in" "names-only.pt.gz"
printf '\n$ ckpt digest %s | tail -n 1\n' "names-only.pt.gz"
ckpt digest "names-only.pt.gz" | tail -n 1
printf '\n$ ckpt digest %s | tail -n 1\n' "$out"
ckpt digest "$out" | tail -n 1

before=$(total "names-only.pt.gz") || fail "no digest of the source"
after=$(total "$out") || fail "no digest of the result"
[[ $before == "$after" ]] || fail "the digests differ: $before and $after"
[[ $(count '"device": *"cuda[^"]*"' "$in") -gt 0 ]] || fail "$in holds nothing that was on a GPU"
[[ $(count '"name": *"module\.[^"]*"' "$in") -gt 0 ]] || fail "$in holds no name that begins with module."
tensors=$(count '"device": *"cpu"' "$out")
[[ $tensors -gt 0 ]] || fail "$out holds no tensor for the CPU"
[[ $(count '"device":' "$out") -eq $tensors ]] || fail "$out holds tensors that are not for the CPU"
[[ $(count '"name": *"module\.[^"]*"' "$out") -eq 0 ]] || fail "$out still holds names that begin with module."
[[ $(head -c 2 "$out") == PK ]] || fail "$out is not a bare zip archive"

printf '\nProved: %s tensors went from the GPU to the CPU without prefix and gzip, and not one bit of a weight changed.\n' "$tensors"

if [[ ! -x $(dirname "$(command -v ckpt)")/ckpt-eval ]]; then
  printf '\nNot evaluated: this ckpt was built without libtorch.\n'
  exit
fi
cd "$samples"
printf '\nAre the models that ship here any good? Each on its test set, at the accuracy that it must have:\n'
show ckpt eval digits/fnn_digits_dp.pt.gz --data digits/digits_test.pt.gz --min-accuracy 98%
show ckpt eval captcha/captcha_resnet.pt.gz --data captcha/testing_set.0.pt --min-accuracy 100%
