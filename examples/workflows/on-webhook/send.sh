#!/bin/sh
# Sends push.json as a forge does: signed with the secret that both sides know.
#   sh send.sh [URL of the node]
set -e
url=${1:-${SVC_URL:-http://127.0.0.1:8080}}
secret=${SVC_WEBHOOK_SECRET_EXAMPLE_FORGE:-example-secret}
body="$(dirname "$0")/push.json"
digest=$(openssl dgst -sha256 -hmac "$secret" < "$body" | sed 's/^.*= *//')
curl -sS -X POST "$url/v1/webhooks/example-forge" -H 'content-type: application/json' \
  -H "x-svc-signature: sha256=$digest" -H 'x-delivery: 7' --data-binary "@$body"
echo
