import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Logger, pino } from 'pino';
import { createExecutionApi, type ExecutionApi } from './actors/execution/api.ts';
import { execution } from './actors/execution/definition.ts';
import { EXECUTIONS, type ExecutionDocument } from './actors/execution/view.ts';
import { createAgentCatalog } from './catalog/agent-catalog.ts';
import { createModelEffect } from './effects/models/model-effect.ts';
import { endLeftovers } from './effects/programs/leftovers.ts';
import { createProgramEffect } from './effects/programs/program-effect.ts';
import { startWorkspaceSweep } from './effects/programs/workspace-sweep.ts';
import { type NodeSettings, resolveSettings } from './manifests/node/settings.ts';
import { CONFIG_FILE, SETTING_SOURCES } from './manifests/node/sources.ts';
import { systemClock } from './runtime/clock.ts';
import { openDataDirectory } from './runtime/data-directory.ts';
import { SvcError } from './runtime/errors.ts';
import { SYSTEM_TENANT } from './runtime/identity.ts';
import { type OpenStores, openStores } from './runtime/open-stores.ts';
import { systemRandom } from './runtime/random.ts';
import { runtimeDefaults, startRuntime } from './runtime/runtime.ts';
import { createAuthenticator } from './security/authenticator.ts';
import { createFileSecrets } from './security/file-secrets.ts';
import { createGrpcServer } from './transport/grpc/server.ts';
import { createRestServer } from './transport/rest/server.ts';

export const VERSION = '0.1.0';

export interface NodeInput {
  /** By long name without dashes. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For embedding: where the log goes. Default: standard error. */
  readonly logger?: Logger;
}

export interface Node {
  readonly id: string;
  readonly restUrl: string;
  readonly grpcAddress: string;
  /** Lines a person wants to read at the start: where data is kept, how durable, who is let in. */
  readonly notes: readonly string[];
  /** Refuses new calls, lets running turns commit, gives everything back. */
  stop(): Promise<void>;
}

/** The process, part by part (design, Layout): settings, stores, runtime, areas, transports. */
export async function startNode(input: NodeInput): Promise<Node> {
  const settings = await readSettings(input);
  const { network, stores, kernel, iam } = settings;
  const dataDir = resolve(stores.data_dir);
  const { nodeId } = await openDataDirectory(dataDir);
  const logger = input.logger ?? pino({ level: settings.observability.logging.level, base: null }, pino.destination(2));
  const warn = (message: string, error: unknown): void => logger.warn({ err: error }, message);
  const node = settings.node.id ?? nodeId;
  const workspaces = join(dataDir, 'workspaces');
  const secrets = createFileSecrets({ directory: join(dataDir, 'secrets'), environment: input.env });
  const resolveUrl = (reference: string): Promise<string> => secrets.resolve(SYSTEM_TENANT, reference);
  const ports = await openStores({
    dataDir,
    warn,
    waitReplicas: kernel.wait_replicas,
    ...(stores.redis === undefined ? {} : { redis: await Promise.all(stores.redis.map(resolveUrl)) }),
    ...(stores.mongodb === undefined ? {} : { mongodb: await resolveUrl(stores.mongodb) }),
  });
  return closingOnFailure(ports, async () => {
    // Programs of an earlier life of this node, whose results nobody waits for any more.
    await endLeftovers(workspaces);
    const runtime = await startRuntime({
      ...ports,
      definitions: [execution],
      handlers: [
        createModelEffect({ providers: settings.llm_providers, selection: settings.llm_selection, secrets }),
        createProgramEffect({
          workspaces,
          allow: (tenant) => iam.realms.length === 0 || settings.runtime.host_commands.allow.includes(tenant),
          secrets,
          ...(settings.runtime.bootstrap_dir === undefined ? {} : { baseDirectory: settings.runtime.bootstrap_dir }),
        }),
      ],
      node,
      settings: {
        partitions: kernel.partitions,
        leaseTtlMs: kernel.lease_ttl_ms,
        leaseRenewMs: kernel.lease_renew_ms,
        mailboxBound: kernel.mailbox_bound,
        passivateAfterMs: kernel.passivate_after_ms,
        retry: { ...runtimeDefaults.retry, maxAttempts: kernel.max_turn_attempts },
      },
      warn,
    });

    const agents = await createAgentCatalog({ documents: ports.documents, clock: systemClock, random: systemRandom });
    const executions = createExecutionApi({
      client: runtime.client,
      executions: await ports.documents.collection<ExecutionDocument>(EXECUTIONS),
      archive: runtime.archive,
      node: { tags: settings.node.tags, isolation: settings.runtime.default_isolation },
    });
    const stopSweep = startWorkspaceSweep({ workspaces, ended: endedIn(executions), clock: systemClock, warn });
    const authenticator = createAuthenticator(authenticatorSettings(settings));
    const health = {
      ready: async () => (runtime.ready() ? { ready: true } : { ready: false, why: 'the node holds no partition' }),
    };
    const transports = { agents, executions, authenticator, logger, version: VERSION, health };
    const rest = createRestServer(transports);
    const grpc = createGrpcServer({ ...transports, auth: settings.grpc_auth });

    const stop = async (): Promise<void> => {
      stopSweep();
      await Promise.all([rest.close(), grpc.close()]);
      await runtime.stop();
      await authenticator.close();
      await ports.close();
    };
    try {
      const restUrl = await rest.listen({ host: network.bind, port: network.port });
      const grpcAddress = await grpc.listen(network.bind, network.grpc_port);
      const access = authenticator.required
        ? 'callers need a bearer token'
        : 'no identity provider: every call acts as the local operator in tenant svc-system';
      return { id: node, restUrl, grpcAddress, notes: [...ports.notes, access], stop };
    } catch (thrown) {
      await stop();
      throw thrown;
    }
  });
}

/** Gives the stores back when what is built on them cannot start. */
async function closingOnFailure(ports: OpenStores, build: () => Promise<Node>): Promise<Node> {
  try {
    return await build();
  } catch (thrown) {
    await ports.close();
    throw thrown;
  }
}

async function readSettings({ flags, env }: NodeInput): Promise<NodeSettings> {
  const path = flags[CONFIG_FILE.flag] ?? env[CONFIG_FILE.env];
  const file = path ?? (existsSync(CONFIG_FILE.path) ? CONFIG_FILE.path : null);
  const text = file === null ? null : await readFile(file).then(utf8Of).catch(unreadable(file));
  const resolved = resolveSettings({ flags, env, file: text });
  if (resolved.ok) return resolved.settings;
  const lines = resolved.problems.map(
    ({ path: at, line, message }) =>
      `  ${at === '' ? 'the document' : at}${line > 0 ? ` (line ${line})` : ''}: ${message}`,
  );
  throw new SvcError('invalid_config', `the node cannot start:\n${lines.join('\n')}`, { details: resolved.problems });
}

const utf8Of = (bytes: Buffer): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

const unreadable =
  (file: string) =>
  (cause: unknown): never => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    const why = code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'is not valid UTF-8' : `cannot be read (${code})`;
    throw new SvcError('invalid_config', `the configuration file ${file} ${why}`, { cause });
  };

/** An execution that is unknown has ended too: it was removed. */
const endedIn =
  (executions: ExecutionApi) =>
  async (tenant: string, id: string): Promise<boolean> => {
    try {
      return (await executions.status(tenant, id)).status !== 'running';
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.code === 'not_found') return true;
      throw thrown;
    }
  };

function authenticatorSettings({ iam }: NodeSettings): Parameters<typeof createAuthenticator>[0] {
  return {
    realms: iam.realms.map((realm) => ({
      slug: realm.slug,
      issuerUrl: realm.issuer_url,
      jwksUri: realm.jwks_uri,
      audience: realm.audience,
      kind: realm.kind,
    })),
    jwksCacheTtlMs: iam.jwks_cache_ttl_seconds * 1_000,
    claims: iam.claims,
  };
}

function readFlags(args: readonly string[]): Record<string, string> {
  const names = [...SETTING_SOURCES.map((source) => source.flag), CONFIG_FILE.flag];
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  try {
    const { values } = parseArgs({ args: [...args], options });
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    const known = names.map((name) => `--${name}`).join(', ');
    throw new SvcError('invalid_config', `${cause.message.split('. ')[0]}; there are ${known}`, { cause });
  }
}

/** Runs until a signal says stop; prints what a person needs to go on. */
export async function runNode(args: readonly string[]): Promise<void> {
  const startedAt = performance.now();
  const node = await startNode({ flags: readFlags(args), env: process.env });
  console.log(`svc ${VERSION}  node ${node.id}  up in ${Math.round(performance.now() - startedAt)} ms`);
  console.log(`REST        ${node.restUrl}  (to read: ${node.restUrl}/docs)`);
  console.log(`SvcRuntime  ${node.grpcAddress}`);
  for (const note of node.notes) console.log(`            ${note}`);
  let stopping = false;
  const stop = (): void => {
    // A second signal means now.
    if (stopping) process.exit(1);
    stopping = true;
    node.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** Why the node did not start. Only what nobody foresaw comes with its stack. */
function failureText(error: unknown): unknown {
  if (error instanceof SvcError) return error.message;
  const inUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  return inUse ? `${error.message} (choose another port; 0 picks a free one)` : error;
}

if (import.meta.main) {
  runNode(process.argv.slice(2)).catch((error: unknown) => {
    console.error(failureText(error));
    process.exitCode = 1;
  });
}
