#!/bin/sh
# Runs one iteration of an agent: sends the rendered prompt ($1) to the node, runs the commands it asks for, prints the
# final content. Needs a POSIX shell and, over HTTP, one of curl, wget, node, python3. Protocol: docs/guides/dispatch-gateway.md
set -eu
unset CDPATH b_url b_child

b_box=${SVC_MAILBOX:-/run/svc}
b_url=${SVC_ORCHESTRATOR_URL:-}
b_wait=${SVC_LLM_TIMEOUT_SECONDS:-300}
b_private=${SVC_PRIVATE_ENV:-}
# What opens the gateway is not for the commands that run here.
unset SVC_ORCHESTRATOR_URL SVC_SEAL_TOKEN

say() { printf 'svc: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }
debug() { [ -z "${SVC_BOOTSTRAP_DEBUG:-}" ] || say "$@"; }
have() { command -v "$1" >/dev/null 2>&1; }
bytes() { wc -c <"$1" | tr -d ' '; }
# Milliseconds of a clock that nobody sets.
clock() {
  if read -r b_up _ 2>/dev/null </proc/uptime; then echo "$((${b_up%.*} * 1000 + (1${b_up#*.} - 100) * 10))"
  else echo "$(($(date +%s) * 1000))"; fi
}

[ $# -ge 1 ] || [ -n "${SVC_PROMPT_FILE:-}" ] || die 'usage: bootstrap.sh PROMPT'
: "${SVC_AGENT_ID:?}" "${SVC_EXECUTION_ID:?}"
[ -n "$b_url" ] || [ -d "$b_box/out" ] || die "neither $b_box nor SVC_ORCHESTRATOR_URL"

b_tmp=${TMPDIR:-/tmp}
{ [ -d "$b_tmp" ] && [ -w "$b_tmp" ]; } || b_tmp=$b_box/out
# In a process table of its own it has the same id each time, and one that was killed leaves its directory.
b_tmp=$b_tmp/svc-bootstrap.$$.$(clock)
mkdir -m 700 "$b_tmp"
finish() { [ -z "${b_child:-}" ] || kill -KILL "$b_child" 2>/dev/null || :; rm -rf "$b_tmp"; }
trap finish EXIT
trap 'exit 143' TERM INT HUP
b_req=$b_tmp/request b_ans=$b_tmp/answer b_err=$b_tmp/error b_number=1 b_missed=0

# Sends the request, leaves the answer beside it. 0: answered; 1: refused for good; 2: not answered.
send() {
  if [ -d "$b_box/out" ]; then send_file
  elif have curl; then send_curl
  elif have wget; then send_wget
  elif have node; then send_by node -e "$node_client"
  elif have python3; then send_by python3 -c "$python_client"
  else die 'needs curl, wget, node or python3 to reach the node'; fi
}
send_file() {
  while [ -e "$b_box/out/$b_number.request" ] || [ -e "$b_box/in/$b_number.answer" ]; do b_number=$((b_number + 1)); done
  { cp "$b_req" "$b_box/out/$b_number.tmp" && chmod 644 "$b_box/out/$b_number.tmp" &&
    mv "$b_box/out/$b_number.tmp" "$b_box/out/$b_number.request"; } 2>"$b_err" || return 2
  until [ -e "$b_box/in/$b_number.answer" ]; do sleep 0.05 2>/dev/null || sleep 1; done
  cp "$b_box/in/$b_number.answer" "$b_ans" 2>"$b_err" || return 2
}
send_curl() { # The address holds a token: it is not shown among the arguments.
  printf 'url = "%s/v1/dispatch-gateway"\n' "$b_url" | curl -sS -K - --max-time "$b_wait" -o "$b_ans" -H 'Expect:' \
    -H 'Content-Type: text/x-svc-request' -H 'Accept: text/x-shellscript' --data-binary "@$b_req" 2>"$b_err" || return 2
}
send_wget() { # Some know no time-out; some do not keep the body of an error, and say its status alone.
  case $(wget --help 2>&1 || :) in
    *content-on-error*) set -- -T "$b_wait" --content-on-error ;;
    *-T*) set -- -T "$b_wait" ;;
    *) set -- ;;
  esac
  b_code=0
  wget -q "$@" -O "$b_ans" --header 'Content-Type: text/x-svc-request' --header 'Accept: text/x-shellscript' \
    --post-file "$b_req" "$b_url/v1/dispatch-gateway" 2>"$b_err" || b_code=$?
  if [ "$b_code" = 0 ] || { [ "$b_code" = 8 ] && [ -s "$b_ans" ]; }; then return 0; fi
  case $(cat "$b_err") in *HTTP/1.*' 503 '*) return 2 ;; *HTTP/1.*) return 1 ;; esac
  return 2
}
send_by() { SVC_URL=$b_url/v1/dispatch-gateway "$@" "$b_wait" "$b_req" "$b_ans" 2>"$b_err" || return 2; }
node_client='const [s, q, a] = process.argv.slice(1), fs = require("fs"), u = process.env.SVC_URL
const fail = (e) => { console.error(e.message); process.exit(2) }
const headers = { "content-type": "text/x-svc-request", accept: "text/x-shellscript" }
const r = require(u.startsWith("https:") ? "https" : "http").request(u, { method: "POST", timeout: s * 1000, headers }, (w) =>
  w.on("error", fail).on("close", () => w.complete || fail(new Error("cut off"))).pipe(fs.createWriteStream(a)))
r.on("timeout", () => r.destroy(new Error("no answer in time"))).on("error", fail).end(fs.readFileSync(q))'
python_client='import os, sys, urllib.request as u, urllib.error as e
s, q, a = sys.argv[1:]
h = {"Content-Type": "text/x-svc-request", "Accept": "text/x-shellscript"}
try: w = u.urlopen(u.Request(os.environ["SVC_URL"], open(q, "rb").read(), h), timeout=float(s))
except e.HTTPError as x: w = x
except OSError as x: sys.exit(str(x))
open(a, "wb").write(w.read())'

# Sends the request until it is answered; the answer is a script that sets svc_… and, for a command, its words.
exchange() {
  while :; do
    rm -f "$b_ans"; b_sent=0
    send || b_sent=$?
    if [ "$b_sent" = 0 ] && [ -s "$b_ans" ]; then break; fi
    [ "$b_sent" != 1 ] || die "gateway error: $(cat "$b_err")"
    again "no answer: $(cat "$b_err")" 2
  done
  # Whoever else may sit at this address: nothing but an answer is read as one.
  read -r b_line <"$b_ans" || :
  case $b_line in "svc_type='"*) ;; *) die 'the answer is not one of a gateway' ;; esac
}
again() {
  b_missed=$((b_missed + 1))
  [ "$b_missed" -le "${SVC_RETRIES:-60}" ] || die "$1"
  debug "$1; again in $2 s"
  sleep "$2"
}

# Runs "$@" as the answer says; leaves b_exit, b_cut, out.cut and err.cut.
run() {
  b_exit=0 b_cut=false b_setsid=''
  [ "${svc_timeout_secs:-0}" -gt 0 ] || svc_timeout_secs=60
  case $svc_cwd in /*) ;; *) svc_cwd=/workspace/$svc_cwd ;; esac
  if ! [ -d "$svc_cwd" ]; then printf 'no such directory: %s' "$svc_cwd" >"$b_tmp/err.cut"; b_exit=127; return 0; fi
  if [ "$svc_env_count" = 0 ] && ! (cd "$svc_cwd" && is_there "$1"); then
    printf 'command_not_found:%s' "$1" >"$b_tmp/err.cut"; b_exit=127; return 0
  fi
  # shellcheck disable=SC2016
  set -- sh -c 'exec "$@"' svc "$@"
  b_n=$svc_env_count
  while [ "$b_n" -gt 0 ]; do eval "set -- \"\$svc_env_$b_n\" \"\$@\""; b_n=$((b_n - 1)); done
  rm -f "$b_tmp/out" "$b_tmp/err" "$b_tmp/late"
  mkfifo "$b_tmp/out" "$b_tmp/err"
  # One byte more than both may have tells that something was cut; nothing else of a flood is held.
  tail -c "$((svc_max_output_bytes + 1))" <"$b_tmp/out" >"$b_tmp/out.tail" & b_tail_out=$!
  tail -c "$((svc_max_output_bytes + 1))" <"$b_tmp/err" >"$b_tmp/err.tail" & b_tail_err=$!
  # A group of its own, so that all of it can be killed.
  if have setsid; then b_setsid=setsid; fi
  (trap - EXIT TERM INT HUP; cd "$svc_cwd"; own_environment; exec $b_setsid env "$@") </dev/null >"$b_tmp/out" 2>"$b_tmp/err" & b_child=$!
  b_pid=$b_child
  [ -z "$b_setsid" ] || b_child=-$b_pid
  (trap - EXIT TERM INT HUP; watch_time) >/dev/null 2>&1 & b_watch=$!
  wait "$b_pid" 2>/dev/null || b_exit=$?
  { kill -KILL "$b_watch" && wait "$b_watch"; } 2>/dev/null || :
  # What it left behind would hold its output open; what hid from that loses it.
  kill -KILL "$b_child" 2>/dev/null || :
  b_child=''
  (trap - EXIT TERM INT HUP; sleep 2; kill "$b_tail_out" "$b_tail_err") >/dev/null 2>&1 & b_watch=$!
  wait "$b_tail_out" 2>/dev/null || b_cut=true
  wait "$b_tail_err" 2>/dev/null || b_cut=true
  { kill -KILL "$b_watch" && wait "$b_watch"; } 2>/dev/null || :
  [ ! -e "$b_tmp/late" ] || b_exit=-1
  b_n=$svc_max_output_bytes
  if [ $(($(bytes "$b_tmp/out.tail") + $(bytes "$b_tmp/err.tail"))) -gt "$b_n" ]; then b_cut=true b_n=$((b_n / 2)); fi
  for b_s in out err; do tail -c "$b_n" "$b_tmp/$b_s.tail" >"$b_tmp/$b_s.cut"; done
}
is_there() {
  case $1 in
    */*) [ -e "$1" ] ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}
# What the agent is told is not for the commands its model asks for; what the image says is.
own_environment() {
  # shellcheck disable=SC2086
  unset SVC_PRIVATE_ENV $b_private
  if [ -d /workspace ]; then HOME=/workspace; export HOME; fi
  : "${LANG:=C.UTF-8}"
  export LANG
}
watch_time() {
  b_n=$svc_timeout_secs
  while [ "$b_n" -gt 0 ]; do sleep 1; b_n=$((b_n - 1)); done
  : >"$b_tmp/late"
  kill -TERM "$b_child" || :
  sleep 2
  kill -KILL "$b_child" || :
}

b_prompt=${SVC_PROMPT_FILE:-$b_tmp/prompt}
[ -n "${SVC_PROMPT_FILE:-}" ] || printf '%s' "$1" >"$b_prompt"
{
  printf 'generate\nagent_id %s\nexecution_id %s\n' "$SVC_AGENT_ID" "$SVC_EXECUTION_ID"
  printf 'iteration_number %s\nmodel_alias %s\n' "${SVC_ITERATION:-1}" "${SVC_MODEL_ALIAS:-}"
  printf 'prompt_bytes %s\n\n' "$(bytes "$b_prompt")"; cat "$b_prompt"
} >"$b_req"

while :; do
  exchange
  # shellcheck disable=SC1090
  . "$b_ans"
  case $svc_type in
    final) tail -c "$svc_content_bytes" "$b_ans"; exit 0 ;;
    error)
      [ "$svc_retry_secs" != 0 ] || die "gateway error: $svc_error: $svc_message"
      again "gateway error: $svc_error: $svc_message" "$svc_retry_secs"; continue ;;
    dispatch) ;;
    *) die 'the answer is neither final nor dispatch' ;;
  esac
  b_missed=0
  debug "dispatch $svc_dispatch_id: $1"
  b_began=$(clock)
  : >"$b_tmp/out.cut"; : >"$b_tmp/err.cut"
  if [ "$svc_action" = exec ]; then run "$@"
  else b_exit=-1 b_cut=false; printf 'unknown_action:%s' "$svc_action" >"$b_tmp/err.cut"; fi
  {
    printf 'dispatch_result\nexecution_id %s\ndispatch_id %s\n' "$SVC_EXECUTION_ID" "$svc_dispatch_id"
    printf 'exit_code %s\nduration_ms %s\ntruncated %s\n' "$b_exit" "$(($(clock) - b_began))" "$b_cut"
    printf 'stdout_bytes %s\nstderr_bytes %s\n\n' "$(bytes "$b_tmp/out.cut")" "$(bytes "$b_tmp/err.cut")"
    cat "$b_tmp/out.cut" "$b_tmp/err.cut"
  } >"$b_req"
done
