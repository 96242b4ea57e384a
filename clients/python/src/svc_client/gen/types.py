# Made by clients/generate.ts from the API description; do not edit.
from __future__ import annotations

from typing import Any, Dict, List, Literal, Mapping, NotRequired, Tuple, TypeAlias, TypedDict, Union


class Actor(TypedDict):
    # kind/tenant/id.
    address: "str"
    kind: "str"
    id: "str"
    # Committed state without secrets; null when it is omitted.
    state: "Any"
    # Characters of the state as JSON.
    state_chars: "int"
    # The state is larger than 1 MiB and not shown.
    state_omitted: "NotRequired[Literal[True]]"
    # Number of turns that changed it.
    revision: "int"
    last_event: "int"
    # It has ended and left the store.
    archived: "bool"
    partition: "str"
    pool: "str"
    # Node that serves its partition; null while none does, and once archived.
    node: "Union[str, None]"
    mailbox: "ActorMailbox"
    timers: "List[ActorTimersItem]"
    # Effects that have not ended.
    effects: "List[OpenEffect]"
    # A message that keeps failing; the messages behind it wait.
    stuck: "Union[ActorStuck1, None]"

class ActorMailbox(TypedDict):
    # Client messages that wait for it.
    depth: "int"
    # Oldest message that waits in its partition; null at depth 0.
    oldest_at: "Union[str, None]"

class ActorTimersItem(TypedDict):
    name: "str"
    due_at: "Union[str, None]"

class ActorStuck1(TypedDict):
    message_type: "str"
    error: "str"
    attempts: "int"

class ActorHistory(TypedDict):
    address: "str"
    deliveries: "List[Delivery]"
    # For ?next=; null at the end.
    next: "Union[str, None]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"
    # ISO 8601: retention removed what is older. Absent when nothing was removed.
    kept_from: "NotRequired[str]"

class ActorRecording(TypedDict):
    lines: "List[Dict[str, Any]]"
    # For `?next=`; null at the end.
    next: "Union[str, None]"

class ActorStateAt(TypedDict):
    address: "str"
    message_id: "str"
    # ISO 8601.
    at: "str"
    revision: "int"
    last_event: "int"
    # State after the message, without secrets; null when it is omitted.
    state: "Any"
    state_chars: "int"
    # The state is larger than 1 MiB and not shown.
    state_omitted: "NotRequired[Literal[True]]"
    # The first message at which the replay differs from what was recorded; null when it does not.
    differs: "Union[ActorStateAtDiffers1, None]"

class ActorStateAtDiffers1(TypedDict):
    message_id: "str"
    # What differs in its turn.
    parts: "List[Literal['outcome', 'state', 'events', 'effects', 'messages', 'timers']]"

ActorStateDiff = TypedDict("ActorStateDiff", {
    "address": "str",
    # Null: just before the message `to`.
    "from": "Union[str, None]",
    "to": "str",
    "changes": "List[ActorStateDiffChangesItem]",
    # There are more than 1,000 changes.
    "cut": "bool",
    # The first message at which the replay differs from what was recorded; null when it does not.
    "differs": "Union[ActorStateDiffDiffers1, None]",
})

class ActorStateDiffChangesItem(TypedDict):
    # JSON Pointer.
    path: "str"
    kind: "Literal['added', 'removed', 'changed']"
    before: "Any"
    after: "Any"

class ActorStateDiffDiffers1(TypedDict):
    message_id: "str"
    # What differs in its turn.
    parts: "List[Literal['outcome', 'state', 'events', 'effects', 'messages', 'timers']]"

class Agent(TypedDict):
    # Agent UUID; all versions of a name share it.
    agent_id: "str"
    name: "str"
    tenant_id: "str"
    version: "str"
    description: "str"
    status: "Literal['deployed', 'paused', 'archived']"
    scope: "Literal['user', 'tenant', 'global']"
    # Subject, for scope user.
    owner: "Union[str, None]"
    labels: "Dict[str, str]"
    deployed_at: "str"

class Alive(TypedDict):
    status: "Literal['ok']"

class ApiKey(TypedDict):
    id: "str"
    name: "str"
    tenant_id: "str"
    owner: "KeyOwner"
    scopes: "List[str]"
    status: "Literal['active', 'expired', 'revoked']"
    # Id of the key that created it; it is revoked together with that key.
    made_by_key: "Union[str, None]"
    created_at: "str"
    expires_at: "str"
    # Accurate to a minute.
    last_used_at: "Union[str, None]"
    revoked_at: "Union[str, None]"
    revoked_by: "Union[str, None]"

class Approval(TypedDict):
    # UUID of the request.
    id: "str"
    # Execution that waits for the decision.
    execution_id: "str"
    prompt: "str"
    # ISO 8601.
    created_at: "str"
    # Seconds until it times out; 0: never.
    timeout_seconds: "int"

class AuditEntry(TypedDict):
    operation: "str"
    subject: "Union[str, None]"
    caller: "Union[str, None]"
    roles: "List[str]"
    target: "Union[str, None]"
    outcome: "Literal['ok', 'denied', 'failed', 'begun']"
    error: "Union[str, None]"
    reason: "Union[str, None]"
    trace: "str"
    via: "Literal['rest', 'grpc', 'tool', 'node']"
    address: "Union[str, None]"
    count: "int"
    begun: "Union[int, None]"
    node: "str"
    sequence: "int"
    at: "str"

class AuditRecord(TypedDict):
    sequence: "int"
    at: "str"
    body: "Union[AuditRecordBody1, AuditRecordBody2, AuditRecordBody3, AuditRecordBody4]"
    previous_hash: "Union[str, None]"
    hash: "str"

class AuditRecordBody1(TypedDict):
    kind: "Literal['opened']"
    node: "str"
    tenant: "str"
    version: "str"

class AuditRecordBody2(TypedDict):
    kind: "Literal['operation']"
    operation: "str"
    subject: "Union[str, None]"
    caller: "Union[str, None]"
    roles: "List[str]"
    target: "Union[str, None]"
    outcome: "Literal['ok', 'denied', 'failed', 'begun']"
    error: "Union[str, None]"
    reason: "Union[str, None]"
    trace: "str"
    via: "Literal['rest', 'grpc', 'tool', 'node']"
    address: "Union[str, None]"
    count: "int"
    begun: "Union[int, None]"

class AuditRecordBody3(TypedDict):
    kind: "Literal['lost']"
    count: "int"

class AuditRecordBody4(TypedDict):
    kind: "Literal['closed']"
    reason: "str"

class ClusterPlan(TypedDict):
    moved_partitions: "int"
    moved_actors: "int"
    # Tags that a working node has now and none would have.
    lost_tags: "List[str]"
    # Unfinished runs whose pool is served now and would not be.
    waiting_runs: "ClusterPlanWaitingRuns"
    nodes: "List[ClusterPlanNodesItem]"
    pools: "List[ClusterPlanPoolsItem]"

class ClusterPlanWaitingRuns(TypedDict):
    count: "int"
    # False: there are more unfinished runs than were examined.
    complete: "bool"
    # The newest 50.
    runs: "List[ClusterPlanWaitingRunsRunsItem]"

class ClusterPlanWaitingRunsRunsItem(TypedDict):
    id: "str"
    kind: "Literal['execution', 'workflow']"
    name: "str"
    status: "Literal['pending', 'running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled']"
    tags: "List[str]"
    pool: "str"

class ClusterPlanNodesItem(TypedDict):
    node_id: "str"
    change: "Literal['stays', 'leaves', 'joins']"
    role: "Union[Literal['controller', 'worker', 'hybrid'], None]"
    tags: "List[str]"
    # Number of partitions by pool.
    before: "Dict[str, int]"
    # Number of partitions by pool.
    after: "Dict[str, int]"

class ClusterPlanPoolsItem(TypedDict):
    pool: "str"
    tags: "List[str]"
    partitions: "int"
    # Whether a live node may serve it now.
    was_served: "bool"
    # What its actors would wait for; null when a node may serve it.
    waiting_for: "Union[ClusterPlanPoolsItemWaitingFor1, None]"
    moved_partitions: "int"
    moved_actors: "int"
    # Most partitions first.
    moves: "List[ClusterPlanPoolsItemMovesItem]"

class ClusterPlanPoolsItemWaitingFor1(TypedDict):
    tags: "List[str]"
    # Such as "waiting for a node with tags gpu".
    reason: "str"

ClusterPlanPoolsItemMovesItem = TypedDict("ClusterPlanPoolsItemMovesItem", {
    # Null: no node serves them.
    "from": "Union[str, None]",
    "to": "Union[str, None]",
    "partitions": "int",
    # Actors that live in them now.
    "actors": "int",
})

class ContainerRunCompleted(TypedDict):
    execution_id: "str"
    state_name: "str"
    step_name: "Union[str, None]"
    exit_code: "int"
    stdout_bytes: "int"
    stderr_bytes: "int"
    duration_ms: "float"
    attempt: "int"
    completed_at: "str"

class ContainerRunFailed(TypedDict):
    execution_id: "str"
    state_name: "str"
    step_name: "Union[str, None]"
    reason: "str"
    attempt: "int"
    retry_at: "Union[str, None]"
    failed_at: "str"

class ContainerRunStarted(TypedDict):
    execution_id: "str"
    state_name: "str"
    step_name: "Union[str, None]"
    image: "str"
    command: "List[str]"
    attempt: "int"
    started_at: "str"

class CriticalPath(TypedDict):
    trace_id: "str"
    # Id of the message that began it; null when retention removed that, and when it continues another trace.
    root: "Union[str, None]"
    status: "Literal['running', 'completed', 'failed', 'cancelled']"
    # ISO 8601.
    started_at: "str"
    ended_at: "Union[str, None]"
    # Other traces that belong to it. A trace of 10,000 deliveries continues in another one.
    links: "List[TraceLink]"
    # ISO 8601: retention removed what is older. Absent when nothing was removed.
    kept_from: "NotRequired[str]"
    # Milliseconds.
    duration_ms: "float"
    steps: "List[CriticalPathStepsItem]"
    # It covers the first 11,000 deliveries only.
    cut: "NotRequired[Literal[True]]"

class CriticalPathStepsItem(TypedDict):
    # relay: on the way from one actor to the next.
    kind: "Literal['mailbox', 'turn', 'effect', 'timer', 'relay']"
    effect_kind: "Union[str, None]"
    message_id: "str"
    to: "str"
    type: "str"
    # ISO 8601.
    from_at: "str"
    # ISO 8601.
    to_at: "str"
    # Milliseconds.
    ms: "float"

class DeadLetter(TypedDict):
    id: "str"
    # Actor that could not handle it: kind/tenant/id.
    address: "str"
    # record: the state of the actor cannot be read.
    kind: "Literal['message', 'record']"
    # Null when it cannot be read.
    message: "Union[DeadLetterMessage1, None]"
    # Error of the last attempt.
    error: "str"
    # ISO 8601.
    at: "str"
    status: "Literal['open', 'replayed', 'discarded']"
    replays: "List[DeadLetterReplaysItem]"
    discarded: "Union[DeadLetterDiscarded1, None]"

DeadLetterMessage1 = TypedDict("DeadLetterMessage1", {
    "message_id": "str",
    "type": "str",
    "from": "Union[str, None]",
    "cause_id": "Union[str, None]",
    "trace_id": "str",
})

class DeadLetterReplaysItem(TypedDict):
    # ISO 8601.
    at: "str"
    # Subject of the caller.
    by: "str"
    reason: "Union[str, None]"
    # The message that was sent.
    message_id: "str"

class DeadLetterDiscarded1(TypedDict):
    # ISO 8601.
    at: "str"
    # Subject of the caller.
    by: "str"
    reason: "Union[str, None]"

class DeadLetterInFull(TypedDict):
    id: "str"
    # Actor that could not handle it: kind/tenant/id.
    address: "str"
    # record: the state of the actor cannot be read.
    kind: "Literal['message', 'record']"
    # Null when it cannot be read.
    message: "Union[DeadLetterInFullMessage1, None]"
    # Error of the last attempt.
    error: "str"
    # ISO 8601.
    at: "str"
    status: "Literal['open', 'replayed', 'discarded']"
    replays: "List[DeadLetterInFullReplaysItem]"
    discarded: "Union[DeadLetterInFullDiscarded1, None]"
    # Payload of the message without secrets.
    payload: "Any"
    payload_chars: "int"
    # The payload is larger than 1 MiB and not shown.
    payload_omitted: "NotRequired[Literal[True]]"

DeadLetterInFullMessage1 = TypedDict("DeadLetterInFullMessage1", {
    "message_id": "str",
    "type": "str",
    "from": "Union[str, None]",
    "cause_id": "Union[str, None]",
    "trace_id": "str",
})

class DeadLetterInFullReplaysItem(TypedDict):
    # ISO 8601.
    at: "str"
    # Subject of the caller.
    by: "str"
    reason: "Union[str, None]"
    # The message that was sent.
    message_id: "str"

class DeadLetterInFullDiscarded1(TypedDict):
    # ISO 8601.
    at: "str"
    # Subject of the caller.
    by: "str"
    reason: "Union[str, None]"

Delivery = TypedDict("Delivery", {
    "message_id": "str",
    # Message whose turn sent this one; null only for the root.
    "cause_id": "Union[str, None]",
    # Address of the sender; null for a client and for an effect.
    "from": "Union[str, None]",
    # Address: kind/tenant/id.
    "to": "str",
    "type": "str",
    # When it was appended, ISO 8601.
    "at": "str",
    # Milliseconds in the mailbox.
    "wait_ms": "float",
    # Milliseconds of the turn.
    "turn_ms": "float",
    # Node that handled it; null in rows of earlier versions.
    "node": "Union[str, None]",
    # Lease epoch of the commit.
    "epoch": "int",
    "attempt": "int",
    # retried: it failed and is tried again; deferred: it waits behind one that fails; stale: a timer that was cleared or set again; unknown: its node recorded no turns.
    "outcome": "Literal['done', 'refused', 'retried', 'deferred', 'stale', 'dead-lettered', 'unknown']",
})

class DeployRequest(TypedDict):
    manifest_yaml: "str"
    # Overwrites the same name and version.
    force: "NotRequired[bool]"
    # Default: tenant; global requires the operator role.
    scope: "NotRequired[Literal['user', 'tenant', 'global']]"

class DeployedAgent(TypedDict):
    # Agent UUID; all versions of a name share it.
    agent_id: "str"
    name: "str"
    tenant_id: "str"
    version: "str"
    description: "str"
    status: "Literal['deployed', 'paused', 'archived']"
    scope: "Literal['user', 'tenant', 'global']"
    # Subject, for scope user.
    owner: "Union[str, None]"
    labels: "Dict[str, str]"
    deployed_at: "str"
    # The manifest, checked and with its defaults.
    manifest: "Any"
    # The manifest as deployed.
    manifest_yaml: "str"

class DeployedWorkflow(TypedDict):
    # Workflow UUID; all versions of a name in a scope share it.
    id: "str"
    name: "str"
    version: "str"
    initial_state: "str"
    scope: "Literal['user', 'tenant', 'global']"
    # Subject, for scope user.
    owner: "Union[str, None]"
    status: "Literal['deployed', 'paused', 'archived']"
    description: "str"
    labels: "Dict[str, str]"
    deployed_at: "str"
    # The manifest, checked and with its defaults.
    manifest: "Any"
    # The manifest as deployed.
    manifest_yaml: "str"

class DuplicateProblem(TypedDict):
    error: "Literal['idempotent_duplicate']"
    message: "str"
    original_stimulus_id: "str"
    workflow_execution_id: "str"

class ErrorDetail(TypedDict):
    path: "NotRequired[str]"
    line: "NotRequired[int]"
    column: "NotRequired[int]"
    message: "str"
    # Of a workflow manifest: stable id of the rule.
    rule: "NotRequired[str]"
    severity: "NotRequired[Literal['error', 'warning']]"
    # Suggested correction.
    cure: "NotRequired[str]"

class ExecutionCancelled(TypedDict):
    execution_id: "str"
    cancelled: "Literal[True]"

class ExecutionCompleted(TypedDict):
    execution_id: "str"
    final_output: "str"
    total_iterations: "int"
    completed_at: "str"

class ExecutionEventExecutionStarted(TypedDict):
    execution_started: "ExecutionStarted"

class ExecutionEventIterationStarted(TypedDict):
    iteration_started: "IterationStarted"

class ExecutionEventIterationOutput(TypedDict):
    iteration_output: "IterationOutput"

class ExecutionEventIterationCompleted(TypedDict):
    iteration_completed: "IterationCompleted"

class ExecutionEventIterationFailed(TypedDict):
    iteration_failed: "IterationFailed"

class ExecutionEventRefinementApplied(TypedDict):
    refinement_applied: "RefinementApplied"

class ExecutionEventExecutionCompleted(TypedDict):
    execution_completed: "ExecutionCompleted"

class ExecutionEventExecutionFailed(TypedDict):
    execution_failed: "ExecutionFailed"

ExecutionEvent: TypeAlias = "Union[ExecutionEventExecutionStarted, ExecutionEventIterationStarted, ExecutionEventIterationOutput, ExecutionEventIterationCompleted, ExecutionEventIterationFailed, ExecutionEventRefinementApplied, ExecutionEventExecutionCompleted, ExecutionEventExecutionFailed]"

class ExecutionFailed(TypedDict):
    execution_id: "str"
    reason: "str"
    total_iterations: "int"
    failed_at: "str"
    message: "NotRequired[str]"

class ExecutionRemoved(TypedDict):
    execution_id: "str"
    removed: "Literal[True]"

class ExecutionStarted(TypedDict):
    execution_id: "str"
    agent_id: "str"
    started_at: "str"

class ExecutionStatus(TypedDict):
    execution_id: "str"
    agent_id: "str"
    status: "Literal['pending', 'running', 'completed', 'failed', 'cancelled']"
    iteration_count: "int"
    last_output: "Union[str, None]"
    last_error: "Union[str, None]"
    # How it ended; null while it is unfinished.
    outcome: "Union[Literal['succeeded', 'failed', 'cancelled'], None]"
    # Why it did not succeed; absent while it is unfinished, and when it succeeded.
    error: "NotRequired[RunError]"
    started_at: "Union[str, None]"
    ended_at: "Union[str, None]"
    usage: "ExecutionStatusUsage"
    # Number of times a program ran again because it was unknown whether it had acted; absent when zero.
    in_doubt: "NotRequired[int]"
    # Number of tool calls that ran; absent when none did.
    tool_calls_executed: "NotRequired[int]"
    # Tool calls that may have acted when their node failed, and were not repeated.
    calls_in_doubt: "NotRequired[List[ExecutionStatusCallsInDoubtItem]]"
    # Workflow execution that it belongs to; absent for none.
    workflow_execution_id: "NotRequired[str]"
    # Trace of its start: /v1/traces/{trace_id}.
    trace_id: "NotRequired[str]"
    # The run that it was forked from.
    forked_from: "NotRequired[ForkedFrom]"
    # What an unfinished one waits for; in lists only while no live node may serve it.
    waiting_for: "NotRequired[WaitReason]"

class ExecutionStatusUsage(TypedDict):
    input_tokens: "float"
    output_tokens: "float"
    cost: "float"

class ExecutionStatusCallsInDoubtItem(TypedDict):
    tool: "str"
    call: "str"
    iteration: "int"
    round: "int"

class Fault(TypedDict):
    id: "str"
    kind: "Literal['kill-actor', 'kill-owner', 'kill-node', 'freeze-node']"
    # Address or node id.
    target: "str"
    # Of the actor; svc-system for a node.
    tenant: "str"
    # Subject of the requester.
    by: "str"
    at: "str"
    state: "Literal['requested', 'done', 'refused']"
    # Node that must act.
    node: "str"
    # Why it was refused.
    reason: "Union[str, None]"
    # Of a freeze.
    ms: "Union[int, None]"

class FeedEventOpen(TypedDict):
    # The first record of a new feed: read the lists now, everything later is sent.
    open: "Dict[str, Any]"

class FeedEventReset(TypedDict):
    # The missed changes are no longer stored: read the lists again.
    reset: "FeedEventResetReset"

class FeedEventResetReset(TypedDict):
    reason: "str"

class FeedEventPlace(TypedDict):
    # A record without content, whose id is a newer place to resume from.
    place: "Dict[str, Any]"

class FeedEventRun(TypedDict):
    # A run that began or changed and meets the conditions.
    run: "Run"

class FeedEventRunLeft(TypedDict):
    # A run that meets the conditions no longer, or not yet.
    run_left: "FeedEventRunLeftRunLeft"

class FeedEventRunLeftRunLeft(TypedDict):
    id: "str"
    kind: "str"

class FeedEventRunRemoved(TypedDict):
    run_removed: "FeedEventRunRemovedRunRemoved"

class FeedEventRunRemovedRunRemoved(TypedDict):
    id: "str"
    kind: "str"

class FeedEventApproval(TypedDict):
    # An approval that was asked for, answered, withdrawn, or has expired.
    approval: "FeedEventApprovalApproval"

class FeedEventApprovalApproval(TypedDict):
    id: "str"
    status: "Literal['pending', 'answered', 'expired', 'withdrawn']"
    execution_id: "str"
    state_name: "str"
    prompt: "str"
    created_at: "str"
    timeout_seconds: "float"
    resolved_at: "Union[str, None]"

class FeedEventNode(TypedDict):
    # All nodes at the start of each connection, then each that changes.
    node: "FeedEventNodeNode"

class FeedEventNodeNode(TypedDict):
    node_id: "str"
    status: "Literal['up', 'draining', 'gone']"
    incarnation: "str"
    role: "Union[str, None]"
    tags: "List[str]"
    version: "Union[str, None]"
    partitions: "Dict[str, float]"

class FeedEventRunEvent(TypedDict):
    # An event of the followed run, as its own stream has it.
    run_event: "FeedEventRunEventRunEvent"

class FeedEventRunEventRunEvent(TypedDict):
    id: "str"
    kind: "str"
    sequence: "float"
    event: "Dict[str, Any]"

FeedEvent: TypeAlias = "Union[FeedEventOpen, FeedEventReset, FeedEventPlace, FeedEventRun, FeedEventRunLeft, FeedEventRunRemoved, FeedEventApproval, FeedEventNode, FeedEventRunEvent]"

class Finding(TypedDict):
    # Stable id of the rule, such as unreachable_state.
    rule: "str"
    severity: "Literal['error', 'warning']"
    path: "str"
    line: "int"
    column: "int"
    message: "str"
    # Suggested correction.
    cure: "str"

class ForkedFrom(TypedDict):
    # The original.
    id: "str"
    # Its last message that came from the record.
    message_id: "str"
    reason: "NotRequired[str]"

class ForkedRun(TypedDict):
    # Of the new run.
    id: "str"
    kind: "Literal['execution', 'workflow']"
    forked_from: "ForkedFrom"
    # Why it cannot begin yet: tags that no live node has.
    waiting_for: "NotRequired[WaitReason]"

class GenerateRequest(TypedDict):
    # What it should do, in plain words.
    input: "str"

class IntentExecutionPipelineCompleted(TypedDict):
    execution_id: "str"
    final_result: "str"
    duration_ms: "float"
    reused_existing_agent: "bool"
    agent_similarity_score: "NotRequired[float]"
    completed_at: "str"

class IntentExecutionPipelineFailed(TypedDict):
    execution_id: "str"
    failed_at_state: "Union[str, None]"
    reason: "str"
    failed_at: "str"

class IntentExecutionPipelineStarted(TypedDict):
    execution_id: "str"
    intent: "str"
    language: "str"
    workspace_volume_id: "Union[str, None]"
    started_at: "str"

class InvokeAnswer(TypedDict):
    jsonrpc: "Literal['2.0']"
    id: "Union[str, float, None]"
    # MCP tool result.
    result: "ToolResult"

class InvokeProblem1(TypedDict):
    jsonrpc: "Literal['2.0']"
    id: "Union[str, float, None]"
    error: "InvokeProblem1Error"

class InvokeProblem1Error(TypedDict):
    code: "int"
    message: "str"
    data: "NotRequired[InvokeProblem1ErrorData]"

class InvokeProblem1ErrorData(TypedDict):
    reason: "str"

class InvokeProblem2(TypedDict):
    error: "str"
    message: "str"

InvokeProblem: TypeAlias = "Union[InvokeProblem1, InvokeProblem2]"

class IterationCompleted(TypedDict):
    execution_id: "str"
    iteration_number: "int"
    output: "str"
    completed_at: "str"

class IterationFailed(TypedDict):
    execution_id: "str"
    iteration_number: "int"
    error: "IterationFailedError"
    failed_at: "str"

class IterationFailedError(TypedDict):
    error_type: "str"
    message: "str"
    stacktrace: "NotRequired[str]"

class IterationOutput(TypedDict):
    execution_id: "str"
    iteration_number: "int"
    output: "str"

class IterationStarted(TypedDict):
    execution_id: "str"
    iteration_number: "int"
    action: "str"
    started_at: "str"

class JoinToken(TypedDict):
    id: "str"
    names: "List[str]"
    tags: "List[str]"
    addresses: "List[str]"
    roles: "List[Literal['WORKER', 'HYBRID']]"
    uses: "int"
    used_by: "List[JoinTokenUse]"
    # Number of nodes refused with it.
    refusals: "int"
    status: "Literal['active', 'used_up', 'expired', 'revoked']"
    created_at: "str"
    created_by: "str"
    expires_at: "str"

JoinTokenUse = TypedDict("JoinTokenUse", {
    "node_id": "str",
    "from": "str",
    "at": "str",
})

class KeyOwner(TypedDict):
    kind: "str"
    subject: "str"
    tier: "str"

class LoggedEvent(TypedDict):
    sequence: "int"
    event_type: "str"
    payload: "Dict[str, Any]"
    recorded_at: "str"

class ManagedConfig(TypedDict):
    config_yaml: "str"
    # SHA-256 of the text, lower-case hex.
    config_hash: "str"
    # Grows with each configuration that is set; nodes refuse an older one.
    version: "int"

ManifestSchema = TypedDict("ManifestSchema", {
    "title": "str",
    "$schema": "str",
})

class Me(TypedDict):
    # local: the operator of a loopback node without an identity provider.
    kind: "Literal['local', 'operator', 'service_account', 'consumer', 'tenant_user', 'actor']"
    subject: "str"
    tenant: "str"
    roles: "List[str]"
    tier: "str"
    # What the roles allow. inspect, operate and break are about the fleet; the others about the tenant.
    actions: "List[Literal['read', 'run', 'write', 'audit', 'inspect', 'operate', 'break']]"
    # API key of the call; null for other tokens.
    key: "Union[MeKey1, None]"
    # `AREA:read` and `AREA:write` (`tools:call`) that the key allows; all without a key.
    scopes: "List[str]"

class MeKey1(TypedDict):
    id: "str"
    # As granted.
    scopes: "List[str]"

Message = TypedDict("Message", {
    "message_id": "str",
    "trace_id": "str",
    # Message whose turn sent this one; null for a call of a client.
    "cause_id": "Union[str, None]",
    "from": "Union[str, None]",
    "to": "str",
    "type": "str",
    "origin": "Literal['client', 'actor', 'timer', 'effect']",
    # Effect whose result or progress it is.
    "effect_id": "Union[str, None]",
    # Caller whose call it follows from.
    "caller": "Union[MessageCaller1, None]",
    # Without secrets; null when it is omitted or was removed with its actor.
    "payload": "Any",
    "payload_chars": "int",
    # The payload is larger than 1 MiB and not shown.
    "payload_omitted": "NotRequired[Literal[True]]",
    # Of the last attempt.
    "outcome": "Literal['done', 'refused', 'retried', 'deferred', 'stale', 'dead-lettered', 'unknown']",
    "attempts": "List[MessageAttemptsItem]",
})

class MessageCaller1(TypedDict):
    kind: "str"
    subject: "str"

class MessageAttemptsItem(TypedDict):
    attempt: "int"
    # ISO 8601.
    at: "str"
    wait_ms: "float"
    turn_ms: "float"
    node: "Union[str, None]"
    epoch: "int"
    outcome: "Literal['done', 'refused', 'retried', 'deferred', 'stale', 'dead-lettered', 'unknown']"
    error: "Union[str, None]"

class MessageChain(TypedDict):
    message_id: "str"
    # The last attempt of each message, nearest first.
    deliveries: "List[MessageChainDeliveriesItem]"
    # More messages exist beyond the depth, or beyond 1,000 messages.
    cut: "bool"
    # ISO 8601: retention removed what is older. Absent when nothing was removed.
    kept_from: "NotRequired[str]"

MessageChainDeliveriesItem = TypedDict("MessageChainDeliveriesItem", {
    "message_id": "str",
    # Message whose turn sent this one; null only for the root.
    "cause_id": "Union[str, None]",
    # Address of the sender; null for a client and for an effect.
    "from": "Union[str, None]",
    # Address: kind/tenant/id.
    "to": "str",
    "type": "str",
    # When it was appended, ISO 8601.
    "at": "str",
    # Milliseconds in the mailbox.
    "wait_ms": "float",
    # Milliseconds of the turn.
    "turn_ms": "float",
    # Node that handled it; null in rows of earlier versions.
    "node": "Union[str, None]",
    # Lease epoch of the commit.
    "epoch": "int",
    "attempt": "int",
    # retried: it failed and is tried again; deferred: it waits behind one that fails; stale: a timer that was cleared or set again; unknown: its node recorded no turns.
    "outcome": "Literal['done', 'refused', 'retried', 'deferred', 'stale', 'dead-lettered', 'unknown']",
    # Distance from the message that was asked for.
    "depth": "int",
})

class ModelProvider(TypedDict):
    # Name of a provider.
    name: "str"
    type: "Literal['ollama', 'openai', 'anthropic', 'gemini', 'openai-compatible']"
    # Base URL; each type but openai-compatible has a default.
    endpoint: "NotRequired[str]"
    # `secret:providers/NAME`: a secret of tenant svc-system by name, never a value.
    api_key: "NotRequired[str]"
    enabled: "bool"
    # Sent with every call.
    headers: "Dict[str, str]"
    models: "List[ModelProviderModelsItem]"

class ModelProviderModelsItem(TypedDict):
    alias: "str"
    model: "str"
    capabilities: "List[str]"
    context_window: "NotRequired[int]"
    cost_per_1k_tokens: "Union[float, ModelProviderModelsItemCostPer1kTokens2]"
    max_output_tokens: "int"
    temperature: "float"
    fallback_alias: "NotRequired[str]"

class ModelProviderModelsItemCostPer1kTokens2(TypedDict):
    input: "float"
    output: "float"

class Node(TypedDict):
    node_id: "str"
    role: "Union[Literal['CONTROLLER', 'WORKER', 'HYBRID'], None]"
    status: "Literal['ACTIVE', 'DRAINING', 'UNHEALTHY']"
    tags: "List[str]"
    # Capabilities that a registered peer advertises.
    capabilities: "Union[NodeCapabilities1, None]"
    version: "Union[str, None]"
    started_at: "Union[str, None]"
    grpc_address: "Union[str, None]"
    rest_url: "Union[str, None]"
    # Number of partitions by pool.
    partitions: "Dict[str, int]"
    last_heartbeat_at: "Union[str, None]"
    # True while it holds a node lease.
    member: "bool"
    # Known to NodeClusterService.
    registered: "bool"

class NodeCapabilities1(TypedDict):
    gpu_count: "float"
    vram_gb: "float"
    cpu_cores: "float"
    available_memory_gb: "float"
    supported_runtimes: "List[str]"
    tags: "List[str]"

class OpenEffect(TypedDict):
    effect_id: "str"
    # Such as model.generate.
    kind: "Union[str, None]"
    # Message whose turn requested it.
    message_id: "Union[str, None]"
    # open: no node has begun it; started: the attempt runs; retrying: the next begins at retry_at.
    status: "Literal['open', 'started', 'retrying']"
    attempt: "int"
    node: "Union[str, None]"
    retry_at: "Union[str, None]"
    # Why the attempt before failed.
    last_error: "Union[OpenEffectLastError1, None]"

class OpenEffectLastError1(TypedDict):
    code: "str"
    message: "str"

class OwnWait(TypedDict):
    kind: "Literal['node', 'timer', 'approval', 'child', 'judges', 'effect', 'volumes', 'turn']"
    # For people, such as "waiting for a node with tags gpu".
    reason: "str"
    # Of a workflow.
    state_name: "NotRequired[str]"
    # Tags that no live node has.
    tags: "NotRequired[List[str]]"
    approval_id: "NotRequired[str]"
    child_execution_ids: "NotRequired[List[str]]"
    # Judges that have not answered.
    judges: "NotRequired[List[WaitingJudge]]"
    effects: "NotRequired[List[WaitingEffect]]"
    # Time at which a timer ends the wait.
    until: "NotRequired[str]"

class ParallelContainerRunAggregated(TypedDict):
    execution_id: "str"
    state_name: "str"
    total_steps: "int"
    succeeded: "int"
    failed: "int"
    strategy: "str"
    aggregated_at: "str"

class PipelineStarted(TypedDict):
    pipeline_execution_id: "str"
    status: "Literal['started']"
    stream_url: "str"

class PlainProblem(TypedDict):
    # What is wrong.
    error: "str"
    # Code of the error table, of a start that failed.
    code: "NotRequired[str]"
    details: "NotRequired[List[ErrorDetail]]"

class Problem(TypedDict):
    # Code of the error table.
    error: "str"
    message: "str"
    # Reason where several errors share a code: why a tool call was denied.
    reason: "NotRequired[str]"
    details: "NotRequired[List[ErrorDetail]]"

class RateOverride(TypedDict):
    tenant: "str"
    subject: "Union[str, None]"
    rates: "Rates"
    updated_at: "str"
    updated_by: "str"

class RateOverrideRequest(TypedDict):
    # Tenant slug.
    tenant: "str"
    # Without it the rates are those of each user of the tenant.
    subject: "NotRequired[str]"
    # Fields as in `spec.rate_limits.users`. An absent field keeps the rate of the settings; null removes the limit.
    rates: "Rates"

class RateUsage(TypedDict):
    tenant: "str"
    subject: "str"
    kind: "str"
    tier: "str"
    # One entry for each limit.
    buckets: "List[RateUsageBucketsItem]"
    concurrent_executions: "RateUsageConcurrentExecutions"
    agents: "RateUsageAgents"

class RateUsageBucketsItem(TypedDict):
    # `model_calls`, or the pattern of tools counted together: `tool:fs.*`.
    name: "str"
    window: "Literal['minute', 'hour', 'day', 'week', 'month']"
    used: "int"
    limit: "int"
    resets_at: "str"

class RateUsageConcurrentExecutions(TypedDict):
    used: "int"
    limit: "Union[int, None]"

class RateUsageAgents(TypedDict):
    limit: "Union[int, None]"

class Rates(TypedDict):
    agent_executions: "NotRequired[RatesAgentExecutions]"
    workflow_executions: "NotRequired[RatesWorkflowExecutions]"
    model_calls: "NotRequired[RatesModelCalls]"
    model_tokens: "NotRequired[RatesModelTokens]"
    tools: "NotRequired[Dict[str, RatesToolsValue]]"
    agents: "NotRequired[Union[int, None]]"
    concurrent_executions: "NotRequired[Union[int, None]]"

class RatesAgentExecutions(TypedDict):
    minute: "NotRequired[Union[int, None]]"
    hour: "NotRequired[Union[int, None]]"
    day: "NotRequired[Union[int, None]]"
    week: "NotRequired[Union[int, None]]"
    month: "NotRequired[Union[int, None]]"

class RatesWorkflowExecutions(TypedDict):
    minute: "NotRequired[Union[int, None]]"
    hour: "NotRequired[Union[int, None]]"
    day: "NotRequired[Union[int, None]]"
    week: "NotRequired[Union[int, None]]"
    month: "NotRequired[Union[int, None]]"

class RatesModelCalls(TypedDict):
    minute: "NotRequired[Union[int, None]]"
    hour: "NotRequired[Union[int, None]]"
    day: "NotRequired[Union[int, None]]"
    week: "NotRequired[Union[int, None]]"
    month: "NotRequired[Union[int, None]]"

class RatesModelTokens(TypedDict):
    minute: "NotRequired[Union[int, None]]"
    hour: "NotRequired[Union[int, None]]"
    day: "NotRequired[Union[int, None]]"
    week: "NotRequired[Union[int, None]]"
    month: "NotRequired[Union[int, None]]"

class RatesToolsValue(TypedDict):
    minute: "NotRequired[Union[int, None]]"
    hour: "NotRequired[Union[int, None]]"
    day: "NotRequired[Union[int, None]]"
    week: "NotRequired[Union[int, None]]"
    month: "NotRequired[Union[int, None]]"

class RefinementApplied(TypedDict):
    execution_id: "str"
    iteration_number: "int"
    code_diff: "str"
    applied_at: "str"

class Run(TypedDict):
    id: "str"
    kind: "Literal['execution', 'workflow']"
    status: "Literal['pending', 'running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled']"
    # Null while it is unfinished.
    outcome: "Union[Literal['succeeded', 'failed', 'cancelled'], None]"
    # Of the agent or workflow.
    name: "str"
    version: "str"
    # UUID of the agent or workflow.
    definition_id: "str"
    # Given at its start.
    labels: "Dict[str, str]"
    started_at: "str"
    ended_at: "Union[str, None]"
    # Null while it is unfinished.
    duration_ms: "Union[float, None]"
    # Tags that its node must have.
    tags: "List[str]"
    # Node that handled its last message.
    node: "Union[str, None]"
    # What it waits for; null once it has ended.
    wait_reason: "Union[Literal['node', 'timer', 'approval', 'child', 'judges', 'effect', 'volumes', 'turn'], None]"
    # Current state of a workflow.
    state_name: "Union[str, None]"
    error_code: "Union[str, None]"
    # Short text for people: the failure, or why it was cancelled.
    reason: "Union[str, None]"
    trace_id: "Union[str, None]"
    # The run that it was forked from.
    forked_from: "Union[ForkedFrom, None]"
    # What started it: a workflow run, a stimulus, a panel of judges.
    parent: "Union[RunParent1, None]"

class RunParent1(TypedDict):
    kind: "str"
    id: "str"

class RunError(TypedDict):
    # Of the error table, such as model_refused.
    code: "str"
    # One sentence with the cause.
    message: "str"
    # The error behind it, such as that of the last iteration; null for none.
    cause: "Union[str, None]"

class RunRecording(TypedDict):
    # First line of the recording: version, settings and trace, without secrets.
    head: "Dict[str, Any]"
    # Actors of its trace, kind/tenant/id; the run is the first.
    actors: "List[str]"

class RunStarted(TypedDict):
    execution_id: "str"
    status: "Literal['started']"

class ScopeRequest1(TypedDict):
    action: "Literal['promote']"
    target_scope: "NotRequired[Literal['tenant', 'global']]"

class ScopeRequest2(TypedDict):
    action: "Literal['demote']"
    target_scope: "NotRequired[Literal['tenant', 'user']]"
    # Owner, for scope user; default: the caller.
    user_id: "NotRequired[str]"

ScopeRequest: TypeAlias = "Union[ScopeRequest1, ScopeRequest2]"

class SealEnvelope(TypedDict):
    # `seal/v1`.
    protocol: "str"
    # JWT from attestation.
    security_token: "str"
    # Base64 of the Ed25519 signature over the payload.
    signature: "str"
    # JSON-RPC `tools/call`: base64 of the signed bytes, or an object, whose RFC 8785 form is signed.
    payload: "Union[str, Dict[str, Any]]"
    # RFC 3339, UTC, within 30 s.
    timestamp: "str"

class SealSession(TypedDict):
    session_id: "str"
    execution_id: "Union[str, None]"
    agent_id: "Union[str, None]"
    source: "Literal['seal', 'inner_loop', 'mcp', 'rest']"
    status: "Literal['active', 'closed', 'revoked']"
    calls: "int"
    denied: "int"
    # ISO 8601.
    opened_at: "str"

class SearchResults(TypedDict):
    query: "str"
    results: "List[SearchResultsResultsItem]"
    total: "int"

class SearchResultsResultsItem(TypedDict):
    id: "str"
    name: "str"
    version: "str"
    description: "str"
    labels: "Dict[str, str]"
    # 0 to 1, best first.
    score: "float"

class Secret(TypedDict):
    path: "str"
    # Name used in settings and manifests.
    reference: "str"
    version: "int"
    # Newest first.
    earlier: "List[SecretEarlierItem]"
    created_at: "Union[str, None]"
    updated_at: "str"
    updated_by: "Union[str, None]"

class SecretEarlierItem(TypedDict):
    version: "int"
    reference: "str"

class SecretKeys(TypedDict):
    # The version that encrypts new secrets.
    current: "int"
    # Newest first.
    versions: "List[SecretKeysVersionsItem]"

class SecretKeysVersionsItem(TypedDict):
    version: "int"
    made_at: "str"
    # Secrets of all tenants that need this version.
    secrets: "int"
    # Data keys of encrypted payloads that need this version.
    payload_keys: "int"

class StartAnswer(TypedDict):
    execution_id: "str"
    # Why it cannot begin yet: tags that no live node has.
    waiting_for: "NotRequired[WaitReason]"

class StatusRequest(TypedDict):
    # `paused`: starts nothing; `archived`: starts nothing and is not listed; `deployed`: back in service.
    status: "Literal['deployed', 'paused', 'archived']"

class Stimulus(TypedDict):
    id: "str"
    source: "str"
    status: "Literal['received', 'routed', 'rejected']"
    # Null when it was rejected.
    workflow_execution_id: "Union[str, None]"
    # Why it was rejected.
    reason: "Union[str, None]"
    received_at: "str"

class StimulusRoute(TypedDict):
    # Lower-case.
    source: "str"
    # Name or UUID.
    workflow: "str"
    # Whether it comes from the node’s settings or was set by a call.
    origin: "Literal['settings', 'stored']"

class StorageEvent(TypedDict):
    event: "Literal['VolumeCreated', 'VolumeDeleted', 'VolumeExpired', 'FileRead', 'FileWritten', 'FileCreated', 'FileDeleted', 'DirectoryListed', 'PathTraversalBlocked', 'QuotaExceeded']"
    volume_id: "str"
    # Null for events of the volume itself.
    path: "Union[str, None]"
    workflow_execution_id: "Union[str, None]"
    at: "str"
    # Sizes and counts; never the content of a file.
    details: "Dict[str, Any]"

class SubworkflowCompleted(TypedDict):
    parent_execution_id: "str"
    child_execution_id: "str"
    parent_state_name: "str"
    result_key: "Union[str, None]"
    completed_at: "str"

class SubworkflowFailed(TypedDict):
    parent_execution_id: "str"
    child_execution_id: "str"
    parent_state_name: "str"
    reason: "str"
    failed_at: "str"

class SubworkflowTriggered(TypedDict):
    parent_execution_id: "str"
    child_execution_id: "str"
    child_workflow_id: "str"
    mode: "Literal['blocking', 'fire_and_forget']"
    parent_state_name: "str"
    triggered_at: "str"

Takeover = TypedDict("Takeover", {
    "id": "str",
    "at": "str",
    # Node that serves them since then.
    "node": "str",
    "incarnation": "str",
    # Node that should have served them before; null for none.
    "from": "Union[str, None]",
    # new_pool, not_served: no node served them; died, left, drained: what happened to the node before; not_eligible: it no longer has the tags or role; rebalanced: other nodes came, went or changed; lease_lost: the same node lost the lease and took it again.
    "reason": "Literal['new_pool', 'not_served', 'died', 'left', 'drained', 'not_eligible', 'rebalanced', 'lease_lost']",
    # For rebalanced: the nodes that came, went or changed.
    "because": "List[str]",
    "pool": "str",
    "partitions": "int",
    # Their numbers in the pool.
    "numbers": "List[int]",
})

class TapEventDelivery(TypedDict):
    delivery: "TapEventDeliveryDelivery"

TapEventDeliveryDelivery = TypedDict("TapEventDeliveryDelivery", {
    "message_id": "str",
    # Message whose turn sent this one; null only for the root.
    "cause_id": "Union[str, None]",
    # Address of the sender; null for a client and for an effect.
    "from": "Union[str, None]",
    # Address: kind/tenant/id.
    "to": "str",
    "type": "str",
    # When it was appended, ISO 8601.
    "at": "str",
    # Milliseconds in the mailbox.
    "wait_ms": "float",
    # Milliseconds of the turn.
    "turn_ms": "float",
    # Node that handled it; null in rows of earlier versions.
    "node": "Union[str, None]",
    # Lease epoch of the commit.
    "epoch": "int",
    "attempt": "int",
    # retried: it failed and is tried again; deferred: it waits behind one that fails; stale: a timer that was cleared or set again; unknown: its node recorded no turns.
    "outcome": "Literal['done', 'refused', 'retried', 'deferred', 'stale', 'dead-lettered', 'unknown']",
    "trace_id": "str",
})

class TapEventStorage(TypedDict):
    storage: "StorageEvent"

class TapEventDropped(TypedDict):
    dropped: "int"

TapEvent: TypeAlias = "Union[TapEventDelivery, TapEventStorage, TapEventDropped]"

class ToolResult(TypedDict):
    content: "List[Dict[str, Any]]"
    structuredContent: "NotRequired[Dict[str, Any]]"
    isError: "bool"

class Trace(TypedDict):
    trace_id: "str"
    # Id of the message that began it; null when retention removed that, and when it continues another trace.
    root: "Union[str, None]"
    status: "Literal['running', 'completed', 'failed', 'cancelled']"
    # ISO 8601.
    started_at: "str"
    ended_at: "Union[str, None]"
    # Other traces that belong to it. A trace of 10,000 deliveries continues in another one.
    links: "List[TraceLink]"
    # ISO 8601: retention removed what is older. Absent when nothing was removed.
    kept_from: "NotRequired[str]"
    deliveries: "List[Delivery]"
    # Effects whose results are on this page; on the last one also those that have not ended.
    effects: "List[TraceEffect]"
    # For ?next=; null at the end.
    next: "Union[str, None]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class TraceEffect(TypedDict):
    effect_id: "str"
    # Message whose turn requested it.
    message_id: "Union[str, None]"
    # Such as model.generate.
    kind: "Union[str, None]"
    attempt: "int"
    node: "Union[str, None]"
    started_at: "Union[str, None]"
    # When its result was appended; null while it has none.
    ended_at: "Union[str, None]"
    outcome: "Literal['done', 'failed', 'in_doubt', 'open', 'started', 'retrying']"

class TraceLink(TypedDict):
    trace_id: "str"
    # next: this trace continues in it; previous: it continues in this one; run: the trace of the run that this call went to; call: a further call to the run, such as a cancel; forked_from: the trace of the run that this one was forked from.
    relation: "Literal['next', 'previous', 'run', 'call', 'forked_from']"

class TraceRow(TypedDict):
    trace_id: "str"
    # Id of the message that began it.
    root: "str"
    # Kind of the actor that the root went to.
    kind: "str"
    # Id of that actor.
    id: "str"
    # Name of the agent or workflow; null for other calls.
    name: "Union[str, None]"
    # Type of the root.
    type: "str"
    status: "Literal['running', 'completed', 'failed', 'cancelled']"
    # ISO 8601.
    started_at: "str"
    ended_at: "Union[str, None]"
    duration_ms: "Union[float, None]"
    error_code: "Union[str, None]"
    # Node that handled the root.
    node: "Union[str, None]"

class TraceSummary(TypedDict):
    trace_id: "str"
    # Id of the message that began it; null when retention removed that, and when it continues another trace.
    root: "Union[str, None]"
    status: "Literal['running', 'completed', 'failed', 'cancelled']"
    # ISO 8601.
    started_at: "str"
    ended_at: "Union[str, None]"
    # Other traces that belong to it. A trace of 10,000 deliveries continues in another one.
    links: "List[TraceLink]"
    # ISO 8601: retention removed what is older. Absent when nothing was removed.
    kept_from: "NotRequired[str]"
    # From the first append to the last end.
    duration_ms: "float"
    deliveries: "int"
    # All waits in mailboxes, added up.
    mailbox_ms: "float"
    # All turns, added up.
    turns_ms: "float"
    effects: "List[TraceSummaryEffectsItem]"
    # Milliseconds.
    timers_ms: "float"
    # Waits for answers to approvals; each moment counts once.
    people_ms: "float"
    # The same for the critical path alone; its parts add up to its duration.
    critical_path: "TraceSummaryCriticalPath"
    # It covers the first 11,000 deliveries only.
    cut: "NotRequired[Literal[True]]"

class TraceSummaryEffectsItem(TypedDict):
    kind: "str"
    count: "int"
    # Milliseconds.
    ms: "float"

class TraceSummaryCriticalPath(TypedDict):
    # Milliseconds.
    duration_ms: "float"
    # Milliseconds.
    mailbox_ms: "float"
    # Milliseconds.
    turns_ms: "float"
    effects: "List[TraceSummaryCriticalPathEffectsItem]"
    # Milliseconds.
    timers_ms: "float"
    # Milliseconds.
    relay_ms: "float"

class TraceSummaryCriticalPathEffectsItem(TypedDict):
    kind: "str"
    # Milliseconds.
    ms: "float"

class Volume(TypedDict):
    id: "str"
    name: "str"
    storage_class: "Literal['ephemeral', 'persistent']"
    size_limit_bytes: "Union[int, None]"
    used_bytes: "int"
    expires_at: "Union[str, None]"
    workflow_execution_id: "Union[str, None]"
    created_at: "str"

class WaitReason(TypedDict):
    kind: "Literal['node', 'timer', 'approval', 'child', 'judges', 'effect', 'volumes', 'turn']"
    # For people, such as "waiting for a node with tags gpu".
    reason: "str"
    # Of a workflow.
    state_name: "NotRequired[str]"
    # Tags that no live node has.
    tags: "NotRequired[List[str]]"
    approval_id: "NotRequired[str]"
    child_execution_ids: "NotRequired[List[str]]"
    # Judges that have not answered.
    judges: "NotRequired[List[WaitingJudge]]"
    effects: "NotRequired[List[WaitingEffect]]"
    # Time at which a timer ends the wait.
    until: "NotRequired[str]"
    # Wait reason of the child that it waits for.
    child: "NotRequired[OwnWait]"

class WaitingEffect(TypedDict):
    effect_id: "str"
    # Such as model.generate.
    kind: "str"
    # open: no node has begun it; started: the attempt runs; retrying: the next begins at retry_at; answered: its result is about to be handled.
    status: "Literal['open', 'started', 'retrying', 'answered']"
    attempt: "int"
    # Node and its incarnation, NODE/UUID.
    runner: "NotRequired[str]"
    retry_at: "NotRequired[str]"
    # Why the last attempt that failed did so.
    last_error: "NotRequired[WaitingEffectLastError]"
    # Why a started one makes no progress: a model or server that does not answer.
    held_by: "NotRequired[str]"

class WaitingEffectLastError(TypedDict):
    code: "str"
    message: "str"

class WaitingJudge(TypedDict):
    agent: "str"
    execution_id: "str"
    status: "Literal['asked', 'judging']"

WaitingMessage = TypedDict("WaitingMessage", {
    "message_id": "str",
    # Message whose turn sent this one.
    "cause_id": "Union[str, None]",
    "trace_id": "str",
    # Address of the sender; null for a client and for an effect.
    "from": "Union[str, None]",
    "type": "str",
    "origin": "Literal['client', 'actor', 'timer', 'effect']",
    # unread: the messages before it come first; postponed: its actor is loaded slowly; failing: it failed and is tried again; deferred: it waits behind one that fails.
    "reason": "Literal['unread', 'postponed', 'failing', 'deferred']",
    # When it was appended; null for failing and deferred ones.
    "at": "Union[str, None]",
})

class WaitingMessages(TypedDict):
    address: "str"
    # Oldest first. May be fewer than asked for on any page.
    messages: "List[WaitingMessage]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class Why(TypedDict):
    # Whether the run has not ended.
    waiting: "bool"
    sentence: "str"
    # From the run to the last cause.
    chain: "List[WhyLink]"
    # Traces in which the run continues; absent while it has only one.
    links: "NotRequired[List[WhyLinksItem]]"
    # The run that it was forked from.
    forked_from: "NotRequired[ForkedFrom]"

class WhyLinksItem(TypedDict):
    trace_id: "str"
    relation: "Literal['next']"

class WhyLink1(TypedDict):
    kind: "Literal['execution']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    # Of the run; null while it has not begun.
    status: "Union[str, None]"
    # Name of the agent or workflow.
    name: "Union[str, None]"
    # The running or last iteration of an agent; null for a workflow.
    iteration: "Union[int, None]"

class WhyLink2(TypedDict):
    kind: "Literal['workflow']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    # Of the run; null while it has not begun.
    status: "Union[str, None]"
    # Name of the agent or workflow.
    name: "Union[str, None]"
    # The running or last iteration of an agent; null for a workflow.
    iteration: "Union[int, None]"

class WhyLink3(TypedDict):
    kind: "Literal['child']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    # Of the run; null while it has not begun.
    status: "Union[str, None]"
    # Name of the agent or workflow.
    name: "Union[str, None]"
    # The running or last iteration of an agent; null for a workflow.
    iteration: "Union[int, None]"
    of: "Literal['execution', 'workflow']"

class WhyLink4(TypedDict):
    kind: "Literal['judge']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    # Of the run; null while it has not begun.
    status: "Union[str, None]"
    # Name of the agent or workflow.
    name: "Union[str, None]"
    # The running or last iteration of an agent; null for a workflow.
    iteration: "Union[int, None]"

class WhyLink5(TypedDict):
    kind: "Literal['state']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    entered_at: "Union[str, None]"

class WhyLink6(TypedDict):
    kind: "Literal['judges']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    judges: "int"
    answered: "int"

class WhyLink7(TypedDict):
    kind: "Literal['approval']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    prompt: "str"
    # Who may answer.
    by: "str"
    # Given at `until`; null: the state fails then.
    default_response: "Union[str, None]"

class WhyLink8(TypedDict):
    kind: "Literal['effect']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    # Its kind, such as model.generate.
    effect: "str"
    status: "Literal['open', 'started', 'retrying', 'answered']"
    # The running attempt, or the last one.
    attempt: "int"
    # The node that runs it.
    node: "Union[str, None]"
    last_error: "Union[WhyLink8LastError1, None]"
    # Further effects that the run waits for at the same time.
    others: "int"

class WhyLink8LastError1(TypedDict):
    code: "str"
    message: "str"

class WhyLink9(TypedDict):
    kind: "Literal['timer']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"

class WhyLink10(TypedDict):
    kind: "Literal['node']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    tags: "List[str]"
    # Live nodes that lack least, at most five.
    nearly: "List[WhyLink10NearlyItem]"

class WhyLink10NearlyItem(TypedDict):
    node_id: "str"
    # Needed tags that it lacks.
    lacks: "List[str]"
    reason: "str"

class WhyLink11(TypedDict):
    kind: "Literal['draining']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    tags: "List[str]"

class WhyLink12(TypedDict):
    kind: "Literal['failover']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"

class WhyLink13(TypedDict):
    kind: "Literal['version']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    of: "Literal['node', 'actor', 'agent', 'workflow']"

class WhyLink14(TypedDict):
    kind: "Literal['mailbox']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    # Client messages that wait for this actor itself.
    depth: "int"
    oldest_at: "Union[str, None]"
    # The node that should handle them.
    node: "Union[str, None]"

class WhyLink15(TypedDict):
    kind: "Literal['stuck']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    message_type: "str"
    attempts: "int"
    error: "str"

class WhyLink16(TypedDict):
    kind: "Literal['rate_limit']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"

class WhyLink17(TypedDict):
    kind: "Literal['quota']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"

class WhyLink18(TypedDict):
    kind: "Literal['target']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"

class WhyLink19(TypedDict):
    kind: "Literal['place']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"

class WhyLink20(TypedDict):
    kind: "Literal['store']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"

class WhyLink21(TypedDict):
    kind: "Literal['volumes']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"

class WhyLink22(TypedDict):
    kind: "Literal['turn']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"

class WhyLink23(TypedDict):
    kind: "Literal['attempt']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    error: "WhyLink23Error"
    exit_code: "Union[int, None]"

class WhyLink23Error(TypedDict):
    code: "str"
    message: "str"

class WhyLink24(TypedDict):
    kind: "Literal['verdict']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    validator: "str"
    score: "float"

class WhyLink25(TypedDict):
    kind: "Literal['error']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"
    error: "WhyLink25Error"

class WhyLink25Error(TypedDict):
    code: "str"
    message: "str"

class WhyLink26(TypedDict):
    kind: "Literal['cancel']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"

class WhyLink27(TypedDict):
    kind: "Literal['more']"
    # Id of what the link names; null when it has none or the reader may not see it.
    id: "Union[str, None]"
    # The link in plain words, as the sentence has it.
    reason: "str"
    # ISO 8601: when this wait ends or is tried again by itself; null when it is not.
    until: "Union[str, None]"

WhyLink: TypeAlias = "Union[WhyLink1, WhyLink2, WhyLink3, WhyLink4, WhyLink5, WhyLink6, WhyLink7, WhyLink8, WhyLink9, WhyLink10, WhyLink11, WhyLink12, WhyLink13, WhyLink14, WhyLink15, WhyLink16, WhyLink17, WhyLink18, WhyLink19, WhyLink20, WhyLink21, WhyLink22, WhyLink23, WhyLink24, WhyLink25, WhyLink26, WhyLink27]"

class Workflow(TypedDict):
    # Workflow UUID; all versions of a name in a scope share it.
    id: "str"
    name: "str"
    version: "str"
    initial_state: "str"
    scope: "Literal['user', 'tenant', 'global']"
    # Subject, for scope user.
    owner: "Union[str, None]"
    status: "Literal['deployed', 'paused', 'archived']"
    description: "str"
    labels: "Dict[str, str]"
    deployed_at: "str"

class WorkflowEventWorkflowExecutionStarted(TypedDict):
    WorkflowExecutionStarted: "WorkflowExecutionStarted"

class WorkflowEventIntentExecutionPipelineStarted(TypedDict):
    IntentExecutionPipelineStarted: "IntentExecutionPipelineStarted"

class WorkflowEventIntentExecutionPipelineCompleted(TypedDict):
    IntentExecutionPipelineCompleted: "IntentExecutionPipelineCompleted"

class WorkflowEventIntentExecutionPipelineFailed(TypedDict):
    IntentExecutionPipelineFailed: "IntentExecutionPipelineFailed"

class WorkflowEventWorkflowStateEntered(TypedDict):
    WorkflowStateEntered: "WorkflowStateEntered"

class WorkflowEventWorkflowStateExited(TypedDict):
    WorkflowStateExited: "WorkflowStateExited"

class WorkflowEventWorkflowTemplateFailed(TypedDict):
    WorkflowTemplateFailed: "WorkflowTemplateFailed"

class WorkflowEventWorkflowStepRepeated(TypedDict):
    WorkflowStepRepeated: "WorkflowStepRepeated"

class WorkflowEventWorkflowHumanInputRequested(TypedDict):
    WorkflowHumanInputRequested: "WorkflowHumanInputRequested"

class WorkflowEventWorkflowHumanInputReceived(TypedDict):
    WorkflowHumanInputReceived: "WorkflowHumanInputReceived"

class WorkflowEventContainerRunStarted(TypedDict):
    ContainerRunStarted: "ContainerRunStarted"

class WorkflowEventContainerRunCompleted(TypedDict):
    ContainerRunCompleted: "ContainerRunCompleted"

class WorkflowEventContainerRunFailed(TypedDict):
    ContainerRunFailed: "ContainerRunFailed"

class WorkflowEventParallelContainerRunAggregated(TypedDict):
    ParallelContainerRunAggregated: "ParallelContainerRunAggregated"

class WorkflowEventSubworkflowTriggered(TypedDict):
    SubworkflowTriggered: "SubworkflowTriggered"

class WorkflowEventSubworkflowCompleted(TypedDict):
    SubworkflowCompleted: "SubworkflowCompleted"

class WorkflowEventSubworkflowFailed(TypedDict):
    SubworkflowFailed: "SubworkflowFailed"

class WorkflowEventWorkflowExecutionCompleted(TypedDict):
    WorkflowExecutionCompleted: "WorkflowExecutionCompleted"

class WorkflowEventWorkflowExecutionFailed(TypedDict):
    WorkflowExecutionFailed: "WorkflowExecutionFailed"

class WorkflowEventWorkflowExecutionCancelled(TypedDict):
    WorkflowExecutionCancelled: "WorkflowExecutionCancelled"

WorkflowEvent: TypeAlias = "Union[WorkflowEventWorkflowExecutionStarted, WorkflowEventIntentExecutionPipelineStarted, WorkflowEventIntentExecutionPipelineCompleted, WorkflowEventIntentExecutionPipelineFailed, WorkflowEventWorkflowStateEntered, WorkflowEventWorkflowStateExited, WorkflowEventWorkflowTemplateFailed, WorkflowEventWorkflowStepRepeated, WorkflowEventWorkflowHumanInputRequested, WorkflowEventWorkflowHumanInputReceived, WorkflowEventContainerRunStarted, WorkflowEventContainerRunCompleted, WorkflowEventContainerRunFailed, WorkflowEventParallelContainerRunAggregated, WorkflowEventSubworkflowTriggered, WorkflowEventSubworkflowCompleted, WorkflowEventSubworkflowFailed, WorkflowEventWorkflowExecutionCompleted, WorkflowEventWorkflowExecutionFailed, WorkflowEventWorkflowExecutionCancelled]"

class WorkflowExecutionCancelled(TypedDict):
    execution_id: "str"
    reason: "Union[str, None]"
    cancelled_at: "str"

class WorkflowExecutionCompleted(TypedDict):
    execution_id: "str"
    final_blackboard: "Any"
    output: "Any"
    completed_at: "str"

class WorkflowExecutionFailed(TypedDict):
    execution_id: "str"
    reason: "str"
    error: "str"
    state_name: "Union[str, None]"
    failed_at: "str"

class WorkflowExecutionStarted(TypedDict):
    execution_id: "str"
    workflow_id: "str"
    workflow_name: "str"
    workflow_version: "str"
    started_at: "str"

class WorkflowExecutionStatus(TypedDict):
    execution_id: "str"
    workflow_id: "str"
    workflow_name: "str"
    workflow_version: "str"
    status: "Literal['running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled']"
    current_state: "Union[str, None]"
    # Code of a failure, or why it was cancelled.
    reason: "Union[str, None]"
    # Null while it is unfinished; failed for a completed run whose last state failed.
    outcome: "Union[Literal['succeeded', 'failed', 'cancelled'], None]"
    # Why it did not succeed; null when it did, and while it is unfinished.
    error: "Union[RunError, None]"
    started_at: "str"
    last_transition_at: "str"
    ended_at: "Union[str, None]"
    # Trace of its start: /v1/traces/{trace_id}.
    trace_id: "NotRequired[str]"
    # The run that it was forked from.
    forked_from: "NotRequired[ForkedFrom]"
    intent: "Union[str, None]"
    input: "Any"
    blackboard: "Dict[str, Any]"
    state_outputs: "Dict[str, Any]"
    output: "Any"
    # Why an unfinished one waits.
    waiting_for: "NotRequired[WaitReason]"

class WorkflowHumanInputReceived(TypedDict):
    execution_id: "str"
    state_name: "str"
    approval_id: "str"
    how: "Literal['answered', 'expired']"
    payload: "str"
    received_at: "str"

class WorkflowHumanInputRequested(TypedDict):
    execution_id: "str"
    state_name: "str"
    approval_id: "str"
    prompt: "str"
    requested_at: "str"

class WorkflowStateEntered(TypedDict):
    execution_id: "str"
    state_name: "str"
    kind: "str"
    visit: "int"
    entered_at: "str"

class WorkflowStateExited(TypedDict):
    execution_id: "str"
    state_name: "str"
    status: "Literal['success', 'failed']"
    output: "Any"
    next_state: "Union[str, None]"
    condition: "Union[str, None]"
    transitions: "NotRequired[List[WorkflowStateExitedTransitionsItem]]"
    exited_at: "str"

class WorkflowStateExitedTransitionsItem(TypedDict):
    target: "str"
    condition: "str"
    test: "str"
    result: "Literal['taken', 'no_match', 'not_tried']"
    saw: "List[WorkflowStateExitedTransitionsItemSawItem]"
    error: "NotRequired[str]"

class WorkflowStateExitedTransitionsItemSawItem(TypedDict):
    path: "str"
    value: "str"

class WorkflowStepRepeated(TypedDict):
    execution_id: "str"
    state_name: "str"
    repeat: "int"
    by: "Literal['policy', 'human']"
    repeated_at: "str"

class WorkflowTemplateFailed(TypedDict):
    execution_id: "str"
    state_name: "str"
    what: "Literal['step', 'expression', 'feedback']"
    transition: "Union[int, None]"
    code: "str"
    error: "str"
    failed_at: "str"

class HealthReadyAnswer(TypedDict):
    status: "Literal['ready']"

class AgentsListAnswer(TypedDict):
    agents: "List[Agent]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class AgentsDeployAnswer(TypedDict):
    agent_id: "str"
    deployed: "Literal[True]"
    # Warnings about its language and version, if any.
    warnings: "NotRequired[List[Finding]]"

class AgentsDeleteAnswer(TypedDict):
    agent_id: "str"
    deleted: "Literal[True]"

class AgentsListVersionsAnswer(TypedDict):
    versions: "List[Agent]"

class AgentsChangeScopeAnswer(TypedDict):
    name: "str"
    target_scope: "Literal['user', 'tenant', 'global']"
    promoted: "NotRequired[Literal[True]]"
    demoted: "NotRequired[Literal[True]]"
    agent_id: "str"

class AgentsListLogsAnswer(TypedDict):
    agent_id: "str"
    events: "List[LoggedEvent]"
    total: "int"
    limit: "int"
    offset: "int"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class ExecutionsListAnswer(TypedDict):
    executions: "List[ExecutionStatus]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class ExecutionsListEventsAnswer(TypedDict):
    execution_id: "str"
    status: "Literal['pending', 'running', 'completed', 'failed', 'cancelled']"
    events: "List[LoggedEvent]"
    total: "int"
    limit: "int"
    offset: "int"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class WorkflowsListAnswer(TypedDict):
    workflows: "List[Workflow]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class WorkflowsDeployAnswer(TypedDict):
    workflow_id: "str"
    deployed: "Literal[True]"
    # Findings of the checker that do not prevent the deploy.
    warnings: "List[Finding]"

class WorkflowsDeleteAnswer(TypedDict):
    workflow_id: "str"
    deleted: "Literal[True]"

class WorkflowsListVersionsAnswer(TypedDict):
    versions: "List[Workflow]"

class WorkflowsChangeScopeAnswer(TypedDict):
    name: "str"
    target_scope: "Literal['user', 'tenant', 'global']"
    promoted: "NotRequired[Literal[True]]"
    demoted: "NotRequired[Literal[True]]"
    workflow_id: "str"

class WorkflowExecutionsListAnswer(TypedDict):
    executions: "List[WorkflowExecutionsListAnswerExecutionsItem]"
    total: "int"
    limit: "int"
    offset: "int"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class WorkflowExecutionsListAnswerExecutionsItem(TypedDict):
    execution_id: "str"
    workflow_id: "str"
    workflow_name: "str"
    workflow_version: "str"
    status: "Literal['running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled']"
    current_state: "Union[str, None]"
    # Code of a failure, or why it was cancelled.
    reason: "Union[str, None]"
    # Null while it is unfinished; failed for a completed run whose last state failed.
    outcome: "Union[Literal['succeeded', 'failed', 'cancelled'], None]"
    # Why it did not succeed; null when it did, and while it is unfinished.
    error: "Union[RunError, None]"
    started_at: "str"
    last_transition_at: "str"
    ended_at: "Union[str, None]"
    # Trace of its start: /v1/traces/{trace_id}.
    trace_id: "NotRequired[str]"
    forked_from: "NotRequired[ForkedFrom]"

class WorkflowExecutionsListLogsAnswer(TypedDict):
    execution_id: "str"
    status: "Literal['running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled']"
    events: "List[WorkflowExecutionsListLogsAnswerEventsItem]"
    total: "int"
    limit: "int"
    offset: "int"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class WorkflowExecutionsListLogsAnswerEventsItem(TypedDict):
    sequence: "int"
    event_type: "str"
    payload: "Dict[str, Any]"
    recorded_at: "str"
    state_name: "Union[str, None]"
    iteration_number: "Union[int, None]"

class WorkflowExecutionsSignalAnswer(TypedDict):
    signalled: "Literal[True]"
    execution_id: "str"

class RunsListAnswer(TypedDict):
    runs: "List[Run]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"
    # Same as `next_page_token`; absent at the end. A page with few matches may be short and have it.
    next: "NotRequired[str]"

class ApprovalsListAnswer(TypedDict):
    pending_requests: "List[Approval]"
    # Total number of pending ones.
    count: "int"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class ApprovalsGetAnswerRequest(TypedDict):
    request: "Approval"

class ApprovalsGetAnswerError(TypedDict):
    # The request was not found or is completed.
    error: "str"

class ApprovalsApproveBody1(TypedDict):
    # `{{human.feedback}}` of the workflow.
    feedback: "NotRequired[str]"
    approved_by: "NotRequired[str]"

class ApprovalsApproveAnswer(TypedDict):
    status: "Literal['approved']"
    request_id: "str"

class ApprovalsRejectAnswer(TypedDict):
    status: "Literal['rejected']"
    request_id: "str"

class StimuliListAnswer(TypedDict):
    stimuli: "List[Stimulus]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class StimuliIngestAnswer(TypedDict):
    stimulus_id: "str"
    # The workflow execution that was started.
    workflow_execution_id: "str"

class StimuliListRoutesAnswer(TypedDict):
    routes: "List[StimulusRoute]"

class StimuliRemoveRouteAnswer(TypedDict):
    source: "str"
    removed: "Literal[True]"

class VolumesListAnswer(TypedDict):
    volumes: "List[Volume]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class VolumesDeleteAnswer(TypedDict):
    volume_id: "str"
    deleted: "Literal[True]"

class VolumesListEventsAnswer(TypedDict):
    events: "List[StorageEvent]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class PatternsListAnswer(TypedDict):
    patterns: "List[PatternsListAnswerPatternsItem]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class PatternsListAnswerPatternsItem(TypedDict):
    pattern_id: "str"
    error_signature: "str"
    error_type: "str"
    solution_approach: "str"
    solution_code: "NotRequired[str]"
    # 0 to 1; halves with each half-life since it was last stored.
    success_score: "float"
    # Number of times it was stored.
    frequency: "int"

class PatternsStoreAnswer(TypedDict):
    pattern_id: "str"
    # True when an equivalent pattern existed; its weight was increased instead.
    deduplicated: "bool"
    new_frequency: "int"

class ApiKeysCreateAnswer(TypedDict):
    id: "str"
    name: "str"
    tenant_id: "str"
    owner: "KeyOwner"
    scopes: "List[str]"
    status: "Literal['active', 'expired', 'revoked']"
    # Id of the key that created it; it is revoked together with that key.
    made_by_key: "Union[str, None]"
    created_at: "str"
    expires_at: "str"
    # Accurate to a minute.
    last_used_at: "Union[str, None]"
    revoked_at: "Union[str, None]"
    revoked_by: "Union[str, None]"
    # Returned in this answer only; the node stores a hash.
    key: "str"

class ApiKeysListAnswer(TypedDict):
    keys: "List[ApiKey]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class ApiKeysValidateAnswer(TypedDict):
    valid: "bool"
    # Null for anything that is not a live key of the tenant.
    key: "Union[ApiKey, None]"

class RateLimitsListOverridesAnswer(TypedDict):
    overrides: "List[RateOverride]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class RateLimitsRemoveOverrideAnswer(TypedDict):
    tenant: "str"
    subject: "Union[str, None]"
    deleted: "Literal[True]"

class SecretsListAnswer(TypedDict):
    secrets: "List[Secret]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class SecretsRemoveAnswer(TypedDict):
    path: "str"
    version: "Union[int, None]"
    deleted: "Literal[True]"

class JoinTokensCreateAnswer(TypedDict):
    id: "str"
    names: "List[str]"
    tags: "List[str]"
    addresses: "List[str]"
    roles: "List[Literal['WORKER', 'HYBRID']]"
    uses: "int"
    used_by: "List[JoinTokenUse]"
    # Number of nodes refused with it.
    refusals: "int"
    status: "Literal['active', 'used_up', 'expired', 'revoked']"
    created_at: "str"
    created_by: "str"
    expires_at: "str"
    # Returned in this answer only; the node stores a hash.
    token: "str"

class JoinTokensListAnswer(TypedDict):
    join_tokens: "List[JoinToken]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class ClusterPartitionsAnswer(TypedDict):
    partitions: "List[ClusterPartitionsAnswerPartitionsItem]"

class ClusterPartitionsAnswerPartitionsItem(TypedDict):
    # Pool and number.
    partition: "str"
    pool: "str"
    # Node that should serve it; null when none may.
    node: "Union[str, None]"
    actors: "int"
    # Messages that wait in its log. Partitions of one node may share a log and then have the same number.
    waiting_messages: "int"

class ClusterTakeoversAnswer(TypedDict):
    takeovers: "List[Takeover]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class ModelProvidersListAnswer(TypedDict):
    providers: "List[ModelProvider]"
    # Version of the configuration of all nodes; grows with each change.
    version: "int"

class ModelProvidersPutModelsItem(TypedDict):
    alias: "str"
    model: "str"
    capabilities: "NotRequired[List[str]]"
    context_window: "NotRequired[int]"
    cost_per_1k_tokens: "NotRequired[Union[float, ModelProvidersPutModelsItemCostPer1kTokens2]]"
    max_output_tokens: "NotRequired[int]"
    temperature: "NotRequired[float]"
    fallback_alias: "NotRequired[str]"

class ModelProvidersPutModelsItemCostPer1kTokens2(TypedDict):
    input: "float"
    output: "float"

class ModelProvidersPutAnswer(TypedDict):
    provider: "ModelProvider"
    # Version of the configuration of all nodes; grows with each change.
    version: "int"
    nodes: "List[ModelProvidersPutAnswerNodesItem]"

class ModelProvidersPutAnswerNodesItem(TypedDict):
    node_id: "str"
    accepted: "bool"
    reason: "Union[str, None]"

class ModelProvidersRemoveAnswer(TypedDict):
    name: "str"
    removed: "Literal[True]"
    # Version of the configuration of all nodes; grows with each change.
    version: "int"
    nodes: "List[ModelProvidersRemoveAnswerNodesItem]"

class ModelProvidersRemoveAnswerNodesItem(TypedDict):
    node_id: "str"
    accepted: "bool"
    reason: "Union[str, None]"

class ModelProvidersPutModelCostPer1kTokens2(TypedDict):
    input: "float"
    output: "float"

class ModelProvidersPutModelAnswer(TypedDict):
    provider: "ModelProvider"
    # Version of the configuration of all nodes; grows with each change.
    version: "int"
    nodes: "List[ModelProvidersPutModelAnswerNodesItem]"

class ModelProvidersPutModelAnswerNodesItem(TypedDict):
    node_id: "str"
    accepted: "bool"
    reason: "Union[str, None]"

class ModelProvidersRemoveModelAnswer(TypedDict):
    provider: "ModelProvider"
    # Version of the configuration of all nodes; grows with each change.
    version: "int"
    nodes: "List[ModelProvidersRemoveModelAnswerNodesItem]"

class ModelProvidersRemoveModelAnswerNodesItem(TypedDict):
    node_id: "str"
    accepted: "bool"
    reason: "Union[str, None]"

class FaultsInjectBody1(TypedDict):
    kind: "Literal['kill-actor']"
    # kind/tenant/id of an actor.
    address: "str"

class FaultsInjectBody2(TypedDict):
    kind: "Literal['kill-owner']"
    # kind/tenant/id of an actor.
    address: "str"

class FaultsInjectBody3(TypedDict):
    kind: "Literal['kill-node']"
    # Node id.
    node: "str"

class FaultsInjectBody4(TypedDict):
    kind: "Literal['freeze-node']"
    # Node id.
    node: "str"
    ms: "int"

class FaultsListAnswer(TypedDict):
    counts: "FaultsListAnswerCounts"
    faults: "List[Fault]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

FaultsListAnswerCounts = TypedDict("FaultsListAnswerCounts", {
    "kill-actor": "int",
    "kill-owner": "int",
    "kill-node": "int",
    "freeze-node": "int",
})

class DeadLettersListAnswer(TypedDict):
    dead_letters: "List[DeadLetter]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class DeadLettersReplayBodyReason(TypedDict):
    reason: "NotRequired[str]"

class TracesListAnswer(TypedDict):
    traces: "List[TraceRow]"
    # For ?next=; null at the end.
    next: "Union[str, None]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"
    # ISO 8601: retention removed what is older. Absent when nothing was removed.
    kept_from: "NotRequired[str]"

class AuditListAnswer(TypedDict):
    entries: "List[AuditEntry]"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class AuditListChainsAnswer(TypedDict):
    tenant: "str"
    chains: "List[AuditListChainsAnswerChainsItem]"
    # Compact JWS of what nodes say about the ends of the chains.
    statements: "List[str]"

class AuditListChainsAnswerChainsItem(TypedDict):
    node: "str"
    # Sequence of the first record that is kept.
    first: "int"
    last: "int"
    # Compact JWS about the records that were removed because of their age.
    checkpoint: "Union[str, None]"

class AuditListRecordsAnswer(TypedDict):
    records: "List[AuditRecord]"

class ExecuteGetAnswerStatus(TypedDict):
    status: "Literal['running']"

class ExecuteGetAnswer2(TypedDict):
    status: "Literal['completed']"
    final_result: "str"
    duration_ms: "float"
    reused_existing_agent: "bool"

class ExecuteGetAnswer3(TypedDict):
    status: "Literal['failed']"
    reason: "str"
    failed_at_state: "Union[str, None]"

class ClusterStatusAnswer(TypedDict):
    # Node that answered.
    node: "ClusterStatusAnswerNode"
    nodes: "ClusterStatusAnswerNodes"
    pools: "List[ClusterStatusAnswerPoolsItem]"
    # Whether fault injection is enabled on the node that answers.
    chaos: "bool"

class ClusterStatusAnswerNode(TypedDict):
    node_id: "str"
    # Incarnation: UUID of this run of the node process.
    incarnation: "str"
    role: "Literal['controller', 'worker', 'hybrid']"
    tags: "List[str]"
    ready: "bool"
    draining: "bool"
    # Number of partitions by pool.
    partitions: "Dict[str, int]"
    # Actors in memory.
    residents: "int"
    # Alarm: owned partitions whose messages wait and are not read.
    unread_partitions: "int"
    # Number of messages that wait until the state of their actor is loaded.
    postponed_messages: "int"
    # Commits refused since the start because the lease was lost.
    fenced_commits: "int"
    running_effects: "int"
    # Milliseconds since the node lease was last extended.
    lease_age_ms: "float"

class ClusterStatusAnswerNodes(TypedDict):
    ACTIVE: "int"
    DRAINING: "int"
    UNHEALTHY: "int"

class ClusterStatusAnswerPoolsItem(TypedDict):
    pool: "str"
    tags: "List[str]"
    partitions: "int"
    # Number of partitions that live nodes should serve.
    served: "int"
    waiting_for: "Union[ClusterStatusAnswerPoolsItemWaitingFor1, None]"

class ClusterStatusAnswerPoolsItemWaitingFor1(TypedDict):
    tags: "List[str]"
    # Such as "waiting for a node with tags gpu".
    reason: "str"

class NodesListAnswer(TypedDict):
    nodes: "List[Node]"

class NodesRemoveAnswer(TypedDict):
    node_id: "str"
    removed: "Literal[True]"

class NodesDrainAnswer(TypedDict):
    node_id: "str"
    draining: "Literal[True]"

class NodesShutdownBodyReason(TypedDict):
    # Text for the log of the node.
    reason: "NotRequired[str]"

class NodesShutdownAnswer(TypedDict):
    node_id: "str"
    shutting_down: "Literal[True]"

class ClusterPutConfigBody(TypedDict):
    config_yaml: "str"

class ClusterPushConfigAnswer(TypedDict):
    nodes: "List[ClusterPushConfigAnswerNodesItem]"

class ClusterPushConfigAnswerNodesItem(TypedDict):
    node_id: "str"
    accepted: "bool"
    reason: "Union[str, None]"

class VolumeFilesListAnswer(TypedDict):
    path: "str"
    entries: "List[VolumeFilesListAnswerEntriesItem]"
    # True when there are more than 1,000.
    truncated: "bool"

class VolumeFilesListAnswerEntriesItem(TypedDict):
    name: "str"
    kind: "Literal['file', 'directory', 'link', 'other']"
    size_bytes: "int"
    modified_at: "str"

class VolumeFilesDeleteAnswer(TypedDict):
    path: "str"
    deleted: "Literal[True]"

class VolumeFilesWriteAnswer(TypedDict):
    path: "str"
    bytes_written: "int"
    created: "bool"

class VolumeFilesMkdirAnswer(TypedDict):
    path: "str"

class SealAttestAnswer(TypedDict):
    # JWT to send in every envelope.
    security_token: "str"
    session_id: "str"
    # ISO 8601.
    expires_at: "str"

class SealListToolsAnswer(TypedDict):
    tool: "Literal['svc.tools.list']"
    tools: "List[SealListToolsAnswerToolsItem]"
    total: "int"

class SealListToolsAnswerToolsItem(TypedDict):
    name: "str"
    description: "str"
    source: "Literal['builtin', 'mcp']"
    skip_judge: "bool"
    # JSON Schema of its arguments.
    input_schema: "Dict[str, Any]"

class SealSessionsListAnswer(TypedDict):
    sessions: "List[SealSession]"
    count: "int"
    # For `page_token`; absent at the end.
    next_page_token: "NotRequired[str]"

class SealSessionsRevokeAnswer(TypedDict):
    session_id: "str"
    status: "Literal['revoked', 'closed']"

class SealSessionsAuditAnswer(TypedDict):
    format: "Literal['svc-audit/v1']"
    session_id: "str"
    tenant: "str"
    records: "List[SealSessionsAuditAnswerRecordsItem]"
    head: "str"

class SealSessionsAuditAnswerRecordsItem(TypedDict):
    sequence: "int"
    at: "str"
    body: "Union[SealSessionsAuditAnswerRecordsItemBody1, SealSessionsAuditAnswerRecordsItemBody2, SealSessionsAuditAnswerRecordsItemBody3, SealSessionsAuditAnswerRecordsItemBody4, SealSessionsAuditAnswerRecordsItemBody5, SealSessionsAuditAnswerRecordsItemBody6]"
    previous_hash: "Union[str, None]"
    hash: "str"

class SealSessionsAuditAnswerRecordsItemBody1(TypedDict):
    kind: "Literal['opened']"
    session_id: "str"
    tenant: "str"
    execution_id: "Union[str, None]"
    agent_id: "Union[str, None]"
    source: "Literal['seal', 'inner_loop', 'mcp', 'rest']"
    subject: "str"
    security_context: "str"
    public_key: "Union[str, None]"
    tools: "List[SealSessionsAuditAnswerRecordsItemBody1ToolsItem]"

class SealSessionsAuditAnswerRecordsItemBody1ToolsItem(TypedDict):
    name: "str"
    schema_hash: "str"

class SealSessionsAuditAnswerRecordsItemBody2(TypedDict):
    kind: "Literal['decided']"
    call: "str"
    tool: "str"
    envelope_hash: "Union[str, None]"
    payload_hash: "str"
    decision: "Literal['allowed', 'denied']"
    reason: "Union[str, None]"
    schema_hash: "Union[str, None]"

class SealSessionsAuditAnswerRecordsItemBody3(TypedDict):
    kind: "Literal['ended']"
    call: "str"
    outcome: "Literal['succeeded', 'failed', 'in_doubt']"
    error: "Union[str, None]"
    result_hash: "Union[str, None]"

class SealSessionsAuditAnswerRecordsItemBody4(TypedDict):
    kind: "Literal['refused']"
    envelope_hash: "str"
    reason: "str"

class SealSessionsAuditAnswerRecordsItemBody5(TypedDict):
    kind: "Literal['replayed']"
    call: "str"
    envelope_hash: "str"

class SealSessionsAuditAnswerRecordsItemBody6(TypedDict):
    kind: "Literal['closed']"
    reason: "str"

class ToolsListAnswer(TypedDict):
    tool: "Literal['svc.tools.list', 'svc.tools.search']"
    tools: "List[ToolsListAnswerToolsItem]"
    total: "int"

class ToolsListAnswerToolsItem(TypedDict):
    name: "str"
    description: "str"
    source: "Literal['builtin', 'mcp']"
    skip_judge: "bool"
    # JSON Schema of its arguments.
    input_schema: "NotRequired[Dict[str, Any]]"

class JwksGetAnswer(TypedDict):
    keys: "List[JwksGetAnswerKeysItem]"

class JwksGetAnswerKeysItem(TypedDict):
    kty: "str"
    # RFC 7638 thumbprint.
    kid: "str"
    alg: "str"
    use: "str"
    n: "str"
    e: "str"

class AgentsValidateBody(TypedDict):
    manifest_yaml: "str"

class AgentsValidateAnswer(TypedDict):
    valid: "bool"
    findings: "List[Finding]"
    # When it is valid.
    metadata: "NotRequired[AgentsValidateAnswerMetadata]"

class AgentsValidateAnswerMetadata(TypedDict):
    name: "str"
    version: "str"

class WorkflowsValidateBody(TypedDict):
    manifest_yaml: "str"

class WorkflowsValidateAnswer(TypedDict):
    valid: "bool"
    findings: "List[Finding]"
    # When the text is a manifest.
    metadata: "NotRequired[WorkflowsValidateAnswerMetadata]"

class WorkflowsValidateAnswerMetadata(TypedDict):
    name: "str"
    version: "str"
    initial_state: "str"

class WebhooksReceiveAnswer(TypedDict):
    stimulus_id: "str"
    # The workflow execution that was started.
    workflow_execution_id: "str"
    # A repeat, of a source whose scheme is stripe or slack: the ids are those of the first delivery.
    duplicate: "NotRequired[Literal[True]]"
