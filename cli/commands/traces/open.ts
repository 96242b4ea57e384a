import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import type { RecordedNode } from '../../../app/recordings/recorded-node.ts';
import { CliFailure, EXIT, errorCode, invalid } from '../../failure.ts';
import { isObject } from '../../json.ts';
import { type OutputFormat, outputFormat, print } from '../../output.ts';
import { unreadable } from '../../read-input.ts';

/** `svc open FILE`: shows a file of `svc export-run` in the dashboard and the API, until a signal ends it. */
export function open(program: Command): void {
  program
    .command('open')
    .description('show a file of export-run in the dashboard and the API of this machine, read-only, until Ctrl-C')
    .argument('<file>', 'file of export-run')
    .option('--port <port>', 'port on 127.0.0.1; default: a free one')
    .action(async (file: string, _options: object, command: Command) => {
      const options: unknown = command.optsWithGlobals();
      const given = isObject(options) ? options : {};
      const output = outputFormat(typeof given.output === 'string' ? given.output : 'text');
      const node = await opened(file, portOf(given.port));
      const signal = new AbortController();
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => signal.abort());
      try {
        await announce(output, node);
        if (!signal.signal.aborted) await once(signal.signal, 'abort');
      } finally {
        await node.stop();
      }
    });
}

function portOf(given: unknown): number {
  if (given === undefined) return 0;
  if (typeof given === 'string' && /^\d{1,5}$/.test(given) && Number(given) < 65_536) return Number(given);
  throw invalid(`--port: expected a port number, got ${String(given)}`);
}

async function opened(file: string, port: number): Promise<RecordedNode> {
  await requireFile(file);
  // Loaded only here, so that other commands do not load the stores.
  const { openRecordedNode } = await import('../../../app/recordings/recorded-node.ts');
  try {
    return await openRecordedNode(file, port);
  } catch (thrown) {
    if (!(thrown instanceof Error) || !('code' in thrown)) throw thrown;
    throw thrown.code === 'invalid_argument' ? invalid(`${file}: ${thrown.message}`) : thrown;
  }
}

async function requireFile(file: string): Promise<void> {
  const found = await stat(file).catch((thrown: unknown) => {
    if (errorCode(thrown) === 'ENOENT') throw new CliFailure(EXIT.notFound, `there is no file ${file}`);
    throw unreadable('FILE', file, thrown);
  });
  if (!found.isFile()) throw invalid(`${file}: expected a file of svc export-run`);
}

async function announce(output: OutputFormat, { url, head, notShown }: RecordedNode): Promise<void> {
  const { run, svc, recorded_at: at = null } = head;
  const page = run === null ? url : `${url}/runs/${run.kind}/${run.id}`;
  const value = { url, page, run: run?.id ?? null, kind: run?.kind ?? null, svc, recorded_at: at, not_shown: notShown };
  const what = run === null ? 'actors' : `run ${run.id}`;
  const text = [
    `${what}, recorded by svc ${svc}${at === null ? '' : ` at ${at}`}; read-only until Ctrl-C`,
    `dashboard  ${page}`,
    `API        ${url}/docs`,
    ...notShown.map(({ actor, reason }) => `not shown: ${actor}: ${reason}`),
  ].join('\n');
  await print(output, { value, text });
}
