import type { Command } from 'commander';
import { CliFailure, EXIT } from '../failure.ts';
import { nodeProgram } from '../start/node-program.ts';
import { onceStarted } from '../start/once-started.ts';

/** Flags of a node with their help; a test compares them with the settings. */
export const NODE_FLAGS: Readonly<Record<string, string>> = {
  config: 'configuration file (SVC_CONFIG, ./svc.yaml)',
  data: 'data directory (SVC_DATA; default ./data)',
  'http-port': 'REST port, 0 picks a free one (SVC_HTTP_PORT; default 8080)',
  'grpc-port': 'SvcRuntime port, 0 picks a free one (SVC_GRPC_PORT; default 50051)',
  bind: 'address to listen on (SVC_BIND; default 127.0.0.1)',
  redis: 'Redis URLs (REDIS_URL); needs --mongodb',
  mongodb: 'MongoDB URI (MONGODB_URI); needs --redis',
  'cluster-port': 'cluster port (SVC_CLUSTER_PORT; default 50056)',
  'internal-port': 'internal REST port (SVC_INTERNAL_PORT; default 8081)',
  'internal-grpc-port': 'internal gRPC port (SVC_INTERNAL_GRPC_PORT; default 50052)',
  'accept-older-documents':
    'start although the documents are older than the log; takes the code that the error shows (SVC_ACCEPT_OLDER_DOCUMENTS)',
  'node-id': 'id of this node (SVC_NODE_ID; default a UUID kept in the data directory)',
  'advertise-host': 'host that other nodes reach this one by (SVC_ADVERTISE_HOST)',
  role: 'controller, worker or hybrid',
  tags: 'tags of this node, separated by commas',
};

/** `svc start`: runs the node in this process. */
export function start(program: Command): void {
  const command = program.command('start').description('start a node');
  for (const [flag, about] of Object.entries(NODE_FLAGS)) command.option(`--${flag} <value>`, about);
  command.action(async () => {
    const given = Object.keys(NODE_FLAGS).flatMap((flag) => {
      const value: unknown = command.getOptionValue(camelCase(flag));
      return typeof value === 'string' ? [`--${flag}=${value}`] : [];
    });
    await startInProcess(given);
  });
}

/** Runs the node until a signal ends it. */
export async function startInProcess(flags: readonly string[]): Promise<void> {
  const program = await nodeProgram().catch(explainOldNode);
  // Other commands end when their reader closes the pipe; a node keeps running.
  process.stdout.removeAllListeners('error').on('error', () => {});
  await program.runNode(flags);
  onceStarted(program);
}

const camelCase = (flag: string): string =>
  flag.replaceAll(/-([a-z])/g, (_all, letter: string) => letter.toUpperCase());

function explainOldNode(thrown: unknown): never {
  if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_UNKNOWN_BUILTIN_MODULE') {
    throw new CliFailure(
      EXIT.validation,
      `expected Node.js 22.15 or later, or 24, with node:sqlite; got ${process.version}`,
    );
  }
  throw thrown;
}
