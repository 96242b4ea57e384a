import { type ClientReadableStream, credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import { pino } from 'pino';
import { type ExecutionEvent, SvcRuntimeService } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { createAuthenticator } from '../../../security/authenticator.ts';
import type { GrpcLimits } from '../../../transport/grpc/limits.ts';
import type { GrpcServerParts } from '../../../transport/grpc/parts.ts';
import { createGrpcServer } from '../../../transport/grpc/svc-runtime.ts';
import type { Readiness } from '../../../transport/health.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { FakeCatalog } from '../rest/fake-catalog.ts';
import { FakeExecutions } from '../rest/fake-executions.ts';
import { clientOf, request } from './call.ts';

/** A server on a real socket in front of fakes; the test chooses their events. */
export async function grpcServer(
  limits: Partial<GrpcLimits> = {},
  parts: Partial<Pick<GrpcServerParts, 'tierLimits' | 'authenticator'>> = {},
) {
  const agents = new FakeCatalog();
  const executions = new FakeExecutions();
  const readiness: { now: Readiness; failure?: Error; until?: Promise<void> } = { now: { ready: true } };
  const logged: string[] = [];
  const server = createGrpcServer({
    agents,
    executions,
    authenticator: createAuthenticator({ realms: [] }),
    ...parts,
    auth: { enabled: true, exempt_methods: [] },
    logger: pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) }),
    version: '0.0.1-test',
    health: {
      async ready() {
        await readiness.until;
        if (readiness.failure !== undefined) throw readiness.failure;
        return readiness.now;
      },
    },
    limits: { closeGraceMs: 500, healthPollMs: 10, ...limits },
  });
  const address = await server.listen('127.0.0.1', 0);
  const client = clientOf(address, { 'grpc.max_receive_message_length': -1 });
  const { agent_id: agentId } = await agents.deploy(
    { tenant: 'svc-system' },
    'metadata:\n  name: writer\n  version: 1.0.0\n',
    { force: false },
  );
  /** Starts a run; `id` resolves when the server has started it. */
  const run = async (call: ClientReadableStream<ExecutionEvent> = client.executeAgent(request(agentId))) => {
    // The test reads how it ends; until then a failure must not be unhandled.
    call.on('error', () => {});
    const before = executions.starts.length;
    const start = await waitUntil('the execution was started', () => executions.starts[before]);
    return { call, id: start.request.executionId };
  };
  return {
    server,
    address,
    client,
    agentId,
    executions,
    readiness,
    logged,
    run,
    async [Symbol.asyncDispose]() {
      client.close();
      await server.close();
    },
  };
}

/** A client that sends raw bytes. */
export function bytesClient(address: string) {
  const bytes = (value: Buffer): Buffer => value;
  const codec = {
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  };
  const Client = makeGenericClientConstructor(
    {
      AttestAgent: { ...SvcRuntimeService.attestAgent, ...codec },
      ValidateWithJudges: { ...SvcRuntimeService.validateWithJudges, ...codec },
    },
    'svc.runtime.v1.SvcRuntime',
  );
  return new Client(address, credentials.createInsecure());
}
