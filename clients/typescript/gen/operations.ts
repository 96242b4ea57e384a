// Made by clients/generate.ts from the API description; do not edit.
import type { CallOptions, Route, Sender, StreamedEvent } from "../client.ts";

export type Actor = {
  /** kind/tenant/id. */
  readonly address: string;
  readonly kind: string;
  readonly id: string;
  /** Committed state without secrets; null when it is omitted. */
  readonly state: unknown;
  /** Characters of the state as JSON. */
  readonly state_chars: number;
  /** The state is larger than 1 MiB and not shown. */
  readonly state_omitted?: true;
  /** Number of turns that changed it. */
  readonly revision: number;
  readonly last_event: number;
  /** It has ended and left the store. */
  readonly archived: boolean;
  readonly partition: string;
  readonly pool: string;
  /** Node that serves its partition; null while none does, and once archived. */
  readonly node: string | null;
  readonly mailbox: {
    /** Client messages that wait for it. */
    readonly depth: number;
    /** Oldest message that waits in its partition; null at depth 0. */
    readonly oldest_at: string | null;
  };
  readonly timers: readonly ({
    readonly name: string;
    readonly due_at: string | null;
  })[];
  /** Effects that have not ended. */
  readonly effects: readonly (OpenEffect)[];
  /** A message that keeps failing; the messages behind it wait. */
  readonly stuck: {
    readonly message_type: string;
    readonly error: string;
    readonly attempts: number;
  } | null;
};

export type ActorHistory = {
  readonly address: string;
  readonly deliveries: readonly (Delivery)[];
  /** For ?next=; null at the end. */
  readonly next: string | null;
  /** For `page_token`; absent at the end. */
  readonly next_page_token?: string;
  /** ISO 8601: retention removed what is older. Absent when nothing was removed. */
  readonly kept_from?: string;
};

export type ActorRecording = {
  readonly lines: readonly (Readonly<Record<string, unknown>>)[];
  /** For `?next=`; null at the end. */
  readonly next: string | null;
};

export type ActorStateAt = {
  readonly address: string;
  readonly message_id: string;
  /** ISO 8601. */
  readonly at: string;
  readonly revision: number;
  readonly last_event: number;
  /** State after the message, without secrets; null when it is omitted. */
  readonly state: unknown;
  readonly state_chars: number;
  /** The state is larger than 1 MiB and not shown. */
  readonly state_omitted?: true;
  /** The first message at which the replay differs from what was recorded; null when it does not. */
  readonly differs: {
    readonly message_id: string;
    /** What differs in its turn. */
    readonly parts: readonly ("outcome" | "state" | "events" | "effects" | "messages" | "timers")[];
  } | null;
};

export type ActorStateDiff = {
  readonly address: string;
  /** Null: just before the message `to`. */
  readonly from: string | null;
  readonly to: string;
  readonly changes: readonly ({
    /** JSON Pointer. */
    readonly path: string;
    readonly kind: "added" | "removed" | "changed";
    readonly before: unknown;
    readonly after: unknown;
  })[];
  /** There are more than 1,000 changes. */
  readonly cut: boolean;
  /** The first message at which the replay differs from what was recorded; null when it does not. */
  readonly differs: {
    readonly message_id: string;
    /** What differs in its turn. */
    readonly parts: readonly ("outcome" | "state" | "events" | "effects" | "messages" | "timers")[];
  } | null;
};

export type Agent = {
  /** Agent UUID; all versions of a name share it. */
  readonly agent_id: string;
  readonly name: string;
  readonly tenant_id: string;
  readonly version: string;
  readonly description: string;
  readonly status: "deployed" | "paused" | "archived";
  readonly scope: "user" | "tenant" | "global";
  /** Subject, for scope user. */
  readonly owner: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly deployed_at: string;
};

export type Alive = {
  readonly status: "ok";
};

export type ApiKey = {
  readonly id: string;
  readonly name: string;
  readonly tenant_id: string;
  readonly owner: KeyOwner;
  readonly scopes: readonly (string)[];
  readonly status: "active" | "expired" | "revoked";
  /** Id of the key that created it; it is revoked together with that key. */
  readonly made_by_key: string | null;
  readonly created_at: string;
  readonly expires_at: string;
  /** Accurate to a minute. */
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
  readonly revoked_by: string | null;
};

export type Approval = {
  /** UUID of the request. */
  readonly id: string;
  /** Execution that waits for the decision. */
  readonly execution_id: string;
  readonly prompt: string;
  /** ISO 8601. */
  readonly created_at: string;
  /** Seconds until it times out; 0: never. */
  readonly timeout_seconds: number;
};

export type AuditEntry = {
  readonly operation: string;
  readonly subject: string | null;
  readonly caller: string | null;
  readonly roles: readonly (string)[];
  readonly target: string | null;
  readonly outcome: "ok" | "denied" | "failed" | "begun";
  readonly error: string | null;
  readonly reason: string | null;
  readonly trace: string;
  readonly via: "rest" | "grpc" | "tool" | "node";
  readonly address: string | null;
  readonly count: number;
  readonly begun: number | null;
  readonly node: string;
  readonly sequence: number;
  readonly at: string;
};

export type AuditRecord = {
  readonly sequence: number;
  readonly at: string;
  readonly body: {
    readonly kind: "opened";
    readonly node: string;
    readonly tenant: string;
    readonly version: string;
  } | {
    readonly kind: "operation";
    readonly operation: string;
    readonly subject: string | null;
    readonly caller: string | null;
    readonly roles: readonly (string)[];
    readonly target: string | null;
    readonly outcome: "ok" | "denied" | "failed" | "begun";
    readonly error: string | null;
    readonly reason: string | null;
    readonly trace: string;
    readonly via: "rest" | "grpc" | "tool" | "node";
    readonly address: string | null;
    readonly count: number;
    readonly begun: number | null;
  } | {
    readonly kind: "lost";
    readonly count: number;
  } | {
    readonly kind: "closed";
    readonly reason: string;
  };
  readonly previous_hash: string | null;
  readonly hash: string;
};

export type ClusterPlan = {
  readonly moved_partitions: number;
  readonly moved_actors: number;
  /** Tags that a working node has now and none would have. */
  readonly lost_tags: readonly (string)[];
  /** Unfinished runs whose pool is served now and would not be. */
  readonly waiting_runs: {
    readonly count: number;
    /** False: there are more unfinished runs than were examined. */
    readonly complete: boolean;
    /** The newest 50. */
    readonly runs: readonly ({
      readonly id: string;
      readonly kind: "execution" | "workflow";
      readonly name: string;
      readonly status: "pending" | "running" | "waiting_for_human_input" | "completed" | "failed" | "cancelled";
      readonly tags: readonly (string)[];
      readonly pool: string;
    })[];
  };
  readonly nodes: readonly ({
    readonly node_id: string;
    readonly change: "stays" | "leaves" | "joins";
    readonly role: "controller" | "worker" | "hybrid" | null;
    readonly tags: readonly (string)[];
    /** Number of partitions by pool. */
    readonly before: Readonly<Record<string, number>>;
    /** Number of partitions by pool. */
    readonly after: Readonly<Record<string, number>>;
  })[];
  readonly pools: readonly ({
    readonly pool: string;
    readonly tags: readonly (string)[];
    readonly partitions: number;
    /** Whether a live node may serve it now. */
    readonly was_served: boolean;
    /** What its actors would wait for; null when a node may serve it. */
    readonly waiting_for: {
      readonly tags: readonly (string)[];
      /** Such as "waiting for a node with tags gpu". */
      readonly reason: string;
    } | null;
    readonly moved_partitions: number;
    readonly moved_actors: number;
    /** Most partitions first. */
    readonly moves: readonly ({
      /** Null: no node serves them. */
      readonly from: string | null;
      readonly to: string | null;
      readonly partitions: number;
      /** Actors that live in them now. */
      readonly actors: number;
    })[];
  })[];
};

export type ContainerRunCompleted = {
  readonly execution_id: string;
  readonly state_name: string;
  readonly step_name: string | null;
  readonly exit_code: number;
  readonly stdout_bytes: number;
  readonly stderr_bytes: number;
  readonly duration_ms: number;
  readonly attempt: number;
  readonly completed_at: string;
};

export type ContainerRunFailed = {
  readonly execution_id: string;
  readonly state_name: string;
  readonly step_name: string | null;
  readonly reason: string;
  readonly attempt: number;
  readonly retry_at: string | null;
  readonly failed_at: string;
};

export type ContainerRunStarted = {
  readonly execution_id: string;
  readonly state_name: string;
  readonly step_name: string | null;
  readonly image: string;
  readonly command: readonly (string)[];
  readonly attempt: number;
  readonly started_at: string;
};

export type CriticalPath = {
  readonly trace_id: string;
  /** Id of the message that began it; null when retention removed that, and when it continues another trace. */
  readonly root: string | null;
  readonly status: "running" | "completed" | "failed" | "cancelled";
  /** ISO 8601. */
  readonly started_at: string;
  readonly ended_at: string | null;
  /** Other traces that belong to it. A trace of 10,000 deliveries continues in another one. */
  readonly links: readonly (TraceLink)[];
  /** ISO 8601: retention removed what is older. Absent when nothing was removed. */
  readonly kept_from?: string;
  /** Milliseconds. */
  readonly duration_ms: number;
  readonly steps: readonly ({
    /** relay: on the way from one actor to the next. */
    readonly kind: "mailbox" | "turn" | "effect" | "timer" | "relay";
    readonly effect_kind: string | null;
    readonly message_id: string;
    readonly to: string;
    readonly type: string;
    /** ISO 8601. */
    readonly from_at: string;
    /** ISO 8601. */
    readonly to_at: string;
    /** Milliseconds. */
    readonly ms: number;
  })[];
  /** It covers the first 11,000 deliveries only. */
  readonly cut?: true;
};

export type DeadLetter = {
  readonly id: string;
  /** Actor that could not handle it: kind/tenant/id. */
  readonly address: string;
  /** record: the state of the actor cannot be read. */
  readonly kind: "message" | "record";
  /** Null when it cannot be read. */
  readonly message: {
    readonly message_id: string;
    readonly type: string;
    readonly from: string | null;
    readonly cause_id: string | null;
    readonly trace_id: string;
  } | null;
  /** Error of the last attempt. */
  readonly error: string;
  /** ISO 8601. */
  readonly at: string;
  readonly status: "open" | "replayed" | "discarded";
  readonly replays: readonly ({
    /** ISO 8601. */
    readonly at: string;
    /** Subject of the caller. */
    readonly by: string;
    readonly reason: string | null;
    /** The message that was sent. */
    readonly message_id: string;
  })[];
  readonly discarded: {
    /** ISO 8601. */
    readonly at: string;
    /** Subject of the caller. */
    readonly by: string;
    readonly reason: string | null;
  } | null;
};

export type DeadLetterInFull = {
  readonly id: string;
  /** Actor that could not handle it: kind/tenant/id. */
  readonly address: string;
  /** record: the state of the actor cannot be read. */
  readonly kind: "message" | "record";
  /** Null when it cannot be read. */
  readonly message: {
    readonly message_id: string;
    readonly type: string;
    readonly from: string | null;
    readonly cause_id: string | null;
    readonly trace_id: string;
  } | null;
  /** Error of the last attempt. */
  readonly error: string;
  /** ISO 8601. */
  readonly at: string;
  readonly status: "open" | "replayed" | "discarded";
  readonly replays: readonly ({
    /** ISO 8601. */
    readonly at: string;
    /** Subject of the caller. */
    readonly by: string;
    readonly reason: string | null;
    /** The message that was sent. */
    readonly message_id: string;
  })[];
  readonly discarded: {
    /** ISO 8601. */
    readonly at: string;
    /** Subject of the caller. */
    readonly by: string;
    readonly reason: string | null;
  } | null;
  /** Payload of the message without secrets. */
  readonly payload: unknown;
  readonly payload_chars: number;
  /** The payload is larger than 1 MiB and not shown. */
  readonly payload_omitted?: true;
};

export type Delivery = {
  readonly message_id: string;
  /** Message whose turn sent this one; null only for the root. */
  readonly cause_id: string | null;
  /** Address of the sender; null for a client and for an effect. */
  readonly from: string | null;
  /** Address: kind/tenant/id. */
  readonly to: string;
  readonly type: string;
  /** When it was appended, ISO 8601. */
  readonly at: string;
  /** Milliseconds in the mailbox. */
  readonly wait_ms: number;
  /** Milliseconds of the turn. */
  readonly turn_ms: number;
  /** Node that handled it; null in rows of earlier versions. */
  readonly node: string | null;
  /** Lease epoch of the commit. */
  readonly epoch: number;
  readonly attempt: number;
  /** retried: it failed and is tried again; deferred: it waits behind one that fails; stale: a timer that was cleared or set again; unknown: its node recorded no turns. */
  readonly outcome: "done" | "refused" | "retried" | "deferred" | "stale" | "dead-lettered" | "unknown";
};

export type DeployRequest = {
  readonly manifest_yaml: string;
  /** Overwrites the same name and version. */
  readonly force?: boolean;
  /** Default: tenant; global requires the operator role. */
  readonly scope?: "user" | "tenant" | "global";
};

export type DeployedAgent = {
  /** Agent UUID; all versions of a name share it. */
  readonly agent_id: string;
  readonly name: string;
  readonly tenant_id: string;
  readonly version: string;
  readonly description: string;
  readonly status: "deployed" | "paused" | "archived";
  readonly scope: "user" | "tenant" | "global";
  /** Subject, for scope user. */
  readonly owner: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly deployed_at: string;
  /** The manifest, checked and with its defaults. */
  readonly manifest: unknown;
  /** The manifest as deployed. */
  readonly manifest_yaml: string;
};

export type DeployedWorkflow = {
  /** Workflow UUID; all versions of a name in a scope share it. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly initial_state: string;
  readonly scope: "user" | "tenant" | "global";
  /** Subject, for scope user. */
  readonly owner: string | null;
  readonly status: "deployed" | "paused" | "archived";
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly deployed_at: string;
  /** The manifest, checked and with its defaults. */
  readonly manifest: unknown;
  /** The manifest as deployed. */
  readonly manifest_yaml: string;
};

export type DuplicateProblem = {
  readonly error: "idempotent_duplicate";
  readonly message: string;
  readonly original_stimulus_id: string;
  readonly workflow_execution_id: string;
};

export type ErrorDetail = {
  readonly path?: string;
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
  /** Of a workflow manifest: stable id of the rule. */
  readonly rule?: string;
  readonly severity?: "error" | "warning";
  /** Suggested correction. */
  readonly cure?: string;
};

export type ExecutionCancelled = {
  readonly execution_id: string;
  readonly cancelled: true;
};

export type ExecutionCompleted = {
  readonly execution_id: string;
  readonly final_output: string;
  readonly total_iterations: number;
  readonly completed_at: string;
};

export type ExecutionEvent = {
  readonly execution_started: ExecutionStarted;
} | {
  readonly iteration_started: IterationStarted;
} | {
  readonly iteration_output: IterationOutput;
} | {
  readonly iteration_completed: IterationCompleted;
} | {
  readonly iteration_failed: IterationFailed;
} | {
  readonly refinement_applied: RefinementApplied;
} | {
  readonly execution_completed: ExecutionCompleted;
} | {
  readonly execution_failed: ExecutionFailed;
};

export type ExecutionFailed = {
  readonly execution_id: string;
  readonly reason: string;
  readonly total_iterations: number;
  readonly failed_at: string;
  readonly message?: string;
};

export type ExecutionRemoved = {
  readonly execution_id: string;
  readonly removed: true;
};

export type ExecutionStarted = {
  readonly execution_id: string;
  readonly agent_id: string;
  readonly started_at: string;
};

export type ExecutionStatus = {
  readonly execution_id: string;
  readonly agent_id: string;
  readonly status: "pending" | "running" | "completed" | "failed" | "cancelled";
  readonly iteration_count: number;
  readonly last_output: string | null;
  readonly last_error: string | null;
  /** How it ended; null while it is unfinished. */
  readonly outcome: "succeeded" | "failed" | "cancelled" | null;
  /** Why it did not succeed; absent while it is unfinished, and when it succeeded. */
  readonly error?: RunError;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cost: number;
  };
  /** Number of times a program ran again because it was unknown whether it had acted; absent when zero. */
  readonly in_doubt?: number;
  /** Number of tool calls that ran; absent when none did. */
  readonly tool_calls_executed?: number;
  /** Tool calls that may have acted when their node failed, and were not repeated. */
  readonly calls_in_doubt?: readonly ({
    readonly tool: string;
    readonly call: string;
    readonly iteration: number;
    readonly round: number;
  })[];
  /** Workflow execution that it belongs to; absent for none. */
  readonly workflow_execution_id?: string;
  /** Trace of its start: /v1/traces/{trace_id}. */
  readonly trace_id?: string;
  /** The run that it was forked from. */
  readonly forked_from?: ForkedFrom;
  /** What an unfinished one waits for; in lists only while no live node may serve it. */
  readonly waiting_for?: WaitReason;
};

export type Fault = {
  readonly id: string;
  readonly kind: "kill-actor" | "kill-owner" | "kill-node" | "freeze-node";
  /** Address or node id. */
  readonly target: string;
  /** Of the actor; svc-system for a node. */
  readonly tenant: string;
  /** Subject of the requester. */
  readonly by: string;
  readonly at: string;
  readonly state: "requested" | "done" | "refused";
  /** Node that must act. */
  readonly node: string;
  /** Why it was refused. */
  readonly reason: string | null;
  /** Of a freeze. */
  readonly ms: number | null;
};

export type FeedEvent = {
  /** The first record of a new feed: read the lists now, everything later is sent. */
  readonly open: Readonly<Record<string, unknown>>;
} | {
  /** The missed changes are no longer stored: read the lists again. */
  readonly reset: {
    readonly reason: string;
  };
} | {
  /** A record without content, whose id is a newer place to resume from. */
  readonly place: Readonly<Record<string, unknown>>;
} | {
  /** A run that began or changed and meets the conditions. */
  readonly run: Run;
} | {
  /** A run that meets the conditions no longer, or not yet. */
  readonly run_left: {
    readonly id: string;
    readonly kind: string;
  };
} | {
  readonly run_removed: {
    readonly id: string;
    readonly kind: string;
  };
} | {
  /** An approval that was asked for, answered, withdrawn, or has expired. */
  readonly approval: {
    readonly id: string;
    readonly status: "pending" | "answered" | "expired" | "withdrawn";
    readonly execution_id: string;
    readonly state_name: string;
    readonly prompt: string;
    readonly created_at: string;
    readonly timeout_seconds: number;
    readonly resolved_at: string | null;
  };
} | {
  /** All nodes at the start of each connection, then each that changes. */
  readonly node: {
    readonly node_id: string;
    readonly status: "up" | "draining" | "gone";
    readonly incarnation: string;
    readonly role: string | null;
    readonly tags: readonly (string)[];
    readonly version: string | null;
    readonly partitions: Readonly<Record<string, number>>;
  };
} | {
  /** An event of the followed run, as its own stream has it. */
  readonly run_event: {
    readonly id: string;
    readonly kind: string;
    readonly sequence: number;
    readonly event: Readonly<Record<string, unknown>>;
  };
};

export type Finding = {
  /** Stable id of the rule, such as unreachable_state. */
  readonly rule: string;
  readonly severity: "error" | "warning";
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** Suggested correction. */
  readonly cure: string;
};

export type ForkedFrom = {
  /** The original. */
  readonly id: string;
  /** Its last message that came from the record. */
  readonly message_id: string;
  readonly reason?: string;
};

export type ForkedRun = {
  /** Of the new run. */
  readonly id: string;
  readonly kind: "execution" | "workflow";
  readonly forked_from: ForkedFrom;
  /** Why it cannot begin yet: tags that no live node has. */
  readonly waiting_for?: WaitReason;
};

export type GenerateRequest = {
  /** What it should do, in plain words. */
  readonly input: string;
};

export type IntentExecutionPipelineCompleted = {
  readonly execution_id: string;
  readonly final_result: string;
  readonly duration_ms: number;
  readonly reused_existing_agent: boolean;
  readonly agent_similarity_score?: number;
  readonly completed_at: string;
};

export type IntentExecutionPipelineFailed = {
  readonly execution_id: string;
  readonly failed_at_state: string | null;
  readonly reason: string;
  readonly failed_at: string;
};

export type IntentExecutionPipelineStarted = {
  readonly execution_id: string;
  readonly intent: string;
  readonly language: string;
  readonly workspace_volume_id: string | null;
  readonly started_at: string;
};

export type InvokeAnswer = {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  /** MCP tool result. */
  readonly result: ToolResult;
};

export type InvokeProblem = {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly data?: {
      readonly reason: string;
    };
  };
} | {
  readonly error: string;
  readonly message: string;
};

export type IterationCompleted = {
  readonly execution_id: string;
  readonly iteration_number: number;
  readonly output: string;
  readonly completed_at: string;
};

export type IterationFailed = {
  readonly execution_id: string;
  readonly iteration_number: number;
  readonly error: {
    readonly error_type: string;
    readonly message: string;
    readonly stacktrace?: string;
  };
  readonly failed_at: string;
};

export type IterationOutput = {
  readonly execution_id: string;
  readonly iteration_number: number;
  readonly output: string;
};

export type IterationStarted = {
  readonly execution_id: string;
  readonly iteration_number: number;
  readonly action: string;
  readonly started_at: string;
};

export type JoinToken = {
  readonly id: string;
  readonly names: readonly (string)[];
  readonly tags: readonly (string)[];
  readonly addresses: readonly (string)[];
  readonly roles: readonly ("WORKER" | "HYBRID")[];
  readonly uses: number;
  readonly used_by: readonly (JoinTokenUse)[];
  /** Number of nodes refused with it. */
  readonly refusals: number;
  readonly status: "active" | "used_up" | "expired" | "revoked";
  readonly created_at: string;
  readonly created_by: string;
  readonly expires_at: string;
};

export type JoinTokenUse = {
  readonly node_id: string;
  readonly from: string;
  readonly at: string;
};

export type KeyOwner = {
  readonly kind: string;
  readonly subject: string;
  readonly tier: string;
};

export type LoggedEvent = {
  readonly sequence: number;
  readonly event_type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly recorded_at: string;
};

export type ManagedConfig = {
  readonly config_yaml: string;
  /** SHA-256 of the text, lower-case hex. */
  readonly config_hash: string;
  /** Grows with each configuration that is set; nodes refuse an older one. */
  readonly version: number;
};

export type ManifestSchema = {
  readonly title: string;
  readonly $schema: string;
};

export type Me = {
  /** local: the operator of a loopback node without an identity provider. */
  readonly kind: "local" | "operator" | "service_account" | "consumer" | "tenant_user" | "actor";
  readonly subject: string;
  readonly tenant: string;
  readonly roles: readonly (string)[];
  readonly tier: string;
  /** What the roles allow. inspect, operate and break are about the fleet; the others about the tenant. */
  readonly actions: readonly ("read" | "run" | "write" | "audit" | "inspect" | "operate" | "break")[];
  /** API key of the call; null for other tokens. */
  readonly key: {
    readonly id: string;
    /** As granted. */
    readonly scopes: readonly (string)[];
  } | null;
  /** `AREA:read` and `AREA:write` (`tools:call`) that the key allows; all without a key. */
  readonly scopes: readonly (string)[];
};

export type Message = {
  readonly message_id: string;
  readonly trace_id: string;
  /** Message whose turn sent this one; null for a call of a client. */
  readonly cause_id: string | null;
  readonly from: string | null;
  readonly to: string;
  readonly type: string;
  readonly origin: "client" | "actor" | "timer" | "effect";
  /** Effect whose result or progress it is. */
  readonly effect_id: string | null;
  /** Caller whose call it follows from. */
  readonly caller: {
    readonly kind: string;
    readonly subject: string;
  } | null;
  /** Without secrets; null when it is omitted or was removed with its actor. */
  readonly payload: unknown;
  readonly payload_chars: number;
  /** The payload is larger than 1 MiB and not shown. */
  readonly payload_omitted?: true;
  /** Of the last attempt. */
  readonly outcome: "done" | "refused" | "retried" | "deferred" | "stale" | "dead-lettered" | "unknown";
  readonly attempts: readonly ({
    readonly attempt: number;
    /** ISO 8601. */
    readonly at: string;
    readonly wait_ms: number;
    readonly turn_ms: number;
    readonly node: string | null;
    readonly epoch: number;
    readonly outcome: "done" | "refused" | "retried" | "deferred" | "stale" | "dead-lettered" | "unknown";
    readonly error: string | null;
  })[];
};

export type MessageChain = {
  readonly message_id: string;
  /** The last attempt of each message, nearest first. */
  readonly deliveries: readonly ({
    readonly message_id: string;
    /** Message whose turn sent this one; null only for the root. */
    readonly cause_id: string | null;
    /** Address of the sender; null for a client and for an effect. */
    readonly from: string | null;
    /** Address: kind/tenant/id. */
    readonly to: string;
    readonly type: string;
    /** When it was appended, ISO 8601. */
    readonly at: string;
    /** Milliseconds in the mailbox. */
    readonly wait_ms: number;
    /** Milliseconds of the turn. */
    readonly turn_ms: number;
    /** Node that handled it; null in rows of earlier versions. */
    readonly node: string | null;
    /** Lease epoch of the commit. */
    readonly epoch: number;
    readonly attempt: number;
    /** retried: it failed and is tried again; deferred: it waits behind one that fails; stale: a timer that was cleared or set again; unknown: its node recorded no turns. */
    readonly outcome: "done" | "refused" | "retried" | "deferred" | "stale" | "dead-lettered" | "unknown";
    /** Distance from the message that was asked for. */
    readonly depth: number;
  })[];
  /** More messages exist beyond the depth, or beyond 1,000 messages. */
  readonly cut: boolean;
  /** ISO 8601: retention removed what is older. Absent when nothing was removed. */
  readonly kept_from?: string;
};

export type ModelProvider = {
  /** Name of a provider. */
  readonly name: string;
  readonly type: "ollama" | "openai" | "anthropic" | "gemini" | "openai-compatible";
  /** Base URL; each type but openai-compatible has a default. */
  readonly endpoint?: string;
  /** `secret:providers/NAME`: a secret of tenant svc-system by name, never a value. */
  readonly api_key?: string;
  readonly enabled: boolean;
  /** Sent with every call. */
  readonly headers: Readonly<Record<string, string>>;
  readonly models: readonly ({
    readonly alias: string;
    readonly model: string;
    readonly capabilities: readonly (string)[];
    readonly context_window?: number;
    readonly cost_per_1k_tokens: number | {
      readonly input: number;
      readonly output: number;
    };
    readonly max_output_tokens: number;
    readonly temperature: number;
    readonly fallback_alias?: string;
  })[];
};

export type Node = {
  readonly node_id: string;
  readonly role: "CONTROLLER" | "WORKER" | "HYBRID" | null;
  readonly status: "ACTIVE" | "DRAINING" | "UNHEALTHY";
  readonly tags: readonly (string)[];
  /** Capabilities that a registered peer advertises. */
  readonly capabilities: {
    readonly gpu_count: number;
    readonly vram_gb: number;
    readonly cpu_cores: number;
    readonly available_memory_gb: number;
    readonly supported_runtimes: readonly (string)[];
    readonly tags: readonly (string)[];
  } | null;
  readonly version: string | null;
  readonly started_at: string | null;
  readonly grpc_address: string | null;
  readonly rest_url: string | null;
  /** Number of partitions by pool. */
  readonly partitions: Readonly<Record<string, number>>;
  readonly last_heartbeat_at: string | null;
  /** True while it holds a node lease. */
  readonly member: boolean;
  /** Known to NodeClusterService. */
  readonly registered: boolean;
};

export type OpenEffect = {
  readonly effect_id: string;
  /** Such as model.generate. */
  readonly kind: string | null;
  /** Message whose turn requested it. */
  readonly message_id: string | null;
  /** open: no node has begun it; started: the attempt runs; retrying: the next begins at retry_at. */
  readonly status: "open" | "started" | "retrying";
  readonly attempt: number;
  readonly node: string | null;
  readonly retry_at: string | null;
  /** Why the attempt before failed. */
  readonly last_error: {
    readonly code: string;
    readonly message: string;
  } | null;
};

export type OwnWait = {
  readonly kind: "node" | "timer" | "approval" | "child" | "judges" | "effect" | "volumes" | "turn";
  /** For people, such as "waiting for a node with tags gpu". */
  readonly reason: string;
  /** Of a workflow. */
  readonly state_name?: string;
  /** Tags that no live node has. */
  readonly tags?: readonly (string)[];
  readonly approval_id?: string;
  readonly child_execution_ids?: readonly (string)[];
  /** Judges that have not answered. */
  readonly judges?: readonly (WaitingJudge)[];
  readonly effects?: readonly (WaitingEffect)[];
  /** Time at which a timer ends the wait. */
  readonly until?: string;
};

export type ParallelContainerRunAggregated = {
  readonly execution_id: string;
  readonly state_name: string;
  readonly total_steps: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly strategy: string;
  readonly aggregated_at: string;
};

export type PipelineStarted = {
  readonly pipeline_execution_id: string;
  readonly status: "started";
  readonly stream_url: string;
};

export type PlainProblem = {
  /** What is wrong. */
  readonly error: string;
  /** Code of the error table, of a start that failed. */
  readonly code?: string;
  readonly details?: readonly (ErrorDetail)[];
};

export type Problem = {
  /** Code of the error table. */
  readonly error: string;
  readonly message: string;
  /** Reason where several errors share a code: why a tool call was denied. */
  readonly reason?: string;
  readonly details?: readonly (ErrorDetail)[];
};

export type RateOverride = {
  readonly tenant: string;
  readonly subject: string | null;
  readonly rates: Rates;
  readonly updated_at: string;
  readonly updated_by: string;
};

export type RateOverrideRequest = {
  /** Tenant slug. */
  readonly tenant: string;
  /** Without it the rates are those of each user of the tenant. */
  readonly subject?: string;
  /** Fields as in `spec.rate_limits.users`. An absent field keeps the rate of the settings; null removes the limit. */
  readonly rates: Rates;
};

export type RateUsage = {
  readonly tenant: string;
  readonly subject: string;
  readonly kind: string;
  readonly tier: string;
  /** One entry for each limit. */
  readonly buckets: readonly ({
    /** `model_calls`, or the pattern of tools counted together: `tool:fs.*`. */
    readonly name: string;
    readonly window: "minute" | "hour" | "day" | "week" | "month";
    readonly used: number;
    readonly limit: number;
    readonly resets_at: string;
  })[];
  readonly concurrent_executions: {
    readonly used: number;
    readonly limit: number | null;
  };
  readonly agents: {
    readonly limit: number | null;
  };
};

export type Rates = {
  readonly agent_executions?: {
    readonly minute?: number | null;
    readonly hour?: number | null;
    readonly day?: number | null;
    readonly week?: number | null;
    readonly month?: number | null;
  };
  readonly workflow_executions?: {
    readonly minute?: number | null;
    readonly hour?: number | null;
    readonly day?: number | null;
    readonly week?: number | null;
    readonly month?: number | null;
  };
  readonly model_calls?: {
    readonly minute?: number | null;
    readonly hour?: number | null;
    readonly day?: number | null;
    readonly week?: number | null;
    readonly month?: number | null;
  };
  readonly model_tokens?: {
    readonly minute?: number | null;
    readonly hour?: number | null;
    readonly day?: number | null;
    readonly week?: number | null;
    readonly month?: number | null;
  };
  readonly tools?: Readonly<Record<string, {
      readonly minute?: number | null;
      readonly hour?: number | null;
      readonly day?: number | null;
      readonly week?: number | null;
      readonly month?: number | null;
    }>>;
  readonly agents?: number | null;
  readonly concurrent_executions?: number | null;
};

export type RefinementApplied = {
  readonly execution_id: string;
  readonly iteration_number: number;
  readonly code_diff: string;
  readonly applied_at: string;
};

export type Run = {
  readonly id: string;
  readonly kind: "execution" | "workflow";
  readonly status: "pending" | "running" | "waiting_for_human_input" | "completed" | "failed" | "cancelled";
  /** Null while it is unfinished. */
  readonly outcome: "succeeded" | "failed" | "cancelled" | null;
  /** Of the agent or workflow. */
  readonly name: string;
  readonly version: string;
  /** UUID of the agent or workflow. */
  readonly definition_id: string;
  /** Given at its start. */
  readonly labels: Readonly<Record<string, string>>;
  readonly started_at: string;
  readonly ended_at: string | null;
  /** Null while it is unfinished. */
  readonly duration_ms: number | null;
  /** Tags that its node must have. */
  readonly tags: readonly (string)[];
  /** Node that handled its last message. */
  readonly node: string | null;
  /** What it waits for; null once it has ended. */
  readonly wait_reason: "node" | "timer" | "approval" | "child" | "judges" | "effect" | "volumes" | "turn" | null;
  /** Current state of a workflow. */
  readonly state_name: string | null;
  readonly error_code: string | null;
  /** Short text for people: the failure, or why it was cancelled. */
  readonly reason: string | null;
  readonly trace_id: string | null;
  /** The run that it was forked from. */
  readonly forked_from: ForkedFrom | null;
  /** What started it: a workflow run, a stimulus, a panel of judges. */
  readonly parent: {
    readonly kind: string;
    readonly id: string;
  } | null;
};

export type RunError = {
  /** Of the error table, such as model_refused. */
  readonly code: string;
  /** One sentence with the cause. */
  readonly message: string;
  /** The error behind it, such as that of the last iteration; null for none. */
  readonly cause: string | null;
};

export type RunRecording = {
  /** First line of the recording: version, settings and trace, without secrets. */
  readonly head: Readonly<Record<string, unknown>>;
  /** Actors of its trace, kind/tenant/id; the run is the first. */
  readonly actors: readonly (string)[];
};

export type RunStarted = {
  readonly execution_id: string;
  readonly status: "started";
};

export type ScopeRequest = {
  readonly action: "promote";
  readonly target_scope?: "tenant" | "global";
} | {
  readonly action: "demote";
  readonly target_scope?: "tenant" | "user";
  /** Owner, for scope user; default: the caller. */
  readonly user_id?: string;
};

export type SealEnvelope = {
  /** `seal/v1`. */
  readonly protocol: string;
  /** JWT from attestation. */
  readonly security_token: string;
  /** Base64 of the Ed25519 signature over the payload. */
  readonly signature: string;
  /** JSON-RPC `tools/call`: base64 of the signed bytes, or an object, whose RFC 8785 form is signed. */
  readonly payload: string | Readonly<Record<string, unknown>>;
  /** RFC 3339, UTC, within 30 s. */
  readonly timestamp: string;
};

export type SealSession = {
  readonly session_id: string;
  readonly execution_id: string | null;
  readonly agent_id: string | null;
  readonly source: "seal" | "inner_loop" | "mcp" | "rest";
  readonly status: "active" | "closed" | "revoked";
  readonly calls: number;
  readonly denied: number;
  /** ISO 8601. */
  readonly opened_at: string;
};

export type SearchResults = {
  readonly query: string;
  readonly results: readonly ({
    readonly id: string;
    readonly name: string;
    readonly version: string;
    readonly description: string;
    readonly labels: Readonly<Record<string, string>>;
    /** 0 to 1, best first. */
    readonly score: number;
  })[];
  readonly total: number;
};

export type Secret = {
  readonly path: string;
  /** Name used in settings and manifests. */
  readonly reference: string;
  readonly version: number;
  /** Newest first. */
  readonly earlier: readonly ({
    readonly version: number;
    readonly reference: string;
  })[];
  readonly created_at: string | null;
  readonly updated_at: string;
  readonly updated_by: string | null;
};

export type SecretKeys = {
  /** The version that encrypts new secrets. */
  readonly current: number;
  /** Newest first. */
  readonly versions: readonly ({
    readonly version: number;
    readonly made_at: string;
    /** Secrets of all tenants that need this version. */
    readonly secrets: number;
    /** Data keys of encrypted payloads that need this version. */
    readonly payload_keys: number;
  })[];
};

export type StartAnswer = {
  readonly execution_id: string;
  /** Why it cannot begin yet: tags that no live node has. */
  readonly waiting_for?: WaitReason;
};

export type StatusRequest = {
  /** `paused`: starts nothing; `archived`: starts nothing and is not listed; `deployed`: back in service. */
  readonly status: "deployed" | "paused" | "archived";
};

export type Stimulus = {
  readonly id: string;
  readonly source: string;
  readonly status: "received" | "routed" | "rejected";
  /** Null when it was rejected. */
  readonly workflow_execution_id: string | null;
  /** Why it was rejected. */
  readonly reason: string | null;
  readonly received_at: string;
};

export type StimulusRoute = {
  /** Lower-case. */
  readonly source: string;
  /** Name or UUID. */
  readonly workflow: string;
  /** Whether it comes from the node’s settings or was set by a call. */
  readonly origin: "settings" | "stored";
};

export type StorageEvent = {
  readonly event: "VolumeCreated" | "VolumeDeleted" | "VolumeExpired" | "FileRead" | "FileWritten" | "FileCreated" | "FileDeleted" | "DirectoryListed" | "PathTraversalBlocked" | "QuotaExceeded";
  readonly volume_id: string;
  /** Null for events of the volume itself. */
  readonly path: string | null;
  readonly workflow_execution_id: string | null;
  readonly at: string;
  /** Sizes and counts; never the content of a file. */
  readonly details: Readonly<Record<string, unknown>>;
};

export type SubworkflowCompleted = {
  readonly parent_execution_id: string;
  readonly child_execution_id: string;
  readonly parent_state_name: string;
  readonly result_key: string | null;
  readonly completed_at: string;
};

export type SubworkflowFailed = {
  readonly parent_execution_id: string;
  readonly child_execution_id: string;
  readonly parent_state_name: string;
  readonly reason: string;
  readonly failed_at: string;
};

export type SubworkflowTriggered = {
  readonly parent_execution_id: string;
  readonly child_execution_id: string;
  readonly child_workflow_id: string;
  readonly mode: "blocking" | "fire_and_forget";
  readonly parent_state_name: string;
  readonly triggered_at: string;
};

export type Takeover = {
  readonly id: string;
  readonly at: string;
  /** Node that serves them since then. */
  readonly node: string;
  readonly incarnation: string;
  /** Node that should have served them before; null for none. */
  readonly from: string | null;
  /** new_pool, not_served: no node served them; died, left, drained: what happened to the node before; not_eligible: it no longer has the tags or role; rebalanced: other nodes came, went or changed; lease_lost: the same node lost the lease and took it again. */
  readonly reason: "new_pool" | "not_served" | "died" | "left" | "drained" | "not_eligible" | "rebalanced" | "lease_lost";
  /** For rebalanced: the nodes that came, went or changed. */
  readonly because: readonly (string)[];
  readonly pool: string;
  readonly partitions: number;
  /** Their numbers in the pool. */
  readonly numbers: readonly (number)[];
};

export type TapEvent = {
  readonly delivery: {
    readonly message_id: string;
    /** Message whose turn sent this one; null only for the root. */
    readonly cause_id: string | null;
    /** Address of the sender; null for a client and for an effect. */
    readonly from: string | null;
    /** Address: kind/tenant/id. */
    readonly to: string;
    readonly type: string;
    /** When it was appended, ISO 8601. */
    readonly at: string;
    /** Milliseconds in the mailbox. */
    readonly wait_ms: number;
    /** Milliseconds of the turn. */
    readonly turn_ms: number;
    /** Node that handled it; null in rows of earlier versions. */
    readonly node: string | null;
    /** Lease epoch of the commit. */
    readonly epoch: number;
    readonly attempt: number;
    /** retried: it failed and is tried again; deferred: it waits behind one that fails; stale: a timer that was cleared or set again; unknown: its node recorded no turns. */
    readonly outcome: "done" | "refused" | "retried" | "deferred" | "stale" | "dead-lettered" | "unknown";
    readonly trace_id: string;
  };
} | {
  readonly storage: StorageEvent;
} | {
  readonly dropped: number;
};

export type ToolResult = {
  readonly content: readonly (Readonly<Record<string, unknown>>)[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
};

export type Trace = {
  readonly trace_id: string;
  /** Id of the message that began it; null when retention removed that, and when it continues another trace. */
  readonly root: string | null;
  readonly status: "running" | "completed" | "failed" | "cancelled";
  /** ISO 8601. */
  readonly started_at: string;
  readonly ended_at: string | null;
  /** Other traces that belong to it. A trace of 10,000 deliveries continues in another one. */
  readonly links: readonly (TraceLink)[];
  /** ISO 8601: retention removed what is older. Absent when nothing was removed. */
  readonly kept_from?: string;
  readonly deliveries: readonly (Delivery)[];
  /** Effects whose results are on this page; on the last one also those that have not ended. */
  readonly effects: readonly (TraceEffect)[];
  /** For ?next=; null at the end. */
  readonly next: string | null;
  /** For `page_token`; absent at the end. */
  readonly next_page_token?: string;
};

export type TraceEffect = {
  readonly effect_id: string;
  /** Message whose turn requested it. */
  readonly message_id: string | null;
  /** Such as model.generate. */
  readonly kind: string | null;
  readonly attempt: number;
  readonly node: string | null;
  readonly started_at: string | null;
  /** When its result was appended; null while it has none. */
  readonly ended_at: string | null;
  readonly outcome: "done" | "failed" | "in_doubt" | "open" | "started" | "retrying";
};

export type TraceLink = {
  readonly trace_id: string;
  /** next: this trace continues in it; previous: it continues in this one; run: the trace of the run that this call went to; call: a further call to the run, such as a cancel; forked_from: the trace of the run that this one was forked from. */
  readonly relation: "next" | "previous" | "run" | "call" | "forked_from";
};

export type TraceRow = {
  readonly trace_id: string;
  /** Id of the message that began it. */
  readonly root: string;
  /** Kind of the actor that the root went to. */
  readonly kind: string;
  /** Id of that actor. */
  readonly id: string;
  /** Name of the agent or workflow; null for other calls. */
  readonly name: string | null;
  /** Type of the root. */
  readonly type: string;
  readonly status: "running" | "completed" | "failed" | "cancelled";
  /** ISO 8601. */
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly duration_ms: number | null;
  readonly error_code: string | null;
  /** Node that handled the root. */
  readonly node: string | null;
};

export type TraceSummary = {
  readonly trace_id: string;
  /** Id of the message that began it; null when retention removed that, and when it continues another trace. */
  readonly root: string | null;
  readonly status: "running" | "completed" | "failed" | "cancelled";
  /** ISO 8601. */
  readonly started_at: string;
  readonly ended_at: string | null;
  /** Other traces that belong to it. A trace of 10,000 deliveries continues in another one. */
  readonly links: readonly (TraceLink)[];
  /** ISO 8601: retention removed what is older. Absent when nothing was removed. */
  readonly kept_from?: string;
  /** From the first append to the last end. */
  readonly duration_ms: number;
  readonly deliveries: number;
  /** All waits in mailboxes, added up. */
  readonly mailbox_ms: number;
  /** All turns, added up. */
  readonly turns_ms: number;
  readonly effects: readonly ({
    readonly kind: string;
    readonly count: number;
    /** Milliseconds. */
    readonly ms: number;
  })[];
  /** Milliseconds. */
  readonly timers_ms: number;
  /** Waits for answers to approvals; each moment counts once. */
  readonly people_ms: number;
  /** The same for the critical path alone; its parts add up to its duration. */
  readonly critical_path: {
    /** Milliseconds. */
    readonly duration_ms: number;
    /** Milliseconds. */
    readonly mailbox_ms: number;
    /** Milliseconds. */
    readonly turns_ms: number;
    readonly effects: readonly ({
      readonly kind: string;
      /** Milliseconds. */
      readonly ms: number;
    })[];
    /** Milliseconds. */
    readonly timers_ms: number;
    /** Milliseconds. */
    readonly relay_ms: number;
  };
  /** It covers the first 11,000 deliveries only. */
  readonly cut?: true;
};

export type Volume = {
  readonly id: string;
  readonly name: string;
  readonly storage_class: "ephemeral" | "persistent";
  readonly size_limit_bytes: number | null;
  readonly used_bytes: number;
  readonly expires_at: string | null;
  readonly workflow_execution_id: string | null;
  readonly created_at: string;
};

export type WaitReason = {
  readonly kind: "node" | "timer" | "approval" | "child" | "judges" | "effect" | "volumes" | "turn";
  /** For people, such as "waiting for a node with tags gpu". */
  readonly reason: string;
  /** Of a workflow. */
  readonly state_name?: string;
  /** Tags that no live node has. */
  readonly tags?: readonly (string)[];
  readonly approval_id?: string;
  readonly child_execution_ids?: readonly (string)[];
  /** Judges that have not answered. */
  readonly judges?: readonly (WaitingJudge)[];
  readonly effects?: readonly (WaitingEffect)[];
  /** Time at which a timer ends the wait. */
  readonly until?: string;
  /** Wait reason of the child that it waits for. */
  readonly child?: OwnWait;
};

export type WaitingEffect = {
  readonly effect_id: string;
  /** Such as model.generate. */
  readonly kind: string;
  /** open: no node has begun it; started: the attempt runs; retrying: the next begins at retry_at; answered: its result is about to be handled. */
  readonly status: "open" | "started" | "retrying" | "answered";
  readonly attempt: number;
  /** Node and its incarnation, NODE/UUID. */
  readonly runner?: string;
  readonly retry_at?: string;
  /** Why the last attempt that failed did so. */
  readonly last_error?: {
    readonly code: string;
    readonly message: string;
  };
  /** Why a started one makes no progress: a model or server that does not answer. */
  readonly held_by?: string;
};

export type WaitingJudge = {
  readonly agent: string;
  readonly execution_id: string;
  readonly status: "asked" | "judging";
};

export type WaitingMessage = {
  readonly message_id: string;
  /** Message whose turn sent this one. */
  readonly cause_id: string | null;
  readonly trace_id: string;
  /** Address of the sender; null for a client and for an effect. */
  readonly from: string | null;
  readonly type: string;
  readonly origin: "client" | "actor" | "timer" | "effect";
  /** unread: the messages before it come first; postponed: its actor is loaded slowly; failing: it failed and is tried again; deferred: it waits behind one that fails. */
  readonly reason: "unread" | "postponed" | "failing" | "deferred";
  /** When it was appended; null for failing and deferred ones. */
  readonly at: string | null;
};

export type WaitingMessages = {
  readonly address: string;
  /** Oldest first. May be fewer than asked for on any page. */
  readonly messages: readonly (WaitingMessage)[];
  /** For `page_token`; absent at the end. */
  readonly next_page_token?: string;
};

export type Why = {
  /** Whether the run has not ended. */
  readonly waiting: boolean;
  readonly sentence: string;
  /** From the run to the last cause. */
  readonly chain: readonly (WhyLink)[];
  /** Traces in which the run continues; absent while it has only one. */
  readonly links?: readonly ({
    readonly trace_id: string;
    readonly relation: "next";
  })[];
  /** The run that it was forked from. */
  readonly forked_from?: ForkedFrom;
};

export type WhyLink = {
  readonly kind: "execution";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  /** Of the run; null while it has not begun. */
  readonly status: string | null;
  /** Name of the agent or workflow. */
  readonly name: string | null;
  /** The running or last iteration of an agent; null for a workflow. */
  readonly iteration: number | null;
} | {
  readonly kind: "workflow";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  /** Of the run; null while it has not begun. */
  readonly status: string | null;
  /** Name of the agent or workflow. */
  readonly name: string | null;
  /** The running or last iteration of an agent; null for a workflow. */
  readonly iteration: number | null;
} | {
  readonly kind: "child";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  /** Of the run; null while it has not begun. */
  readonly status: string | null;
  /** Name of the agent or workflow. */
  readonly name: string | null;
  /** The running or last iteration of an agent; null for a workflow. */
  readonly iteration: number | null;
  readonly of: "execution" | "workflow";
} | {
  readonly kind: "judge";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  /** Of the run; null while it has not begun. */
  readonly status: string | null;
  /** Name of the agent or workflow. */
  readonly name: string | null;
  /** The running or last iteration of an agent; null for a workflow. */
  readonly iteration: number | null;
} | {
  readonly kind: "state";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  readonly entered_at: string | null;
} | {
  readonly kind: "judges";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  readonly judges: number;
  readonly answered: number;
} | {
  readonly kind: "approval";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  readonly prompt: string;
  /** Who may answer. */
  readonly by: string;
  /** Given at `until`; null: the state fails then. */
  readonly default_response: string | null;
} | {
  readonly kind: "effect";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  /** Its kind, such as model.generate. */
  readonly effect: string;
  readonly status: "open" | "started" | "retrying" | "answered";
  /** The running attempt, or the last one. */
  readonly attempt: number;
  /** The node that runs it. */
  readonly node: string | null;
  readonly last_error: {
    readonly code: string;
    readonly message: string;
  } | null;
  /** Further effects that the run waits for at the same time. */
  readonly others: number;
} | {
  readonly kind: "timer";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
} | {
  readonly kind: "node";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  readonly tags: readonly (string)[];
  /** Live nodes that lack least, at most five. */
  readonly nearly: readonly ({
    readonly node_id: string;
    /** Needed tags that it lacks. */
    readonly lacks: readonly (string)[];
    readonly reason: string;
  })[];
} | {
  readonly kind: "draining";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  readonly tags: readonly (string)[];
} | {
  readonly kind: "failover";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
} | {
  readonly kind: "version";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  readonly of: "node" | "actor" | "agent" | "workflow";
} | {
  readonly kind: "mailbox";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  /** Client messages that wait for this actor itself. */
  readonly depth: number;
  readonly oldest_at: string | null;
  /** The node that should handle them. */
  readonly node: string | null;
} | {
  readonly kind: "stuck";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  readonly message_type: string;
  readonly attempts: number;
  readonly error: string;
} | {
  readonly kind: "rate_limit";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
} | {
  readonly kind: "quota";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
} | {
  readonly kind: "target";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
} | {
  readonly kind: "place";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
} | {
  readonly kind: "store";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
} | {
  readonly kind: "volumes";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
} | {
  readonly kind: "turn";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
} | {
  readonly kind: "attempt";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  readonly error: {
    readonly code: string;
    readonly message: string;
  };
  readonly exit_code: number | null;
} | {
  readonly kind: "verdict";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  readonly validator: string;
  readonly score: number;
} | {
  readonly kind: "error";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
  readonly error: {
    readonly code: string;
    readonly message: string;
  };
} | {
  readonly kind: "cancel";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
} | {
  readonly kind: "more";
  /** Id of what the link names; null when it has none or the reader may not see it. */
  readonly id: string | null;
  /** The link in plain words, as the sentence has it. */
  readonly reason: string;
  /** ISO 8601: when this wait ends or is tried again by itself; null when it is not. */
  readonly until: string | null;
};

export type Workflow = {
  /** Workflow UUID; all versions of a name in a scope share it. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly initial_state: string;
  readonly scope: "user" | "tenant" | "global";
  /** Subject, for scope user. */
  readonly owner: string | null;
  readonly status: "deployed" | "paused" | "archived";
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly deployed_at: string;
};

export type WorkflowEvent = {
  readonly WorkflowExecutionStarted: WorkflowExecutionStarted;
} | {
  readonly IntentExecutionPipelineStarted: IntentExecutionPipelineStarted;
} | {
  readonly IntentExecutionPipelineCompleted: IntentExecutionPipelineCompleted;
} | {
  readonly IntentExecutionPipelineFailed: IntentExecutionPipelineFailed;
} | {
  readonly WorkflowStateEntered: WorkflowStateEntered;
} | {
  readonly WorkflowStateExited: WorkflowStateExited;
} | {
  readonly WorkflowTemplateFailed: WorkflowTemplateFailed;
} | {
  readonly WorkflowStepRepeated: WorkflowStepRepeated;
} | {
  readonly WorkflowHumanInputRequested: WorkflowHumanInputRequested;
} | {
  readonly WorkflowHumanInputReceived: WorkflowHumanInputReceived;
} | {
  readonly ContainerRunStarted: ContainerRunStarted;
} | {
  readonly ContainerRunCompleted: ContainerRunCompleted;
} | {
  readonly ContainerRunFailed: ContainerRunFailed;
} | {
  readonly ParallelContainerRunAggregated: ParallelContainerRunAggregated;
} | {
  readonly SubworkflowTriggered: SubworkflowTriggered;
} | {
  readonly SubworkflowCompleted: SubworkflowCompleted;
} | {
  readonly SubworkflowFailed: SubworkflowFailed;
} | {
  readonly WorkflowExecutionCompleted: WorkflowExecutionCompleted;
} | {
  readonly WorkflowExecutionFailed: WorkflowExecutionFailed;
} | {
  readonly WorkflowExecutionCancelled: WorkflowExecutionCancelled;
};

export type WorkflowExecutionCancelled = {
  readonly execution_id: string;
  readonly reason: string | null;
  readonly cancelled_at: string;
};

export type WorkflowExecutionCompleted = {
  readonly execution_id: string;
  readonly final_blackboard: unknown;
  readonly output: unknown;
  readonly completed_at: string;
};

export type WorkflowExecutionFailed = {
  readonly execution_id: string;
  readonly reason: string;
  readonly error: string;
  readonly state_name: string | null;
  readonly failed_at: string;
};

export type WorkflowExecutionStarted = {
  readonly execution_id: string;
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly workflow_version: string;
  readonly started_at: string;
};

export type WorkflowExecutionStatus = {
  readonly execution_id: string;
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly workflow_version: string;
  readonly status: "running" | "waiting_for_human_input" | "completed" | "failed" | "cancelled";
  readonly current_state: string | null;
  /** Code of a failure, or why it was cancelled. */
  readonly reason: string | null;
  /** Null while it is unfinished; failed for a completed run whose last state failed. */
  readonly outcome: "succeeded" | "failed" | "cancelled" | null;
  /** Why it did not succeed; null when it did, and while it is unfinished. */
  readonly error: RunError | null;
  readonly started_at: string;
  readonly last_transition_at: string;
  readonly ended_at: string | null;
  /** Trace of its start: /v1/traces/{trace_id}. */
  readonly trace_id?: string;
  /** The run that it was forked from. */
  readonly forked_from?: ForkedFrom;
  readonly intent: string | null;
  readonly input: unknown;
  readonly blackboard: Readonly<Record<string, unknown>>;
  readonly state_outputs: Readonly<Record<string, unknown>>;
  readonly output: unknown;
  /** Why an unfinished one waits. */
  readonly waiting_for?: WaitReason;
};

export type WorkflowHumanInputReceived = {
  readonly execution_id: string;
  readonly state_name: string;
  readonly approval_id: string;
  readonly how: "answered" | "expired";
  readonly payload: string;
  readonly received_at: string;
};

export type WorkflowHumanInputRequested = {
  readonly execution_id: string;
  readonly state_name: string;
  readonly approval_id: string;
  readonly prompt: string;
  readonly requested_at: string;
};

export type WorkflowStateEntered = {
  readonly execution_id: string;
  readonly state_name: string;
  readonly kind: string;
  readonly visit: number;
  readonly entered_at: string;
};

export type WorkflowStateExited = {
  readonly execution_id: string;
  readonly state_name: string;
  readonly status: "success" | "failed";
  readonly output: unknown;
  readonly next_state: string | null;
  readonly condition: string | null;
  readonly transitions?: readonly ({
    readonly target: string;
    readonly condition: string;
    readonly test: string;
    readonly result: "taken" | "no_match" | "not_tried";
    readonly saw: readonly ({
      readonly path: string;
      readonly value: string;
    })[];
    readonly error?: string;
  })[];
  readonly exited_at: string;
};

export type WorkflowStepRepeated = {
  readonly execution_id: string;
  readonly state_name: string;
  readonly repeat: number;
  readonly by: "policy" | "human";
  readonly repeated_at: string;
};

export type WorkflowTemplateFailed = {
  readonly execution_id: string;
  readonly state_name: string;
  readonly what: "step" | "expression" | "feedback";
  readonly transition: number | null;
  readonly code: string;
  readonly error: string;
  readonly failed_at: string;
};

/** The operations of the API, by resource. */
export interface SvcClient {
  readonly health: {
    /** The process runs (`GET /health`) */
    get(options?: CallOptions): Promise<Alive>;
    /** The process runs (`GET /health/live`) */
    live(options?: CallOptions): Promise<Alive>;
    /** The node can serve calls (`GET /health/ready`) */
    ready(options?: CallOptions): Promise<{
      readonly status: "ready";
    }>;
  };
  readonly agents: {
    /** List agents. The latest version of each agent, by name. (`GET /v1/agents`) */
    list(input?: {
      /** `global`: those of all tenants; `visible`: all the caller can run; default those of the tenant. */
      readonly scope?: "global" | "visible";
      /** Default: all except archived. */
      readonly status?: "deployed" | "paused" | "archived";
      /** Maximum number of entries; default 1000, at most 1000. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly agents: readonly (Agent)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Deploy an agent. Takes the manifest as YAML, or as JSON that holds it. A second (name, version) in a scope needs `force`. (`POST /v1/agents`) */
    deploy(input: {
      /** Overwrite the same name and version; without a value it is true. */
      readonly force?: "" | "true" | "false";
      /** Default: tenant; global requires the operator role. */
      readonly scope?: "user" | "tenant" | "global";
      readonly body: DeployRequest | string;
    }, options?: CallOptions): Promise<{
      readonly agent_id: string;
      readonly deployed: true;
      /** Warnings about its language and version, if any. */
      readonly warnings?: readonly (Finding)[];
    }>;
    /** Search agents. Agents the caller sees, by what they do; best first. (`GET /v1/agents/search`) */
    search(input: {
      /** Search text in plain words. */
      readonly q: string;
      /** Maximum number of entries; default 10, at most 100. */
      readonly limit?: number;
      /** Only hits with at least this score, 0 to 1. */
      readonly min_score?: number;
      /** Default: deployed and paused. */
      readonly status?: "deployed" | "paused" | "archived";
      /** `KEY:VALUE`; may be repeated, and all must match. */
      readonly label?: readonly (string)[];
      /** Built-in ones and those deployed for all tenants. */
      readonly include_platform_templates?: "true" | "false";
    }, options?: CallOptions): Promise<SearchResults>;
    /** Find an agent by its name (`GET /v1/agents/lookup/{name}`) */
    lookup(input: {
      readonly name: string;
    }, options?: CallOptions): Promise<Agent>;
    /** Show an agent with its manifest (`GET /v1/agents/{id}`) */
    get(input: {
      /** Default: the newest. */
      readonly version?: string;
      /** UUID or name of an agent. */
      readonly id: string;
    }, options?: CallOptions): Promise<DeployedAgent>;
    /** Pause or archive an agent, or put it back into service. Running executions continue. Versions that are deployed later get the same status. (`PATCH /v1/agents/{id}`) */
    setStatus(input: {
      /** UUID or name of an agent. */
      readonly id: string;
      readonly body: StatusRequest;
    }, options?: CallOptions): Promise<Agent>;
    /** Delete an agent with all its versions. Refused while executions of it run, unless forced: those keep their manifest and continue. (`DELETE /v1/agents/{id}`) */
    delete(input: {
      /** Acts even while executions of it run; they continue. Without a value it is true. */
      readonly force?: "" | "true" | "false";
      /** UUID or name of an agent. */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly agent_id: string;
      readonly deleted: true;
    }>;
    /** List the versions of an agent (`GET /v1/agents/{id}/versions`) */
    listVersions(input: {
      /** UUID or name of an agent. */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly versions: readonly (Agent)[];
    }>;
    /** Promote or demote an agent. Promote: user to tenant, tenant to global. Demote: global to tenant, tenant to user. (`POST /v1/agents/{id}/scope`) */
    changeScope(input: {
      /** UUID or name of an agent. */
      readonly id: string;
      readonly body: ScopeRequest;
    }, options?: CallOptions): Promise<{
      readonly name: string;
      readonly target_scope: "user" | "tenant" | "global";
      readonly promoted?: true;
      readonly demoted?: true;
      readonly agent_id: string;
    }>;
    /** Start an execution of an agent from a goal and values. Answers as soon as the start is durable; follow it at /v1/executions/{id}/stream. (`POST /v1/agents/{id}/execute`) */
    execute(input: {
      /** UUID or name of an agent. */
      readonly id: string;
      /** The goal; part of the input, and {{intent}}. */
      readonly intent?: string;
      /** Values by name: {{KEY}} in the prompt; as JSON part of the input. */
      readonly input?: Readonly<Record<string, unknown>>;
      /** Version of the agent; default: the latest, the one deployed last that is not a pre-release. */
      readonly version?: string;
      /** At most 16 short texts by which lists of runs filter. */
      readonly labels?: Readonly<Record<string, string>>;
    }, options?: CallOptions): Promise<RunStarted>;
    /** List the log events of an agent (`GET /v1/agents/{id}/logs`) */
    listLogs(input: {
      /** Maximum number of entries; default 50, at most 200. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly offset?: number;
      /** Same as `offset`. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
      /** UUID or name of an agent. */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly agent_id: string;
      readonly events: readonly (LoggedEvent)[];
      readonly total: number;
      readonly limit: number;
      readonly offset: number;
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Get the manifest of an agent as it was deployed (`GET /v1/agents/{id}/export`) */
    export(input: {
      /** UUID or name of an agent. */
      readonly id: string;
    }, options?: CallOptions): Promise<string>;
    /** Have an agent written and deployed. Says in plain words what the agent should do; an agent writes the manifest, corrects what is refused, and deploys it. Starts an execution of the authoring agent and answers with its id. Its final output names what was deployed. (`POST /v1/agents/generate`) */
    generate(input: {
      readonly body: GenerateRequest;
    }, options?: CallOptions): Promise<RunStarted>;
    /** Check an agent manifest without deploying it. Always 200: `valid` is false when there are errors. Warnings never refuse a deploy. (`POST /v1/agents/validate`) */
    validate(input: {
      readonly body: {
        readonly manifest_yaml: string;
      } | string;
    }, options?: CallOptions): Promise<{
      readonly valid: boolean;
      readonly findings: readonly (Finding)[];
      /** When it is valid. */
      readonly metadata?: {
        readonly name: string;
        readonly version: string;
      };
    }>;
  };
  readonly executions: {
    /** Start an execution. Answers as soon as the start is durable; follow it at /v1/executions/{id}/stream. (`POST /v1/executions`) */
    start(input: {
      /** UUID or name of an agent. */
      readonly agent_id: string;
      /** Task input passed to the agent. */
      readonly input: string;
      /** Version of the agent; default: the latest, the one deployed last that is not a pre-release. */
      readonly version?: string;
      /** Values for the prompt template. */
      readonly context?: Readonly<Record<string, unknown>>;
      /** Workflow execution that the run belongs to. */
      readonly workflow_execution_id?: string;
      /** At most 16 short texts by which lists of runs filter. */
      readonly labels?: Readonly<Record<string, string>>;
    }, options?: CallOptions): Promise<StartAnswer>;
    /** List executions, newest first (`GET /v1/executions`) */
    list(input?: {
      /** UUID or name of an agent. */
      readonly agent_id?: string;
      readonly status?: "pending" | "running" | "completed" | "failed" | "cancelled";
      /** Only those that belong to this workflow execution. */
      readonly workflow_execution_id?: string;
      /** Maximum number of entries; default 20, at most 1000. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly executions: readonly (ExecutionStatus)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Show the state of an execution (`GET /v1/executions/{id}`) */
    get(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<ExecutionStatus>;
    /** Remove an execution that has ended. While it runs it is 409. (`DELETE /v1/executions/{id}`) */
    remove(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<ExecutionRemoved>;
    /** Say why an execution waits, or why it ended so. The chain of causes, ending with the last cause, as links and as one sentence (docs/reference/why.md). For an ended run: why it ended so. (`GET /v1/executions/{id}/why`) */
    why(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<Why>;
    /** Page through the log of an execution, oldest first (`GET /v1/executions/{id}/events`) */
    listEvents(input: {
      /** Maximum number of entries; default 50, at most 200. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly offset?: number;
      /** Same as `offset`. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly execution_id: string;
      readonly status: "pending" | "running" | "completed" | "failed" | "cancelled";
      readonly events: readonly (LoggedEvent)[];
      readonly total: number;
      readonly limit: number;
      readonly offset: number;
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Cancel a running execution. An execution that has ended is 409. (`POST /v1/executions/{id}/cancel`) */
    cancel(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<ExecutionCancelled>;
    /** Follow an execution live. Server-sent events: each record is unnamed, its `id` is the number of the event, its data one JSON object whose one key names the event. Ends after the last event; a request after the last event of an ended execution answers 204, so that an EventSource stops. When the key or token that opened it is revoked or has expired, it ends within a minute with a record of the event type `access_ended`: `{"access_ended": {"code", "message"}}`. (`GET /v1/executions/{id}/stream`) */
    stream(input: {
      /** Same as the header Last-Event-ID, for clients that cannot set headers. */
      readonly last_event_id?: string;
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): AsyncGenerator<StreamedEvent<ExecutionEvent>, void, undefined>;
  };
  readonly workflows: {
    /** List workflows. The latest version of each workflow, by name. (`GET /v1/workflows`) */
    list(input?: {
      /** `global`: those of all tenants; `visible`: all the caller can run; default those of the tenant. */
      readonly scope?: "global" | "visible";
      /** Default: all except archived. */
      readonly status?: "deployed" | "paused" | "archived";
      /** Maximum number of entries; default 1000, at most 1000. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly workflows: readonly (Workflow)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Deploy a workflow. Takes the manifest as YAML, or as JSON that holds it. A second (name, version) in a scope needs `force`. (`POST /v1/workflows`) */
    deploy(input: {
      /** Overwrite the same name and version; without a value it is true. */
      readonly force?: "" | "true" | "false";
      /** Default: tenant; global requires the operator role. */
      readonly scope?: "user" | "tenant" | "global";
      readonly body: DeployRequest | string;
    }, options?: CallOptions): Promise<{
      readonly workflow_id: string;
      readonly deployed: true;
      /** Findings of the checker that do not prevent the deploy. */
      readonly warnings: readonly (Finding)[];
    }>;
    /** Search workflows. Workflows the caller sees, by what they do; best first. (`GET /v1/workflows/search`) */
    search(input: {
      /** Search text in plain words. */
      readonly q: string;
      /** Maximum number of entries; default 10, at most 100. */
      readonly limit?: number;
      /** Only hits with at least this score, 0 to 1. */
      readonly min_score?: number;
      /** Default: deployed and paused. */
      readonly status?: "deployed" | "paused" | "archived";
      /** `KEY:VALUE`; may be repeated, and all must match. */
      readonly label?: readonly (string)[];
      /** Built-in ones and those deployed for all tenants. */
      readonly include_platform_templates?: "true" | "false";
    }, options?: CallOptions): Promise<SearchResults>;
    /** Show a workflow with its manifest (`GET /v1/workflows/{name}`) */
    get(input: {
      /** Default: the newest. */
      readonly version?: string;
      /** Name or UUID; a name is looked up in the scopes user, tenant, global, in this order. */
      readonly name: string;
    }, options?: CallOptions): Promise<DeployedWorkflow>;
    /** Pause or archive a workflow, or put it back into service. Running executions continue. Versions that are deployed later get the same status. (`PATCH /v1/workflows/{name}`) */
    setStatus(input: {
      /** Name or UUID; a name is looked up in the scopes user, tenant, global, in this order. */
      readonly name: string;
      readonly body: StatusRequest;
    }, options?: CallOptions): Promise<Workflow>;
    /** Delete a workflow with all its versions. Refused while executions of it run, unless forced: those keep their manifest and continue. (`DELETE /v1/workflows/{name}`) */
    delete(input: {
      /** Acts even while executions of it run; they continue. Without a value it is true. */
      readonly force?: "" | "true" | "false";
      /** Name or UUID; a name is looked up in the scopes user, tenant, global, in this order. */
      readonly name: string;
    }, options?: CallOptions): Promise<{
      readonly workflow_id: string;
      readonly deleted: true;
    }>;
    /** List the versions of a workflow (`GET /v1/workflows/{name}/versions`) */
    listVersions(input: {
      /** Name or UUID; a name is looked up in the scopes user, tenant, global, in this order. */
      readonly name: string;
    }, options?: CallOptions): Promise<{
      readonly versions: readonly (Workflow)[];
    }>;
    /** Promote or demote a workflow. Promote: user to tenant, tenant to global. Demote: global to tenant, tenant to user. (`POST /v1/workflows/{name}/scope`) */
    changeScope(input: {
      /** Name or UUID; a name is looked up in the scopes user, tenant, global, in this order. */
      readonly name: string;
      readonly body: ScopeRequest;
    }, options?: CallOptions): Promise<{
      readonly name: string;
      readonly target_scope: "user" | "tenant" | "global";
      readonly promoted?: true;
      readonly demoted?: true;
      readonly workflow_id: string;
    }>;
    /** Run a workflow. Answers as soon as the start is durable; follow it at /v1/workflows/executions/{id}/stream. An input that does not fit `metadata.input_schema` is 422 and creates nothing. (`POST /v1/workflows/{name}/run`) */
    run(input: {
      /** Name or UUID; a name is looked up in the scopes user, tenant, global, in this order. */
      readonly name: string;
      /** Goal of the run; templates read it as {{intent}}. */
      readonly intent?: string;
      /** Checked against metadata.input_schema, where it must be an object; {{input.KEY}}. */
      readonly input?: unknown;
      /** Initial values of the blackboard. */
      readonly blackboard?: Readonly<Record<string, unknown>>;
      /** At most 16 short texts by which lists of runs filter. */
      readonly labels?: Readonly<Record<string, string>>;
      /** Version of the workflow; default: the latest, the one deployed last that is not a pre-release. */
      readonly version?: string;
    }, options?: CallOptions): Promise<RunStarted>;
    /** Have a workflow written and deployed. Says in plain words what the workflow should do; an agent writes the manifest, corrects what is refused, and deploys it. Starts an execution of the authoring agent and answers with its id. Its final output names what was deployed. (`POST /v1/workflows/generate`) */
    generate(input: {
      readonly body: GenerateRequest;
    }, options?: CallOptions): Promise<RunStarted>;
    /** Get the manifest of a workflow as it was deployed (`GET /v1/workflows/{name}/export`) */
    export(input: {
      /** Default: the newest. */
      readonly version?: string;
      /** Name or UUID; a name is looked up in the scopes user, tenant, global, in this order. */
      readonly name: string;
    }, options?: CallOptions): Promise<string>;
    /** Check a workflow manifest without deploying it. Always 200: `valid` is false when there are errors. Warnings never refuse a deploy. (`POST /v1/workflows/validate`) */
    validate(input: {
      readonly body: {
        readonly manifest_yaml: string;
      } | string;
    }, options?: CallOptions): Promise<{
      readonly valid: boolean;
      readonly findings: readonly (Finding)[];
      /** When the text is a manifest. */
      readonly metadata?: {
        readonly name: string;
        readonly version: string;
        readonly initial_state: string;
      };
    }>;
  };
  readonly workflowExecutions: {
    /** List workflow executions, newest first (`GET /v1/workflows/executions`) */
    list(input?: {
      /** UUID or name of the workflow. */
      readonly workflow_id?: string;
      readonly status?: "running" | "waiting_for_human_input" | "completed" | "failed" | "cancelled";
      /** How it ended; `failed` includes those whose last state failed. */
      readonly outcome?: "succeeded" | "failed" | "cancelled";
      /** Maximum number of entries; default 20, at most 1000. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly offset?: number;
      /** Same as `offset`. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly executions: readonly ({
        readonly execution_id: string;
        readonly workflow_id: string;
        readonly workflow_name: string;
        readonly workflow_version: string;
        readonly status: "running" | "waiting_for_human_input" | "completed" | "failed" | "cancelled";
        readonly current_state: string | null;
        /** Code of a failure, or why it was cancelled. */
        readonly reason: string | null;
        /** Null while it is unfinished; failed for a completed run whose last state failed. */
        readonly outcome: "succeeded" | "failed" | "cancelled" | null;
        /** Why it did not succeed; null when it did, and while it is unfinished. */
        readonly error: RunError | null;
        readonly started_at: string;
        readonly last_transition_at: string;
        readonly ended_at: string | null;
        /** Trace of its start: /v1/traces/{trace_id}. */
        readonly trace_id?: string;
        readonly forked_from?: ForkedFrom;
      })[];
      readonly total: number;
      readonly limit: number;
      readonly offset: number;
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Show a workflow execution, and what it waits for (`GET /v1/workflows/executions/{id}`) */
    get(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<WorkflowExecutionStatus>;
    /** Remove a workflow execution that has ended. While it runs it is 409. (`DELETE /v1/workflows/executions/{id}`) */
    remove(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<ExecutionRemoved>;
    /** Say why a workflow execution waits, or why it ended so. The chain of causes, ending with the last cause, as links and as one sentence (docs/reference/why.md). For an ended run: why it ended so. (`GET /v1/workflows/executions/{id}/why`) */
    why(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<Why>;
    /** Page through the log of a workflow execution, oldest first (`GET /v1/workflows/executions/{id}/logs`) */
    listLogs(input: {
      /** Maximum number of entries; default 50, at most 200. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly offset?: number;
      /** Same as `offset`. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly execution_id: string;
      readonly status: "running" | "waiting_for_human_input" | "completed" | "failed" | "cancelled";
      readonly events: readonly ({
        readonly sequence: number;
        readonly event_type: string;
        readonly payload: Readonly<Record<string, unknown>>;
        readonly recorded_at: string;
        readonly state_name: string | null;
        readonly iteration_number: number | null;
      })[];
      readonly total: number;
      readonly limit: number;
      readonly offset: number;
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Answer the approval a workflow execution waits for. One that waits for no approval is 409 (H20). (`POST /v1/workflows/executions/{id}/signal`) */
    signal(input: {
      /** UUID */
      readonly id: string;
      /** Feedback that conditions and {{human.feedback}} read. */
      readonly response: string;
    }, options?: CallOptions): Promise<{
      readonly signalled: true;
      readonly execution_id: string;
    }>;
    /** Cancel a workflow execution with its children. One that has ended is 409. (`POST /v1/workflows/executions/{id}/cancel`) */
    cancel(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<ExecutionCancelled>;
    /** Follow a workflow execution live. Server-sent events: each record is unnamed, its `id` is the number of the event, its data one JSON object whose one key names the event. Ends after the last event; a request after the last event of an ended execution answers 204, so that an EventSource stops. When the key or token that opened it is revoked or has expired, it ends within a minute with a record of the event type `access_ended`: `{"access_ended": {"code", "message"}}`. (`GET /v1/workflows/executions/{id}/stream`) */
    stream(input: {
      /** Same as the header Last-Event-ID, for clients that cannot set headers. */
      readonly last_event_id?: string;
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): AsyncGenerator<StreamedEvent<WorkflowEvent>, void, undefined>;
    /** Follow a workflow execution live. Server-sent events: each record is unnamed, its `id` is the number of the event, its data one JSON object whose one key names the event. Ends after the last event; a request after the last event of an ended execution answers 204, so that an EventSource stops. When the key or token that opened it is revoked or has expired, it ends within a minute with a record of the event type `access_ended`: `{"access_ended": {"code", "message"}}`. (`GET /v1/workflows/executions/{id}/logs/stream`) */
    streamLogs(input: {
      /** Same as the header Last-Event-ID, for clients that cannot set headers. */
      readonly last_event_id?: string;
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): AsyncGenerator<StreamedEvent<WorkflowEvent>, void, undefined>;
  };
  readonly runs: {
    /** List executions of agents and workflows, newest first (`GET /v1/runs`) */
    list(input?: {
      /** Any of these; may be repeated. */
      readonly status?: readonly ("pending" | "running" | "waiting_for_human_input" | "completed" | "failed" | "cancelled")[];
      /** How it ended. */
      readonly outcome?: "succeeded" | "failed" | "cancelled";
      readonly kind?: "execution" | "workflow";
      /** Name of the agent or workflow. */
      readonly name?: string;
      readonly version?: string;
      /** `KEY=VALUE` given at the start; may be repeated, and all must match. */
      readonly label?: readonly (string)[];
      /** Started at this time or later. */
      readonly from?: string;
      /** Started before this time. */
      readonly to?: string;
      /** Tags that its node must have; all must match. */
      readonly tag?: readonly (string)[];
      /** Id of the node that handled its last message. */
      readonly node?: string;
      /** What an unfinished one waits for; any of these. */
      readonly wait_reason?: readonly ("node" | "timer" | "approval" | "child" | "judges" | "effect" | "volumes" | "turn")[];
      readonly error_code?: string;
      /** Id of the run, panel of judges or stimulus that started it. */
      readonly parent?: string;
      /** Runs of this trace. */
      readonly trace_id?: string;
      /** The beginning of the id, or a part of the name. */
      readonly text?: string;
      /** Maximum number of entries; default 50, at most 1000. */
      readonly limit?: number;
      /** `next_page_token` of the page before, under the same conditions. */
      readonly page_token?: string;
      /** Same as `page_token`. */
      readonly next?: string;
    }, options?: CallOptions): Promise<{
      readonly runs: readonly (Run)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
      /** Same as `next_page_token`; absent at the end. A page with few matches may be short and have it. */
      readonly next?: string;
    }>;
    /** Start a new run from a message of another one. Everything before the message comes from the record, and no ended effect is repeated; open work is opened again, and from then on the run is live. Without changes it continues as the original did. It counts as a start. A run that had ended at the message is 409; changes that do not fit are 422: docs/guides/fork.md. (`POST /v1/runs/{id}/fork`) */
    fork(input: {
      /** UUID */
      readonly id: string;
      /** Message of the run, after which the fork is live. Default: the last one after which it had not ended. */
      readonly message_id?: string;
      /** Another input: a text of an execution; of a workflow run, members that replace those of the original. */
      readonly input?: string | Readonly<Record<string, unknown>>;
      /** Of an execution: values for the prompt template that are changed. */
      readonly context?: Readonly<Record<string, unknown>>;
      /** Of a workflow run: entries that are changed. */
      readonly blackboard?: Readonly<Record<string, unknown>>;
      /** Another deployed version. */
      readonly version?: string;
      /** Another manifest, YAML. It needs the right to deploy. */
      readonly manifest?: string;
      /** Why, for people; shown with the fork. */
      readonly reason?: string;
    }, options?: CallOptions): Promise<ForkedRun>;
  };
  readonly approvals: {
    /** List pending approval requests, oldest first (`GET /v1/human-approvals`) */
    list(input?: {
      /** Maximum number of entries; default 1000, at most 1000. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly pending_requests: readonly (Approval)[];
      /** Total number of pending ones. */
      readonly count: number;
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Show a pending approval request. An unknown, expired or resolved one is answered with 200 and `error`. (`GET /v1/human-approvals/{id}`) */
    get(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly request: Approval;
    } | {
      /** The request was not found or is completed. */
      readonly error: string;
    }>;
    /** Approve a pending approval request (`POST /v1/human-approvals/{id}/approve`) */
    approve(input: {
      /** UUID */
      readonly id: string;
      readonly body: {
        /** `{{human.feedback}}` of the workflow. */
        readonly feedback?: string;
        readonly approved_by?: string;
      } | null;
    }, options?: CallOptions): Promise<{
      readonly status: "approved";
      readonly request_id: string;
    }>;
    /** Reject a pending approval request (`POST /v1/human-approvals/{id}/reject`) */
    reject(input: {
      /** UUID */
      readonly id: string;
      /** `{{human.feedback}}` of the workflow. */
      readonly reason: string;
      readonly rejected_by?: string;
    }, options?: CallOptions): Promise<{
      readonly status: "rejected";
      readonly request_id: string;
    }>;
  };
  readonly stimuli: {
    /** List stimuli, newest first (`GET /v1/stimuli`) */
    list(input?: {
      /** Maximum number of entries; default 20, at most 1000. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly stimuli: readonly (Stimulus)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Route a stimulus to a workflow and start it. Answers when the workflow execution is durably started. (`POST /v1/stimuli`) */
    ingest(input: {
      /** `http_api` or a source name of your own. */
      readonly source: string;
      /** Natural language or a JSON string. */
      readonly content: string;
      /** A repeat within 24 hours is answered with 409. */
      readonly idempotency_key?: string;
    }, options?: CallOptions): Promise<{
      readonly stimulus_id: string;
      /** The workflow execution that was started. */
      readonly workflow_execution_id: string;
    }>;
    /** Show a stimulus with its outcome (`GET /v1/stimuli/{id}`) */
    get(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<Stimulus>;
    /** List the direct routes from sources to workflows (`GET /v1/stimuli/routes`) */
    listRoutes(options?: CallOptions): Promise<{
      readonly routes: readonly (StimulusRoute)[];
    }>;
    /** Route a source to a workflow; replaces an earlier route (`PUT /v1/stimuli/routes/{source}`) */
    putRoute(input: {
      readonly source: string;
      readonly workflow: string;
    }, options?: CallOptions): Promise<StimulusRoute>;
    /** Remove a direct route. A route from the settings of the node is 409: remove it there. (`DELETE /v1/stimuli/routes/{source}`) */
    removeRoute(input: {
      readonly source: string;
    }, options?: CallOptions): Promise<{
      readonly source: string;
      readonly removed: true;
    }>;
  };
  readonly volumes: {
    /** Create a volume. Consumers of a tier above free may, in their own tenant. (`POST /v1/volumes`) */
    create(input: {
      /** Unique in the tenant. */
      readonly name: string;
      readonly storage_class?: "ephemeral" | "persistent";
      /** Default and largest: `spec.storage` of the node. */
      readonly size_limit_bytes?: number;
      /** For ephemeral volumes only. */
      readonly ttl_hours?: number;
    }, options?: CallOptions): Promise<Volume>;
    /** List volumes. Newest first; those of workflow executions are named EXECUTION/workspace and EXECUTION/shared/NAME. (`GET /v1/volumes`) */
    list(input?: {
      /** Maximum number of entries; default 100, at most 1000. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly volumes: readonly (Volume)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Show a volume (`GET /v1/volumes/{id}`) */
    get(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<Volume>;
    /** Delete a volume with its files. While a running execution uses it, it is 409. (`DELETE /v1/volumes/{id}`) */
    delete(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly volume_id: string;
      readonly deleted: true;
    }>;
    /** List the storage events of a volume. Newest first; the newest 1,000 of a volume are kept. They name paths and sizes, never content. (`GET /v1/volumes/{id}/events`) */
    listEvents(input: {
      readonly event?: "VolumeCreated" | "VolumeDeleted" | "VolumeExpired" | "FileRead" | "FileWritten" | "FileCreated" | "FileDeleted" | "DirectoryListed" | "PathTraversalBlocked" | "QuotaExceeded";
      /** Exactly this path. */
      readonly path?: string;
      /** Maximum number of entries; default 100, at most 1000. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly events: readonly (StorageEvent)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
  };
  readonly patterns: {
    /** Find or list learned patterns. With error_signature: solutions of similar errors, best first. Without it: all patterns, strongest first. (`GET /v1/cortex/patterns`) */
    list(input?: {
      /** Error to find solutions for; absent: all patterns are listed. */
      readonly error_signature?: string;
      /** Only this type, ignoring case. */
      readonly error_type?: string;
      /** Minimum success rate, 0 to 1. Applies only with error_signature. */
      readonly min_success_score?: number;
      /** Maximum number of entries; default 10, at most 100. */
      readonly limit?: number;
      /** Applies only without error_signature, as page_token does. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly patterns: readonly ({
        readonly pattern_id: string;
        readonly error_signature: string;
        readonly error_type: string;
        readonly solution_approach: string;
        readonly solution_code?: string;
        /** 0 to 1; halves with each half-life since it was last stored. */
        readonly success_score: number;
        /** Number of times it was stored. */
        readonly frequency: number;
      })[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Store an error and its solution. An equivalent pattern is counted once more instead. (`POST /v1/cortex/patterns`) */
    store(input: {
      readonly error_signature: string;
      readonly error_type: string;
      readonly error_message?: string;
      readonly solution_approach: string;
      readonly solution_code?: string;
      readonly tags?: readonly (string)[];
    }, options?: CallOptions): Promise<{
      readonly pattern_id: string;
      /** True when an equivalent pattern existed; its weight was increased instead. */
      readonly deduplicated: boolean;
      readonly new_frequency: number;
    }>;
  };
  readonly schemas: {
    /** Read the JSON Schema of a kind of manifest. It describes the form of one document, as a deploy checks it. Every API key may call this: it holds no data. (`GET /v1/schemas/{kind}`) */
    get(input: {
      readonly kind: "agent" | "workflow";
    }, options?: CallOptions): Promise<ManifestSchema>;
  };
  readonly callers: {
    /** Show who calls, and what the caller may do. A call is allowed when `actions` has its action and `scopes` its scope. Every API key may call this. (`GET /v1/me`) */
    me(options?: CallOptions): Promise<Me>;
  };
  readonly apiKeys: {
    /** Create an API key. It acts as the user who created it, with that user’s present rights, within its scopes. The key is shown in this answer only. (`POST /v1/api-keys`) */
    create(input: {
      /** Purpose. */
      readonly name: string;
      /** Default: `*`. Of *, agents:*, agents:read, agents:write, approvals:*, approvals:read, approvals:write, audit:*, audit:read, audit:write, cluster:*, cluster:read, cluster:write, executions:*, executions:read, executions:write, keys:*, keys:read, keys:write, limits:*, limits:read, limits:write, patterns:*, patterns:read, patterns:write, secrets:*, secrets:read, secrets:write, stimuli:*, stimuli:read, stimuli:write, system:*, system:read, system:write, tools:*, tools:read, tools:call, volumes:*, volumes:read, volumes:write, workflows:*, workflows:read, workflows:write; `*` is everything but keys:write. */
      readonly scopes?: readonly ("*" | "agents:*" | "agents:read" | "agents:write" | "approvals:*" | "approvals:read" | "approvals:write" | "audit:*" | "audit:read" | "audit:write" | "cluster:*" | "cluster:read" | "cluster:write" | "executions:*" | "executions:read" | "executions:write" | "keys:*" | "keys:read" | "keys:write" | "limits:*" | "limits:read" | "limits:write" | "patterns:*" | "patterns:read" | "patterns:write" | "secrets:*" | "secrets:read" | "secrets:write" | "stimuli:*" | "stimuli:read" | "stimuli:write" | "system:*" | "system:read" | "system:write" | "tools:*" | "tools:read" | "tools:call" | "volumes:*" | "volumes:read" | "volumes:write" | "workflows:*" | "workflows:read" | "workflows:write")[];
      /** Seconds from now; default 90 days. */
      readonly expires_in?: number;
    }, options?: CallOptions): Promise<{
      readonly id: string;
      readonly name: string;
      readonly tenant_id: string;
      readonly owner: KeyOwner;
      readonly scopes: readonly (string)[];
      readonly status: "active" | "expired" | "revoked";
      /** Id of the key that created it; it is revoked together with that key. */
      readonly made_by_key: string | null;
      readonly created_at: string;
      readonly expires_at: string;
      /** Accurate to a minute. */
      readonly last_used_at: string | null;
      readonly revoked_at: string | null;
      readonly revoked_by: string | null;
      /** Returned in this answer only; the node stores a hash. */
      readonly key: string;
    }>;
    /** List API keys, the newest first (`GET /v1/api-keys`) */
    list(input?: {
      /** Those of all users of the tenant; for administrators of the tenant. */
      readonly all?: "" | "true" | "false";
      /** Maximum number of entries; default 100, at most 1000. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly keys: readonly (ApiKey)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Show an API key, never the key itself (`GET /v1/api-keys/{id}`) */
    get(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<ApiKey>;
    /** Revoke an API key, on every node within a second. Keys that it created are revoked with it. (`DELETE /v1/api-keys/{id}`) */
    revoke(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<ApiKey>;
    /** Check whether a text is a live API key of the tenant (`POST /v1/api-keys/validate`) */
    validate(input: {
      readonly key: string;
    }, options?: CallOptions): Promise<{
      readonly valid: boolean;
      /** Null for anything that is not a live key of the tenant. */
      readonly key: ApiKey | null;
    }>;
  };
  readonly rateLimits: {
    /** List rates that were set for users and tenants at run time (`GET /v1/admin/rate-limits/overrides`) */
    listOverrides(input?: {
      /** Tenant slug. */
      readonly tenant?: string;
      /** Subject of the user’s token. */
      readonly subject?: string;
      /** Maximum number of entries; default 100, at most 1000. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly overrides: readonly (RateOverride)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Set the rates of a user or a tenant, on every node within 2 s. Replaces the earlier override. Rates of a user win over those of its tenant, and these over those of its tier. (`PUT /v1/admin/rate-limits/overrides`) */
    putOverride(input: {
      readonly body: RateOverrideRequest;
    }, options?: CallOptions): Promise<RateOverride>;
    /** Remove the rates that were set for a user or a tenant (`DELETE /v1/admin/rate-limits/overrides`) */
    removeOverride(input: {
      /** Tenant slug. */
      readonly tenant: string;
      /** Without it the rates are those of each user of the tenant. */
      readonly subject?: string;
    }, options?: CallOptions): Promise<{
      readonly tenant: string;
      readonly subject: string | null;
      readonly deleted: true;
    }>;
    /** Show how much the caller used of its rate limits (`GET /v1/user/rate-limits/usage`) */
    ownUsage(options?: CallOptions): Promise<RateUsage>;
    /** Show how much a user used of its rate limits (`GET /v1/admin/rate-limits/usage`) */
    usage(input: {
      /** Tenant slug. */
      readonly tenant: string;
      /** Subject of the user’s token. */
      readonly subject: string;
      /** Tier of the user, by which the limits are shown. */
      readonly tier?: "free" | "pro" | "business" | "enterprise";
      /** What the caller is. */
      readonly kind?: "tenant_user" | "consumer" | "service_account" | "operator" | "local";
    }, options?: CallOptions): Promise<RateUsage>;
  };
  readonly secrets: {
    /** List secrets of the tenant by path, never their values (`GET /v1/secrets`) */
    list(input?: {
      /** Only paths with this prefix. */
      readonly prefix?: string;
      /** Maximum number of entries; default 100, at most 1000. */
      readonly limit?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly secrets: readonly (Secret)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Show a secret: versions and times, never its value (`GET /v1/secrets/{path}`) */
    get(input: {
      /** `db/password`, with `%2F` for each slash. */
      readonly path: string;
    }, options?: CallOptions): Promise<Secret>;
    /** Create or rotate a secret. The previous value is kept as an earlier version. (`PUT /v1/secrets/{path}`) */
    put(input: {
      /** `db/password`, with `%2F` for each slash. */
      readonly path: string;
      /** Write-only: no route returns it. */
      readonly value: string;
      /** What must exist before: `absent` only creates, `present` only rotates. */
      readonly expect?: "absent" | "present" | "any";
    }, options?: CallOptions): Promise<Secret>;
    /** Delete a secret with all its versions, or one earlier version (`DELETE /v1/secrets/{path}`) */
    remove(input: {
      /** Version to act on; absent: the secret with all its versions. */
      readonly version?: string;
      /** `db/password`, with `%2F` for each slash. */
      readonly path: string;
    }, options?: CallOptions): Promise<{
      readonly path: string;
      readonly version: number | null;
      readonly deleted: true;
    }>;
  };
  readonly secretKeys: {
    /** Show the versions of the key that encrypts secrets, and how many secrets and data keys of payloads need each (`GET /v1/cluster/secret-keys`) */
    get(options?: CallOptions): Promise<SecretKeys>;
    /** Encrypt secrets with a newer version of the key. The new version is in use at once. Existing secrets are encrypted with it in the background and stay readable. (`POST /v1/cluster/secret-keys/rotate`) */
    rotate(options?: CallOptions): Promise<SecretKeys>;
  };
  readonly joinTokens: {
    /** Create a join token. By default one node may join with it, within an hour. The token is shown in this answer only. (`POST /v1/cluster/join-tokens`) */
    create(input: {
      /** Node ids, also with `*` at the end; default any. */
      readonly names?: readonly (string)[];
      /** Tags that the node may register with; default: none. */
      readonly tags?: readonly (string)[];
      /** Addresses at which the node may be reached: IP addresses, networks, host names; default: the address it calls from. */
      readonly addresses?: readonly (string)[];
      /** Default: WORKER. */
      readonly roles?: readonly ("WORKER" | "HYBRID")[];
      /** Number of nodes that may join with it; default 1. */
      readonly uses?: number;
      /** Seconds from now; default one hour. */
      readonly expires_in?: number;
    }, options?: CallOptions): Promise<{
      readonly id: string;
      readonly names: readonly (string)[];
      readonly tags: readonly (string)[];
      readonly addresses: readonly (string)[];
      readonly roles: readonly ("WORKER" | "HYBRID")[];
      readonly uses: number;
      readonly used_by: readonly (JoinTokenUse)[];
      /** Number of nodes refused with it. */
      readonly refusals: number;
      readonly status: "active" | "used_up" | "expired" | "revoked";
      readonly created_at: string;
      readonly created_by: string;
      readonly expires_at: string;
      /** Returned in this answer only; the node stores a hash. */
      readonly token: string;
    }>;
    /** List join tokens and who used them, the newest first (`GET /v1/cluster/join-tokens`) */
    list(input?: {
      /** Maximum number of entries; default 100, at most 1000. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly join_tokens: readonly (JoinToken)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Revoke a join token. No further node can join with it, and nodes that joined with it get no new node token. (`DELETE /v1/cluster/join-tokens/{id}`) */
    revoke(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<JoinToken>;
  };
  readonly cluster: {
    /** Show what would happen if nodes left or joined; changes nothing. Uses the assignment that the nodes compute, for the present members. Joining nodes get made-up ids: which partitions move to a real node depends on its id, their number hardly does. Runs are those of the caller’s tenant. (`GET /v1/cluster/plan`) */
    plan(input?: {
      /** Nodes that leave; may be repeated. */
      readonly without?: readonly (string)[];
      /** Nodes that join, as `tags=gpu,count=2`; may be repeated. Keys: tags (several: `tags=gpu,a100`), count, role (worker, hybrid, controller), weight. */
      readonly join?: readonly (string)[];
    }, options?: CallOptions): Promise<ClusterPlan>;
    /** List the partitions with their nodes and loads (`GET /v1/cluster/partitions`) */
    partitions(options?: CallOptions): Promise<{
      readonly partitions: readonly ({
        /** Pool and number. */
        readonly partition: string;
        readonly pool: string;
        /** Node that should serve it; null when none may. */
        readonly node: string | null;
        readonly actors: number;
        /** Messages that wait in its log. Partitions of one node may share a log and then have the same number. */
        readonly waiting_messages: number;
      })[];
    }>;
    /** List which nodes took over which partitions, when and why; newest first. The fleet keeps the newest 5,000 records. (`GET /v1/cluster/takeovers`) */
    takeovers(input?: {
      /** Only what this node took over. */
      readonly node?: string;
      /** Maximum number of entries; default 50, at most 500. */
      readonly limit?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly takeovers: readonly (Takeover)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Show this node, the fleet in numbers, and which pools no node serves (`GET /v1/cluster/status`) */
    status(options?: CallOptions): Promise<{
      /** Node that answered. */
      readonly node: {
        readonly node_id: string;
        /** Incarnation: UUID of this run of the node process. */
        readonly incarnation: string;
        readonly role: "controller" | "worker" | "hybrid";
        readonly tags: readonly (string)[];
        readonly ready: boolean;
        readonly draining: boolean;
        /** Number of partitions by pool. */
        readonly partitions: Readonly<Record<string, number>>;
        /** Actors in memory. */
        readonly residents: number;
        /** Alarm: owned partitions whose messages wait and are not read. */
        readonly unread_partitions: number;
        /** Number of messages that wait until the state of their actor is loaded. */
        readonly postponed_messages: number;
        /** Commits refused since the start because the lease was lost. */
        readonly fenced_commits: number;
        readonly running_effects: number;
        /** Milliseconds since the node lease was last extended. */
        readonly lease_age_ms: number;
      };
      readonly nodes: {
        readonly ACTIVE: number;
        readonly DRAINING: number;
        readonly UNHEALTHY: number;
      };
      readonly pools: readonly ({
        readonly pool: string;
        readonly tags: readonly (string)[];
        readonly partitions: number;
        /** Number of partitions that live nodes should serve. */
        readonly served: number;
        readonly waiting_for: {
          readonly tags: readonly (string)[];
          /** Such as "waiting for a node with tags gpu". */
          readonly reason: string;
        } | null;
      })[];
      /** Whether fault injection is enabled on the node that answers. */
      readonly chaos: boolean;
    }>;
    /** Show the configuration that controllers manage for all nodes (`GET /v1/cluster/config`) */
    getConfig(options?: CallOptions): Promise<ManagedConfig>;
    /** Set the configuration that controllers manage for all nodes. The configuration as YAML, or as JSON with the YAML text. Every registered node fetches it with its next heartbeat. (`PUT /v1/cluster/config`) */
    putConfig(input: {
      readonly body: {
        readonly config_yaml: string;
      } | string;
    }, options?: CallOptions): Promise<ManagedConfig>;
    /** Push the managed configuration to every node that can be reached (`POST /v1/cluster/config/push`) */
    pushConfig(options?: CallOptions): Promise<{
      readonly nodes: readonly ({
        readonly node_id: string;
        readonly accepted: boolean;
        readonly reason: string | null;
      })[];
    }>;
  };
  readonly modelProviders: {
    /** List the providers of models that controllers manage for all nodes. Keys are names of secrets, never values. Providers of a node’s own file are not in the list. (`GET /v1/cluster/providers`) */
    list(options?: CallOptions): Promise<{
      readonly providers: readonly (ModelProvider)[];
      /** Version of the configuration of all nodes; grows with each change. */
      readonly version: number;
    }>;
    /** Create or replace a provider of models for all nodes. Registered nodes get it at once and use it without a restart; one that cannot be reached fetches it later. A provider in a node’s own file wins over a managed one of the same name. (`PUT /v1/cluster/providers/{name}`) */
    put(input: {
      /** Name of a provider. */
      readonly name: string;
      readonly type: "ollama" | "openai" | "anthropic" | "gemini" | "openai-compatible";
      /** Base URL; each type but openai-compatible has a default. */
      readonly endpoint?: string;
      /** `secret:providers/NAME`: a secret of tenant svc-system by name, never a value. */
      readonly api_key?: string;
      readonly enabled?: boolean;
      /** Sent with every call. */
      readonly headers?: Readonly<Record<string, string>>;
      readonly models: readonly ({
        readonly alias: string;
        readonly model: string;
        readonly capabilities?: readonly (string)[];
        readonly context_window?: number;
        readonly cost_per_1k_tokens?: number | {
          readonly input: number;
          readonly output: number;
        };
        readonly max_output_tokens?: number;
        readonly temperature?: number;
        readonly fallback_alias?: string;
      })[];
    }, options?: CallOptions): Promise<{
      readonly provider: ModelProvider;
      /** Version of the configuration of all nodes; grows with each change. */
      readonly version: number;
      readonly nodes: readonly ({
        readonly node_id: string;
        readonly accepted: boolean;
        readonly reason: string | null;
      })[];
    }>;
    /** Remove a managed provider of models. Running calls finish; later calls do not find its aliases. (`DELETE /v1/cluster/providers/{name}`) */
    remove(input: {
      /** Name of a provider. */
      readonly name: string;
    }, options?: CallOptions): Promise<{
      readonly name: string;
      readonly removed: true;
      /** Version of the configuration of all nodes; grows with each change. */
      readonly version: number;
      readonly nodes: readonly ({
        readonly node_id: string;
        readonly accepted: boolean;
        readonly reason: string | null;
      })[];
    }>;
    /** Create or replace an alias of a managed provider. Registered nodes get it at once and use it without a restart; one that cannot be reached fetches it later. A provider in a node’s own file wins over a managed one of the same name. (`PUT /v1/cluster/providers/{name}/models/{alias}`) */
    putModel(input: {
      /** Name of a provider. */
      readonly name: string;
      /** Alias of a model, such as `smart`. */
      readonly alias: string;
      readonly model: string;
      readonly capabilities?: readonly (string)[];
      readonly context_window?: number;
      readonly cost_per_1k_tokens?: number | {
        readonly input: number;
        readonly output: number;
      };
      readonly max_output_tokens?: number;
      readonly temperature?: number;
      readonly fallback_alias?: string;
    }, options?: CallOptions): Promise<{
      readonly provider: ModelProvider;
      /** Version of the configuration of all nodes; grows with each change. */
      readonly version: number;
      readonly nodes: readonly ({
        readonly node_id: string;
        readonly accepted: boolean;
        readonly reason: string | null;
      })[];
    }>;
    /** Remove an alias of a managed provider. A provider has at least one: remove the provider instead of its last one. (`DELETE /v1/cluster/providers/{name}/models/{alias}`) */
    removeModel(input: {
      /** Name of a provider. */
      readonly name: string;
      /** Alias of a model, such as `smart`. */
      readonly alias: string;
    }, options?: CallOptions): Promise<{
      readonly provider: ModelProvider;
      /** Version of the configuration of all nodes; grows with each change. */
      readonly version: number;
      readonly nodes: readonly ({
        readonly node_id: string;
        readonly accepted: boolean;
        readonly reason: string | null;
      })[];
    }>;
  };
  readonly faults: {
    /** Inject a fault. Only where `spec.chaos` is on, for actors of the tenants it names; nodes need `svc-system` among them. (`POST /v1/chaos/faults`) */
    inject(input: {
      readonly body: {
        readonly kind: "kill-actor";
        /** kind/tenant/id of an actor. */
        readonly address: string;
      } | {
        readonly kind: "kill-owner";
        /** kind/tenant/id of an actor. */
        readonly address: string;
      } | {
        readonly kind: "kill-node";
        /** Node id. */
        readonly node: string;
      } | {
        readonly kind: "freeze-node";
        /** Node id. */
        readonly node: string;
        readonly ms: number;
      };
    }, options?: CallOptions): Promise<Fault>;
    /** List the requested faults, newest first, with the numbers of injected ones (`GET /v1/chaos/faults`) */
    list(input?: {
      /** Maximum number of entries; default 50, at most 1000. */
      readonly limit?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly counts: {
        readonly "kill-actor": number;
        readonly "kill-owner": number;
        readonly "kill-node": number;
        readonly "freeze-node": number;
      };
      readonly faults: readonly (Fault)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
  };
  readonly actors: {
    /** Show an actor. Its committed state, mailbox, timers and open effects, and the node that serves it. (`GET /v1/actors/{kind}/{id}`) */
    get(input: {
      /** the kind of an actor, such as execution or workflow */
      readonly kind: string;
      /** the id of an actor */
      readonly id: string;
    }, options?: CallOptions): Promise<Actor>;
    /** List the messages that wait for an actor. Without their payloads. It reads the log of the partition, so a page may be short, or empty, although another follows. (`GET /v1/actors/{kind}/{id}/mailbox`) */
    listMailbox(input: {
      /** Maximum number of entries; default 100, at most 1000. */
      readonly limit?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
      /** the kind of an actor, such as execution or workflow */
      readonly kind: string;
      /** the id of an actor */
      readonly id: string;
    }, options?: CallOptions): Promise<WaitingMessages>;
    /** List the deliveries to an actor (`GET /v1/actors/{kind}/{id}/history`) */
    listHistory(input: {
      readonly order?: "oldest_first" | "newest_first";
      /** Maximum number of entries; default 100, at most 1000. */
      readonly limit?: number;
      /** `next_page_token` of the page before, under the same conditions. */
      readonly page_token?: string;
      /** Same as `page_token`. */
      readonly next?: string;
      /** the kind of an actor, such as execution or workflow */
      readonly kind: string;
      /** the id of an actor */
      readonly id: string;
    }, options?: CallOptions): Promise<ActorHistory>;
    /** Show the state of an actor after a message. Rebuilt by a replay of at most 50000 deliveries. (`GET /v1/actors/{kind}/{id}/state`) */
    getState(input: {
      /** A message that the actor got. */
      readonly at: string;
      /** the kind of an actor, such as execution or workflow */
      readonly kind: string;
      /** the id of an actor */
      readonly id: string;
    }, options?: CallOptions): Promise<ActorStateAt>;
    /** Show what changed in the state of an actor between two messages (`GET /v1/actors/{kind}/{id}/diff`) */
    getDiff(input: {
      /** State after this message; default: just before `to`. */
      readonly from?: string;
      /** State after this message. */
      readonly to: string;
      /** the kind of an actor, such as execution or workflow */
      readonly kind: string;
      /** the id of an actor */
      readonly id: string;
    }, options?: CallOptions): Promise<ActorStateDiff>;
  };
  readonly deadLetters: {
    /** List dead letters, newest first. A page may hold fewer letters than asked for: only those that the caller may see. (`GET /v1/dead-letters`) */
    list(input?: {
      readonly kind?: string;
      readonly status?: "open" | "replayed" | "discarded";
      /** Maximum number of entries; default 50, at most 200. */
      readonly limit?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly dead_letters: readonly (DeadLetter)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Show a dead letter with its payload (`GET /v1/dead-letters/{id}`) */
    get(input: {
      /** Id of the letter. */
      readonly id: string;
    }, options?: CallOptions): Promise<DeadLetterInFull>;
    /** Send the message of a dead letter to its actor again. At most 5 times. The letter keeps who did it, when and why. (`POST /v1/dead-letters/{id}/replay`) */
    replay(input: {
      /** Id of the letter. */
      readonly id: string;
      readonly body: {
        readonly reason?: string;
      } | null;
    }, options?: CallOptions): Promise<DeadLetterInFull>;
    /** Mark a dead letter as settled without a replay. It stays as a record and cannot be replayed any more. (`POST /v1/dead-letters/{id}/discard`) */
    discard(input: {
      /** Id of the letter. */
      readonly id: string;
      readonly reason: string;
    }, options?: CallOptions): Promise<DeadLetterInFull>;
  };
  readonly traces: {
    /** List traces, newest first. One row for each client call. The work of a call is bounded: a page may be short, or empty, although `next` says that more follows. (`GET /v1/traces`) */
    list(input?: {
      /** Only traces that began at this time or later. */
      readonly from?: string;
      /** Only traces that began at this time or earlier. */
      readonly to?: string;
      /** Kind of the actor that the root went to. */
      readonly kind?: string;
      /** Name of the agent or workflow. */
      readonly name?: string;
      readonly status?: "running" | "completed" | "failed" | "cancelled";
      /** Shortest duration. Running traces have none. */
      readonly min_duration_ms?: number;
      /** Longest duration. */
      readonly max_duration_ms?: number;
      /** Code of the failure. */
      readonly error_code?: string;
      /** Node that handled the root. */
      readonly node?: string;
      /** A kind of actors that got a delivery. */
      readonly actor_kind?: string;
      /** Part of a name, id, error, or of the payload of the root. */
      readonly text?: string;
      /** Maximum number of entries; default 50, at most 200. */
      readonly limit?: number;
      /** `next_page_token` of the page before, under the same conditions. */
      readonly page_token?: string;
      /** Same as `page_token`. */
      readonly next?: string;
    }, options?: CallOptions): Promise<{
      readonly traces: readonly (TraceRow)[];
      /** For ?next=; null at the end. */
      readonly next: string | null;
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
      /** ISO 8601: retention removed what is older. Absent when nothing was removed. */
      readonly kept_from?: string;
    }>;
    /** Show the critical path of a trace. The chain of causes that ended last, as stretches of time without gaps. (`GET /v1/traces/{trace_id}/critical-path`) */
    getCriticalPath(input: {
      /** W3C trace id. */
      readonly trace_id: string;
    }, options?: CallOptions): Promise<CriticalPath>;
    /** Show how the time of a trace was spent (`GET /v1/traces/{trace_id}/summary`) */
    getSummary(input: {
      /** W3C trace id. */
      readonly trace_id: string;
    }, options?: CallOptions): Promise<TraceSummary>;
    /** Show a trace: its deliveries and effects. In the order of time, page by page. With `Accept: application/x-ndjson` the whole trace as lines: `{"trace": …}` first, then `{"delivery": …}` and `{"effect": …}`. (`GET /v1/traces/{trace_id}`) */
    get(input: {
      /** Maximum number of entries; default 1000, at most 1000. */
      readonly limit?: number;
      /** `next_page_token` of the page before, under the same conditions. */
      readonly page_token?: string;
      /** Same as `page_token`. */
      readonly next?: string;
      /** W3C trace id. */
      readonly trace_id: string;
    }, options?: CallOptions): Promise<Trace>;
  };
  readonly messages: {
    /** Show a message with its outcome (`GET /v1/messages/{id}`) */
    get(input: {
      /** Id of a message. */
      readonly id: string;
    }, options?: CallOptions): Promise<Message>;
    /** List the messages that led to a message (`GET /v1/messages/{id}/causes`) */
    listCauses(input: {
      /** Most messages in a row; at most 20. */
      readonly depth?: number;
      /** Id of a message. */
      readonly id: string;
    }, options?: CallOptions): Promise<MessageChain>;
    /** List the messages that followed from a message (`GET /v1/messages/{id}/effects`) */
    listEffects(input: {
      /** Most messages in a row; at most 20. */
      readonly depth?: number;
      /** Id of a message. */
      readonly id: string;
    }, options?: CallOptions): Promise<MessageChain>;
  };
  readonly recordings: {
    /** Begin the recording of a run. The first line of the file, and the actors whose lines follow. (`GET /v1/runs/{id}/recording`) */
    run(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<RunRecording>;
    /** Read the recorded lines of an actor. Its state and events, then its deliveries with their messages, without secrets, page by page. (`GET /v1/actors/{kind}/{id}/recording`) */
    actor(input: {
      readonly next?: string;
      readonly kind: string;
      readonly id: string;
    }, options?: CallOptions): Promise<ActorRecording>;
  };
  readonly audit: {
    /** List what callers of the tenant changed, and denials, newest first. For administrators. A page with conditions may hold less than its limit although more follow. (`GET /v1/audit`) */
    list(input?: {
      /** Who called. */
      readonly subject?: string;
      /** Name of the operation, such as agents.delete. */
      readonly operation?: string;
      readonly outcome?: "ok" | "denied" | "failed" | "begun";
      /** ISO 8601, inclusive. */
      readonly from?: string;
      /** ISO 8601, exclusive. */
      readonly to?: string;
      /** Maximum number of entries; default 100, at most 1000. */
      readonly limit?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly entries: readonly (AuditEntry)[];
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** List the audit chains of the tenant, one for each node, with signed statements about their ends (`GET /v1/audit/chains`) */
    listChains(options?: CallOptions): Promise<{
      readonly tenant: string;
      readonly chains: readonly ({
        readonly node: string;
        /** Sequence of the first record that is kept. */
        readonly first: number;
        readonly last: number;
        /** Compact JWS about the records that were removed because of their age. */
        readonly checkpoint: string | null;
      })[];
      /** Compact JWS of what nodes say about the ends of the chains. */
      readonly statements: readonly (string)[];
    }>;
    /** Page through the records of one audit chain, in order (`GET /v1/audit/records`) */
    listRecords(input: {
      readonly node: string;
      /** Sequence behind which the records begin. */
      readonly after?: number;
      readonly limit?: number;
    }, options?: CallOptions): Promise<{
      readonly records: readonly (AuditRecord)[];
    }>;
  };
  readonly execute: {
    /** Reach a goal by a program. An agent writes the program, a container without a network runs it. Answers as soon as the start is durable; read the result at /v1/execute/{id}, follow the run at `stream_url`. (`POST /v1/execute/intent`) */
    intent(input: {
      /** The goal, in plain words. */
      readonly intent: string;
      /** What the program reads, as JSON, in the variable SVC_INPUTS. */
      readonly inputs?: Readonly<Record<string, unknown>>;
      /** Of the program. */
      readonly language?: "python" | "javascript" | "bash";
      /** A persistent volume, read-only below /workspace; tier pro and above. */
      readonly volume_id?: string;
      /** Time limit of the program; default and maximum: what the tier of the caller allows. */
      readonly timeout_seconds?: number;
    }, options?: CallOptions): Promise<PipelineStarted>;
    /** Reach a goal by a program, with defaults. POST /v1/execute/intent with nothing but the goal. (`POST /v1/execute`) */
    start(input: {
      /** The goal, in plain words. */
      readonly prompt: string;
    }, options?: CallOptions): Promise<PipelineStarted>;
    /** Show how a pipeline execution stands. Running, completed with its result, or failed with the reason and the state that failed. (`GET /v1/execute/{id}`) */
    get(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly status: "running";
    } | {
      readonly status: "completed";
      readonly final_result: string;
      readonly duration_ms: number;
      readonly reused_existing_agent: boolean;
    } | {
      readonly status: "failed";
      readonly reason: string;
      readonly failed_at_state: string | null;
    }>;
  };
  readonly feed: {
    /** Follow the changes of runs, approvals and nodes live. Server-sent events without end. Resume with the id of the last record: nothing in between is missed, on any node. A reader too far behind gets `reset` and reads the lists again. A record may come twice. The conditions are those of the list of runs. When the key or token that opened it is revoked or has expired, it ends within a minute with a record of the event type `access_ended`: `{"access_ended": {"code", "message"}}`. (`GET /v1/feed`) */
    stream(input?: {
      /** Default: run and approval; node needs the right to see the fleet. A key needs the scope of each. */
      readonly topic?: readonly ("run" | "approval" | "node")[];
      /** Any of these; may be repeated. */
      readonly status?: readonly ("pending" | "running" | "waiting_for_human_input" | "completed" | "failed" | "cancelled")[];
      /** How it ended. */
      readonly outcome?: "succeeded" | "failed" | "cancelled";
      readonly kind?: "execution" | "workflow";
      /** Name of the agent or workflow. */
      readonly name?: string;
      readonly version?: string;
      /** `KEY=VALUE` given at the start; may be repeated, and all must match. */
      readonly label?: readonly (string)[];
      /** Started at this time or later. */
      readonly from?: string;
      /** Started before this time. */
      readonly to?: string;
      /** Tags that its node must have; all must match. */
      readonly tag?: readonly (string)[];
      /** Id of the node that handled its last message. */
      readonly node?: string;
      /** What an unfinished one waits for; any of these. */
      readonly wait_reason?: readonly ("node" | "timer" | "approval" | "child" | "judges" | "effect" | "volumes" | "turn")[];
      readonly error_code?: string;
      /** Id of the run, panel of judges or stimulus that started it. */
      readonly parent?: string;
      /** Runs of this trace. */
      readonly trace_id?: string;
      /** The beginning of the id, or a part of the name. */
      readonly text?: string;
      /** Run whose events are sent too. */
      readonly run?: string;
      /** Same as the header Last-Event-ID, for clients that cannot set headers. */
      readonly last_event_id?: string;
    }, options?: CallOptions): AsyncGenerator<StreamedEvent<FeedEvent>, void, undefined>;
  };
  readonly nodes: {
    /** List the nodes: members with a node lease, and registered peers (`GET /v1/cluster/nodes`) */
    list(input?: {
      readonly status?: "ACTIVE" | "DRAINING" | "UNHEALTHY";
      /** Only nodes with this tag. */
      readonly tag?: string;
    }, options?: CallOptions): Promise<{
      readonly nodes: readonly (Node)[];
    }>;
    /** Show a node (`GET /v1/cluster/nodes/{id}`) */
    get(input: {
      /** Node id. */
      readonly id: string;
    }, options?: CallOptions): Promise<Node>;
    /** Forget a node with its key and registration (`DELETE /v1/cluster/nodes/{id}`) */
    remove(input: {
      /** Node id. */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly node_id: string;
      readonly removed: true;
    }>;
    /** Drain a node: it hands its partitions over and gets no new work (`POST /v1/cluster/nodes/{id}/drain`) */
    drain(input: {
      /** Node id. */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly node_id: string;
      readonly draining: true;
    }>;
    /** Drain a node, then end its process cleanly (`POST /v1/cluster/nodes/{id}/shutdown`) */
    shutdown(input: {
      /** Node id. */
      readonly id: string;
      readonly body: {
        /** Text for the log of the node. */
        readonly reason?: string;
      } | null;
    }, options?: CallOptions): Promise<{
      readonly node_id: string;
      readonly shutting_down: true;
    }>;
  };
  readonly volumeFiles: {
    /** List a directory of a volume (`GET /v1/volumes/{id}/files`) */
    list(input: {
      /** Path from the root of the volume; `..` is refused. */
      readonly path?: string;
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly path: string;
      readonly entries: readonly ({
        readonly name: string;
        readonly kind: "file" | "directory" | "link" | "other";
        readonly size_bytes: number;
        readonly modified_at: string;
      })[];
      /** True when there are more than 1,000. */
      readonly truncated: boolean;
    }>;
    /** Delete a file or directory of a volume (`DELETE /v1/volumes/{id}/files`) */
    delete(input: {
      /** Path from the root of the volume; `..` is refused. */
      readonly path: string;
      /** Deletes directories with their contents. */
      readonly recursive?: "" | "true" | "false";
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly path: string;
      readonly deleted: true;
    }>;
    /** Download a file of a volume (`GET /v1/volumes/{id}/files/content`) */
    read(input: {
      /** Path from the root of the volume; `..` is refused. */
      readonly path: string;
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<Uint8Array>;
    /** Upload a file to a volume. The body is the content, of any type. The file changes in one step when all of it has arrived. (`PUT /v1/volumes/{id}/files/content`) */
    write(input: {
      /** Path from the root of the volume; `..` is refused. */
      readonly path: string;
      /** UUID */
      readonly id: string;
      readonly body?: string | Uint8Array;
    }, options?: CallOptions): Promise<{
      readonly path: string;
      readonly bytes_written: number;
      readonly created: boolean;
    }>;
    /** Make a directory in a volume. With its parents. An existing directory is no error. (`POST /v1/volumes/{id}/files/mkdir`) */
    mkdir(input: {
      /** UUID */
      readonly id: string;
      /** Path from the root of the volume; `..` is refused. */
      readonly path: string;
    }, options?: CallOptions): Promise<{
      readonly path: string;
    }>;
  };
  readonly seal: {
    /** Attest an agent: a session and its security token (`POST /v1/seal/attest`) */
    attest(input: {
      readonly agent_id: string;
      readonly execution_id: string;
      /** Id of the container that was started for the execution; without a container, the execution id. */
      readonly container_id: string;
      /** Base64 of an Ed25519 public key: the 32 raw bytes, or the SPKI. */
      readonly agent_public_key: string;
    }, options?: CallOptions): Promise<{
      /** JWT to send in every envelope. */
      readonly security_token: string;
      readonly session_id: string;
      /** ISO 8601. */
      readonly expires_at: string;
    }>;
    /** Call a tool with a signed envelope. The same id with the same payload again is answered from the record; the tool is not run twice. (`POST /v1/seal/invoke`) */
    invoke(input: {
      readonly body: SealEnvelope;
    }, options?: CallOptions): Promise<InvokeAnswer>;
    /** Call a tool with a signed envelope. The same id with the same payload again is answered from the record; the tool is not run twice. (`POST /v1/invoke`) */
    invokeAlias(input: {
      readonly body: SealEnvelope;
    }, options?: CallOptions): Promise<InvokeAnswer>;
    /** List the tools of an attested agent’s session. The bearer is the security token of the session, not one of an identity provider. (`GET /v1/seal/tools`) */
    listTools(options?: CallOptions): Promise<{
      readonly tool: "svc.tools.list";
      readonly tools: readonly ({
        readonly name: string;
        readonly description: string;
        readonly source: "builtin" | "mcp";
        readonly skip_judge: boolean;
        /** JSON Schema of its arguments. */
        readonly input_schema: Readonly<Record<string, unknown>>;
      })[];
      readonly total: number;
    }>;
  };
  readonly sealSessions: {
    /** List sessions in which tools were called, newest first (`GET /v1/seal/sessions`) */
    list(input?: {
      readonly execution_id?: string;
      /** Maximum number of entries; default 100, at most 1000. */
      readonly limit?: number;
      /** Number of entries to skip. */
      readonly skip?: number;
      /** `next_page_token` of the page before, under the same conditions; costs the same however far behind. */
      readonly page_token?: string;
    }, options?: CallOptions): Promise<{
      readonly sessions: readonly (SealSession)[];
      readonly count: number;
      /** For `page_token`; absent at the end. */
      readonly next_page_token?: string;
    }>;
    /** Show a session (`GET /v1/seal/sessions/{id}`) */
    get(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<SealSession>;
    /** Revoke a session: nothing more is called in it (`POST /v1/seal/sessions/{id}/revoke`) */
    revoke(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly session_id: string;
      readonly status: "revoked" | "closed";
    }>;
    /** Export the audit chain of a session (`GET /v1/seal/sessions/{id}/audit`) */
    audit(input: {
      /** UUID */
      readonly id: string;
    }, options?: CallOptions): Promise<{
      readonly format: "svc-audit/v1";
      readonly session_id: string;
      readonly tenant: string;
      readonly records: readonly ({
        readonly sequence: number;
        readonly at: string;
        readonly body: {
          readonly kind: "opened";
          readonly session_id: string;
          readonly tenant: string;
          readonly execution_id: string | null;
          readonly agent_id: string | null;
          readonly source: "seal" | "inner_loop" | "mcp" | "rest";
          readonly subject: string;
          readonly security_context: string;
          readonly public_key: string | null;
          readonly tools: readonly ({
            readonly name: string;
            readonly schema_hash: string;
          })[];
        } | {
          readonly kind: "decided";
          readonly call: string;
          readonly tool: string;
          readonly envelope_hash: string | null;
          readonly payload_hash: string;
          readonly decision: "allowed" | "denied";
          readonly reason: string | null;
          readonly schema_hash: string | null;
        } | {
          readonly kind: "ended";
          readonly call: string;
          readonly outcome: "succeeded" | "failed" | "in_doubt";
          readonly error: string | null;
          readonly result_hash: string | null;
        } | {
          readonly kind: "refused";
          readonly envelope_hash: string;
          readonly reason: string;
        } | {
          readonly kind: "replayed";
          readonly call: string;
          readonly envelope_hash: string;
        } | {
          readonly kind: "closed";
          readonly reason: string;
        };
        readonly previous_hash: string | null;
        readonly hash: string;
      })[];
      readonly head: string;
    }>;
  };
  readonly tools: {
    /** List the tools the caller may use. Without those of files and commands, which belong to an execution. (`GET /v1/tools`) */
    list(input?: {
      /** Text contained in the name or the description. */
      readonly query?: string;
      /** Includes the JSON Schema of the arguments; without a value it is true. */
      readonly schemas?: "" | "true" | "false";
    }, options?: CallOptions): Promise<{
      readonly tool: "svc.tools.list" | "svc.tools.search";
      readonly tools: readonly ({
        readonly name: string;
        readonly description: string;
        readonly source: "builtin" | "mcp";
        readonly skip_judge: boolean;
        /** JSON Schema of its arguments. */
        readonly input_schema?: Readonly<Record<string, unknown>>;
      })[];
      readonly total: number;
    }>;
    /** Call a tool. What a tool that ran reports as its failure is a 200 with `isError`. Each call is decided, recorded and chained as in SEAL. (`POST /v1/tools/{name}`) */
    call(input: {
      /** Such as svc.agent.list. */
      readonly name: string;
      readonly body: Readonly<Record<string, unknown>> | null;
    }, options?: CallOptions): Promise<ToolResult>;
  };
  readonly tap: {
    /** Follow deliveries and storage events live. Server-sent events without end: deliveries as they are written to the ledger, about a second after their commit, and storage events. When the reader or the node is too slow some are skipped, and `dropped` says how many. When the key or token that opened it is revoked or has expired, it ends within a minute with a record of the event type `access_ended`: `{"access_ended": {"code", "message"}}`. (`GET /v1/tap`) */
    stream(input?: {
      /** Kind of the actors; `volume`: storage events. */
      readonly kind?: string;
      /** One actor: kind/id; `volume/ID`: storage events of one volume. */
      readonly actor?: string;
      /** Type of the messages, or name of a storage event. */
      readonly type?: string;
      readonly outcome?: "done" | "refused" | "retried" | "deferred" | "stale" | "dead-lettered" | "unknown";
      /** One trace. */
      readonly trace?: string;
    }, options?: CallOptions): AsyncGenerator<StreamedEvent<TapEvent>, void, undefined>;
  };
  readonly jwks: {
    /** Public keys of node tokens, of all controllers (`GET /.well-known/jwks.json`) */
    get(options?: CallOptions): Promise<{
      readonly keys: readonly ({
        readonly kty: string;
        /** RFC 7638 thumbprint. */
        readonly kid: string;
        readonly alg: string;
        readonly use: string;
        readonly n: string;
        readonly e: string;
      })[];
    }>;
  };
  readonly webhooks: {
    /** Take a webhook and start its workflow. The raw body is signed with a secret of the source, in the scheme that `spec.stimulus.webhooks` of the node gives it: `svc` unless another one is set. The secret is the environment variable SVC_WEBHOOK_SECRET_<SOURCE> of the node unless others are set. Answers when the workflow execution is durably started. A repeat is 409, with schemes stripe and slack 200 with `duplicate`. (`POST /v1/webhooks/{source}`) */
    receive(input: {
      readonly source: string;
      readonly body: string | Uint8Array;
    }, options?: CallOptions): Promise<{
      readonly stimulus_id: string;
      /** The workflow execution that was started. */
      readonly workflow_execution_id: string;
      /** A repeat, of a source whose scheme is stripe or slack: the ids are those of the first delivery. */
      readonly duplicate?: true;
    }>;
  };
}

const HEALTH_GET: Route = {"method":"GET","path":"/health","query":[],"body":null,"answer":"json"};
const HEALTH_LIVE: Route = {"method":"GET","path":"/health/live","query":[],"body":null,"answer":"json"};
const HEALTH_READY: Route = {"method":"GET","path":"/health/ready","query":[],"body":null,"answer":"json"};
const AGENTS_LIST: Route = {"method":"GET","path":"/v1/agents","query":["scope","status","limit","skip","page_token"],"body":null,"answer":"json"};
const AGENTS_DEPLOY: Route = {"method":"POST","path":"/v1/agents","query":["force","scope"],"body":"json","answer":"json"};
const AGENTS_SEARCH: Route = {"method":"GET","path":"/v1/agents/search","query":["q","limit","min_score","status","label","include_platform_templates"],"body":null,"answer":"json"};
const AGENTS_LOOKUP: Route = {"method":"GET","path":"/v1/agents/lookup/{name}","query":[],"body":null,"answer":"json"};
const AGENTS_GET: Route = {"method":"GET","path":"/v1/agents/{id}","query":["version"],"body":null,"answer":"json"};
const AGENTS_SET_STATUS: Route = {"method":"PATCH","path":"/v1/agents/{id}","query":[],"body":"json","answer":"json"};
const AGENTS_DELETE: Route = {"method":"DELETE","path":"/v1/agents/{id}","query":["force"],"body":null,"answer":"json"};
const AGENTS_LIST_VERSIONS: Route = {"method":"GET","path":"/v1/agents/{id}/versions","query":[],"body":null,"answer":"json"};
const AGENTS_CHANGE_SCOPE: Route = {"method":"POST","path":"/v1/agents/{id}/scope","query":[],"body":"json","answer":"json"};
const AGENTS_EXECUTE: Route = {"method":"POST","path":"/v1/agents/{id}/execute","query":[],"body":"json","answer":"json"};
const AGENTS_LIST_LOGS: Route = {"method":"GET","path":"/v1/agents/{id}/logs","query":["limit","offset","skip","page_token"],"body":null,"answer":"json"};
const EXECUTIONS_START: Route = {"method":"POST","path":"/v1/executions","query":[],"body":"json","answer":"json"};
const EXECUTIONS_LIST: Route = {"method":"GET","path":"/v1/executions","query":["agent_id","status","workflow_execution_id","limit","skip","page_token"],"body":null,"answer":"json"};
const EXECUTIONS_GET: Route = {"method":"GET","path":"/v1/executions/{id}","query":[],"body":null,"answer":"json"};
const EXECUTIONS_REMOVE: Route = {"method":"DELETE","path":"/v1/executions/{id}","query":[],"body":null,"answer":"json"};
const EXECUTIONS_WHY: Route = {"method":"GET","path":"/v1/executions/{id}/why","query":[],"body":null,"answer":"json"};
const EXECUTIONS_LIST_EVENTS: Route = {"method":"GET","path":"/v1/executions/{id}/events","query":["limit","offset","skip","page_token"],"body":null,"answer":"json"};
const EXECUTIONS_CANCEL: Route = {"method":"POST","path":"/v1/executions/{id}/cancel","query":[],"body":null,"answer":"json"};
const WORKFLOWS_LIST: Route = {"method":"GET","path":"/v1/workflows","query":["scope","status","limit","skip","page_token"],"body":null,"answer":"json"};
const WORKFLOWS_DEPLOY: Route = {"method":"POST","path":"/v1/workflows","query":["force","scope"],"body":"json","answer":"json"};
const WORKFLOWS_SEARCH: Route = {"method":"GET","path":"/v1/workflows/search","query":["q","limit","min_score","status","label","include_platform_templates"],"body":null,"answer":"json"};
const WORKFLOWS_GET: Route = {"method":"GET","path":"/v1/workflows/{name}","query":["version"],"body":null,"answer":"json"};
const WORKFLOWS_SET_STATUS: Route = {"method":"PATCH","path":"/v1/workflows/{name}","query":[],"body":"json","answer":"json"};
const WORKFLOWS_DELETE: Route = {"method":"DELETE","path":"/v1/workflows/{name}","query":["force"],"body":null,"answer":"json"};
const WORKFLOWS_LIST_VERSIONS: Route = {"method":"GET","path":"/v1/workflows/{name}/versions","query":[],"body":null,"answer":"json"};
const WORKFLOWS_CHANGE_SCOPE: Route = {"method":"POST","path":"/v1/workflows/{name}/scope","query":[],"body":"json","answer":"json"};
const WORKFLOWS_RUN: Route = {"method":"POST","path":"/v1/workflows/{name}/run","query":[],"body":"json","answer":"json"};
const WORKFLOW_EXECUTIONS_LIST: Route = {"method":"GET","path":"/v1/workflows/executions","query":["workflow_id","status","outcome","limit","offset","skip","page_token"],"body":null,"answer":"json"};
const WORKFLOW_EXECUTIONS_GET: Route = {"method":"GET","path":"/v1/workflows/executions/{id}","query":[],"body":null,"answer":"json"};
const WORKFLOW_EXECUTIONS_REMOVE: Route = {"method":"DELETE","path":"/v1/workflows/executions/{id}","query":[],"body":null,"answer":"json"};
const WORKFLOW_EXECUTIONS_WHY: Route = {"method":"GET","path":"/v1/workflows/executions/{id}/why","query":[],"body":null,"answer":"json"};
const WORKFLOW_EXECUTIONS_LIST_LOGS: Route = {"method":"GET","path":"/v1/workflows/executions/{id}/logs","query":["limit","offset","skip","page_token"],"body":null,"answer":"json"};
const WORKFLOW_EXECUTIONS_SIGNAL: Route = {"method":"POST","path":"/v1/workflows/executions/{id}/signal","query":[],"body":"json","answer":"json"};
const WORKFLOW_EXECUTIONS_CANCEL: Route = {"method":"POST","path":"/v1/workflows/executions/{id}/cancel","query":[],"body":null,"answer":"json"};
const RUNS_LIST: Route = {"method":"GET","path":"/v1/runs","query":["status","outcome","kind","name","version","label","from","to","tag","node","wait_reason","error_code","parent","trace_id","text","limit","page_token","next"],"body":null,"answer":"json"};
const RUNS_FORK: Route = {"method":"POST","path":"/v1/runs/{id}/fork","query":[],"body":"json","answer":"json"};
const APPROVALS_LIST: Route = {"method":"GET","path":"/v1/human-approvals","query":["limit","skip","page_token"],"body":null,"answer":"json"};
const APPROVALS_GET: Route = {"method":"GET","path":"/v1/human-approvals/{id}","query":[],"body":null,"answer":"json"};
const APPROVALS_APPROVE: Route = {"method":"POST","path":"/v1/human-approvals/{id}/approve","query":[],"body":"json","answer":"json"};
const APPROVALS_REJECT: Route = {"method":"POST","path":"/v1/human-approvals/{id}/reject","query":[],"body":"json","answer":"json"};
const STIMULI_LIST: Route = {"method":"GET","path":"/v1/stimuli","query":["limit","skip","page_token"],"body":null,"answer":"json"};
const STIMULI_INGEST: Route = {"method":"POST","path":"/v1/stimuli","query":[],"body":"json","answer":"json"};
const STIMULI_GET: Route = {"method":"GET","path":"/v1/stimuli/{id}","query":[],"body":null,"answer":"json"};
const STIMULI_LIST_ROUTES: Route = {"method":"GET","path":"/v1/stimuli/routes","query":[],"body":null,"answer":"json"};
const STIMULI_PUT_ROUTE: Route = {"method":"PUT","path":"/v1/stimuli/routes/{source}","query":[],"body":"json","answer":"json"};
const STIMULI_REMOVE_ROUTE: Route = {"method":"DELETE","path":"/v1/stimuli/routes/{source}","query":[],"body":null,"answer":"json"};
const VOLUMES_CREATE: Route = {"method":"POST","path":"/v1/volumes","query":[],"body":"json","answer":"json"};
const VOLUMES_LIST: Route = {"method":"GET","path":"/v1/volumes","query":["limit","skip","page_token"],"body":null,"answer":"json"};
const VOLUMES_GET: Route = {"method":"GET","path":"/v1/volumes/{id}","query":[],"body":null,"answer":"json"};
const VOLUMES_DELETE: Route = {"method":"DELETE","path":"/v1/volumes/{id}","query":[],"body":null,"answer":"json"};
const VOLUMES_LIST_EVENTS: Route = {"method":"GET","path":"/v1/volumes/{id}/events","query":["event","path","limit","skip","page_token"],"body":null,"answer":"json"};
const PATTERNS_LIST: Route = {"method":"GET","path":"/v1/cortex/patterns","query":["error_signature","error_type","min_success_score","limit","skip","page_token"],"body":null,"answer":"json"};
const PATTERNS_STORE: Route = {"method":"POST","path":"/v1/cortex/patterns","query":[],"body":"json","answer":"json"};
const SCHEMAS_GET: Route = {"method":"GET","path":"/v1/schemas/{kind}","query":[],"body":null,"answer":"json"};
const CALLERS_ME: Route = {"method":"GET","path":"/v1/me","query":[],"body":null,"answer":"json"};
const API_KEYS_CREATE: Route = {"method":"POST","path":"/v1/api-keys","query":[],"body":"json","answer":"json"};
const API_KEYS_LIST: Route = {"method":"GET","path":"/v1/api-keys","query":["all","limit","skip","page_token"],"body":null,"answer":"json"};
const API_KEYS_GET: Route = {"method":"GET","path":"/v1/api-keys/{id}","query":[],"body":null,"answer":"json"};
const API_KEYS_REVOKE: Route = {"method":"DELETE","path":"/v1/api-keys/{id}","query":[],"body":null,"answer":"json"};
const API_KEYS_VALIDATE: Route = {"method":"POST","path":"/v1/api-keys/validate","query":[],"body":"json","answer":"json"};
const RATE_LIMITS_LIST_OVERRIDES: Route = {"method":"GET","path":"/v1/admin/rate-limits/overrides","query":["tenant","subject","limit","skip","page_token"],"body":null,"answer":"json"};
const RATE_LIMITS_PUT_OVERRIDE: Route = {"method":"PUT","path":"/v1/admin/rate-limits/overrides","query":[],"body":"json","answer":"json"};
const RATE_LIMITS_REMOVE_OVERRIDE: Route = {"method":"DELETE","path":"/v1/admin/rate-limits/overrides","query":["tenant","subject"],"body":null,"answer":"json"};
const RATE_LIMITS_OWN_USAGE: Route = {"method":"GET","path":"/v1/user/rate-limits/usage","query":[],"body":null,"answer":"json"};
const RATE_LIMITS_USAGE: Route = {"method":"GET","path":"/v1/admin/rate-limits/usage","query":["tenant","subject","tier","kind"],"body":null,"answer":"json"};
const SECRETS_LIST: Route = {"method":"GET","path":"/v1/secrets","query":["prefix","limit","page_token"],"body":null,"answer":"json"};
const SECRETS_GET: Route = {"method":"GET","path":"/v1/secrets/{path}","query":[],"body":null,"answer":"json"};
const SECRETS_PUT: Route = {"method":"PUT","path":"/v1/secrets/{path}","query":[],"body":"json","answer":"json"};
const SECRETS_REMOVE: Route = {"method":"DELETE","path":"/v1/secrets/{path}","query":["version"],"body":null,"answer":"json"};
const SECRET_KEYS_GET: Route = {"method":"GET","path":"/v1/cluster/secret-keys","query":[],"body":null,"answer":"json"};
const SECRET_KEYS_ROTATE: Route = {"method":"POST","path":"/v1/cluster/secret-keys/rotate","query":[],"body":null,"answer":"json"};
const JOIN_TOKENS_CREATE: Route = {"method":"POST","path":"/v1/cluster/join-tokens","query":[],"body":"json","answer":"json"};
const JOIN_TOKENS_LIST: Route = {"method":"GET","path":"/v1/cluster/join-tokens","query":["limit","skip","page_token"],"body":null,"answer":"json"};
const JOIN_TOKENS_REVOKE: Route = {"method":"DELETE","path":"/v1/cluster/join-tokens/{id}","query":[],"body":null,"answer":"json"};
const CLUSTER_PLAN: Route = {"method":"GET","path":"/v1/cluster/plan","query":["without","join"],"body":null,"answer":"json"};
const CLUSTER_PARTITIONS: Route = {"method":"GET","path":"/v1/cluster/partitions","query":[],"body":null,"answer":"json"};
const CLUSTER_TAKEOVERS: Route = {"method":"GET","path":"/v1/cluster/takeovers","query":["node","limit","page_token"],"body":null,"answer":"json"};
const MODEL_PROVIDERS_LIST: Route = {"method":"GET","path":"/v1/cluster/providers","query":[],"body":null,"answer":"json"};
const MODEL_PROVIDERS_PUT: Route = {"method":"PUT","path":"/v1/cluster/providers/{name}","query":[],"body":"json","answer":"json"};
const MODEL_PROVIDERS_REMOVE: Route = {"method":"DELETE","path":"/v1/cluster/providers/{name}","query":[],"body":null,"answer":"json"};
const MODEL_PROVIDERS_PUT_MODEL: Route = {"method":"PUT","path":"/v1/cluster/providers/{name}/models/{alias}","query":[],"body":"json","answer":"json"};
const MODEL_PROVIDERS_REMOVE_MODEL: Route = {"method":"DELETE","path":"/v1/cluster/providers/{name}/models/{alias}","query":[],"body":null,"answer":"json"};
const FAULTS_INJECT: Route = {"method":"POST","path":"/v1/chaos/faults","query":[],"body":"json","answer":"json"};
const FAULTS_LIST: Route = {"method":"GET","path":"/v1/chaos/faults","query":["limit","page_token"],"body":null,"answer":"json"};
const ACTORS_GET: Route = {"method":"GET","path":"/v1/actors/{kind}/{id}","query":[],"body":null,"answer":"json"};
const ACTORS_LIST_MAILBOX: Route = {"method":"GET","path":"/v1/actors/{kind}/{id}/mailbox","query":["limit","page_token"],"body":null,"answer":"json"};
const ACTORS_LIST_HISTORY: Route = {"method":"GET","path":"/v1/actors/{kind}/{id}/history","query":["order","limit","page_token","next"],"body":null,"answer":"json"};
const ACTORS_GET_STATE: Route = {"method":"GET","path":"/v1/actors/{kind}/{id}/state","query":["at"],"body":null,"answer":"json"};
const ACTORS_GET_DIFF: Route = {"method":"GET","path":"/v1/actors/{kind}/{id}/diff","query":["from","to"],"body":null,"answer":"json"};
const DEAD_LETTERS_LIST: Route = {"method":"GET","path":"/v1/dead-letters","query":["kind","status","limit","page_token"],"body":null,"answer":"json"};
const DEAD_LETTERS_GET: Route = {"method":"GET","path":"/v1/dead-letters/{id}","query":[],"body":null,"answer":"json"};
const DEAD_LETTERS_REPLAY: Route = {"method":"POST","path":"/v1/dead-letters/{id}/replay","query":[],"body":"json","answer":"json"};
const DEAD_LETTERS_DISCARD: Route = {"method":"POST","path":"/v1/dead-letters/{id}/discard","query":[],"body":"json","answer":"json"};
const TRACES_LIST: Route = {"method":"GET","path":"/v1/traces","query":["from","to","kind","name","status","min_duration_ms","max_duration_ms","error_code","node","actor_kind","text","limit","page_token","next"],"body":null,"answer":"json"};
const TRACES_GET_CRITICAL_PATH: Route = {"method":"GET","path":"/v1/traces/{trace_id}/critical-path","query":[],"body":null,"answer":"json"};
const TRACES_GET_SUMMARY: Route = {"method":"GET","path":"/v1/traces/{trace_id}/summary","query":[],"body":null,"answer":"json"};
const MESSAGES_GET: Route = {"method":"GET","path":"/v1/messages/{id}","query":[],"body":null,"answer":"json"};
const MESSAGES_LIST_CAUSES: Route = {"method":"GET","path":"/v1/messages/{id}/causes","query":["depth"],"body":null,"answer":"json"};
const MESSAGES_LIST_EFFECTS: Route = {"method":"GET","path":"/v1/messages/{id}/effects","query":["depth"],"body":null,"answer":"json"};
const RECORDINGS_RUN: Route = {"method":"GET","path":"/v1/runs/{id}/recording","query":[],"body":null,"answer":"json"};
const RECORDINGS_ACTOR: Route = {"method":"GET","path":"/v1/actors/{kind}/{id}/recording","query":["next"],"body":null,"answer":"json"};
const AUDIT_LIST: Route = {"method":"GET","path":"/v1/audit","query":["subject","operation","outcome","from","to","limit","page_token"],"body":null,"answer":"json"};
const AUDIT_LIST_CHAINS: Route = {"method":"GET","path":"/v1/audit/chains","query":[],"body":null,"answer":"json"};
const AUDIT_LIST_RECORDS: Route = {"method":"GET","path":"/v1/audit/records","query":["node","after","limit"],"body":null,"answer":"json"};
const AGENTS_EXPORT: Route = {"method":"GET","path":"/v1/agents/{id}/export","query":[],"body":null,"answer":"text"};
const EXECUTIONS_STREAM: Route = {"method":"GET","path":"/v1/executions/{id}/stream","query":["last_event_id"],"body":null,"answer":"stream"};
const AGENTS_GENERATE: Route = {"method":"POST","path":"/v1/agents/generate","query":[],"body":"json","answer":"json"};
const WORKFLOWS_GENERATE: Route = {"method":"POST","path":"/v1/workflows/generate","query":[],"body":"json","answer":"json"};
const EXECUTE_INTENT: Route = {"method":"POST","path":"/v1/execute/intent","query":[],"body":"json","answer":"json"};
const EXECUTE_START: Route = {"method":"POST","path":"/v1/execute","query":[],"body":"json","answer":"json"};
const EXECUTE_GET: Route = {"method":"GET","path":"/v1/execute/{id}","query":[],"body":null,"answer":"json"};
const WORKFLOWS_EXPORT: Route = {"method":"GET","path":"/v1/workflows/{name}/export","query":["version"],"body":null,"answer":"text"};
const WORKFLOW_EXECUTIONS_STREAM: Route = {"method":"GET","path":"/v1/workflows/executions/{id}/stream","query":["last_event_id"],"body":null,"answer":"stream"};
const WORKFLOW_EXECUTIONS_STREAM_LOGS: Route = {"method":"GET","path":"/v1/workflows/executions/{id}/logs/stream","query":["last_event_id"],"body":null,"answer":"stream"};
const FEED_STREAM: Route = {"method":"GET","path":"/v1/feed","query":["topic","status","outcome","kind","name","version","label","from","to","tag","node","wait_reason","error_code","parent","trace_id","text","run","last_event_id"],"body":null,"answer":"stream"};
const CLUSTER_STATUS: Route = {"method":"GET","path":"/v1/cluster/status","query":[],"body":null,"answer":"json"};
const NODES_LIST: Route = {"method":"GET","path":"/v1/cluster/nodes","query":["status","tag"],"body":null,"answer":"json"};
const NODES_GET: Route = {"method":"GET","path":"/v1/cluster/nodes/{id}","query":[],"body":null,"answer":"json"};
const NODES_REMOVE: Route = {"method":"DELETE","path":"/v1/cluster/nodes/{id}","query":[],"body":null,"answer":"json"};
const NODES_DRAIN: Route = {"method":"POST","path":"/v1/cluster/nodes/{id}/drain","query":[],"body":null,"answer":"json"};
const NODES_SHUTDOWN: Route = {"method":"POST","path":"/v1/cluster/nodes/{id}/shutdown","query":[],"body":"json","answer":"json"};
const CLUSTER_GET_CONFIG: Route = {"method":"GET","path":"/v1/cluster/config","query":[],"body":null,"answer":"json"};
const CLUSTER_PUT_CONFIG: Route = {"method":"PUT","path":"/v1/cluster/config","query":[],"body":"json","answer":"json"};
const CLUSTER_PUSH_CONFIG: Route = {"method":"POST","path":"/v1/cluster/config/push","query":[],"body":null,"answer":"json"};
const VOLUME_FILES_LIST: Route = {"method":"GET","path":"/v1/volumes/{id}/files","query":["path"],"body":null,"answer":"json"};
const VOLUME_FILES_DELETE: Route = {"method":"DELETE","path":"/v1/volumes/{id}/files","query":["path","recursive"],"body":null,"answer":"json"};
const VOLUME_FILES_READ: Route = {"method":"GET","path":"/v1/volumes/{id}/files/content","query":["path"],"body":null,"answer":"bytes"};
const VOLUME_FILES_WRITE: Route = {"method":"PUT","path":"/v1/volumes/{id}/files/content","query":["path"],"body":"application/octet-stream","answer":"json"};
const VOLUME_FILES_MKDIR: Route = {"method":"POST","path":"/v1/volumes/{id}/files/mkdir","query":[],"body":"json","answer":"json"};
const SEAL_ATTEST: Route = {"method":"POST","path":"/v1/seal/attest","query":[],"body":"json","answer":"json"};
const SEAL_INVOKE: Route = {"method":"POST","path":"/v1/seal/invoke","query":[],"body":"json","answer":"json"};
const SEAL_INVOKE_ALIAS: Route = {"method":"POST","path":"/v1/invoke","query":[],"body":"json","answer":"json"};
const SEAL_LIST_TOOLS: Route = {"method":"GET","path":"/v1/seal/tools","query":[],"body":null,"answer":"json"};
const SEAL_SESSIONS_LIST: Route = {"method":"GET","path":"/v1/seal/sessions","query":["execution_id","limit","skip","page_token"],"body":null,"answer":"json"};
const SEAL_SESSIONS_GET: Route = {"method":"GET","path":"/v1/seal/sessions/{id}","query":[],"body":null,"answer":"json"};
const SEAL_SESSIONS_REVOKE: Route = {"method":"POST","path":"/v1/seal/sessions/{id}/revoke","query":[],"body":null,"answer":"json"};
const SEAL_SESSIONS_AUDIT: Route = {"method":"GET","path":"/v1/seal/sessions/{id}/audit","query":[],"body":null,"answer":"json"};
const TOOLS_LIST: Route = {"method":"GET","path":"/v1/tools","query":["query","schemas"],"body":null,"answer":"json"};
const TOOLS_CALL: Route = {"method":"POST","path":"/v1/tools/{name}","query":[],"body":"json","answer":"json"};
const TRACES_GET: Route = {"method":"GET","path":"/v1/traces/{trace_id}","query":["limit","page_token","next"],"body":null,"answer":"json"};
const TAP_STREAM: Route = {"method":"GET","path":"/v1/tap","query":["kind","actor","type","outcome","trace"],"body":null,"answer":"stream"};
const JWKS_GET: Route = {"method":"GET","path":"/.well-known/jwks.json","query":[],"body":null,"answer":"json"};
const AGENTS_VALIDATE: Route = {"method":"POST","path":"/v1/agents/validate","query":[],"body":"json","answer":"json"};
const WORKFLOWS_VALIDATE: Route = {"method":"POST","path":"/v1/workflows/validate","query":[],"body":"json","answer":"json"};
const WEBHOOKS_RECEIVE: Route = {"method":"POST","path":"/v1/webhooks/{source}","query":[],"body":"application/octet-stream","answer":"json"};

/** The operations, sent by `sender`. */
export const operationsOf = (sender: Sender): SvcClient => ({
  health: {
    get: (options) => sender.json(HEALTH_GET, {}, options),
    live: (options) => sender.json(HEALTH_LIVE, {}, options),
    ready: (options) => sender.json(HEALTH_READY, {}, options),
  },
  agents: {
    list: (input, options) => sender.json(AGENTS_LIST, input, options),
    deploy: (input, options) => sender.json(AGENTS_DEPLOY, input, options),
    search: (input, options) => sender.json(AGENTS_SEARCH, input, options),
    lookup: (input, options) => sender.json(AGENTS_LOOKUP, input, options),
    get: (input, options) => sender.json(AGENTS_GET, input, options),
    setStatus: (input, options) => sender.json(AGENTS_SET_STATUS, input, options),
    delete: (input, options) => sender.json(AGENTS_DELETE, input, options),
    listVersions: (input, options) => sender.json(AGENTS_LIST_VERSIONS, input, options),
    changeScope: (input, options) => sender.json(AGENTS_CHANGE_SCOPE, input, options),
    execute: (input, options) => sender.json(AGENTS_EXECUTE, input, options),
    listLogs: (input, options) => sender.json(AGENTS_LIST_LOGS, input, options),
    export: (input, options) => sender.text(AGENTS_EXPORT, input, options),
    generate: (input, options) => sender.json(AGENTS_GENERATE, input, options),
    validate: (input, options) => sender.json(AGENTS_VALIDATE, input, options),
  },
  executions: {
    start: (input, options) => sender.json(EXECUTIONS_START, input, options),
    list: (input, options) => sender.json(EXECUTIONS_LIST, input, options),
    get: (input, options) => sender.json(EXECUTIONS_GET, input, options),
    remove: (input, options) => sender.json(EXECUTIONS_REMOVE, input, options),
    why: (input, options) => sender.json(EXECUTIONS_WHY, input, options),
    listEvents: (input, options) => sender.json(EXECUTIONS_LIST_EVENTS, input, options),
    cancel: (input, options) => sender.json(EXECUTIONS_CANCEL, input, options),
    stream: (input, options) => sender.stream(EXECUTIONS_STREAM, input, options),
  },
  workflows: {
    list: (input, options) => sender.json(WORKFLOWS_LIST, input, options),
    deploy: (input, options) => sender.json(WORKFLOWS_DEPLOY, input, options),
    search: (input, options) => sender.json(WORKFLOWS_SEARCH, input, options),
    get: (input, options) => sender.json(WORKFLOWS_GET, input, options),
    setStatus: (input, options) => sender.json(WORKFLOWS_SET_STATUS, input, options),
    delete: (input, options) => sender.json(WORKFLOWS_DELETE, input, options),
    listVersions: (input, options) => sender.json(WORKFLOWS_LIST_VERSIONS, input, options),
    changeScope: (input, options) => sender.json(WORKFLOWS_CHANGE_SCOPE, input, options),
    run: (input, options) => sender.json(WORKFLOWS_RUN, input, options),
    generate: (input, options) => sender.json(WORKFLOWS_GENERATE, input, options),
    export: (input, options) => sender.text(WORKFLOWS_EXPORT, input, options),
    validate: (input, options) => sender.json(WORKFLOWS_VALIDATE, input, options),
  },
  workflowExecutions: {
    list: (input, options) => sender.json(WORKFLOW_EXECUTIONS_LIST, input, options),
    get: (input, options) => sender.json(WORKFLOW_EXECUTIONS_GET, input, options),
    remove: (input, options) => sender.json(WORKFLOW_EXECUTIONS_REMOVE, input, options),
    why: (input, options) => sender.json(WORKFLOW_EXECUTIONS_WHY, input, options),
    listLogs: (input, options) => sender.json(WORKFLOW_EXECUTIONS_LIST_LOGS, input, options),
    signal: (input, options) => sender.json(WORKFLOW_EXECUTIONS_SIGNAL, input, options),
    cancel: (input, options) => sender.json(WORKFLOW_EXECUTIONS_CANCEL, input, options),
    stream: (input, options) => sender.stream(WORKFLOW_EXECUTIONS_STREAM, input, options),
    streamLogs: (input, options) => sender.stream(WORKFLOW_EXECUTIONS_STREAM_LOGS, input, options),
  },
  runs: {
    list: (input, options) => sender.json(RUNS_LIST, input, options),
    fork: (input, options) => sender.json(RUNS_FORK, input, options),
  },
  approvals: {
    list: (input, options) => sender.json(APPROVALS_LIST, input, options),
    get: (input, options) => sender.json(APPROVALS_GET, input, options),
    approve: (input, options) => sender.json(APPROVALS_APPROVE, input, options),
    reject: (input, options) => sender.json(APPROVALS_REJECT, input, options),
  },
  stimuli: {
    list: (input, options) => sender.json(STIMULI_LIST, input, options),
    ingest: (input, options) => sender.json(STIMULI_INGEST, input, options),
    get: (input, options) => sender.json(STIMULI_GET, input, options),
    listRoutes: (options) => sender.json(STIMULI_LIST_ROUTES, {}, options),
    putRoute: (input, options) => sender.json(STIMULI_PUT_ROUTE, input, options),
    removeRoute: (input, options) => sender.json(STIMULI_REMOVE_ROUTE, input, options),
  },
  volumes: {
    create: (input, options) => sender.json(VOLUMES_CREATE, input, options),
    list: (input, options) => sender.json(VOLUMES_LIST, input, options),
    get: (input, options) => sender.json(VOLUMES_GET, input, options),
    delete: (input, options) => sender.json(VOLUMES_DELETE, input, options),
    listEvents: (input, options) => sender.json(VOLUMES_LIST_EVENTS, input, options),
  },
  patterns: {
    list: (input, options) => sender.json(PATTERNS_LIST, input, options),
    store: (input, options) => sender.json(PATTERNS_STORE, input, options),
  },
  schemas: {
    get: (input, options) => sender.json(SCHEMAS_GET, input, options),
  },
  callers: {
    me: (options) => sender.json(CALLERS_ME, {}, options),
  },
  apiKeys: {
    create: (input, options) => sender.json(API_KEYS_CREATE, input, options),
    list: (input, options) => sender.json(API_KEYS_LIST, input, options),
    get: (input, options) => sender.json(API_KEYS_GET, input, options),
    revoke: (input, options) => sender.json(API_KEYS_REVOKE, input, options),
    validate: (input, options) => sender.json(API_KEYS_VALIDATE, input, options),
  },
  rateLimits: {
    listOverrides: (input, options) => sender.json(RATE_LIMITS_LIST_OVERRIDES, input, options),
    putOverride: (input, options) => sender.json(RATE_LIMITS_PUT_OVERRIDE, input, options),
    removeOverride: (input, options) => sender.json(RATE_LIMITS_REMOVE_OVERRIDE, input, options),
    ownUsage: (options) => sender.json(RATE_LIMITS_OWN_USAGE, {}, options),
    usage: (input, options) => sender.json(RATE_LIMITS_USAGE, input, options),
  },
  secrets: {
    list: (input, options) => sender.json(SECRETS_LIST, input, options),
    get: (input, options) => sender.json(SECRETS_GET, input, options),
    put: (input, options) => sender.json(SECRETS_PUT, input, options),
    remove: (input, options) => sender.json(SECRETS_REMOVE, input, options),
  },
  secretKeys: {
    get: (options) => sender.json(SECRET_KEYS_GET, {}, options),
    rotate: (options) => sender.json(SECRET_KEYS_ROTATE, {}, options),
  },
  joinTokens: {
    create: (input, options) => sender.json(JOIN_TOKENS_CREATE, input, options),
    list: (input, options) => sender.json(JOIN_TOKENS_LIST, input, options),
    revoke: (input, options) => sender.json(JOIN_TOKENS_REVOKE, input, options),
  },
  cluster: {
    plan: (input, options) => sender.json(CLUSTER_PLAN, input, options),
    partitions: (options) => sender.json(CLUSTER_PARTITIONS, {}, options),
    takeovers: (input, options) => sender.json(CLUSTER_TAKEOVERS, input, options),
    status: (options) => sender.json(CLUSTER_STATUS, {}, options),
    getConfig: (options) => sender.json(CLUSTER_GET_CONFIG, {}, options),
    putConfig: (input, options) => sender.json(CLUSTER_PUT_CONFIG, input, options),
    pushConfig: (options) => sender.json(CLUSTER_PUSH_CONFIG, {}, options),
  },
  modelProviders: {
    list: (options) => sender.json(MODEL_PROVIDERS_LIST, {}, options),
    put: (input, options) => sender.json(MODEL_PROVIDERS_PUT, input, options),
    remove: (input, options) => sender.json(MODEL_PROVIDERS_REMOVE, input, options),
    putModel: (input, options) => sender.json(MODEL_PROVIDERS_PUT_MODEL, input, options),
    removeModel: (input, options) => sender.json(MODEL_PROVIDERS_REMOVE_MODEL, input, options),
  },
  faults: {
    inject: (input, options) => sender.json(FAULTS_INJECT, input, options),
    list: (input, options) => sender.json(FAULTS_LIST, input, options),
  },
  actors: {
    get: (input, options) => sender.json(ACTORS_GET, input, options),
    listMailbox: (input, options) => sender.json(ACTORS_LIST_MAILBOX, input, options),
    listHistory: (input, options) => sender.json(ACTORS_LIST_HISTORY, input, options),
    getState: (input, options) => sender.json(ACTORS_GET_STATE, input, options),
    getDiff: (input, options) => sender.json(ACTORS_GET_DIFF, input, options),
  },
  deadLetters: {
    list: (input, options) => sender.json(DEAD_LETTERS_LIST, input, options),
    get: (input, options) => sender.json(DEAD_LETTERS_GET, input, options),
    replay: (input, options) => sender.json(DEAD_LETTERS_REPLAY, input, options),
    discard: (input, options) => sender.json(DEAD_LETTERS_DISCARD, input, options),
  },
  traces: {
    list: (input, options) => sender.json(TRACES_LIST, input, options),
    getCriticalPath: (input, options) => sender.json(TRACES_GET_CRITICAL_PATH, input, options),
    getSummary: (input, options) => sender.json(TRACES_GET_SUMMARY, input, options),
    get: (input, options) => sender.json(TRACES_GET, input, options),
  },
  messages: {
    get: (input, options) => sender.json(MESSAGES_GET, input, options),
    listCauses: (input, options) => sender.json(MESSAGES_LIST_CAUSES, input, options),
    listEffects: (input, options) => sender.json(MESSAGES_LIST_EFFECTS, input, options),
  },
  recordings: {
    run: (input, options) => sender.json(RECORDINGS_RUN, input, options),
    actor: (input, options) => sender.json(RECORDINGS_ACTOR, input, options),
  },
  audit: {
    list: (input, options) => sender.json(AUDIT_LIST, input, options),
    listChains: (options) => sender.json(AUDIT_LIST_CHAINS, {}, options),
    listRecords: (input, options) => sender.json(AUDIT_LIST_RECORDS, input, options),
  },
  execute: {
    intent: (input, options) => sender.json(EXECUTE_INTENT, input, options),
    start: (input, options) => sender.json(EXECUTE_START, input, options),
    get: (input, options) => sender.json(EXECUTE_GET, input, options),
  },
  feed: {
    stream: (input, options) => sender.stream(FEED_STREAM, input, options),
  },
  nodes: {
    list: (input, options) => sender.json(NODES_LIST, input, options),
    get: (input, options) => sender.json(NODES_GET, input, options),
    remove: (input, options) => sender.json(NODES_REMOVE, input, options),
    drain: (input, options) => sender.json(NODES_DRAIN, input, options),
    shutdown: (input, options) => sender.json(NODES_SHUTDOWN, input, options),
  },
  volumeFiles: {
    list: (input, options) => sender.json(VOLUME_FILES_LIST, input, options),
    delete: (input, options) => sender.json(VOLUME_FILES_DELETE, input, options),
    read: (input, options) => sender.bytes(VOLUME_FILES_READ, input, options),
    write: (input, options) => sender.json(VOLUME_FILES_WRITE, input, options),
    mkdir: (input, options) => sender.json(VOLUME_FILES_MKDIR, input, options),
  },
  seal: {
    attest: (input, options) => sender.json(SEAL_ATTEST, input, options),
    invoke: (input, options) => sender.json(SEAL_INVOKE, input, options),
    invokeAlias: (input, options) => sender.json(SEAL_INVOKE_ALIAS, input, options),
    listTools: (options) => sender.json(SEAL_LIST_TOOLS, {}, options),
  },
  sealSessions: {
    list: (input, options) => sender.json(SEAL_SESSIONS_LIST, input, options),
    get: (input, options) => sender.json(SEAL_SESSIONS_GET, input, options),
    revoke: (input, options) => sender.json(SEAL_SESSIONS_REVOKE, input, options),
    audit: (input, options) => sender.json(SEAL_SESSIONS_AUDIT, input, options),
  },
  tools: {
    list: (input, options) => sender.json(TOOLS_LIST, input, options),
    call: (input, options) => sender.json(TOOLS_CALL, input, options),
  },
  tap: {
    stream: (input, options) => sender.stream(TAP_STREAM, input, options),
  },
  jwks: {
    get: (options) => sender.json(JWKS_GET, {}, options),
  },
  webhooks: {
    receive: (input, options) => sender.json(WEBHOOKS_RECEIVE, input, options),
  },
});
