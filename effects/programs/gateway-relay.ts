import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { connect, Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { SvcError } from '../../runtime/errors.ts';
import type { LaunchedProgram } from './launch.ts';

/** Listens in the network it is in, hands the listener to its parent, and ends when the parent has it. */
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
server.on('listening', () => process.send('listening', server, () => process.exit()));
server.listen(Number(port), '127.0.0.1');
`;
const STARTS_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 5;

/** Where the node's internal listener is. */
export interface GatewayListener {
  readonly host: string;
  readonly port: number;
}

/**
 * Lets a program in a network of its own reach the node's internal listener, and nothing else: a listener at the same port of
 * the program's loopback, made by a process that enters its network for that moment and served by this one. The connections
 * end with the program. Answers how to end it.
 */
export async function openGatewayRelay(
  { asked, group }: Pick<LaunchedProgram, 'asked' | 'group'>,
  { host, port }: GatewayListener,
): Promise<() => void> {
  const inside = await networkOf(asked, group);
  const server = await listenerIn(inside, port);
  const open = new Set<Socket>();
  const join = (client: Socket): void => {
    const target = connect({ host, port });
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  };
  server.on('connection', join);
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
