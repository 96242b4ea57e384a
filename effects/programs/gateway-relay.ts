import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { SvcError } from '../../runtime/errors.ts';
import type { LaunchedProgram } from './launch.ts';

/**
 * Opens a listener in its network namespace, sends it to its parent, closes its own copy and reports that. While both have it,
 * this process may accept a connection of the program, which the program would never get an answer to. It ends only when the
 * parent disconnects, since the parent may see the end of the process before it has read the messages.
 */
const LISTEN = `
const { createServer } = require('node:net');
const [, port] = process.argv;
const until = Date.now() + 5000;
const server = createServer();
// The loopback of the sandbox comes up while this starts.
server.on('error', (error) => {
  if (error.code !== 'EADDRNOTAVAIL' || Date.now() > until) throw error;
  setTimeout(() => server.listen(Number(port), '127.0.0.1'), 5);
});
server.on('listening', () => process.send('listening', server, () => server.close(() => process.send('closed'))));
// The parent alone has the listener, or has ended.
process.on('disconnect', () => process.exit());
server.listen(Number(port), '127.0.0.1');
`;
const STARTS_WITHIN_MS = 10_000;
const POLL_MS = 5;

/** Connections of one program; each is a descriptor of the node. */
const MAX_CONNECTIONS = 64;

/** The listener of the node that programs in their own network can reach. */
export interface GatewayListener {
  /** Port on the program's loopback. */
  readonly port: number;
  /** Serves a connection of a program: only the routes for agents. */
  readonly accept: (connection: Socket) => void;
}

/**
 * Lets a program in its own network reach only the dispatch gateway: a short-lived process enters the network and opens a
 * listener on its loopback, which this process serves. Returns the function that closes listener and connections.
 */
export async function openGatewayRelay(
  { terminationGroup, group }: Pick<LaunchedProgram, 'terminationGroup' | 'group'>,
  { port, accept }: GatewayListener,
): Promise<() => void> {
  const inside = await networkOf(terminationGroup, group);
  const server = await listenerIn(inside, port);
  server.maxConnections = MAX_CONNECTIONS;
  const open = new Set<Socket>();
  server.on('connection', (connection) => {
    open.add(connection);
    connection.once('close', () => open.delete(connection));
    accept(connection);
  });
  return () => {
    server.close();
    for (const socket of open) socket.destroy();
  };
}

/** Waits until the leader of the sandbox is in its own network; returns its process id. */
async function networkOf(terminationGroup: () => number, group: number): Promise<number> {
  const until = performance.now() + STARTS_WITHIN_MS;
  const own = readlinkSync('/proc/self/ns/net');
  while (performance.now() < until) {
    const leader = terminationGroup();
    if (leader !== group && networkAt(leader) !== null && networkAt(leader) !== own) return leader;
    await pause(POLL_MS);
  }
  throw new SvcError('program_failed', 'the sandbox of the program did not start');
}

function networkAt(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return null;
  }
}

async function listenerIn(pid: number, port: number): Promise<Server> {
  const enter = process.getuid?.() === 0 ? ['--net'] : ['--user', '--net', '--preserve-credentials'];
  const command = [...enter, '--target', String(pid), process.execPath, '-e', LISTEN, String(port)];
  const child = spawn('nsenter', command, {
    env: { PATH: '/usr/bin:/bin:/usr/sbin' },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    timeout: STARTS_WITHIN_MS,
  });
  let output = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const { promise, resolve, reject } = Promise.withResolvers<Server>();
  let received: Server | null = null;
  child.on('message', (message, handle) => {
    if (handle instanceof Server) received = handle;
    if (message !== 'closed') return;
    if (received !== null) resolve(received);
    if (child.connected) child.disconnect();
  });
  child.on('error', reject);
  child.on('exit', () => reject(new Error(output.trim().split('\n').at(-1) ?? 'it ended')));
  try {
    return await promise;
  } catch (cause) {
    throw new SvcError('program_failed', 'the relay from the sandbox to the dispatch gateway could not be opened', {
      cause,
    });
  }
}
