import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { SvcError } from '../../runtime/errors.ts';
import type { LaunchedProgram } from './launch.ts';

/**
 * Listens in the network it is in, hands the listener to its parent, and ends when the parent says that it has it: the parent may
 * hear of an end before it has read what was sent.
 */
const LISTEN = `
const { createServer } = require('node:net');
const [, port] = process.argv;
const until = Date.now() + 5000;
const server = createServer();
// The sandbox's own loopback is brought up while this starts.
server.on('error', (error) => {
  if (error.code !== 'EADDRNOTAVAIL' || Date.now() > until) throw error;
  setTimeout(() => server.listen(Number(port), '127.0.0.1'), 5);
});
server.on('listening', () => process.send('listening', server));
// The parent has the listener, or is gone.
process.on('disconnect', () => process.exit());
server.listen(Number(port), '127.0.0.1');
`;
const STARTS_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 5;

/** A program has one or two at a time; each is a descriptor of the node. */
const MOST_CONNECTIONS = 64;

/** What programs in a network of their own reach of the node. */
export interface GatewayListener {
  /** Of the program's loopback. */
  readonly port: number;
  /** Serves a connection of a program: the routes for agents, none of the operator's. */
  readonly accept: (connection: Socket) => void;
}

/**
 * Lets a program in a network of its own reach the dispatch gateway, and nothing else: a listener at a port of the program's
 * loopback, made by a process that enters its network for that moment and served by this one. The connections end with the
 * program. Answers how to end it.
 */
export async function openGatewayRelay(
  { asked, group }: Pick<LaunchedProgram, 'asked' | 'group'>,
  { port, accept }: GatewayListener,
): Promise<() => void> {
  const inside = await networkOf(asked, group);
  const server = await listenerIn(inside, port);
  server.maxConnections = MOST_CONNECTIONS;
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

/** The process that leads the sandbox, once it is in a network of its own. */
async function networkOf(asked: () => number, group: number): Promise<number> {
  const until = performance.now() + STARTS_WITHIN_MS;
  const own = readlinkSync('/proc/self/ns/net');
  while (performance.now() < until) {
    const leader = asked();
    if (leader !== group && networkAt(leader) !== null && networkAt(leader) !== own) return leader;
    await pause(LOOK_EVERY_MS);
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
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const { promise, resolve, reject } = Promise.withResolvers<Server>();
  child.on('message', (_message, handle) => {
    if (handle instanceof Server) resolve(handle);
    if (child.connected) child.disconnect();
  });
  child.on('error', reject);
  child.on('exit', () => reject(new Error(said.trim().split('\n').at(-1) ?? 'it ended')));
  try {
    return await promise;
  } catch (cause) {
    throw new SvcError('program_failed', 'the way from the sandbox to the dispatch gateway could not be made', {
      cause,
    });
  }
}
