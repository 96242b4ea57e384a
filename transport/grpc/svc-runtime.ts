import type { Server } from '@grpc/grpc-js';
import type { NewPattern, PatternQuery, Patterns } from '../../catalog/patterns-api.ts';
import {
  AttestAgentRequest,
  ExecuteSystemCommandRequest,
  ExecuteSystemCommandResponse,
  IngestStimulusRequest,
  IngestStimulusResponse,
  InvokeToolRequest,
  QueryMemoryRequest,
  QueryMemoryResponse,
  StoreMemoryPatternRequest,
  StoreMemoryPatternResponse,
  SvcRuntimeClient,
  SvcRuntimeService,
  ValidateRequest,
} from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { type CommandRunner, parseCommand } from '../../usecases/ports/commands.ts';
import { duplicateOf, type IngestStimulus, type StimulusApi } from '../../usecases/stimuli.ts';
import { OpenStreams } from '../open-streams.ts';
import { admit } from './access.ts';
import { callerOf, hasBegun, type SealCallers, sealCaller, whileCalled } from './call-context.ts';
import { createEndpoint, type GrpcServer } from './endpoint.ts';
import { executeAgent } from './execute-agent.ts';
import { GRPC_LIMITS, type GrpcLimits } from './limits.ts';
import type { GrpcParts, GrpcServerParts } from './parts.ts';
import { attestAgent, invokeTool } from './seal-methods.ts';
import { decoded, inBytes, type UnaryInBytes, unary, unserved } from './service.ts';
import { validateWithJudges } from './validate-with-judges.ts';

/** Adds `svc.runtime.v1.SvcRuntime` (G1). */
function addSvcRuntime(server: Server, parts: GrpcParts): void {
  const service = SvcRuntimeService;
  const methods = {
    executeAgent: inBytes(service.executeAgent),
    executeSystemCommand: inBytes(service.executeSystemCommand),
    validateWithJudges: inBytes(service.validateWithJudges),
    queryMemoryPatterns: inBytes(service.queryMemoryPatterns),
    storeMemoryPattern: inBytes(service.storeMemoryPattern),
    attestAgent: inBytes(service.attestAgent),
    invokeTool: inBytes(service.invokeTool),
    ingestStimulus: inBytes(service.ingestStimulus),
  };
  /** A method for which this node has the part, or the refusal of a valid request. */
  const serve = <Part>(
    request: Parameters<typeof unserved>[1],
    part: Part | undefined,
    method: (parts: GrpcParts, part: Part, callers: SealCallers) => UnaryInBytes,
  ): UnaryInBytes => (part === undefined ? unserved(parts, request) : method(parts, part, sealCaller));
  server.addService(methods, {
    executeAgent: executeAgent(parts),
    executeSystemCommand: executeSystemCommand(parts),
    validateWithJudges: serve(ValidateRequest, parts.judges, validateWithJudges),
    queryMemoryPatterns: serve(QueryMemoryRequest, parts.patterns, queryMemoryPatterns),
    storeMemoryPattern: serve(StoreMemoryPatternRequest, parts.patterns, storeMemoryPattern),
    attestAgent: serve(AttestAgentRequest, parts.seal, attestAgent),
    invokeTool: serve(InvokeToolRequest, parts.seal, invokeTool),
    ingestStimulus: serve(IngestStimulusRequest, parts.stimuli, ingestStimulus),
  });
}

/** Methods that bring new work. InvokeTool is not listed: the called tool decides (usecases/seal). */
const NEW_WORK: ReadonlySet<string> = new Set(
  ['ExecuteAgent', 'ExecuteSystemCommand', 'ValidateWithJudges', 'IngestStimulus'].map(
    (method) => `/${SvcRuntimeClient.serviceName}/${method}`,
  ),
);

/** Creates the gRPC server for clients (G1). It does not listen yet. */
export function createGrpcServer(given: GrpcServerParts): GrpcServer {
  const limits: GrpcLimits = { ...GRPC_LIMITS, ...given.limits };
  const parts: GrpcParts = { ...given, limits, streams: new OpenStreams(limits.streams) };
  return createEndpoint(
    {
      ...parts,
      services: [SvcRuntimeClient.serviceName],
      admit: (path, metadata, authority) => admit(path, { metadata, authority }, parts),
      enter: (path) => (NEW_WORK.has(path) ? parts.admission?.enter() : undefined),
    },
    (server) => addSvcRuntime(server, parts),
  );
}

/** Time-out of a request that names none (G8). */
const DEFAULT_TIMEOUT_SECONDS = 600;

const MAX_TIMEOUT_SECONDS = 86_400;

/**
 * ExecuteSystemCommand (G8): runs a shell command on this host, in an empty workspace of its own. Every exit code is a
 * normal answer; a time-out is DEADLINE_EXCEEDED. The end of the call, by cancel, deadline or a lost connection, ends
 * the command with all its processes.
 */
function executeSystemCommand(parts: GrpcParts): UnaryInBytes {
  const { commands } = parts;
  if (commands === undefined) return unserved(parts, ExecuteSystemCommandRequest);
  return unary(parts, async (call, trailers) => {
    const { tenant } = callerOf(call.metadata).identity;
    const asked = commandOf(decoded(ExecuteSystemCommandRequest, call.request));
    // The duration of the command does not show how loaded this node is, so admission stops counting the call here.
    hasBegun(call.metadata);
    const result = await whileCalled(call, (signal) => commands.run({ ...asked, tenant, workspace: null }, signal));
    const cut = cutStreams(result);
    if (cut.length > 0) trailers.set(OUTPUT_CUT_KEY, cut.join(','));
    return ExecuteSystemCommandResponse.encode(answerOf(result, asked.timeout_ms)).finish();
  });
}

function commandOf({ command, env, workdir, timeout_seconds = DEFAULT_TIMEOUT_SECONDS }: ExecuteSystemCommandRequest) {
  if (timeout_seconds < 1 || timeout_seconds > MAX_TIMEOUT_SECONDS) {
    const field = 'timeout_seconds';
    throw invalidField(field, `expected 1 to ${MAX_TIMEOUT_SECONDS}`);
  }
  // An empty workdir counts as missing: proto3 clients often send one.
  const given = workdir === undefined || workdir === '' ? {} : { workdir };
  return parseCommand({ command, env, ...given, timeout_ms: timeout_seconds * 1_000 });
}

/** Trailer that names the streams whose end is missing: `stdout`, `stderr`, or both with a comma. */
const OUTPUT_CUT_KEY = 'svc-output-cut';

type Result = Awaited<ReturnType<CommandRunner['run']>>;

/**
 * The answer to a finished command. Throws for a time-out. A command that another limit ended has the exit code of a
 * kill, and the reason as the last line of stderr.
 */
function answerOf(result: Result, timeoutMs: number) {
  const { exit_code, stdout, stdout_truncated, stderr, stderr_truncated, duration_ms, stopped_by } = result;
  if (stopped_by === 'timeout') {
    throw new SvcError('deadline_exceeded', `the command did not end within ${timeoutMs / 1_000} s and was ended`);
  }
  const [said, wrong] = [withNote(stdout, stdout_truncated), withNote(stderr, stderr_truncated)];
  if (stopped_by === undefined) return { exit_code, stdout: said, stderr: wrong, duration_ms };
  const ended = `${wrong}\nsvc: the command was ended because it used more ${stopped_by} than allowed\n`;
  return { exit_code, stdout: said, stderr: ended, duration_ms };
}

const cutStreams = ({ stdout_truncated, stderr_truncated }: Result): string[] => [
  ...(stdout_truncated ? ['stdout'] : []),
  ...(stderr_truncated ? ['stderr'] : []),
];

/** The output with a last line that says that the rest is missing. */
const withNote = (output: string, isCut: boolean): string =>
  isCut ? `${output}\nsvc: the output is cut here; the rest is missing\n` : output;

/** Trailer of ALREADY_EXISTS with the id of the first delivery (G14). */
const STIMULUS_ID_KEY = 'svc-stimulus-id';

/**
 * IngestStimulus (G14): routes a stimulus to a workflow and starts it. A caller that disconnects ends only its wait.
 */
const ingestStimulus =
  (parts: Pick<GrpcParts, 'logger'>, stimuli: StimulusApi): UnaryInBytes =>
  (call, answer) => {
    let firstId: string | undefined;
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    const ingest = unary(parts, async ({ metadata, request }) => {
      const { identity, trace } = callerOf(metadata);
      try {
        const asked = stimulusOf(decoded(IngestStimulusRequest, request), identity);
        const started = await stimuli.ingest(asked, {
          trace,
          signal: gone.signal,
          onBegun: () => hasBegun(metadata),
        });
        return IngestStimulusResponse.encode(started).finish();
      } catch (thrown) {
        firstId = duplicateOf(thrown)?.original_stimulus_id;
        throw thrown;
      }
    });
    ingest(call, (error, ...rest) => {
      if (error !== null && firstId !== undefined) error.metadata?.set(STIMULUS_ID_KEY, firstId);
      answer(error, ...rest);
    });
  };

/**
 * The stimulus of a request. An empty `idempotency_key` counts as missing, since proto3 cannot express that otherwise.
 */
function stimulusOf(request: IngestStimulusRequest, identity: Identity): IngestStimulus {
  const { source_name: source, content, idempotency_key: key, headers } = request;
  if (source.trim() === '') {
    throw invalidField('source_name', 'expected the name of a source');
  }
  return { source, content, headers, identity, ...(key === undefined || key === '' ? {} : { idempotencyKey: key }) };
}

/**
 * StoreMemoryPattern (G11): stores a new pattern in the caller's tenant, or adds weight to the one with the same
 * meaning.
 */
const storeMemoryPattern = (parts: Pick<GrpcParts, 'logger'>, patterns: Patterns): UnaryInBytes =>
  unary(parts, async ({ metadata, request }) => {
    const { tenant } = callerOf(metadata).identity;
    const stored = await patterns.store(tenant, patternOf(decoded(StoreMemoryPatternRequest, request)));
    return StoreMemoryPatternResponse.encode(stored).finish();
  });

/** The pattern of a request. An empty code counts as missing: proto3 clients often send one. */
function patternOf(request: StoreMemoryPatternRequest): NewPattern {
  const { solution_code } = request;
  return {
    errorSignature: request.error_signature,
    errorType: request.error_type,
    errorMessage: request.error_message,
    solutionApproach: request.solution_approach,
    ...(solution_code === undefined || solution_code === '' ? {} : { solutionCode: solution_code }),
    tags: request.tags,
  };
}

/**
 * QueryMemoryPatterns (G11): finds what solved similar errors in the caller's tenant. No match is an empty list and not
 * NOT_FOUND, since the request names no pattern.
 */
const queryMemoryPatterns = (parts: Pick<GrpcParts, 'logger'>, patterns: Patterns): UnaryInBytes =>
  unary(parts, async ({ metadata, request }) => {
    const { tenant } = callerOf(metadata).identity;
    const found = await patterns.query(tenant, queryOf(decoded(QueryMemoryRequest, request)));
    return QueryMemoryResponse.encode({ patterns: found.map((pattern) => ({ ...pattern })) }).finish();
  });

/** The query of a request. An empty type counts as missing: proto3 clients often send one. */
function queryOf({ error_signature, error_type, limit, min_success_score }: QueryMemoryRequest): PatternQuery {
  return {
    errorSignature: error_signature,
    ...(error_type === undefined || error_type === '' ? {} : { errorType: error_type }),
    limit,
    minSuccessScore: min_success_score,
  };
}
