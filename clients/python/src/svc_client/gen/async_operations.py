# Made by clients/generate.ts from the API description; do not edit.
from __future__ import annotations

from typing import Any, AsyncIterator, Dict, List, Literal, Mapping, Optional, Tuple, Union

from ..events import StreamedEvent
from ..request import CallOptions, Route
from ..sending import AsyncSender
from .types import (
    Actor,
    ActorHistory,
    ActorRecording,
    ActorStateAt,
    ActorStateDiff,
    Agent,
    AgentsChangeScopeAnswer,
    AgentsDeleteAnswer,
    AgentsDeployAnswer,
    AgentsListAnswer,
    AgentsListLogsAnswer,
    AgentsListVersionsAnswer,
    AgentsValidateAnswer,
    AgentsValidateBody,
    Alive,
    ApiKey,
    ApiKeysCreateAnswer,
    ApiKeysListAnswer,
    ApiKeysValidateAnswer,
    ApprovalsApproveAnswer,
    ApprovalsApproveBody1,
    ApprovalsGetAnswerError,
    ApprovalsGetAnswerRequest,
    ApprovalsListAnswer,
    ApprovalsRejectAnswer,
    AuditListAnswer,
    AuditListChainsAnswer,
    AuditListRecordsAnswer,
    ClusterPartitionsAnswer,
    ClusterPlan,
    ClusterPushConfigAnswer,
    ClusterPutConfigBody,
    ClusterStatusAnswer,
    ClusterTakeoversAnswer,
    CriticalPath,
    DeadLetterInFull,
    DeadLettersListAnswer,
    DeadLettersReplayBodyReason,
    DeployRequest,
    DeployedAgent,
    DeployedWorkflow,
    ExecuteGetAnswer2,
    ExecuteGetAnswer3,
    ExecuteGetAnswerStatus,
    ExecutionCancelled,
    ExecutionEvent,
    ExecutionRemoved,
    ExecutionStatus,
    ExecutionsListAnswer,
    ExecutionsListEventsAnswer,
    Fault,
    FaultsInjectBody1,
    FaultsInjectBody2,
    FaultsInjectBody3,
    FaultsInjectBody4,
    FaultsListAnswer,
    FeedEvent,
    ForkedRun,
    GenerateRequest,
    HealthReadyAnswer,
    InvokeAnswer,
    JoinToken,
    JoinTokensCreateAnswer,
    JoinTokensListAnswer,
    JwksGetAnswer,
    ManagedConfig,
    ManifestSchema,
    Me,
    Message,
    MessageChain,
    ModelProvidersListAnswer,
    ModelProvidersPutAnswer,
    ModelProvidersPutModelAnswer,
    ModelProvidersPutModelCostPer1kTokens2,
    ModelProvidersPutModelsItem,
    ModelProvidersRemoveAnswer,
    ModelProvidersRemoveModelAnswer,
    Node,
    NodesDrainAnswer,
    NodesListAnswer,
    NodesRemoveAnswer,
    NodesShutdownAnswer,
    NodesShutdownBodyReason,
    PatternsListAnswer,
    PatternsStoreAnswer,
    PipelineStarted,
    RateLimitsListOverridesAnswer,
    RateLimitsRemoveOverrideAnswer,
    RateOverride,
    RateOverrideRequest,
    RateUsage,
    RunRecording,
    RunStarted,
    RunsListAnswer,
    ScopeRequest,
    SealAttestAnswer,
    SealEnvelope,
    SealListToolsAnswer,
    SealSession,
    SealSessionsAuditAnswer,
    SealSessionsListAnswer,
    SealSessionsRevokeAnswer,
    SearchResults,
    Secret,
    SecretKeys,
    SecretsListAnswer,
    SecretsRemoveAnswer,
    StartAnswer,
    StatusRequest,
    StimuliIngestAnswer,
    StimuliListAnswer,
    StimuliListRoutesAnswer,
    StimuliRemoveRouteAnswer,
    Stimulus,
    StimulusRoute,
    TapEvent,
    ToolResult,
    ToolsListAnswer,
    Trace,
    TraceSummary,
    TracesListAnswer,
    Volume,
    VolumeFilesDeleteAnswer,
    VolumeFilesListAnswer,
    VolumeFilesMkdirAnswer,
    VolumeFilesWriteAnswer,
    VolumesDeleteAnswer,
    VolumesListAnswer,
    VolumesListEventsAnswer,
    WaitingMessages,
    WebhooksReceiveAnswer,
    Why,
    Workflow,
    WorkflowEvent,
    WorkflowExecutionStatus,
    WorkflowExecutionsListAnswer,
    WorkflowExecutionsListLogsAnswer,
    WorkflowExecutionsSignalAnswer,
    WorkflowsChangeScopeAnswer,
    WorkflowsDeleteAnswer,
    WorkflowsDeployAnswer,
    WorkflowsListAnswer,
    WorkflowsListVersionsAnswer,
    WorkflowsValidateAnswer,
    WorkflowsValidateBody,
)

HEALTH_GET = Route("GET", "/health", (), None, "json")
HEALTH_LIVE = Route("GET", "/health/live", (), None, "json")
HEALTH_READY = Route("GET", "/health/ready", (), None, "json")
AGENTS_LIST = Route("GET", "/v1/agents", ("scope", "status", "limit", "skip", "page_token", ), None, "json")
AGENTS_DEPLOY = Route("POST", "/v1/agents", ("force", "scope", ), "json", "json")
AGENTS_SEARCH = Route("GET", "/v1/agents/search", ("q", "limit", "min_score", "status", "label", "include_platform_templates", ), None, "json")
AGENTS_LOOKUP = Route("GET", "/v1/agents/lookup/{name}", (), None, "json")
AGENTS_GET = Route("GET", "/v1/agents/{id}", ("version", ), None, "json")
AGENTS_SET_STATUS = Route("PATCH", "/v1/agents/{id}", (), "json", "json")
AGENTS_DELETE = Route("DELETE", "/v1/agents/{id}", ("force", ), None, "json")
AGENTS_LIST_VERSIONS = Route("GET", "/v1/agents/{id}/versions", (), None, "json")
AGENTS_CHANGE_SCOPE = Route("POST", "/v1/agents/{id}/scope", (), "json", "json")
AGENTS_EXECUTE = Route("POST", "/v1/agents/{id}/execute", (), "json", "json")
AGENTS_LIST_LOGS = Route("GET", "/v1/agents/{id}/logs", ("limit", "offset", "skip", "page_token", ), None, "json")
EXECUTIONS_START = Route("POST", "/v1/executions", (), "json", "json")
EXECUTIONS_LIST = Route("GET", "/v1/executions", ("agent_id", "status", "workflow_execution_id", "limit", "skip", "page_token", ), None, "json")
EXECUTIONS_GET = Route("GET", "/v1/executions/{id}", (), None, "json")
EXECUTIONS_REMOVE = Route("DELETE", "/v1/executions/{id}", (), None, "json")
EXECUTIONS_WHY = Route("GET", "/v1/executions/{id}/why", (), None, "json")
EXECUTIONS_LIST_EVENTS = Route("GET", "/v1/executions/{id}/events", ("limit", "offset", "skip", "page_token", ), None, "json")
EXECUTIONS_CANCEL = Route("POST", "/v1/executions/{id}/cancel", (), None, "json")
WORKFLOWS_LIST = Route("GET", "/v1/workflows", ("scope", "status", "limit", "skip", "page_token", ), None, "json")
WORKFLOWS_DEPLOY = Route("POST", "/v1/workflows", ("force", "scope", ), "json", "json")
WORKFLOWS_SEARCH = Route("GET", "/v1/workflows/search", ("q", "limit", "min_score", "status", "label", "include_platform_templates", ), None, "json")
WORKFLOWS_GET = Route("GET", "/v1/workflows/{name}", ("version", ), None, "json")
WORKFLOWS_SET_STATUS = Route("PATCH", "/v1/workflows/{name}", (), "json", "json")
WORKFLOWS_DELETE = Route("DELETE", "/v1/workflows/{name}", ("force", ), None, "json")
WORKFLOWS_LIST_VERSIONS = Route("GET", "/v1/workflows/{name}/versions", (), None, "json")
WORKFLOWS_CHANGE_SCOPE = Route("POST", "/v1/workflows/{name}/scope", (), "json", "json")
WORKFLOWS_RUN = Route("POST", "/v1/workflows/{name}/run", (), "json", "json")
WORKFLOW_EXECUTIONS_LIST = Route("GET", "/v1/workflows/executions", ("workflow_id", "status", "outcome", "limit", "offset", "skip", "page_token", ), None, "json")
WORKFLOW_EXECUTIONS_GET = Route("GET", "/v1/workflows/executions/{id}", (), None, "json")
WORKFLOW_EXECUTIONS_REMOVE = Route("DELETE", "/v1/workflows/executions/{id}", (), None, "json")
WORKFLOW_EXECUTIONS_WHY = Route("GET", "/v1/workflows/executions/{id}/why", (), None, "json")
WORKFLOW_EXECUTIONS_LIST_LOGS = Route("GET", "/v1/workflows/executions/{id}/logs", ("limit", "offset", "skip", "page_token", ), None, "json")
WORKFLOW_EXECUTIONS_SIGNAL = Route("POST", "/v1/workflows/executions/{id}/signal", (), "json", "json")
WORKFLOW_EXECUTIONS_CANCEL = Route("POST", "/v1/workflows/executions/{id}/cancel", (), None, "json")
RUNS_LIST = Route("GET", "/v1/runs", ("status", "outcome", "kind", "name", "version", "label", "from", "to", "tag", "node", "wait_reason", "error_code", "parent", "trace_id", "text", "limit", "page_token", "next", ), None, "json")
RUNS_FORK = Route("POST", "/v1/runs/{id}/fork", (), "json", "json")
APPROVALS_LIST = Route("GET", "/v1/human-approvals", ("limit", "skip", "page_token", ), None, "json")
APPROVALS_GET = Route("GET", "/v1/human-approvals/{id}", (), None, "json")
APPROVALS_APPROVE = Route("POST", "/v1/human-approvals/{id}/approve", (), "json", "json")
APPROVALS_REJECT = Route("POST", "/v1/human-approvals/{id}/reject", (), "json", "json")
STIMULI_LIST = Route("GET", "/v1/stimuli", ("limit", "skip", "page_token", ), None, "json")
STIMULI_INGEST = Route("POST", "/v1/stimuli", (), "json", "json")
STIMULI_GET = Route("GET", "/v1/stimuli/{id}", (), None, "json")
STIMULI_LIST_ROUTES = Route("GET", "/v1/stimuli/routes", (), None, "json")
STIMULI_PUT_ROUTE = Route("PUT", "/v1/stimuli/routes/{source}", (), "json", "json")
STIMULI_REMOVE_ROUTE = Route("DELETE", "/v1/stimuli/routes/{source}", (), None, "json")
VOLUMES_CREATE = Route("POST", "/v1/volumes", (), "json", "json")
VOLUMES_LIST = Route("GET", "/v1/volumes", ("limit", "skip", "page_token", ), None, "json")
VOLUMES_GET = Route("GET", "/v1/volumes/{id}", (), None, "json")
VOLUMES_DELETE = Route("DELETE", "/v1/volumes/{id}", (), None, "json")
VOLUMES_LIST_EVENTS = Route("GET", "/v1/volumes/{id}/events", ("event", "path", "limit", "skip", "page_token", ), None, "json")
PATTERNS_LIST = Route("GET", "/v1/cortex/patterns", ("error_signature", "error_type", "min_success_score", "limit", "skip", "page_token", ), None, "json")
PATTERNS_STORE = Route("POST", "/v1/cortex/patterns", (), "json", "json")
SCHEMAS_GET = Route("GET", "/v1/schemas/{kind}", (), None, "json")
CALLERS_ME = Route("GET", "/v1/me", (), None, "json")
API_KEYS_CREATE = Route("POST", "/v1/api-keys", (), "json", "json")
API_KEYS_LIST = Route("GET", "/v1/api-keys", ("all", "limit", "skip", "page_token", ), None, "json")
API_KEYS_GET = Route("GET", "/v1/api-keys/{id}", (), None, "json")
API_KEYS_REVOKE = Route("DELETE", "/v1/api-keys/{id}", (), None, "json")
API_KEYS_VALIDATE = Route("POST", "/v1/api-keys/validate", (), "json", "json")
RATE_LIMITS_LIST_OVERRIDES = Route("GET", "/v1/admin/rate-limits/overrides", ("tenant", "subject", "limit", "skip", "page_token", ), None, "json")
RATE_LIMITS_PUT_OVERRIDE = Route("PUT", "/v1/admin/rate-limits/overrides", (), "json", "json")
RATE_LIMITS_REMOVE_OVERRIDE = Route("DELETE", "/v1/admin/rate-limits/overrides", ("tenant", "subject", ), None, "json")
RATE_LIMITS_OWN_USAGE = Route("GET", "/v1/user/rate-limits/usage", (), None, "json")
RATE_LIMITS_USAGE = Route("GET", "/v1/admin/rate-limits/usage", ("tenant", "subject", "tier", "kind", ), None, "json")
SECRETS_LIST = Route("GET", "/v1/secrets", ("prefix", "limit", "page_token", ), None, "json")
SECRETS_GET = Route("GET", "/v1/secrets/{path}", (), None, "json")
SECRETS_PUT = Route("PUT", "/v1/secrets/{path}", (), "json", "json")
SECRETS_REMOVE = Route("DELETE", "/v1/secrets/{path}", ("version", ), None, "json")
SECRET_KEYS_GET = Route("GET", "/v1/cluster/secret-keys", (), None, "json")
SECRET_KEYS_ROTATE = Route("POST", "/v1/cluster/secret-keys/rotate", (), None, "json")
JOIN_TOKENS_CREATE = Route("POST", "/v1/cluster/join-tokens", (), "json", "json")
JOIN_TOKENS_LIST = Route("GET", "/v1/cluster/join-tokens", ("limit", "skip", "page_token", ), None, "json")
JOIN_TOKENS_REVOKE = Route("DELETE", "/v1/cluster/join-tokens/{id}", (), None, "json")
CLUSTER_PLAN = Route("GET", "/v1/cluster/plan", ("without", "join", ), None, "json")
CLUSTER_PARTITIONS = Route("GET", "/v1/cluster/partitions", (), None, "json")
CLUSTER_TAKEOVERS = Route("GET", "/v1/cluster/takeovers", ("node", "limit", "page_token", ), None, "json")
MODEL_PROVIDERS_LIST = Route("GET", "/v1/cluster/providers", (), None, "json")
MODEL_PROVIDERS_PUT = Route("PUT", "/v1/cluster/providers/{name}", (), "json", "json")
MODEL_PROVIDERS_REMOVE = Route("DELETE", "/v1/cluster/providers/{name}", (), None, "json")
MODEL_PROVIDERS_PUT_MODEL = Route("PUT", "/v1/cluster/providers/{name}/models/{alias}", (), "json", "json")
MODEL_PROVIDERS_REMOVE_MODEL = Route("DELETE", "/v1/cluster/providers/{name}/models/{alias}", (), None, "json")
FAULTS_INJECT = Route("POST", "/v1/chaos/faults", (), "json", "json")
FAULTS_LIST = Route("GET", "/v1/chaos/faults", ("limit", "page_token", ), None, "json")
ACTORS_GET = Route("GET", "/v1/actors/{kind}/{id}", (), None, "json")
ACTORS_LIST_MAILBOX = Route("GET", "/v1/actors/{kind}/{id}/mailbox", ("limit", "page_token", ), None, "json")
ACTORS_LIST_HISTORY = Route("GET", "/v1/actors/{kind}/{id}/history", ("order", "limit", "page_token", "next", ), None, "json")
ACTORS_GET_STATE = Route("GET", "/v1/actors/{kind}/{id}/state", ("at", ), None, "json")
ACTORS_GET_DIFF = Route("GET", "/v1/actors/{kind}/{id}/diff", ("from", "to", ), None, "json")
DEAD_LETTERS_LIST = Route("GET", "/v1/dead-letters", ("kind", "status", "limit", "page_token", ), None, "json")
DEAD_LETTERS_GET = Route("GET", "/v1/dead-letters/{id}", (), None, "json")
DEAD_LETTERS_REPLAY = Route("POST", "/v1/dead-letters/{id}/replay", (), "json", "json")
DEAD_LETTERS_DISCARD = Route("POST", "/v1/dead-letters/{id}/discard", (), "json", "json")
TRACES_LIST = Route("GET", "/v1/traces", ("from", "to", "kind", "name", "status", "min_duration_ms", "max_duration_ms", "error_code", "node", "actor_kind", "text", "limit", "page_token", "next", ), None, "json")
TRACES_GET_CRITICAL_PATH = Route("GET", "/v1/traces/{trace_id}/critical-path", (), None, "json")
TRACES_GET_SUMMARY = Route("GET", "/v1/traces/{trace_id}/summary", (), None, "json")
MESSAGES_GET = Route("GET", "/v1/messages/{id}", (), None, "json")
MESSAGES_LIST_CAUSES = Route("GET", "/v1/messages/{id}/causes", ("depth", ), None, "json")
MESSAGES_LIST_EFFECTS = Route("GET", "/v1/messages/{id}/effects", ("depth", ), None, "json")
RECORDINGS_RUN = Route("GET", "/v1/runs/{id}/recording", (), None, "json")
RECORDINGS_ACTOR = Route("GET", "/v1/actors/{kind}/{id}/recording", ("next", ), None, "json")
AUDIT_LIST = Route("GET", "/v1/audit", ("subject", "operation", "outcome", "from", "to", "limit", "page_token", ), None, "json")
AUDIT_LIST_CHAINS = Route("GET", "/v1/audit/chains", (), None, "json")
AUDIT_LIST_RECORDS = Route("GET", "/v1/audit/records", ("node", "after", "limit", ), None, "json")
AGENTS_EXPORT = Route("GET", "/v1/agents/{id}/export", (), None, "text")
EXECUTIONS_STREAM = Route("GET", "/v1/executions/{id}/stream", ("last_event_id", ), None, "stream")
AGENTS_GENERATE = Route("POST", "/v1/agents/generate", (), "json", "json")
WORKFLOWS_GENERATE = Route("POST", "/v1/workflows/generate", (), "json", "json")
EXECUTE_INTENT = Route("POST", "/v1/execute/intent", (), "json", "json")
EXECUTE_START = Route("POST", "/v1/execute", (), "json", "json")
EXECUTE_GET = Route("GET", "/v1/execute/{id}", (), None, "json")
WORKFLOWS_EXPORT = Route("GET", "/v1/workflows/{name}/export", ("version", ), None, "text")
WORKFLOW_EXECUTIONS_STREAM = Route("GET", "/v1/workflows/executions/{id}/stream", ("last_event_id", ), None, "stream")
WORKFLOW_EXECUTIONS_STREAM_LOGS = Route("GET", "/v1/workflows/executions/{id}/logs/stream", ("last_event_id", ), None, "stream")
FEED_STREAM = Route("GET", "/v1/feed", ("topic", "status", "outcome", "kind", "name", "version", "label", "from", "to", "tag", "node", "wait_reason", "error_code", "parent", "trace_id", "text", "run", "last_event_id", ), None, "stream")
CLUSTER_STATUS = Route("GET", "/v1/cluster/status", (), None, "json")
NODES_LIST = Route("GET", "/v1/cluster/nodes", ("status", "tag", ), None, "json")
NODES_GET = Route("GET", "/v1/cluster/nodes/{id}", (), None, "json")
NODES_REMOVE = Route("DELETE", "/v1/cluster/nodes/{id}", (), None, "json")
NODES_DRAIN = Route("POST", "/v1/cluster/nodes/{id}/drain", (), None, "json")
NODES_SHUTDOWN = Route("POST", "/v1/cluster/nodes/{id}/shutdown", (), "json", "json")
CLUSTER_GET_CONFIG = Route("GET", "/v1/cluster/config", (), None, "json")
CLUSTER_PUT_CONFIG = Route("PUT", "/v1/cluster/config", (), "json", "json")
CLUSTER_PUSH_CONFIG = Route("POST", "/v1/cluster/config/push", (), None, "json")
VOLUME_FILES_LIST = Route("GET", "/v1/volumes/{id}/files", ("path", ), None, "json")
VOLUME_FILES_DELETE = Route("DELETE", "/v1/volumes/{id}/files", ("path", "recursive", ), None, "json")
VOLUME_FILES_READ = Route("GET", "/v1/volumes/{id}/files/content", ("path", ), None, "bytes")
VOLUME_FILES_WRITE = Route("PUT", "/v1/volumes/{id}/files/content", ("path", ), "application/octet-stream", "json")
VOLUME_FILES_MKDIR = Route("POST", "/v1/volumes/{id}/files/mkdir", (), "json", "json")
SEAL_ATTEST = Route("POST", "/v1/seal/attest", (), "json", "json")
SEAL_INVOKE = Route("POST", "/v1/seal/invoke", (), "json", "json")
SEAL_INVOKE_ALIAS = Route("POST", "/v1/invoke", (), "json", "json")
SEAL_LIST_TOOLS = Route("GET", "/v1/seal/tools", (), None, "json")
SEAL_SESSIONS_LIST = Route("GET", "/v1/seal/sessions", ("execution_id", "limit", "skip", "page_token", ), None, "json")
SEAL_SESSIONS_GET = Route("GET", "/v1/seal/sessions/{id}", (), None, "json")
SEAL_SESSIONS_REVOKE = Route("POST", "/v1/seal/sessions/{id}/revoke", (), None, "json")
SEAL_SESSIONS_AUDIT = Route("GET", "/v1/seal/sessions/{id}/audit", (), None, "json")
TOOLS_LIST = Route("GET", "/v1/tools", ("query", "schemas", ), None, "json")
TOOLS_CALL = Route("POST", "/v1/tools/{name}", (), "json", "json")
TRACES_GET = Route("GET", "/v1/traces/{trace_id}", ("limit", "page_token", "next", ), None, "json")
TAP_STREAM = Route("GET", "/v1/tap", ("kind", "actor", "type", "outcome", "trace", ), None, "stream")
JWKS_GET = Route("GET", "/.well-known/jwks.json", (), None, "json")
AGENTS_VALIDATE = Route("POST", "/v1/agents/validate", (), "json", "json")
WORKFLOWS_VALIDATE = Route("POST", "/v1/workflows/validate", (), "json", "json")
WEBHOOKS_RECEIVE = Route("POST", "/v1/webhooks/{source}", (), "application/octet-stream", "json")


class AsyncHealthApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def get(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> Alive:
        """The process runs (`GET /health`)"""
        answer: Alive = await self._sender.json(HEALTH_GET, {}, (), options)
        return answer

    async def live(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> Alive:
        """The process runs (`GET /health/live`)"""
        answer: Alive = await self._sender.json(HEALTH_LIVE, {}, (), options)
        return answer

    async def ready(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> HealthReadyAnswer:
        """The node can serve calls (`GET /health/ready`)"""
        answer: HealthReadyAnswer = await self._sender.json(HEALTH_READY, {}, (), options)
        return answer


class AsyncAgentsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        scope: Optional[Literal['global', 'visible']] = None,
        status: Optional[Literal['deployed', 'paused', 'archived']] = None,
        limit: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> AgentsListAnswer:
        """List agents. The latest version of each agent, by name. (`GET /v1/agents`)"""
        # scope: `global`: those of all tenants; `visible`: all the caller can run; default those of the tenant.
        # status: Default: all except archived.
        # limit: Maximum number of entries; default 1000, at most 1000.
        # skip: Number of entries to skip.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: AgentsListAnswer = await self._sender.json(AGENTS_LIST, {"scope": scope, "status": status, "limit": limit, "skip": skip, "page_token": page_token}, (), options)
        return answer

    async def deploy(
        self,
        *,
        body: Union[DeployRequest, str],
        force: Optional[Literal['', 'true', 'false']] = None,
        scope: Optional[Literal['user', 'tenant', 'global']] = None,
        options: Optional[CallOptions] = None,
    ) -> AgentsDeployAnswer:
        """Deploy an agent. Takes the manifest as YAML, or as JSON that holds it. A second (name, version) in a scope needs `force`. (`POST /v1/agents`)"""
        # force: Overwrite the same name and version; without a value it is true.
        # scope: Default: tenant; global requires the operator role.
        answer: AgentsDeployAnswer = await self._sender.json(AGENTS_DEPLOY, {"force": force, "scope": scope, "body": body}, ("body", ), options)
        return answer

    async def search(
        self,
        *,
        q: str,
        limit: Optional[int] = None,
        min_score: Optional[float] = None,
        status: Optional[Literal['deployed', 'paused', 'archived']] = None,
        label: Optional[List[str]] = None,
        include_platform_templates: Optional[Literal['true', 'false']] = None,
        options: Optional[CallOptions] = None,
    ) -> SearchResults:
        """Search agents. Agents the caller sees, by what they do; best first. (`GET /v1/agents/search`)"""
        # q: Search text in plain words.
        # limit: Maximum number of entries; default 10, at most 100.
        # min_score: Only hits with at least this score, 0 to 1.
        # status: Default: deployed and paused.
        # label: `KEY:VALUE`; may be repeated, and all must match.
        # include_platform_templates: Built-in ones and those deployed for all tenants.
        answer: SearchResults = await self._sender.json(AGENTS_SEARCH, {"q": q, "limit": limit, "min_score": min_score, "status": status, "label": label, "include_platform_templates": include_platform_templates}, ("q", ), options)
        return answer

    async def lookup(
        self,
        *,
        name: str,
        options: Optional[CallOptions] = None,
    ) -> Agent:
        """Find an agent by its name (`GET /v1/agents/lookup/{name}`)"""
        answer: Agent = await self._sender.json(AGENTS_LOOKUP, {"name": name}, ("name", ), options)
        return answer

    async def get(
        self,
        *,
        id: str,
        version: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> DeployedAgent:
        """Show an agent with its manifest (`GET /v1/agents/{id}`)"""
        # version: Default: the newest.
        # id: UUID or name of an agent.
        answer: DeployedAgent = await self._sender.json(AGENTS_GET, {"version": version, "id": id}, ("id", ), options)
        return answer

    async def set_status(
        self,
        *,
        id: str,
        body: StatusRequest,
        options: Optional[CallOptions] = None,
    ) -> Agent:
        """Pause or archive an agent, or put it back into service. Running executions continue. Versions that are deployed later get the same status. (`PATCH /v1/agents/{id}`)"""
        # id: UUID or name of an agent.
        answer: Agent = await self._sender.json(AGENTS_SET_STATUS, {"id": id, "body": body}, ("id", "body", ), options)
        return answer

    async def delete(
        self,
        *,
        id: str,
        force: Optional[Literal['', 'true', 'false']] = None,
        options: Optional[CallOptions] = None,
    ) -> AgentsDeleteAnswer:
        """Delete an agent with all its versions. Refused while executions of it run, unless forced: those keep their manifest and continue. (`DELETE /v1/agents/{id}`)"""
        # force: Acts even while executions of it run; they continue. Without a value it is true.
        # id: UUID or name of an agent.
        answer: AgentsDeleteAnswer = await self._sender.json(AGENTS_DELETE, {"force": force, "id": id}, ("id", ), options)
        return answer

    async def list_versions(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> AgentsListVersionsAnswer:
        """List the versions of an agent (`GET /v1/agents/{id}/versions`)"""
        # id: UUID or name of an agent.
        answer: AgentsListVersionsAnswer = await self._sender.json(AGENTS_LIST_VERSIONS, {"id": id}, ("id", ), options)
        return answer

    async def change_scope(
        self,
        *,
        id: str,
        body: ScopeRequest,
        options: Optional[CallOptions] = None,
    ) -> AgentsChangeScopeAnswer:
        """Promote or demote an agent. Promote: user to tenant, tenant to global. Demote: global to tenant, tenant to user. (`POST /v1/agents/{id}/scope`)"""
        # id: UUID or name of an agent.
        answer: AgentsChangeScopeAnswer = await self._sender.json(AGENTS_CHANGE_SCOPE, {"id": id, "body": body}, ("id", "body", ), options)
        return answer

    async def execute(
        self,
        *,
        id: str,
        intent: Optional[str] = None,
        input: Optional[Dict[str, Any]] = None,
        version: Optional[str] = None,
        labels: Optional[Dict[str, str]] = None,
        options: Optional[CallOptions] = None,
    ) -> RunStarted:
        """Start an execution of an agent from a goal and values. Answers as soon as the start is durable; follow it at /v1/executions/{id}/stream. (`POST /v1/agents/{id}/execute`)"""
        # id: UUID or name of an agent.
        # intent: The goal; part of the input, and {{intent}}.
        # input: Values by name: {{KEY}} in the prompt; as JSON part of the input.
        # version: Version of the agent; default: the latest, the one deployed last that is not a pre-release.
        # labels: At most 16 short texts by which lists of runs filter.
        answer: RunStarted = await self._sender.json(AGENTS_EXECUTE, {"id": id, "intent": intent, "input": input, "version": version, "labels": labels}, ("id", ), options)
        return answer

    async def list_logs(
        self,
        *,
        id: str,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> AgentsListLogsAnswer:
        """List the log events of an agent (`GET /v1/agents/{id}/logs`)"""
        # limit: Maximum number of entries; default 50, at most 200.
        # offset: Number of entries to skip.
        # skip: Same as `offset`.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        # id: UUID or name of an agent.
        answer: AgentsListLogsAnswer = await self._sender.json(AGENTS_LIST_LOGS, {"limit": limit, "offset": offset, "skip": skip, "page_token": page_token, "id": id}, ("id", ), options)
        return answer

    async def export(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> str:
        """Get the manifest of an agent as it was deployed (`GET /v1/agents/{id}/export`)"""
        # id: UUID or name of an agent.
        answer: str = await self._sender.text(AGENTS_EXPORT, {"id": id}, ("id", ), options)
        return answer

    async def generate(
        self,
        *,
        body: GenerateRequest,
        options: Optional[CallOptions] = None,
    ) -> RunStarted:
        """Have an agent written and deployed. Says in plain words what the agent should do; an agent writes the manifest, corrects what is refused, and deploys it. Starts an execution of the authoring agent and answers with its id. Its final output names what was deployed. (`POST /v1/agents/generate`)"""
        answer: RunStarted = await self._sender.json(AGENTS_GENERATE, {"body": body}, ("body", ), options)
        return answer

    async def validate(
        self,
        *,
        body: Union[AgentsValidateBody, str],
        options: Optional[CallOptions] = None,
    ) -> AgentsValidateAnswer:
        """Check an agent manifest without deploying it. Always 200: `valid` is false when there are errors. Warnings never refuse a deploy. (`POST /v1/agents/validate`)"""
        answer: AgentsValidateAnswer = await self._sender.json(AGENTS_VALIDATE, {"body": body}, ("body", ), options)
        return answer


class AsyncExecutionsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def start(
        self,
        *,
        agent_id: str,
        input: str,
        version: Optional[str] = None,
        context: Optional[Dict[str, Any]] = None,
        workflow_execution_id: Optional[str] = None,
        labels: Optional[Dict[str, str]] = None,
        options: Optional[CallOptions] = None,
    ) -> StartAnswer:
        """Start an execution. Answers as soon as the start is durable; follow it at /v1/executions/{id}/stream. (`POST /v1/executions`)"""
        # agent_id: UUID or name of an agent.
        # input: Task input passed to the agent.
        # version: Version of the agent; default: the latest, the one deployed last that is not a pre-release.
        # context: Values for the prompt template.
        # workflow_execution_id: Workflow execution that the run belongs to.
        # labels: At most 16 short texts by which lists of runs filter.
        answer: StartAnswer = await self._sender.json(EXECUTIONS_START, {"agent_id": agent_id, "input": input, "version": version, "context": context, "workflow_execution_id": workflow_execution_id, "labels": labels}, ("agent_id", "input", ), options)
        return answer

    async def list(
        self,
        *,
        agent_id: Optional[str] = None,
        status: Optional[Literal['pending', 'running', 'completed', 'failed', 'cancelled']] = None,
        workflow_execution_id: Optional[str] = None,
        limit: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> ExecutionsListAnswer:
        """List executions, newest first (`GET /v1/executions`)"""
        # agent_id: UUID or name of an agent.
        # workflow_execution_id: Only those that belong to this workflow execution.
        # limit: Maximum number of entries; default 20, at most 1000.
        # skip: Number of entries to skip.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: ExecutionsListAnswer = await self._sender.json(EXECUTIONS_LIST, {"agent_id": agent_id, "status": status, "workflow_execution_id": workflow_execution_id, "limit": limit, "skip": skip, "page_token": page_token}, (), options)
        return answer

    async def get(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> ExecutionStatus:
        """Show the state of an execution (`GET /v1/executions/{id}`)"""
        # id: UUID
        answer: ExecutionStatus = await self._sender.json(EXECUTIONS_GET, {"id": id}, ("id", ), options)
        return answer

    async def remove(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> ExecutionRemoved:
        """Remove an execution that has ended. While it runs it is 409. (`DELETE /v1/executions/{id}`)"""
        # id: UUID
        answer: ExecutionRemoved = await self._sender.json(EXECUTIONS_REMOVE, {"id": id}, ("id", ), options)
        return answer

    async def why(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> Why:
        """Say why an execution waits, or why it ended so. The chain of causes, ending with the last cause, as links and as one sentence (docs/reference/why.md). For an ended run: why it ended so. (`GET /v1/executions/{id}/why`)"""
        # id: UUID
        answer: Why = await self._sender.json(EXECUTIONS_WHY, {"id": id}, ("id", ), options)
        return answer

    async def list_events(
        self,
        *,
        id: str,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> ExecutionsListEventsAnswer:
        """Page through the log of an execution, oldest first (`GET /v1/executions/{id}/events`)"""
        # limit: Maximum number of entries; default 50, at most 200.
        # offset: Number of entries to skip.
        # skip: Same as `offset`.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        # id: UUID
        answer: ExecutionsListEventsAnswer = await self._sender.json(EXECUTIONS_LIST_EVENTS, {"limit": limit, "offset": offset, "skip": skip, "page_token": page_token, "id": id}, ("id", ), options)
        return answer

    async def cancel(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> ExecutionCancelled:
        """Cancel a running execution. An execution that has ended is 409. (`POST /v1/executions/{id}/cancel`)"""
        # id: UUID
        answer: ExecutionCancelled = await self._sender.json(EXECUTIONS_CANCEL, {"id": id}, ("id", ), options)
        return answer

    def stream(
        self,
        *,
        id: str,
        last_event_id: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> AsyncIterator[StreamedEvent[ExecutionEvent]]:
        """Follow an execution live. Server-sent events: each record is unnamed, its `id` is the number of the event, its data one JSON object whose one key names the event. Ends after the last event; a request after the last event of an ended execution answers 204, so that an EventSource stops. When the key or token that opened it is revoked or has expired, it ends within a minute with a record of the event type `access_ended`: `{"access_ended": {"code", "message"}}`. (`GET /v1/executions/{id}/stream`)"""
        # last_event_id: Same as the header Last-Event-ID, for clients that cannot set headers.
        # id: UUID
        answer: AsyncIterator[StreamedEvent[ExecutionEvent]] = self._sender.stream(EXECUTIONS_STREAM, {"last_event_id": last_event_id, "id": id}, ("id", ), options)
        return answer


class AsyncWorkflowsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        scope: Optional[Literal['global', 'visible']] = None,
        status: Optional[Literal['deployed', 'paused', 'archived']] = None,
        limit: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> WorkflowsListAnswer:
        """List workflows. The latest version of each workflow, by name. (`GET /v1/workflows`)"""
        # scope: `global`: those of all tenants; `visible`: all the caller can run; default those of the tenant.
        # status: Default: all except archived.
        # limit: Maximum number of entries; default 1000, at most 1000.
        # skip: Number of entries to skip.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: WorkflowsListAnswer = await self._sender.json(WORKFLOWS_LIST, {"scope": scope, "status": status, "limit": limit, "skip": skip, "page_token": page_token}, (), options)
        return answer

    async def deploy(
        self,
        *,
        body: Union[DeployRequest, str],
        force: Optional[Literal['', 'true', 'false']] = None,
        scope: Optional[Literal['user', 'tenant', 'global']] = None,
        options: Optional[CallOptions] = None,
    ) -> WorkflowsDeployAnswer:
        """Deploy a workflow. Takes the manifest as YAML, or as JSON that holds it. A second (name, version) in a scope needs `force`. (`POST /v1/workflows`)"""
        # force: Overwrite the same name and version; without a value it is true.
        # scope: Default: tenant; global requires the operator role.
        answer: WorkflowsDeployAnswer = await self._sender.json(WORKFLOWS_DEPLOY, {"force": force, "scope": scope, "body": body}, ("body", ), options)
        return answer

    async def search(
        self,
        *,
        q: str,
        limit: Optional[int] = None,
        min_score: Optional[float] = None,
        status: Optional[Literal['deployed', 'paused', 'archived']] = None,
        label: Optional[List[str]] = None,
        include_platform_templates: Optional[Literal['true', 'false']] = None,
        options: Optional[CallOptions] = None,
    ) -> SearchResults:
        """Search workflows. Workflows the caller sees, by what they do; best first. (`GET /v1/workflows/search`)"""
        # q: Search text in plain words.
        # limit: Maximum number of entries; default 10, at most 100.
        # min_score: Only hits with at least this score, 0 to 1.
        # status: Default: deployed and paused.
        # label: `KEY:VALUE`; may be repeated, and all must match.
        # include_platform_templates: Built-in ones and those deployed for all tenants.
        answer: SearchResults = await self._sender.json(WORKFLOWS_SEARCH, {"q": q, "limit": limit, "min_score": min_score, "status": status, "label": label, "include_platform_templates": include_platform_templates}, ("q", ), options)
        return answer

    async def get(
        self,
        *,
        name: str,
        version: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> DeployedWorkflow:
        """Show a workflow with its manifest (`GET /v1/workflows/{name}`)"""
        # version: Default: the newest.
        # name: Name or UUID; a name is looked up in the scopes user, tenant, global, in this order.
        answer: DeployedWorkflow = await self._sender.json(WORKFLOWS_GET, {"version": version, "name": name}, ("name", ), options)
        return answer

    async def set_status(
        self,
        *,
        name: str,
        body: StatusRequest,
        options: Optional[CallOptions] = None,
    ) -> Workflow:
        """Pause or archive a workflow, or put it back into service. Running executions continue. Versions that are deployed later get the same status. (`PATCH /v1/workflows/{name}`)"""
        # name: Name or UUID; a name is looked up in the scopes user, tenant, global, in this order.
        answer: Workflow = await self._sender.json(WORKFLOWS_SET_STATUS, {"name": name, "body": body}, ("name", "body", ), options)
        return answer

    async def delete(
        self,
        *,
        name: str,
        force: Optional[Literal['', 'true', 'false']] = None,
        options: Optional[CallOptions] = None,
    ) -> WorkflowsDeleteAnswer:
        """Delete a workflow with all its versions. Refused while executions of it run, unless forced: those keep their manifest and continue. (`DELETE /v1/workflows/{name}`)"""
        # force: Acts even while executions of it run; they continue. Without a value it is true.
        # name: Name or UUID; a name is looked up in the scopes user, tenant, global, in this order.
        answer: WorkflowsDeleteAnswer = await self._sender.json(WORKFLOWS_DELETE, {"force": force, "name": name}, ("name", ), options)
        return answer

    async def list_versions(
        self,
        *,
        name: str,
        options: Optional[CallOptions] = None,
    ) -> WorkflowsListVersionsAnswer:
        """List the versions of a workflow (`GET /v1/workflows/{name}/versions`)"""
        # name: Name or UUID; a name is looked up in the scopes user, tenant, global, in this order.
        answer: WorkflowsListVersionsAnswer = await self._sender.json(WORKFLOWS_LIST_VERSIONS, {"name": name}, ("name", ), options)
        return answer

    async def change_scope(
        self,
        *,
        name: str,
        body: ScopeRequest,
        options: Optional[CallOptions] = None,
    ) -> WorkflowsChangeScopeAnswer:
        """Promote or demote a workflow. Promote: user to tenant, tenant to global. Demote: global to tenant, tenant to user. (`POST /v1/workflows/{name}/scope`)"""
        # name: Name or UUID; a name is looked up in the scopes user, tenant, global, in this order.
        answer: WorkflowsChangeScopeAnswer = await self._sender.json(WORKFLOWS_CHANGE_SCOPE, {"name": name, "body": body}, ("name", "body", ), options)
        return answer

    async def run(
        self,
        *,
        name: str,
        intent: Optional[str] = None,
        input: Optional[Any] = None,
        blackboard: Optional[Dict[str, Any]] = None,
        labels: Optional[Dict[str, str]] = None,
        version: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> RunStarted:
        """Run a workflow. Answers as soon as the start is durable; follow it at /v1/workflows/executions/{id}/stream. An input that does not fit `metadata.input_schema` is 422 and creates nothing. (`POST /v1/workflows/{name}/run`)"""
        # name: Name or UUID; a name is looked up in the scopes user, tenant, global, in this order.
        # intent: Goal of the run; templates read it as {{intent}}.
        # input: Checked against metadata.input_schema, where it must be an object; {{input.KEY}}.
        # blackboard: Initial values of the blackboard.
        # labels: At most 16 short texts by which lists of runs filter.
        # version: Version of the workflow; default: the latest, the one deployed last that is not a pre-release.
        answer: RunStarted = await self._sender.json(WORKFLOWS_RUN, {"name": name, "intent": intent, "input": input, "blackboard": blackboard, "labels": labels, "version": version}, ("name", ), options)
        return answer

    async def generate(
        self,
        *,
        body: GenerateRequest,
        options: Optional[CallOptions] = None,
    ) -> RunStarted:
        """Have a workflow written and deployed. Says in plain words what the workflow should do; an agent writes the manifest, corrects what is refused, and deploys it. Starts an execution of the authoring agent and answers with its id. Its final output names what was deployed. (`POST /v1/workflows/generate`)"""
        answer: RunStarted = await self._sender.json(WORKFLOWS_GENERATE, {"body": body}, ("body", ), options)
        return answer

    async def export(
        self,
        *,
        name: str,
        version: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> str:
        """Get the manifest of a workflow as it was deployed (`GET /v1/workflows/{name}/export`)"""
        # version: Default: the newest.
        # name: Name or UUID; a name is looked up in the scopes user, tenant, global, in this order.
        answer: str = await self._sender.text(WORKFLOWS_EXPORT, {"version": version, "name": name}, ("name", ), options)
        return answer

    async def validate(
        self,
        *,
        body: Union[WorkflowsValidateBody, str],
        options: Optional[CallOptions] = None,
    ) -> WorkflowsValidateAnswer:
        """Check a workflow manifest without deploying it. Always 200: `valid` is false when there are errors. Warnings never refuse a deploy. (`POST /v1/workflows/validate`)"""
        answer: WorkflowsValidateAnswer = await self._sender.json(WORKFLOWS_VALIDATE, {"body": body}, ("body", ), options)
        return answer


class AsyncWorkflowExecutionsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        workflow_id: Optional[str] = None,
        status: Optional[Literal['running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled']] = None,
        outcome: Optional[Literal['succeeded', 'failed', 'cancelled']] = None,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> WorkflowExecutionsListAnswer:
        """List workflow executions, newest first (`GET /v1/workflows/executions`)"""
        # workflow_id: UUID or name of the workflow.
        # outcome: How it ended; `failed` includes those whose last state failed.
        # limit: Maximum number of entries; default 20, at most 1000.
        # offset: Number of entries to skip.
        # skip: Same as `offset`.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: WorkflowExecutionsListAnswer = await self._sender.json(WORKFLOW_EXECUTIONS_LIST, {"workflow_id": workflow_id, "status": status, "outcome": outcome, "limit": limit, "offset": offset, "skip": skip, "page_token": page_token}, (), options)
        return answer

    async def get(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> WorkflowExecutionStatus:
        """Show a workflow execution, and what it waits for (`GET /v1/workflows/executions/{id}`)"""
        # id: UUID
        answer: WorkflowExecutionStatus = await self._sender.json(WORKFLOW_EXECUTIONS_GET, {"id": id}, ("id", ), options)
        return answer

    async def remove(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> ExecutionRemoved:
        """Remove a workflow execution that has ended. While it runs it is 409. (`DELETE /v1/workflows/executions/{id}`)"""
        # id: UUID
        answer: ExecutionRemoved = await self._sender.json(WORKFLOW_EXECUTIONS_REMOVE, {"id": id}, ("id", ), options)
        return answer

    async def why(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> Why:
        """Say why a workflow execution waits, or why it ended so. The chain of causes, ending with the last cause, as links and as one sentence (docs/reference/why.md). For an ended run: why it ended so. (`GET /v1/workflows/executions/{id}/why`)"""
        # id: UUID
        answer: Why = await self._sender.json(WORKFLOW_EXECUTIONS_WHY, {"id": id}, ("id", ), options)
        return answer

    async def list_logs(
        self,
        *,
        id: str,
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> WorkflowExecutionsListLogsAnswer:
        """Page through the log of a workflow execution, oldest first (`GET /v1/workflows/executions/{id}/logs`)"""
        # limit: Maximum number of entries; default 50, at most 200.
        # offset: Number of entries to skip.
        # skip: Same as `offset`.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        # id: UUID
        answer: WorkflowExecutionsListLogsAnswer = await self._sender.json(WORKFLOW_EXECUTIONS_LIST_LOGS, {"limit": limit, "offset": offset, "skip": skip, "page_token": page_token, "id": id}, ("id", ), options)
        return answer

    async def signal(
        self,
        *,
        id: str,
        response: str,
        options: Optional[CallOptions] = None,
    ) -> WorkflowExecutionsSignalAnswer:
        """Answer the approval a workflow execution waits for. One that waits for no approval is 409 (H20). (`POST /v1/workflows/executions/{id}/signal`)"""
        # id: UUID
        # response: Feedback that conditions and {{human.feedback}} read.
        answer: WorkflowExecutionsSignalAnswer = await self._sender.json(WORKFLOW_EXECUTIONS_SIGNAL, {"id": id, "response": response}, ("id", "response", ), options)
        return answer

    async def cancel(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> ExecutionCancelled:
        """Cancel a workflow execution with its children. One that has ended is 409. (`POST /v1/workflows/executions/{id}/cancel`)"""
        # id: UUID
        answer: ExecutionCancelled = await self._sender.json(WORKFLOW_EXECUTIONS_CANCEL, {"id": id}, ("id", ), options)
        return answer

    def stream(
        self,
        *,
        id: str,
        last_event_id: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> AsyncIterator[StreamedEvent[WorkflowEvent]]:
        """Follow a workflow execution live. Server-sent events: each record is unnamed, its `id` is the number of the event, its data one JSON object whose one key names the event. Ends after the last event; a request after the last event of an ended execution answers 204, so that an EventSource stops. When the key or token that opened it is revoked or has expired, it ends within a minute with a record of the event type `access_ended`: `{"access_ended": {"code", "message"}}`. (`GET /v1/workflows/executions/{id}/stream`)"""
        # last_event_id: Same as the header Last-Event-ID, for clients that cannot set headers.
        # id: UUID
        answer: AsyncIterator[StreamedEvent[WorkflowEvent]] = self._sender.stream(WORKFLOW_EXECUTIONS_STREAM, {"last_event_id": last_event_id, "id": id}, ("id", ), options)
        return answer

    def stream_logs(
        self,
        *,
        id: str,
        last_event_id: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> AsyncIterator[StreamedEvent[WorkflowEvent]]:
        """Follow a workflow execution live. Server-sent events: each record is unnamed, its `id` is the number of the event, its data one JSON object whose one key names the event. Ends after the last event; a request after the last event of an ended execution answers 204, so that an EventSource stops. When the key or token that opened it is revoked or has expired, it ends within a minute with a record of the event type `access_ended`: `{"access_ended": {"code", "message"}}`. (`GET /v1/workflows/executions/{id}/logs/stream`)"""
        # last_event_id: Same as the header Last-Event-ID, for clients that cannot set headers.
        # id: UUID
        answer: AsyncIterator[StreamedEvent[WorkflowEvent]] = self._sender.stream(WORKFLOW_EXECUTIONS_STREAM_LOGS, {"last_event_id": last_event_id, "id": id}, ("id", ), options)
        return answer


class AsyncRunsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        status: Optional[List[Literal['pending', 'running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled']]] = None,
        outcome: Optional[Literal['succeeded', 'failed', 'cancelled']] = None,
        kind: Optional[Literal['execution', 'workflow']] = None,
        name: Optional[str] = None,
        version: Optional[str] = None,
        label: Optional[List[str]] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        tag: Optional[List[str]] = None,
        node: Optional[str] = None,
        wait_reason: Optional[List[Literal['node', 'timer', 'approval', 'child', 'judges', 'effect', 'volumes', 'turn']]] = None,
        error_code: Optional[str] = None,
        parent: Optional[str] = None,
        trace_id: Optional[str] = None,
        text: Optional[str] = None,
        limit: Optional[int] = None,
        page_token: Optional[str] = None,
        next: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> RunsListAnswer:
        """List executions of agents and workflows, newest first (`GET /v1/runs`)"""
        # status: Any of these; may be repeated.
        # outcome: How it ended.
        # name: Name of the agent or workflow.
        # label: `KEY=VALUE` given at the start; may be repeated, and all must match.
        # from_: Started at this time or later.
        # to: Started before this time.
        # tag: Tags that its node must have; all must match.
        # node: Id of the node that handled its last message.
        # wait_reason: What an unfinished one waits for; any of these.
        # parent: Id of the run, panel of judges or stimulus that started it.
        # trace_id: Runs of this trace.
        # text: The beginning of the id, or a part of the name.
        # limit: Maximum number of entries; default 50, at most 1000.
        # page_token: `next_page_token` of the page before, under the same conditions.
        # next: Same as `page_token`.
        answer: RunsListAnswer = await self._sender.json(RUNS_LIST, {"status": status, "outcome": outcome, "kind": kind, "name": name, "version": version, "label": label, "from": from_, "to": to, "tag": tag, "node": node, "wait_reason": wait_reason, "error_code": error_code, "parent": parent, "trace_id": trace_id, "text": text, "limit": limit, "page_token": page_token, "next": next}, (), options)
        return answer

    async def fork(
        self,
        *,
        id: str,
        message_id: Optional[str] = None,
        input: Optional[Union[str, Dict[str, Any]]] = None,
        context: Optional[Dict[str, Any]] = None,
        blackboard: Optional[Dict[str, Any]] = None,
        version: Optional[str] = None,
        manifest: Optional[str] = None,
        reason: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> ForkedRun:
        """Start a new run from a message of another one. Everything before the message comes from the record, and no ended effect is repeated; open work is opened again, and from then on the run is live. Without changes it continues as the original did. It counts as a start. A run that had ended at the message is 409; changes that do not fit are 422: docs/guides/fork.md. (`POST /v1/runs/{id}/fork`)"""
        # id: UUID
        # message_id: Message of the run, after which the fork is live. Default: the last one after which it had not ended.
        # input: Another input: a text of an execution; of a workflow run, members that replace those of the original.
        # context: Of an execution: values for the prompt template that are changed.
        # blackboard: Of a workflow run: entries that are changed.
        # version: Another deployed version.
        # manifest: Another manifest, YAML. It needs the right to deploy.
        # reason: Why, for people; shown with the fork.
        answer: ForkedRun = await self._sender.json(RUNS_FORK, {"id": id, "message_id": message_id, "input": input, "context": context, "blackboard": blackboard, "version": version, "manifest": manifest, "reason": reason}, ("id", ), options)
        return answer


class AsyncApprovalsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        limit: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> ApprovalsListAnswer:
        """List pending approval requests, oldest first (`GET /v1/human-approvals`)"""
        # limit: Maximum number of entries; default 1000, at most 1000.
        # skip: Number of entries to skip.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: ApprovalsListAnswer = await self._sender.json(APPROVALS_LIST, {"limit": limit, "skip": skip, "page_token": page_token}, (), options)
        return answer

    async def get(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> Union[ApprovalsGetAnswerRequest, ApprovalsGetAnswerError]:
        """Show a pending approval request. An unknown, expired or resolved one is answered with 200 and `error`. (`GET /v1/human-approvals/{id}`)"""
        # id: UUID
        answer: Union[ApprovalsGetAnswerRequest, ApprovalsGetAnswerError] = await self._sender.json(APPROVALS_GET, {"id": id}, ("id", ), options)
        return answer

    async def approve(
        self,
        *,
        id: str,
        body: Union[ApprovalsApproveBody1, None],
        options: Optional[CallOptions] = None,
    ) -> ApprovalsApproveAnswer:
        """Approve a pending approval request (`POST /v1/human-approvals/{id}/approve`)"""
        # id: UUID
        answer: ApprovalsApproveAnswer = await self._sender.json(APPROVALS_APPROVE, {"id": id, "body": body}, ("id", "body", ), options)
        return answer

    async def reject(
        self,
        *,
        id: str,
        reason: str,
        rejected_by: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> ApprovalsRejectAnswer:
        """Reject a pending approval request (`POST /v1/human-approvals/{id}/reject`)"""
        # id: UUID
        # reason: `{{human.feedback}}` of the workflow.
        answer: ApprovalsRejectAnswer = await self._sender.json(APPROVALS_REJECT, {"id": id, "reason": reason, "rejected_by": rejected_by}, ("id", "reason", ), options)
        return answer


class AsyncStimuliApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        limit: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> StimuliListAnswer:
        """List stimuli, newest first (`GET /v1/stimuli`)"""
        # limit: Maximum number of entries; default 20, at most 1000.
        # skip: Number of entries to skip.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: StimuliListAnswer = await self._sender.json(STIMULI_LIST, {"limit": limit, "skip": skip, "page_token": page_token}, (), options)
        return answer

    async def ingest(
        self,
        *,
        source: str,
        content: str,
        idempotency_key: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> StimuliIngestAnswer:
        """Route a stimulus to a workflow and start it. Answers when the workflow execution is durably started. (`POST /v1/stimuli`)"""
        # source: `http_api` or a source name of your own.
        # content: Natural language or a JSON string.
        # idempotency_key: A repeat within 24 hours is answered with 409.
        answer: StimuliIngestAnswer = await self._sender.json(STIMULI_INGEST, {"source": source, "content": content, "idempotency_key": idempotency_key}, ("source", "content", ), options)
        return answer

    async def get(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> Stimulus:
        """Show a stimulus with its outcome (`GET /v1/stimuli/{id}`)"""
        # id: UUID
        answer: Stimulus = await self._sender.json(STIMULI_GET, {"id": id}, ("id", ), options)
        return answer

    async def list_routes(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> StimuliListRoutesAnswer:
        """List the direct routes from sources to workflows (`GET /v1/stimuli/routes`)"""
        answer: StimuliListRoutesAnswer = await self._sender.json(STIMULI_LIST_ROUTES, {}, (), options)
        return answer

    async def put_route(
        self,
        *,
        source: str,
        workflow: str,
        options: Optional[CallOptions] = None,
    ) -> StimulusRoute:
        """Route a source to a workflow; replaces an earlier route (`PUT /v1/stimuli/routes/{source}`)"""
        answer: StimulusRoute = await self._sender.json(STIMULI_PUT_ROUTE, {"source": source, "workflow": workflow}, ("source", "workflow", ), options)
        return answer

    async def remove_route(
        self,
        *,
        source: str,
        options: Optional[CallOptions] = None,
    ) -> StimuliRemoveRouteAnswer:
        """Remove a direct route. A route from the settings of the node is 409: remove it there. (`DELETE /v1/stimuli/routes/{source}`)"""
        answer: StimuliRemoveRouteAnswer = await self._sender.json(STIMULI_REMOVE_ROUTE, {"source": source}, ("source", ), options)
        return answer


class AsyncVolumesApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def create(
        self,
        *,
        name: str,
        storage_class: Optional[Literal['ephemeral', 'persistent']] = None,
        size_limit_bytes: Optional[int] = None,
        ttl_hours: Optional[int] = None,
        options: Optional[CallOptions] = None,
    ) -> Volume:
        """Create a volume. Consumers of a tier above free may, in their own tenant. (`POST /v1/volumes`)"""
        # name: Unique in the tenant.
        # size_limit_bytes: Default and largest: `spec.storage` of the node.
        # ttl_hours: For ephemeral volumes only.
        answer: Volume = await self._sender.json(VOLUMES_CREATE, {"name": name, "storage_class": storage_class, "size_limit_bytes": size_limit_bytes, "ttl_hours": ttl_hours}, ("name", ), options)
        return answer

    async def list(
        self,
        *,
        limit: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> VolumesListAnswer:
        """List volumes. Newest first; those of workflow executions are named EXECUTION/workspace and EXECUTION/shared/NAME. (`GET /v1/volumes`)"""
        # limit: Maximum number of entries; default 100, at most 1000.
        # skip: Number of entries to skip.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: VolumesListAnswer = await self._sender.json(VOLUMES_LIST, {"limit": limit, "skip": skip, "page_token": page_token}, (), options)
        return answer

    async def get(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> Volume:
        """Show a volume (`GET /v1/volumes/{id}`)"""
        # id: UUID
        answer: Volume = await self._sender.json(VOLUMES_GET, {"id": id}, ("id", ), options)
        return answer

    async def delete(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> VolumesDeleteAnswer:
        """Delete a volume with its files. While a running execution uses it, it is 409. (`DELETE /v1/volumes/{id}`)"""
        # id: UUID
        answer: VolumesDeleteAnswer = await self._sender.json(VOLUMES_DELETE, {"id": id}, ("id", ), options)
        return answer

    async def list_events(
        self,
        *,
        id: str,
        event: Optional[Literal['VolumeCreated', 'VolumeDeleted', 'VolumeExpired', 'FileRead', 'FileWritten', 'FileCreated', 'FileDeleted', 'DirectoryListed', 'PathTraversalBlocked', 'QuotaExceeded']] = None,
        path: Optional[str] = None,
        limit: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> VolumesListEventsAnswer:
        """List the storage events of a volume. Newest first; the newest 1,000 of a volume are kept. They name paths and sizes, never content. (`GET /v1/volumes/{id}/events`)"""
        # path: Exactly this path.
        # limit: Maximum number of entries; default 100, at most 1000.
        # skip: Number of entries to skip.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        # id: UUID
        answer: VolumesListEventsAnswer = await self._sender.json(VOLUMES_LIST_EVENTS, {"event": event, "path": path, "limit": limit, "skip": skip, "page_token": page_token, "id": id}, ("id", ), options)
        return answer


class AsyncPatternsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        error_signature: Optional[str] = None,
        error_type: Optional[str] = None,
        min_success_score: Optional[float] = None,
        limit: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> PatternsListAnswer:
        """Find or list learned patterns. With error_signature: solutions of similar errors, best first. Without it: all patterns, strongest first. (`GET /v1/cortex/patterns`)"""
        # error_signature: Error to find solutions for; absent: all patterns are listed.
        # error_type: Only this type, ignoring case.
        # min_success_score: Minimum success rate, 0 to 1. Applies only with error_signature.
        # limit: Maximum number of entries; default 10, at most 100.
        # skip: Applies only without error_signature, as page_token does.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: PatternsListAnswer = await self._sender.json(PATTERNS_LIST, {"error_signature": error_signature, "error_type": error_type, "min_success_score": min_success_score, "limit": limit, "skip": skip, "page_token": page_token}, (), options)
        return answer

    async def store(
        self,
        *,
        error_signature: str,
        error_type: str,
        solution_approach: str,
        error_message: Optional[str] = None,
        solution_code: Optional[str] = None,
        tags: Optional[List[str]] = None,
        options: Optional[CallOptions] = None,
    ) -> PatternsStoreAnswer:
        """Store an error and its solution. An equivalent pattern is counted once more instead. (`POST /v1/cortex/patterns`)"""
        answer: PatternsStoreAnswer = await self._sender.json(PATTERNS_STORE, {"error_signature": error_signature, "error_type": error_type, "error_message": error_message, "solution_approach": solution_approach, "solution_code": solution_code, "tags": tags}, ("error_signature", "error_type", "solution_approach", ), options)
        return answer


class AsyncSchemasApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def get(
        self,
        *,
        kind: Literal['agent', 'workflow'],
        options: Optional[CallOptions] = None,
    ) -> ManifestSchema:
        """Read the JSON Schema of a kind of manifest. It describes the form of one document, as a deploy checks it. Every API key may call this: it holds no data. (`GET /v1/schemas/{kind}`)"""
        answer: ManifestSchema = await self._sender.json(SCHEMAS_GET, {"kind": kind}, ("kind", ), options)
        return answer


class AsyncCallersApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def me(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> Me:
        """Show who calls, and what the caller may do. A call is allowed when `actions` has its action and `scopes` its scope. Every API key may call this. (`GET /v1/me`)"""
        answer: Me = await self._sender.json(CALLERS_ME, {}, (), options)
        return answer


class AsyncApiKeysApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def create(
        self,
        *,
        name: str,
        scopes: Optional[List[Literal['*', 'agents:*', 'agents:read', 'agents:write', 'approvals:*', 'approvals:read', 'approvals:write', 'audit:*', 'audit:read', 'audit:write', 'cluster:*', 'cluster:read', 'cluster:write', 'executions:*', 'executions:read', 'executions:write', 'keys:*', 'keys:read', 'keys:write', 'limits:*', 'limits:read', 'limits:write', 'patterns:*', 'patterns:read', 'patterns:write', 'secrets:*', 'secrets:read', 'secrets:write', 'stimuli:*', 'stimuli:read', 'stimuli:write', 'system:*', 'system:read', 'system:write', 'tools:*', 'tools:read', 'tools:call', 'volumes:*', 'volumes:read', 'volumes:write', 'workflows:*', 'workflows:read', 'workflows:write']]] = None,
        expires_in: Optional[int] = None,
        options: Optional[CallOptions] = None,
    ) -> ApiKeysCreateAnswer:
        """Create an API key. It acts as the user who created it, with that user’s present rights, within its scopes. The key is shown in this answer only. (`POST /v1/api-keys`)"""
        # name: Purpose.
        # scopes: Default: `*`. Of *, agents:*, agents:read, agents:write, approvals:*, approvals:read, approvals:write, audit:*, audit:read, audit:write, cluster:*, cluster:read, cluster:write, executions:*, executions:read, executions:write, keys:*, keys:read, keys:write, limits:*, limits:read, limits:write, patterns:*, patterns:read, patterns:write, secrets:*, secrets:read, secrets:write, stimuli:*, stimuli:read, stimuli:write, system:*, system:read, system:write, tools:*, tools:read, tools:call, volumes:*, volumes:read, volumes:write, workflows:*, workflows:read, workflows:write; `*` is everything but keys:write.
        # expires_in: Seconds from now; default 90 days.
        answer: ApiKeysCreateAnswer = await self._sender.json(API_KEYS_CREATE, {"name": name, "scopes": scopes, "expires_in": expires_in}, ("name", ), options)
        return answer

    async def list(
        self,
        *,
        all: Optional[Literal['', 'true', 'false']] = None,
        limit: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> ApiKeysListAnswer:
        """List API keys, the newest first (`GET /v1/api-keys`)"""
        # all: Those of all users of the tenant; for administrators of the tenant.
        # limit: Maximum number of entries; default 100, at most 1000.
        # skip: Number of entries to skip.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: ApiKeysListAnswer = await self._sender.json(API_KEYS_LIST, {"all": all, "limit": limit, "skip": skip, "page_token": page_token}, (), options)
        return answer

    async def get(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> ApiKey:
        """Show an API key, never the key itself (`GET /v1/api-keys/{id}`)"""
        # id: UUID
        answer: ApiKey = await self._sender.json(API_KEYS_GET, {"id": id}, ("id", ), options)
        return answer

    async def revoke(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> ApiKey:
        """Revoke an API key, on every node within a second. Keys that it created are revoked with it. (`DELETE /v1/api-keys/{id}`)"""
        # id: UUID
        answer: ApiKey = await self._sender.json(API_KEYS_REVOKE, {"id": id}, ("id", ), options)
        return answer

    async def validate(
        self,
        *,
        key: str,
        options: Optional[CallOptions] = None,
    ) -> ApiKeysValidateAnswer:
        """Check whether a text is a live API key of the tenant (`POST /v1/api-keys/validate`)"""
        answer: ApiKeysValidateAnswer = await self._sender.json(API_KEYS_VALIDATE, {"key": key}, ("key", ), options)
        return answer


class AsyncRateLimitsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list_overrides(
        self,
        *,
        tenant: Optional[str] = None,
        subject: Optional[str] = None,
        limit: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> RateLimitsListOverridesAnswer:
        """List rates that were set for users and tenants at run time (`GET /v1/admin/rate-limits/overrides`)"""
        # tenant: Tenant slug.
        # subject: Subject of the user’s token.
        # limit: Maximum number of entries; default 100, at most 1000.
        # skip: Number of entries to skip.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: RateLimitsListOverridesAnswer = await self._sender.json(RATE_LIMITS_LIST_OVERRIDES, {"tenant": tenant, "subject": subject, "limit": limit, "skip": skip, "page_token": page_token}, (), options)
        return answer

    async def put_override(
        self,
        *,
        body: RateOverrideRequest,
        options: Optional[CallOptions] = None,
    ) -> RateOverride:
        """Set the rates of a user or a tenant, on every node within 2 s. Replaces the earlier override. Rates of a user win over those of its tenant, and these over those of its tier. (`PUT /v1/admin/rate-limits/overrides`)"""
        answer: RateOverride = await self._sender.json(RATE_LIMITS_PUT_OVERRIDE, {"body": body}, ("body", ), options)
        return answer

    async def remove_override(
        self,
        *,
        tenant: str,
        subject: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> RateLimitsRemoveOverrideAnswer:
        """Remove the rates that were set for a user or a tenant (`DELETE /v1/admin/rate-limits/overrides`)"""
        # tenant: Tenant slug.
        # subject: Without it the rates are those of each user of the tenant.
        answer: RateLimitsRemoveOverrideAnswer = await self._sender.json(RATE_LIMITS_REMOVE_OVERRIDE, {"tenant": tenant, "subject": subject}, ("tenant", ), options)
        return answer

    async def own_usage(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> RateUsage:
        """Show how much the caller used of its rate limits (`GET /v1/user/rate-limits/usage`)"""
        answer: RateUsage = await self._sender.json(RATE_LIMITS_OWN_USAGE, {}, (), options)
        return answer

    async def usage(
        self,
        *,
        tenant: str,
        subject: str,
        tier: Optional[Literal['free', 'pro', 'business', 'enterprise']] = None,
        kind: Optional[Literal['tenant_user', 'consumer', 'service_account', 'operator', 'local']] = None,
        options: Optional[CallOptions] = None,
    ) -> RateUsage:
        """Show how much a user used of its rate limits (`GET /v1/admin/rate-limits/usage`)"""
        # tenant: Tenant slug.
        # subject: Subject of the user’s token.
        # tier: Tier of the user, by which the limits are shown.
        # kind: What the caller is.
        answer: RateUsage = await self._sender.json(RATE_LIMITS_USAGE, {"tenant": tenant, "subject": subject, "tier": tier, "kind": kind}, ("tenant", "subject", ), options)
        return answer


class AsyncSecretsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        prefix: Optional[str] = None,
        limit: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> SecretsListAnswer:
        """List secrets of the tenant by path, never their values (`GET /v1/secrets`)"""
        # prefix: Only paths with this prefix.
        # limit: Maximum number of entries; default 100, at most 1000.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: SecretsListAnswer = await self._sender.json(SECRETS_LIST, {"prefix": prefix, "limit": limit, "page_token": page_token}, (), options)
        return answer

    async def get(
        self,
        *,
        path: str,
        options: Optional[CallOptions] = None,
    ) -> Secret:
        """Show a secret: versions and times, never its value (`GET /v1/secrets/{path}`)"""
        # path: `db/password`, with `%2F` for each slash.
        answer: Secret = await self._sender.json(SECRETS_GET, {"path": path}, ("path", ), options)
        return answer

    async def put(
        self,
        *,
        path: str,
        value: str,
        expect: Optional[Literal['absent', 'present', 'any']] = None,
        options: Optional[CallOptions] = None,
    ) -> Secret:
        """Create or rotate a secret. The previous value is kept as an earlier version. (`PUT /v1/secrets/{path}`)"""
        # path: `db/password`, with `%2F` for each slash.
        # value: Write-only: no route returns it.
        # expect: What must exist before: `absent` only creates, `present` only rotates.
        answer: Secret = await self._sender.json(SECRETS_PUT, {"path": path, "value": value, "expect": expect}, ("path", "value", ), options)
        return answer

    async def remove(
        self,
        *,
        path: str,
        version: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> SecretsRemoveAnswer:
        """Delete a secret with all its versions, or one earlier version (`DELETE /v1/secrets/{path}`)"""
        # version: Version to act on; absent: the secret with all its versions.
        # path: `db/password`, with `%2F` for each slash.
        answer: SecretsRemoveAnswer = await self._sender.json(SECRETS_REMOVE, {"version": version, "path": path}, ("path", ), options)
        return answer


class AsyncSecretKeysApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def get(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> SecretKeys:
        """Show the versions of the key that encrypts secrets, and how many secrets and data keys of payloads need each (`GET /v1/cluster/secret-keys`)"""
        answer: SecretKeys = await self._sender.json(SECRET_KEYS_GET, {}, (), options)
        return answer

    async def rotate(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> SecretKeys:
        """Encrypt secrets with a newer version of the key. The new version is in use at once. Existing secrets are encrypted with it in the background and stay readable. (`POST /v1/cluster/secret-keys/rotate`)"""
        answer: SecretKeys = await self._sender.json(SECRET_KEYS_ROTATE, {}, (), options)
        return answer


class AsyncJoinTokensApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def create(
        self,
        *,
        names: Optional[List[str]] = None,
        tags: Optional[List[str]] = None,
        addresses: Optional[List[str]] = None,
        roles: Optional[List[Literal['WORKER', 'HYBRID']]] = None,
        uses: Optional[int] = None,
        expires_in: Optional[int] = None,
        options: Optional[CallOptions] = None,
    ) -> JoinTokensCreateAnswer:
        """Create a join token. By default one node may join with it, within an hour. The token is shown in this answer only. (`POST /v1/cluster/join-tokens`)"""
        # names: Node ids, also with `*` at the end; default any.
        # tags: Tags that the node may register with; default: none.
        # addresses: Addresses at which the node may be reached: IP addresses, networks, host names; default: the address it calls from.
        # roles: Default: WORKER.
        # uses: Number of nodes that may join with it; default 1.
        # expires_in: Seconds from now; default one hour.
        answer: JoinTokensCreateAnswer = await self._sender.json(JOIN_TOKENS_CREATE, {"names": names, "tags": tags, "addresses": addresses, "roles": roles, "uses": uses, "expires_in": expires_in}, (), options)
        return answer

    async def list(
        self,
        *,
        limit: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> JoinTokensListAnswer:
        """List join tokens and who used them, the newest first (`GET /v1/cluster/join-tokens`)"""
        # limit: Maximum number of entries; default 100, at most 1000.
        # skip: Number of entries to skip.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: JoinTokensListAnswer = await self._sender.json(JOIN_TOKENS_LIST, {"limit": limit, "skip": skip, "page_token": page_token}, (), options)
        return answer

    async def revoke(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> JoinToken:
        """Revoke a join token. No further node can join with it, and nodes that joined with it get no new node token. (`DELETE /v1/cluster/join-tokens/{id}`)"""
        # id: UUID
        answer: JoinToken = await self._sender.json(JOIN_TOKENS_REVOKE, {"id": id}, ("id", ), options)
        return answer


class AsyncClusterApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def plan(
        self,
        *,
        without: Optional[List[str]] = None,
        join: Optional[List[str]] = None,
        options: Optional[CallOptions] = None,
    ) -> ClusterPlan:
        """Show what would happen if nodes left or joined; changes nothing. Uses the assignment that the nodes compute, for the present members. Joining nodes get made-up ids: which partitions move to a real node depends on its id, their number hardly does. Runs are those of the caller’s tenant. (`GET /v1/cluster/plan`)"""
        # without: Nodes that leave; may be repeated.
        # join: Nodes that join, as `tags=gpu,count=2`; may be repeated. Keys: tags (several: `tags=gpu,a100`), count, role (worker, hybrid, controller), weight.
        answer: ClusterPlan = await self._sender.json(CLUSTER_PLAN, {"without": without, "join": join}, (), options)
        return answer

    async def partitions(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> ClusterPartitionsAnswer:
        """List the partitions with their nodes and loads (`GET /v1/cluster/partitions`)"""
        answer: ClusterPartitionsAnswer = await self._sender.json(CLUSTER_PARTITIONS, {}, (), options)
        return answer

    async def takeovers(
        self,
        *,
        node: Optional[str] = None,
        limit: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> ClusterTakeoversAnswer:
        """List which nodes took over which partitions, when and why; newest first. The fleet keeps the newest 5,000 records. (`GET /v1/cluster/takeovers`)"""
        # node: Only what this node took over.
        # limit: Maximum number of entries; default 50, at most 500.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: ClusterTakeoversAnswer = await self._sender.json(CLUSTER_TAKEOVERS, {"node": node, "limit": limit, "page_token": page_token}, (), options)
        return answer

    async def status(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> ClusterStatusAnswer:
        """Show this node, the fleet in numbers, and which pools no node serves (`GET /v1/cluster/status`)"""
        answer: ClusterStatusAnswer = await self._sender.json(CLUSTER_STATUS, {}, (), options)
        return answer

    async def get_config(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> ManagedConfig:
        """Show the configuration that controllers manage for all nodes (`GET /v1/cluster/config`)"""
        answer: ManagedConfig = await self._sender.json(CLUSTER_GET_CONFIG, {}, (), options)
        return answer

    async def put_config(
        self,
        *,
        body: Union[ClusterPutConfigBody, str],
        options: Optional[CallOptions] = None,
    ) -> ManagedConfig:
        """Set the configuration that controllers manage for all nodes. The configuration as YAML, or as JSON with the YAML text. Every registered node fetches it with its next heartbeat. (`PUT /v1/cluster/config`)"""
        answer: ManagedConfig = await self._sender.json(CLUSTER_PUT_CONFIG, {"body": body}, ("body", ), options)
        return answer

    async def push_config(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> ClusterPushConfigAnswer:
        """Push the managed configuration to every node that can be reached (`POST /v1/cluster/config/push`)"""
        answer: ClusterPushConfigAnswer = await self._sender.json(CLUSTER_PUSH_CONFIG, {}, (), options)
        return answer


class AsyncModelProvidersApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> ModelProvidersListAnswer:
        """List the providers of models that controllers manage for all nodes. Keys are names of secrets, never values. Providers of a node’s own file are not in the list. (`GET /v1/cluster/providers`)"""
        answer: ModelProvidersListAnswer = await self._sender.json(MODEL_PROVIDERS_LIST, {}, (), options)
        return answer

    async def put(
        self,
        *,
        name: str,
        type: Literal['ollama', 'openai', 'anthropic', 'gemini', 'openai-compatible'],
        models: List[ModelProvidersPutModelsItem],
        endpoint: Optional[str] = None,
        api_key: Optional[str] = None,
        enabled: Optional[bool] = None,
        headers: Optional[Dict[str, str]] = None,
        options: Optional[CallOptions] = None,
    ) -> ModelProvidersPutAnswer:
        """Create or replace a provider of models for all nodes. Registered nodes get it at once and use it without a restart; one that cannot be reached fetches it later. A provider in a node’s own file wins over a managed one of the same name. (`PUT /v1/cluster/providers/{name}`)"""
        # name: Name of a provider.
        # endpoint: Base URL; each type but openai-compatible has a default.
        # api_key: `secret:providers/NAME`: a secret of tenant svc-system by name, never a value.
        # headers: Sent with every call.
        answer: ModelProvidersPutAnswer = await self._sender.json(MODEL_PROVIDERS_PUT, {"name": name, "type": type, "endpoint": endpoint, "api_key": api_key, "enabled": enabled, "headers": headers, "models": models}, ("name", "type", "models", ), options)
        return answer

    async def remove(
        self,
        *,
        name: str,
        options: Optional[CallOptions] = None,
    ) -> ModelProvidersRemoveAnswer:
        """Remove a managed provider of models. Running calls finish; later calls do not find its aliases. (`DELETE /v1/cluster/providers/{name}`)"""
        # name: Name of a provider.
        answer: ModelProvidersRemoveAnswer = await self._sender.json(MODEL_PROVIDERS_REMOVE, {"name": name}, ("name", ), options)
        return answer

    async def put_model(
        self,
        *,
        name: str,
        alias: str,
        model: str,
        capabilities: Optional[List[str]] = None,
        context_window: Optional[int] = None,
        cost_per_1k_tokens: Optional[Union[float, ModelProvidersPutModelCostPer1kTokens2]] = None,
        max_output_tokens: Optional[int] = None,
        temperature: Optional[float] = None,
        fallback_alias: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> ModelProvidersPutModelAnswer:
        """Create or replace an alias of a managed provider. Registered nodes get it at once and use it without a restart; one that cannot be reached fetches it later. A provider in a node’s own file wins over a managed one of the same name. (`PUT /v1/cluster/providers/{name}/models/{alias}`)"""
        # name: Name of a provider.
        # alias: Alias of a model, such as `smart`.
        answer: ModelProvidersPutModelAnswer = await self._sender.json(MODEL_PROVIDERS_PUT_MODEL, {"name": name, "alias": alias, "model": model, "capabilities": capabilities, "context_window": context_window, "cost_per_1k_tokens": cost_per_1k_tokens, "max_output_tokens": max_output_tokens, "temperature": temperature, "fallback_alias": fallback_alias}, ("name", "alias", "model", ), options)
        return answer

    async def remove_model(
        self,
        *,
        name: str,
        alias: str,
        options: Optional[CallOptions] = None,
    ) -> ModelProvidersRemoveModelAnswer:
        """Remove an alias of a managed provider. A provider has at least one: remove the provider instead of its last one. (`DELETE /v1/cluster/providers/{name}/models/{alias}`)"""
        # name: Name of a provider.
        # alias: Alias of a model, such as `smart`.
        answer: ModelProvidersRemoveModelAnswer = await self._sender.json(MODEL_PROVIDERS_REMOVE_MODEL, {"name": name, "alias": alias}, ("name", "alias", ), options)
        return answer


class AsyncFaultsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def inject(
        self,
        *,
        body: Union[FaultsInjectBody1, FaultsInjectBody2, FaultsInjectBody3, FaultsInjectBody4],
        options: Optional[CallOptions] = None,
    ) -> Fault:
        """Inject a fault. Only where `spec.chaos` is on, for actors of the tenants it names; nodes need `svc-system` among them. (`POST /v1/chaos/faults`)"""
        answer: Fault = await self._sender.json(FAULTS_INJECT, {"body": body}, ("body", ), options)
        return answer

    async def list(
        self,
        *,
        limit: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> FaultsListAnswer:
        """List the requested faults, newest first, with the numbers of injected ones (`GET /v1/chaos/faults`)"""
        # limit: Maximum number of entries; default 50, at most 1000.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: FaultsListAnswer = await self._sender.json(FAULTS_LIST, {"limit": limit, "page_token": page_token}, (), options)
        return answer


class AsyncActorsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def get(
        self,
        *,
        kind: str,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> Actor:
        """Show an actor. Its committed state, mailbox, timers and open effects, and the node that serves it. (`GET /v1/actors/{kind}/{id}`)"""
        # kind: the kind of an actor, such as execution or workflow
        # id: the id of an actor
        answer: Actor = await self._sender.json(ACTORS_GET, {"kind": kind, "id": id}, ("kind", "id", ), options)
        return answer

    async def list_mailbox(
        self,
        *,
        kind: str,
        id: str,
        limit: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> WaitingMessages:
        """List the messages that wait for an actor. Without their payloads. It reads the log of the partition, so a page may be short, or empty, although another follows. (`GET /v1/actors/{kind}/{id}/mailbox`)"""
        # limit: Maximum number of entries; default 100, at most 1000.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        # kind: the kind of an actor, such as execution or workflow
        # id: the id of an actor
        answer: WaitingMessages = await self._sender.json(ACTORS_LIST_MAILBOX, {"limit": limit, "page_token": page_token, "kind": kind, "id": id}, ("kind", "id", ), options)
        return answer

    async def list_history(
        self,
        *,
        kind: str,
        id: str,
        order: Optional[Literal['oldest_first', 'newest_first']] = None,
        limit: Optional[int] = None,
        page_token: Optional[str] = None,
        next: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> ActorHistory:
        """List the deliveries to an actor (`GET /v1/actors/{kind}/{id}/history`)"""
        # limit: Maximum number of entries; default 100, at most 1000.
        # page_token: `next_page_token` of the page before, under the same conditions.
        # next: Same as `page_token`.
        # kind: the kind of an actor, such as execution or workflow
        # id: the id of an actor
        answer: ActorHistory = await self._sender.json(ACTORS_LIST_HISTORY, {"order": order, "limit": limit, "page_token": page_token, "next": next, "kind": kind, "id": id}, ("kind", "id", ), options)
        return answer

    async def get_state(
        self,
        *,
        at: str,
        kind: str,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> ActorStateAt:
        """Show the state of an actor after a message. Rebuilt by a replay of at most 50000 deliveries. (`GET /v1/actors/{kind}/{id}/state`)"""
        # at: A message that the actor got.
        # kind: the kind of an actor, such as execution or workflow
        # id: the id of an actor
        answer: ActorStateAt = await self._sender.json(ACTORS_GET_STATE, {"at": at, "kind": kind, "id": id}, ("at", "kind", "id", ), options)
        return answer

    async def get_diff(
        self,
        *,
        to: str,
        kind: str,
        id: str,
        from_: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> ActorStateDiff:
        """Show what changed in the state of an actor between two messages (`GET /v1/actors/{kind}/{id}/diff`)"""
        # from_: State after this message; default: just before `to`.
        # to: State after this message.
        # kind: the kind of an actor, such as execution or workflow
        # id: the id of an actor
        answer: ActorStateDiff = await self._sender.json(ACTORS_GET_DIFF, {"from": from_, "to": to, "kind": kind, "id": id}, ("to", "kind", "id", ), options)
        return answer


class AsyncDeadLettersApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        kind: Optional[str] = None,
        status: Optional[Literal['open', 'replayed', 'discarded']] = None,
        limit: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> DeadLettersListAnswer:
        """List dead letters, newest first. A page may hold fewer letters than asked for: only those that the caller may see. (`GET /v1/dead-letters`)"""
        # limit: Maximum number of entries; default 50, at most 200.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: DeadLettersListAnswer = await self._sender.json(DEAD_LETTERS_LIST, {"kind": kind, "status": status, "limit": limit, "page_token": page_token}, (), options)
        return answer

    async def get(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> DeadLetterInFull:
        """Show a dead letter with its payload (`GET /v1/dead-letters/{id}`)"""
        # id: Id of the letter.
        answer: DeadLetterInFull = await self._sender.json(DEAD_LETTERS_GET, {"id": id}, ("id", ), options)
        return answer

    async def replay(
        self,
        *,
        id: str,
        body: Union[DeadLettersReplayBodyReason, None],
        options: Optional[CallOptions] = None,
    ) -> DeadLetterInFull:
        """Send the message of a dead letter to its actor again. At most 5 times. The letter keeps who did it, when and why. (`POST /v1/dead-letters/{id}/replay`)"""
        # id: Id of the letter.
        answer: DeadLetterInFull = await self._sender.json(DEAD_LETTERS_REPLAY, {"id": id, "body": body}, ("id", "body", ), options)
        return answer

    async def discard(
        self,
        *,
        id: str,
        reason: str,
        options: Optional[CallOptions] = None,
    ) -> DeadLetterInFull:
        """Mark a dead letter as settled without a replay. It stays as a record and cannot be replayed any more. (`POST /v1/dead-letters/{id}/discard`)"""
        # id: Id of the letter.
        answer: DeadLetterInFull = await self._sender.json(DEAD_LETTERS_DISCARD, {"id": id, "reason": reason}, ("id", "reason", ), options)
        return answer


class AsyncTracesApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        kind: Optional[str] = None,
        name: Optional[str] = None,
        status: Optional[Literal['running', 'completed', 'failed', 'cancelled']] = None,
        min_duration_ms: Optional[int] = None,
        max_duration_ms: Optional[int] = None,
        error_code: Optional[str] = None,
        node: Optional[str] = None,
        actor_kind: Optional[str] = None,
        text: Optional[str] = None,
        limit: Optional[int] = None,
        page_token: Optional[str] = None,
        next: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> TracesListAnswer:
        """List traces, newest first. One row for each client call. The work of a call is bounded: a page may be short, or empty, although `next` says that more follows. (`GET /v1/traces`)"""
        # from_: Only traces that began at this time or later.
        # to: Only traces that began at this time or earlier.
        # kind: Kind of the actor that the root went to.
        # name: Name of the agent or workflow.
        # min_duration_ms: Shortest duration. Running traces have none.
        # max_duration_ms: Longest duration.
        # error_code: Code of the failure.
        # node: Node that handled the root.
        # actor_kind: A kind of actors that got a delivery.
        # text: Part of a name, id, error, or of the payload of the root.
        # limit: Maximum number of entries; default 50, at most 200.
        # page_token: `next_page_token` of the page before, under the same conditions.
        # next: Same as `page_token`.
        answer: TracesListAnswer = await self._sender.json(TRACES_LIST, {"from": from_, "to": to, "kind": kind, "name": name, "status": status, "min_duration_ms": min_duration_ms, "max_duration_ms": max_duration_ms, "error_code": error_code, "node": node, "actor_kind": actor_kind, "text": text, "limit": limit, "page_token": page_token, "next": next}, (), options)
        return answer

    async def get_critical_path(
        self,
        *,
        trace_id: str,
        options: Optional[CallOptions] = None,
    ) -> CriticalPath:
        """Show the critical path of a trace. The chain of causes that ended last, as stretches of time without gaps. (`GET /v1/traces/{trace_id}/critical-path`)"""
        # trace_id: W3C trace id.
        answer: CriticalPath = await self._sender.json(TRACES_GET_CRITICAL_PATH, {"trace_id": trace_id}, ("trace_id", ), options)
        return answer

    async def get_summary(
        self,
        *,
        trace_id: str,
        options: Optional[CallOptions] = None,
    ) -> TraceSummary:
        """Show how the time of a trace was spent (`GET /v1/traces/{trace_id}/summary`)"""
        # trace_id: W3C trace id.
        answer: TraceSummary = await self._sender.json(TRACES_GET_SUMMARY, {"trace_id": trace_id}, ("trace_id", ), options)
        return answer

    async def get(
        self,
        *,
        trace_id: str,
        limit: Optional[int] = None,
        page_token: Optional[str] = None,
        next: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> Trace:
        """Show a trace: its deliveries and effects. In the order of time, page by page. With `Accept: application/x-ndjson` the whole trace as lines: `{"trace": …}` first, then `{"delivery": …}` and `{"effect": …}`. (`GET /v1/traces/{trace_id}`)"""
        # limit: Maximum number of entries; default 1000, at most 1000.
        # page_token: `next_page_token` of the page before, under the same conditions.
        # next: Same as `page_token`.
        # trace_id: W3C trace id.
        answer: Trace = await self._sender.json(TRACES_GET, {"limit": limit, "page_token": page_token, "next": next, "trace_id": trace_id}, ("trace_id", ), options)
        return answer


class AsyncMessagesApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def get(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> Message:
        """Show a message with its outcome (`GET /v1/messages/{id}`)"""
        # id: Id of a message.
        answer: Message = await self._sender.json(MESSAGES_GET, {"id": id}, ("id", ), options)
        return answer

    async def list_causes(
        self,
        *,
        id: str,
        depth: Optional[int] = None,
        options: Optional[CallOptions] = None,
    ) -> MessageChain:
        """List the messages that led to a message (`GET /v1/messages/{id}/causes`)"""
        # depth: Most messages in a row; at most 20.
        # id: Id of a message.
        answer: MessageChain = await self._sender.json(MESSAGES_LIST_CAUSES, {"depth": depth, "id": id}, ("id", ), options)
        return answer

    async def list_effects(
        self,
        *,
        id: str,
        depth: Optional[int] = None,
        options: Optional[CallOptions] = None,
    ) -> MessageChain:
        """List the messages that followed from a message (`GET /v1/messages/{id}/effects`)"""
        # depth: Most messages in a row; at most 20.
        # id: Id of a message.
        answer: MessageChain = await self._sender.json(MESSAGES_LIST_EFFECTS, {"depth": depth, "id": id}, ("id", ), options)
        return answer


class AsyncRecordingsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def run(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> RunRecording:
        """Begin the recording of a run. The first line of the file, and the actors whose lines follow. (`GET /v1/runs/{id}/recording`)"""
        # id: UUID
        answer: RunRecording = await self._sender.json(RECORDINGS_RUN, {"id": id}, ("id", ), options)
        return answer

    async def actor(
        self,
        *,
        kind: str,
        id: str,
        next: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> ActorRecording:
        """Read the recorded lines of an actor. Its state and events, then its deliveries with their messages, without secrets, page by page. (`GET /v1/actors/{kind}/{id}/recording`)"""
        answer: ActorRecording = await self._sender.json(RECORDINGS_ACTOR, {"next": next, "kind": kind, "id": id}, ("kind", "id", ), options)
        return answer


class AsyncAuditApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        subject: Optional[str] = None,
        operation: Optional[str] = None,
        outcome: Optional[Literal['ok', 'denied', 'failed', 'begun']] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        limit: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> AuditListAnswer:
        """List what callers of the tenant changed, and denials, newest first. For administrators. A page with conditions may hold less than its limit although more follow. (`GET /v1/audit`)"""
        # subject: Who called.
        # operation: Name of the operation, such as agents.delete.
        # from_: ISO 8601, inclusive.
        # to: ISO 8601, exclusive.
        # limit: Maximum number of entries; default 100, at most 1000.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: AuditListAnswer = await self._sender.json(AUDIT_LIST, {"subject": subject, "operation": operation, "outcome": outcome, "from": from_, "to": to, "limit": limit, "page_token": page_token}, (), options)
        return answer

    async def list_chains(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> AuditListChainsAnswer:
        """List the audit chains of the tenant, one for each node, with signed statements about their ends (`GET /v1/audit/chains`)"""
        answer: AuditListChainsAnswer = await self._sender.json(AUDIT_LIST_CHAINS, {}, (), options)
        return answer

    async def list_records(
        self,
        *,
        node: str,
        after: Optional[int] = None,
        limit: Optional[int] = None,
        options: Optional[CallOptions] = None,
    ) -> AuditListRecordsAnswer:
        """Page through the records of one audit chain, in order (`GET /v1/audit/records`)"""
        # after: Sequence behind which the records begin.
        answer: AuditListRecordsAnswer = await self._sender.json(AUDIT_LIST_RECORDS, {"node": node, "after": after, "limit": limit}, ("node", ), options)
        return answer


class AsyncExecuteApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def intent(
        self,
        *,
        intent: str,
        inputs: Optional[Dict[str, Any]] = None,
        language: Optional[Literal['python', 'javascript', 'bash']] = None,
        volume_id: Optional[str] = None,
        timeout_seconds: Optional[int] = None,
        options: Optional[CallOptions] = None,
    ) -> PipelineStarted:
        """Reach a goal by a program. An agent writes the program, a container without a network runs it. Answers as soon as the start is durable; read the result at /v1/execute/{id}, follow the run at `stream_url`. (`POST /v1/execute/intent`)"""
        # intent: The goal, in plain words.
        # inputs: What the program reads, as JSON, in the variable SVC_INPUTS.
        # language: Of the program.
        # volume_id: A persistent volume, read-only below /workspace; tier pro and above.
        # timeout_seconds: Time limit of the program; default and maximum: what the tier of the caller allows.
        answer: PipelineStarted = await self._sender.json(EXECUTE_INTENT, {"intent": intent, "inputs": inputs, "language": language, "volume_id": volume_id, "timeout_seconds": timeout_seconds}, ("intent", ), options)
        return answer

    async def start(
        self,
        *,
        prompt: str,
        options: Optional[CallOptions] = None,
    ) -> PipelineStarted:
        """Reach a goal by a program, with defaults. POST /v1/execute/intent with nothing but the goal. (`POST /v1/execute`)"""
        # prompt: The goal, in plain words.
        answer: PipelineStarted = await self._sender.json(EXECUTE_START, {"prompt": prompt}, ("prompt", ), options)
        return answer

    async def get(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> Union[ExecuteGetAnswerStatus, ExecuteGetAnswer2, ExecuteGetAnswer3]:
        """Show how a pipeline execution stands. Running, completed with its result, or failed with the reason and the state that failed. (`GET /v1/execute/{id}`)"""
        # id: UUID
        answer: Union[ExecuteGetAnswerStatus, ExecuteGetAnswer2, ExecuteGetAnswer3] = await self._sender.json(EXECUTE_GET, {"id": id}, ("id", ), options)
        return answer


class AsyncFeedApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    def stream(
        self,
        *,
        topic: Optional[List[Literal['run', 'approval', 'node']]] = None,
        status: Optional[List[Literal['pending', 'running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled']]] = None,
        outcome: Optional[Literal['succeeded', 'failed', 'cancelled']] = None,
        kind: Optional[Literal['execution', 'workflow']] = None,
        name: Optional[str] = None,
        version: Optional[str] = None,
        label: Optional[List[str]] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        tag: Optional[List[str]] = None,
        node: Optional[str] = None,
        wait_reason: Optional[List[Literal['node', 'timer', 'approval', 'child', 'judges', 'effect', 'volumes', 'turn']]] = None,
        error_code: Optional[str] = None,
        parent: Optional[str] = None,
        trace_id: Optional[str] = None,
        text: Optional[str] = None,
        run: Optional[str] = None,
        last_event_id: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> AsyncIterator[StreamedEvent[FeedEvent]]:
        """Follow the changes of runs, approvals and nodes live. Server-sent events without end. Resume with the id of the last record: nothing in between is missed, on any node. A reader too far behind gets `reset` and reads the lists again. A record may come twice. The conditions are those of the list of runs. When the key or token that opened it is revoked or has expired, it ends within a minute with a record of the event type `access_ended`: `{"access_ended": {"code", "message"}}`. (`GET /v1/feed`)"""
        # topic: Default: run and approval; node needs the right to see the fleet. A key needs the scope of each.
        # status: Any of these; may be repeated.
        # outcome: How it ended.
        # name: Name of the agent or workflow.
        # label: `KEY=VALUE` given at the start; may be repeated, and all must match.
        # from_: Started at this time or later.
        # to: Started before this time.
        # tag: Tags that its node must have; all must match.
        # node: Id of the node that handled its last message.
        # wait_reason: What an unfinished one waits for; any of these.
        # parent: Id of the run, panel of judges or stimulus that started it.
        # trace_id: Runs of this trace.
        # text: The beginning of the id, or a part of the name.
        # run: Run whose events are sent too.
        # last_event_id: Same as the header Last-Event-ID, for clients that cannot set headers.
        answer: AsyncIterator[StreamedEvent[FeedEvent]] = self._sender.stream(FEED_STREAM, {"topic": topic, "status": status, "outcome": outcome, "kind": kind, "name": name, "version": version, "label": label, "from": from_, "to": to, "tag": tag, "node": node, "wait_reason": wait_reason, "error_code": error_code, "parent": parent, "trace_id": trace_id, "text": text, "run": run, "last_event_id": last_event_id}, (), options)
        return answer


class AsyncNodesApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        status: Optional[Literal['ACTIVE', 'DRAINING', 'UNHEALTHY']] = None,
        tag: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> NodesListAnswer:
        """List the nodes: members with a node lease, and registered peers (`GET /v1/cluster/nodes`)"""
        # tag: Only nodes with this tag.
        answer: NodesListAnswer = await self._sender.json(NODES_LIST, {"status": status, "tag": tag}, (), options)
        return answer

    async def get(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> Node:
        """Show a node (`GET /v1/cluster/nodes/{id}`)"""
        # id: Node id.
        answer: Node = await self._sender.json(NODES_GET, {"id": id}, ("id", ), options)
        return answer

    async def remove(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> NodesRemoveAnswer:
        """Forget a node with its key and registration (`DELETE /v1/cluster/nodes/{id}`)"""
        # id: Node id.
        answer: NodesRemoveAnswer = await self._sender.json(NODES_REMOVE, {"id": id}, ("id", ), options)
        return answer

    async def drain(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> NodesDrainAnswer:
        """Drain a node: it hands its partitions over and gets no new work (`POST /v1/cluster/nodes/{id}/drain`)"""
        # id: Node id.
        answer: NodesDrainAnswer = await self._sender.json(NODES_DRAIN, {"id": id}, ("id", ), options)
        return answer

    async def shutdown(
        self,
        *,
        id: str,
        body: Union[NodesShutdownBodyReason, None],
        options: Optional[CallOptions] = None,
    ) -> NodesShutdownAnswer:
        """Drain a node, then end its process cleanly (`POST /v1/cluster/nodes/{id}/shutdown`)"""
        # id: Node id.
        answer: NodesShutdownAnswer = await self._sender.json(NODES_SHUTDOWN, {"id": id, "body": body}, ("id", "body", ), options)
        return answer


class AsyncVolumeFilesApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        id: str,
        path: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> VolumeFilesListAnswer:
        """List a directory of a volume (`GET /v1/volumes/{id}/files`)"""
        # path: Path from the root of the volume; `..` is refused.
        # id: UUID
        answer: VolumeFilesListAnswer = await self._sender.json(VOLUME_FILES_LIST, {"path": path, "id": id}, ("id", ), options)
        return answer

    async def delete(
        self,
        *,
        path: str,
        id: str,
        recursive: Optional[Literal['', 'true', 'false']] = None,
        options: Optional[CallOptions] = None,
    ) -> VolumeFilesDeleteAnswer:
        """Delete a file or directory of a volume (`DELETE /v1/volumes/{id}/files`)"""
        # path: Path from the root of the volume; `..` is refused.
        # recursive: Deletes directories with their contents.
        # id: UUID
        answer: VolumeFilesDeleteAnswer = await self._sender.json(VOLUME_FILES_DELETE, {"path": path, "recursive": recursive, "id": id}, ("path", "id", ), options)
        return answer

    async def read(
        self,
        *,
        path: str,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> bytes:
        """Download a file of a volume (`GET /v1/volumes/{id}/files/content`)"""
        # path: Path from the root of the volume; `..` is refused.
        # id: UUID
        answer: bytes = await self._sender.bytes(VOLUME_FILES_READ, {"path": path, "id": id}, ("path", "id", ), options)
        return answer

    async def write(
        self,
        *,
        path: str,
        id: str,
        body: Optional[Union[str, bytes]] = None,
        options: Optional[CallOptions] = None,
    ) -> VolumeFilesWriteAnswer:
        """Upload a file to a volume. The body is the content, of any type. The file changes in one step when all of it has arrived. (`PUT /v1/volumes/{id}/files/content`)"""
        # path: Path from the root of the volume; `..` is refused.
        # id: UUID
        answer: VolumeFilesWriteAnswer = await self._sender.json(VOLUME_FILES_WRITE, {"path": path, "id": id, "body": body}, ("path", "id", ), options)
        return answer

    async def mkdir(
        self,
        *,
        id: str,
        path: str,
        options: Optional[CallOptions] = None,
    ) -> VolumeFilesMkdirAnswer:
        """Make a directory in a volume. With its parents. An existing directory is no error. (`POST /v1/volumes/{id}/files/mkdir`)"""
        # id: UUID
        # path: Path from the root of the volume; `..` is refused.
        answer: VolumeFilesMkdirAnswer = await self._sender.json(VOLUME_FILES_MKDIR, {"id": id, "path": path}, ("id", "path", ), options)
        return answer


class AsyncSealApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def attest(
        self,
        *,
        agent_id: str,
        execution_id: str,
        container_id: str,
        agent_public_key: str,
        options: Optional[CallOptions] = None,
    ) -> SealAttestAnswer:
        """Attest an agent: a session and its security token (`POST /v1/seal/attest`)"""
        # container_id: Id of the container that was started for the execution; without a container, the execution id.
        # agent_public_key: Base64 of an Ed25519 public key: the 32 raw bytes, or the SPKI.
        answer: SealAttestAnswer = await self._sender.json(SEAL_ATTEST, {"agent_id": agent_id, "execution_id": execution_id, "container_id": container_id, "agent_public_key": agent_public_key}, ("agent_id", "execution_id", "container_id", "agent_public_key", ), options)
        return answer

    async def invoke(
        self,
        *,
        body: SealEnvelope,
        options: Optional[CallOptions] = None,
    ) -> InvokeAnswer:
        """Call a tool with a signed envelope. The same id with the same payload again is answered from the record; the tool is not run twice. (`POST /v1/seal/invoke`)"""
        answer: InvokeAnswer = await self._sender.json(SEAL_INVOKE, {"body": body}, ("body", ), options)
        return answer

    async def invoke_alias(
        self,
        *,
        body: SealEnvelope,
        options: Optional[CallOptions] = None,
    ) -> InvokeAnswer:
        """Call a tool with a signed envelope. The same id with the same payload again is answered from the record; the tool is not run twice. (`POST /v1/invoke`)"""
        answer: InvokeAnswer = await self._sender.json(SEAL_INVOKE_ALIAS, {"body": body}, ("body", ), options)
        return answer

    async def list_tools(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> SealListToolsAnswer:
        """List the tools of an attested agent’s session. The bearer is the security token of the session, not one of an identity provider. (`GET /v1/seal/tools`)"""
        answer: SealListToolsAnswer = await self._sender.json(SEAL_LIST_TOOLS, {}, (), options)
        return answer


class AsyncSealSessionsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        execution_id: Optional[str] = None,
        limit: Optional[int] = None,
        skip: Optional[int] = None,
        page_token: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> SealSessionsListAnswer:
        """List sessions in which tools were called, newest first (`GET /v1/seal/sessions`)"""
        # limit: Maximum number of entries; default 100, at most 1000.
        # skip: Number of entries to skip.
        # page_token: `next_page_token` of the page before, under the same conditions; costs the same however far behind.
        answer: SealSessionsListAnswer = await self._sender.json(SEAL_SESSIONS_LIST, {"execution_id": execution_id, "limit": limit, "skip": skip, "page_token": page_token}, (), options)
        return answer

    async def get(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> SealSession:
        """Show a session (`GET /v1/seal/sessions/{id}`)"""
        # id: UUID
        answer: SealSession = await self._sender.json(SEAL_SESSIONS_GET, {"id": id}, ("id", ), options)
        return answer

    async def revoke(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> SealSessionsRevokeAnswer:
        """Revoke a session: nothing more is called in it (`POST /v1/seal/sessions/{id}/revoke`)"""
        # id: UUID
        answer: SealSessionsRevokeAnswer = await self._sender.json(SEAL_SESSIONS_REVOKE, {"id": id}, ("id", ), options)
        return answer

    async def audit(
        self,
        *,
        id: str,
        options: Optional[CallOptions] = None,
    ) -> SealSessionsAuditAnswer:
        """Export the audit chain of a session (`GET /v1/seal/sessions/{id}/audit`)"""
        # id: UUID
        answer: SealSessionsAuditAnswer = await self._sender.json(SEAL_SESSIONS_AUDIT, {"id": id}, ("id", ), options)
        return answer


class AsyncToolsApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def list(
        self,
        *,
        query: Optional[str] = None,
        schemas: Optional[Literal['', 'true', 'false']] = None,
        options: Optional[CallOptions] = None,
    ) -> ToolsListAnswer:
        """List the tools the caller may use. Without those of files and commands, which belong to an execution. (`GET /v1/tools`)"""
        # query: Text contained in the name or the description.
        # schemas: Includes the JSON Schema of the arguments; without a value it is true.
        answer: ToolsListAnswer = await self._sender.json(TOOLS_LIST, {"query": query, "schemas": schemas}, (), options)
        return answer

    async def call(
        self,
        *,
        name: str,
        body: Union[Dict[str, Any], None],
        options: Optional[CallOptions] = None,
    ) -> ToolResult:
        """Call a tool. What a tool that ran reports as its failure is a 200 with `isError`. Each call is decided, recorded and chained as in SEAL. (`POST /v1/tools/{name}`)"""
        # name: Such as svc.agent.list.
        answer: ToolResult = await self._sender.json(TOOLS_CALL, {"name": name, "body": body}, ("name", "body", ), options)
        return answer


class AsyncTapApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    def stream(
        self,
        *,
        kind: Optional[str] = None,
        actor: Optional[str] = None,
        type: Optional[str] = None,
        outcome: Optional[Literal['done', 'refused', 'retried', 'deferred', 'stale', 'dead-lettered', 'unknown']] = None,
        trace: Optional[str] = None,
        options: Optional[CallOptions] = None,
    ) -> AsyncIterator[StreamedEvent[TapEvent]]:
        """Follow deliveries and storage events live. Server-sent events without end: deliveries as they are written to the ledger, about a second after their commit, and storage events. When the reader or the node is too slow some are skipped, and `dropped` says how many. When the key or token that opened it is revoked or has expired, it ends within a minute with a record of the event type `access_ended`: `{"access_ended": {"code", "message"}}`. (`GET /v1/tap`)"""
        # kind: Kind of the actors; `volume`: storage events.
        # actor: One actor: kind/id; `volume/ID`: storage events of one volume.
        # type: Type of the messages, or name of a storage event.
        # trace: One trace.
        answer: AsyncIterator[StreamedEvent[TapEvent]] = self._sender.stream(TAP_STREAM, {"kind": kind, "actor": actor, "type": type, "outcome": outcome, "trace": trace}, (), options)
        return answer


class AsyncJwksApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def get(
        self,
        *,
        options: Optional[CallOptions] = None,
    ) -> JwksGetAnswer:
        """Public keys of node tokens, of all controllers (`GET /.well-known/jwks.json`)"""
        answer: JwksGetAnswer = await self._sender.json(JWKS_GET, {}, (), options)
        return answer


class AsyncWebhooksApi:
    def __init__(self, sender: AsyncSender) -> None:
        self._sender = sender

    async def receive(
        self,
        *,
        source: str,
        body: Union[str, bytes],
        options: Optional[CallOptions] = None,
    ) -> WebhooksReceiveAnswer:
        """Take a webhook and start its workflow. The raw body is signed with a secret of the source, in the scheme that `spec.stimulus.webhooks` of the node gives it: `svc` unless another one is set. The secret is the environment variable SVC_WEBHOOK_SECRET_<SOURCE> of the node unless others are set. Answers when the workflow execution is durably started. A repeat is 409, with schemes stripe and slack 200 with `duplicate`. (`POST /v1/webhooks/{source}`)"""
        answer: WebhooksReceiveAnswer = await self._sender.json(WEBHOOKS_RECEIVE, {"source": source, "body": body}, ("source", "body", ), options)
        return answer


class AsyncOperations:
    """The operations of the API, by resource."""

    def __init__(self, sender: AsyncSender) -> None:
        self.health = AsyncHealthApi(sender)
        self.agents = AsyncAgentsApi(sender)
        self.executions = AsyncExecutionsApi(sender)
        self.workflows = AsyncWorkflowsApi(sender)
        self.workflow_executions = AsyncWorkflowExecutionsApi(sender)
        self.runs = AsyncRunsApi(sender)
        self.approvals = AsyncApprovalsApi(sender)
        self.stimuli = AsyncStimuliApi(sender)
        self.volumes = AsyncVolumesApi(sender)
        self.patterns = AsyncPatternsApi(sender)
        self.schemas = AsyncSchemasApi(sender)
        self.callers = AsyncCallersApi(sender)
        self.api_keys = AsyncApiKeysApi(sender)
        self.rate_limits = AsyncRateLimitsApi(sender)
        self.secrets = AsyncSecretsApi(sender)
        self.secret_keys = AsyncSecretKeysApi(sender)
        self.join_tokens = AsyncJoinTokensApi(sender)
        self.cluster = AsyncClusterApi(sender)
        self.model_providers = AsyncModelProvidersApi(sender)
        self.faults = AsyncFaultsApi(sender)
        self.actors = AsyncActorsApi(sender)
        self.dead_letters = AsyncDeadLettersApi(sender)
        self.traces = AsyncTracesApi(sender)
        self.messages = AsyncMessagesApi(sender)
        self.recordings = AsyncRecordingsApi(sender)
        self.audit = AsyncAuditApi(sender)
        self.execute = AsyncExecuteApi(sender)
        self.feed = AsyncFeedApi(sender)
        self.nodes = AsyncNodesApi(sender)
        self.volume_files = AsyncVolumeFilesApi(sender)
        self.seal = AsyncSealApi(sender)
        self.seal_sessions = AsyncSealSessionsApi(sender)
        self.tools = AsyncToolsApi(sender)
        self.tap = AsyncTapApi(sender)
        self.jwks = AsyncJwksApi(sender)
        self.webhooks = AsyncWebhooksApi(sender)
