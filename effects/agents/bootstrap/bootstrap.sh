#!/bin/sh
# Runs one iteration of an agent: sends the rendered prompt ($1) to the node, runs the commands it asks for, prints the
# final content. Needs a POSIX shell and, over HTTP, one of curl, wget, node, python3. Protocol: docs/dispatch-gateway.md
set -eu
umask 077

box=${SVC_MAILBOX:-/run/svc}
url=${SVC_ORCHESTRATOR_URL:-}
wait_secs=${SVC_LLM_TIMEOUT_SECONDS:-300}
# What opens the gateway is not for the commands that run here.
unset SVC_ORCHESTRATOR_URL SVC_SEAL_TOKEN

say() { printf 'svc: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }
debug() { [ -z "${SVC_BOOTSTRAP_DEBUG:-}" ] || say "$@"; }
have() { command -v "$1" >/dev/null 2>&1; }
bytes() { wc -c <"$1" | tr -d ' '; }
nap() { sleep 0.05 2>/dev/null || sleep 1; }

# Milliseconds of a clock that nobody sets.
clock() {
  if read -r up _ 2>/dev/null </proc/uptime; then echo "$((${up%.*} * 1000 + (1${up#*.} - 100) * 10))"
  else echo "$(($(date +%s) * 1000))"; fi
}

[ $# -ge 1 ] || die 'usage: bootstrap.sh PROMPT'
: "${SVC_AGENT_ID:?}" "${SVC_EXECUTION_ID:?}"
[ -n "$url" ] || [ -d "$box/out" ] || die "neither $box nor SVC_ORCHESTRATOR_URL"

tmp=${TMPDIR:-/tmp}
{ [ -d "$tmp" ] && [ -w "$tmp" ]; } || tmp=$box/out
tmp=$tmp/svc-bootstrap.$$
mkdir "$tmp"
trap 'rm -rf "$tmp"' EXIT
trap 'exit 143' TERM INT HUP
req=$tmp/request ans=$tmp/answer err=$tmp/error
number=1

# Sends $req, leaves the answer in $ans. 0: answered; 1: refused for good; 2: not answered.
send() {
  if [ -d "$box/out" ]; then send_file
  elif have curl; then send_curl
  elif have wget; then send_wget
  elif have node; then SVC_URL=$url/v1/dispatch-gateway node -e "$node_client" "$wait_secs" "$req" "$ans" 2>"$err" || return 2
  elif have python3; then SVC_URL=$url/v1/dispatch-gateway python3 -c "$python_client" "$wait_secs" "$req" "$ans" 2>"$err" || return 2
  else die 'needs curl, wget, node or python3 to reach the node'; fi
}
send_file() {
  while [ -e "$box/out/$number.request" ] || [ -e "$box/in/$number.answer" ]; do number=$((number + 1)); done
  cp "$req" "$box/out/$number.tmp"
  chmod 644 "$box/out/$number.tmp"
  mv "$box/out/$number.tmp" "$box/out/$number.request"
  until [ -e "$box/in/$number.answer" ]; do nap; done
  cp "$box/in/$number.answer" "$ans"
}
send_curl() { # The address holds a token: it is not shown among the arguments.
  printf 'url = "%s/v1/dispatch-gateway"\n' "$url" | curl -sS -K - --max-time "$wait_secs" -o "$ans" \
    -H 'Content-Type: text/x-svc-request' -H 'Accept: text/x-shellscript' -H 'Expect:' --data-binary "@$req" 2>"$err" || return 2
}
send_wget() { # Not every wget keeps the body of an error.
  wget -q -T "$wait_secs" -O "$ans" --header 'Content-Type: text/x-svc-request' --header 'Accept: text/x-shellscript' \
    --post-file "$req" "$url/v1/dispatch-gateway" 2>"$err" && return 0
  case $? in 8) return 1 ;; esac
  case $(cat "$err") in *HTTP/1.* | *ERROR\ [45]*) return 1 ;; esac
  return 2
}
# shellcheck disable=SC2016
node_client='const [s, q, a] = process.argv.slice(1), fs = require("fs"), u = process.env.SVC_URL
const r = require(u.startsWith("https") ? "https" : "http").request(u, { method: "POST", timeout: s * 1000,
  headers: { "content-type": "text/x-svc-request", accept: "text/x-shellscript" } }, (w) => {
  w.pipe(fs.createWriteStream(a)); w.on("aborted", () => process.exit(2)) })
r.on("timeout", () => r.destroy(new Error("no answer in time"))); r.on("error", (e) => { console.error(e.message); process.exit(2) })
r.end(fs.readFileSync(q))'
python_client='import os, sys, urllib.request as u, urllib.error as e
s, q, a = sys.argv[1:]
r = u.Request(os.environ["SVC_URL"], open(q, "rb").read(), {"Content-Type": "text/x-svc-request", "Accept": "text/x-shellscript"})
try: w = u.urlopen(r, timeout=float(s))
except e.HTTPError as x: w = x
except OSError as x: sys.exit(str(x))
open(a, "wb").write(w.read())'

# Sends $req until it is answered, then reads the answer: sets svc_… and, for a command, its words.
missed=0
exchange() {
  while :; do
    svc_type='' svc_retry_secs=1 svc_message='' code=0
    rm -f "$ans"
    send || code=$?
    if [ "$code" = 1 ]; then die "gateway error: $(cat "$err")"; fi
    if [ "$code" = 0 ]; then [ -s "$ans" ] && return 0; echo 'empty answer' >"$err"; fi
    again "no answer: $(cat "$err")"
  done
}
again() {
  missed=$((missed + 1))
  [ "$missed" -le "${SVC_RETRIES:-60}" ] || die "$1"
  debug "$1; again in ${2:-2} s"
  sleep "${2:-2}"
}

# Runs "$@" as the answer says; leaves exit_code, truncated, $tmp/out.cut and $tmp/err.cut.
run() {
  half=$((svc_max_output_bytes / 2)) exit_code=0 truncated=false
  : >"$tmp/out.cut"; : >"$tmp/err.cut"
  cd "${svc_cwd:-/workspace}" 2>/dev/null || { echo "no such directory: ${svc_cwd:-/workspace}" >"$tmp/err.cut"; exit_code=127; return 0; }
  [ "${svc_timeout_secs:-0}" -gt 0 ] || svc_timeout_secs=60
  n=$svc_env_count
  set -- sh -c 'exec "$@"' svc "$@"
  while [ "$n" -gt 0 ]; do eval "set -- \"\$svc_env_$n\" \"\$@\""; n=$((n - 1)); done
  rm -f "$tmp/out" "$tmp/err" "$tmp/late"
  mkfifo "$tmp/out" "$tmp/err"
  # One byte more than is kept tells that something was cut; nothing else of a flood is held.
  tail -c "$((half + 1))" <"$tmp/out" >"$tmp/out.tail" & tails=$!
  tail -c "$((half + 1))" <"$tmp/err" >"$tmp/err.tail" & tails="$tails $!"
  group=''
  if have setsid; then group=-; fi
  # shellcheck disable=SC2086
  ${group:+setsid} env "$@" </dev/null >"$tmp/out" 2>"$tmp/err" & child=$!
  watch_time "$group$child" & watch=$!
  wait "$child" || exit_code=$?
  { kill -KILL "$watch" && wait "$watch"; } 2>/dev/null || :
  # What it left behind would hold its output open.
  [ -z "$group" ] || kill -KILL "-$child" 2>/dev/null || :
  # shellcheck disable=SC2086
  wait $tails
  [ ! -e "$tmp/late" ] || exit_code=-1
  for s in out err; do
    [ "$(bytes "$tmp/$s.tail")" -le "$half" ] || truncated=true
    tail -c "$half" "$tmp/$s.tail" >"$tmp/$s.cut"
  done
}
watch_time() {
  exec >/dev/null 2>&1
  left=$svc_timeout_secs
  while [ "$left" -gt 0 ]; do sleep 1; left=$((left - 1)); done
  : >"$tmp/late"
  kill -TERM "$1" || :
  sleep 2
  kill -KILL "$1" || :
}

printf 'generate\nagent_id %s\nexecution_id %s\niteration_number %s\nmodel_alias %s\n' \
  "$SVC_AGENT_ID" "$SVC_EXECUTION_ID" "${SVC_ITERATION:-1}" "${SVC_MODEL_ALIAS:-}" >"$req"
printf '%s' "$1" >"$tmp/prompt"
{ printf 'prompt_bytes %s\n\n' "$(bytes "$tmp/prompt")"; cat "$tmp/prompt"; } >>"$req"

while :; do
  exchange
  # shellcheck disable=SC1090
  . "$ans"
  case $svc_type in
    final) tail -c "$svc_content_bytes" "$ans"; exit 0 ;;
    error)
      [ "$svc_retry_secs" != 0 ] || die "gateway error: $svc_error: $svc_message"
      again "gateway error: $svc_error: $svc_message" "$svc_retry_secs"; continue ;;
    dispatch) ;;
    *) die 'the gateway answered something else than final or dispatch' ;;
  esac
  missed=0
  debug "dispatch $svc_dispatch_id: $1"
  began=$(clock)
  if [ "$svc_action" = exec ]; then run "$@"
  else exit_code=-1 truncated=false; : >"$tmp/out.cut"; printf 'unknown_action:%s' "$svc_action" >"$tmp/err.cut"; fi
  {
    printf 'dispatch_result\nexecution_id %s\ndispatch_id %s\n' "$SVC_EXECUTION_ID" "$svc_dispatch_id"
    printf 'exit_code %s\nduration_ms %s\ntruncated %s\n' "$exit_code" "$(($(clock) - began))" "$truncated"
    printf 'stdout_bytes %s\nstderr_bytes %s\n\n' "$(bytes "$tmp/out.cut")" "$(bytes "$tmp/err.cut")"
    cat "$tmp/out.cut" "$tmp/err.cut"
  } >"$req"
done
