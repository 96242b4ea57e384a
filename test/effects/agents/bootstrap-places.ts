import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SvcError } from '../../../runtime/errors.ts';
import { createInternalServer } from '../../../transport/internal/server.ts';
import type { DispatchApi, DispatchResult, GatewayAnswer, GenerateRequest } from '../../../usecases/gateway.ts';

export const EXECUTION = '4b0e8a53-6c53-4a3c-9a56-0d3b2f6b5f11';
export const AGENT = '9c0a4c8e-27c5-4d39-8a36-1f4f1c9c7f22';
const SCRIPT = join(import.meta.dirname, '../../../effects/agents/bootstrap/bootstrap.sh');

const found = (name: string): string | undefined =>
  (process.env.PATH ?? '')
    .split(':')
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path));

const missing = ['dash', 'busybox', 'curl', 'python3'].filter((program) => found(program) === undefined);
/** Without these programs the tests are skipped with a message; under `CI` they run and fail. */
export const NEEDS_SHELLS: { readonly skip?: string } =
  missing.length === 0 || process.env.CI !== undefined
    ? {}
    : {
        skip: `SHELLS NOT TESTED: ${missing.join(', ')} not installed (apt-get install dash busybox-static curl python3)`,
      };
if (NEEDS_SHELLS.skip !== undefined) console.error(NEEDS_SHELLS.skip);

/** A shell, and the programs in its PATH. */
export interface Place {
  readonly shell: readonly string[];
  readonly path: string;
}

const USUAL = ['sh', 'cat', 'cp', 'mv', 'rm', 'mkdir', 'mkfifo', 'chmod', 'wc', 'tr', 'tail', 'sleep', 'setsid'];

/** Programs of a usual Linux with one HTTP client; or only a busybox. */
export async function places(directory: string) {
  const busybox = join(directory, 'busybox');
  await mkdir(busybox, { recursive: true });
  execFileSync(found('busybox') ?? 'busybox', ['--install', '-s', busybox]);
  const python = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();
  const only = async (name: string, program: string): Promise<Place> => {
    const own = join(directory, `only-${name}`);
    await mkdir(own);
    for (const one of [...USUAL, 'env', 'date', 'printf', 'ls', 'yes', 'head']) {
      await symlink(`/usr/bin/${one}`, join(own, one));
    }
    await symlink(program, join(own, name));
    return { shell: [found('dash') ?? 'dash'], path: own };
  };
  return {
    curl: await only('curl', found('curl') ?? 'curl'),
    wget: await only('wget', found('wget') ?? 'wget'),
    node: await only('node', process.execPath),
    python: await only('python3', python),
    busybox: { shell: [join(busybox, 'sh')], path: busybox },
  } satisfies Record<string, Place>;
}

export const dispatch = (
  command: string,
  args: readonly string[] = [],
  more: Partial<Extract<GatewayAnswer, { type: 'dispatch' }>> = {},
): GatewayAnswer => ({
  type: 'dispatch',
  dispatch_id: `d-${command}`,
  action: 'exec',
  command,
  args,
  cwd: tmpdir(),
  env_additions: {},
  timeout_secs: 20,
  max_output_bytes: 4_096,
  ...more,
});

export const final = (content: string): GatewayAnswer => ({
  type: 'final',
  content,
  tool_calls_executed: 1,
  conversation: [],
});

/** An inner loop that returns one answer after the other; errors are thrown. */
export class ScriptedLoop implements DispatchApi {
  readonly asked: GenerateRequest[] = [];
  readonly results: DispatchResult[] = [];
  readonly #answers: (GatewayAnswer | Error)[];

  constructor(answers: readonly (GatewayAnswer | Error)[]) {
    this.#answers = [...answers];
  }

  async generate(_tenant: string, _execution: string, request: GenerateRequest): Promise<GatewayAnswer> {
    this.asked.push(request);
    return this.#next();
  }

  async dispatchResult(_tenant: string, _execution: string, result: DispatchResult): Promise<GatewayAnswer> {
    this.results.push(result);
    return this.#next();
  }

  #next(): GatewayAnswer {
    const answer = this.#answers.shift() ?? new SvcError('failed_precondition', 'the script has no further answer');
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

/** As long as a real token. */
export const TOKEN = `${'header'.repeat(20)}.${'claims'.repeat(50)}.${'signature-_'.repeat(30)}`;

/** The real internal address with a scripted inner loop, on a free port. */
export async function gateway(loop: DispatchApi, { port = 0 }: { port?: number } = {}) {
  const logged: string[] = [];
  const app = createInternalServer({
    dispatch: loop,
    tokens: {
      issue: async () => TOKEN,
      verify: async (token) => {
        if (token !== TOKEN) throw new SvcError('unauthenticated', 'The token does not hold.');
        return { tenant: 'acme', executionId: EXECUTION };
      },
    },
    logger: pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }),
    limits: { closeGraceMs: 500 },
  });
  await app.listen({ host: '127.0.0.1', port });
  const bound = (app.server.address() as AddressInfo).port;
  return {
    app,
    logged,
    port: bound,
    base: `http://127.0.0.1:${bound}`,
    url: `http://127.0.0.1:${bound}/x/${TOKEN}`,
    async [Symbol.asyncDispose]() {
      await app.close();
    },
  };
}

interface Ended {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Runs the bootstrap to its end, at most for a minute. */
export async function bootstrap(
  place: Place,
  prompt: string,
  env: Readonly<Record<string, string>>,
  timeoutMs = 60_000,
): Promise<Ended> {
  const [shell = 'sh', ...first] = place.shell;
  const child = spawn(shell, [...first, SCRIPT, prompt], {
    env: { PATH: place.path, SVC_AGENT_ID: AGENT, SVC_EXECUTION_ID: EXECUTION, SVC_MODEL_ALIAS: 'fast', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  const [code] = await once(child, 'close');
  return { code, stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString() };
}

export async function privateDirectory() {
  const path = await mkdtemp(join(tmpdir(), 'svc-bootstrap-test-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
