"""Deploys a workflow, runs it and follows it to its end, over REST with the typed client.

SVC_URL=http://127.0.0.1:8080 python examples/clients/run_workflow.py examples/workflows/data-job/workflow.yaml data-job
"""

import os
import sys
from pathlib import Path

from svc_client import Client, SvcApiError

file, name = sys.argv[1:3]

# A node with `spec.iam.local: token` leaves its token here. Other nodes: SVC_TOKEN, or none.
local = Path(os.environ.get("SVC_DATA", "data"), "local-token")
token = os.environ.get("SVC_TOKEN") or (local.read_text().strip() if local.exists() else None)

with Client(os.environ.get("SVC_URL", "http://127.0.0.1:8080"), token=token) as svc:
    svc.workflows.deploy(body=Path(file).read_text(), force="true")
    run = svc.workflows.run(name=name, input={}, options={"idempotency_key": f"{name}-from-python"})
    for record in svc.workflow_executions.stream(id=run["execution_id"]):
        print(record.id, *record.event)

    ended = svc.workflow_executions.get(id=run["execution_id"])
    print(ended["status"], len(ended["state_outputs"]), "states")

    try:
        svc.workflow_executions.cancel(id=run["execution_id"])
    except SvcApiError as error:
        print(error.status, error.message)
