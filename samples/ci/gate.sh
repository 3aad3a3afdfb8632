#!/usr/bin/env bash
# Is a checkpoint fit to be released? Sound, loadable where the last one was, and as good: all three are asked, and the
# exit status is the gravest answer (docs/cli.md has what each number means).
#
#   gate.sh NEW LAST DATA BAR      gate.sh model.pt.gz last.pt.gz data/MNIST/raw 97%
#
# Beside the log: eval.xml (JUnit), and where the model is read eval.md (for the job's summary), eval.json, eval.html. What an
# earlier gate left of them goes first.
set -uo pipefail

if (( $# != 4 )); then
  echo "usage: gate.sh NEW LAST DATA BAR" >&2
  exit 2
fi
new=$1 last=$2 data=$3 bar=$4
status=0

ask() {
  printf '\n$ %s\n' "$*"
  "$@"
  local answer=$?
  (( answer > status )) && status=$answer
  return 0
}

rm -f eval.xml eval.md eval.json eval.html
# A name that begins with "-" is no option: behind = or --.
ask ckpt verify --finite -- "$new"             # every size and checksum, no NaN, no infinity
ask ckpt check --like="$last" -- "$new"        # the keys and shapes that the released code expects
ask ckpt eval --data="$data" --min-accuracy="$bar" --baseline="$last" --max-drop=0.5% \
  --junit=eval.xml --markdown=eval.md --json=eval.json --report=eval.html -- "$new"
exit "$status"
