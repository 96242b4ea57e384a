import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { pack } from '../../cli/package.ts';
import { type Plan, type Section, table } from '../report.ts';

interface Start {
  readonly upMs: number;
  readonly residentMb: number;
  readonly proportionalMb: number;
}

/** Launch to the printed address, then memory after some idle seconds, on an empty directory: `npm start`, and the package. */
export async function idleNode(plan: Plan): Promise<Section> {
  const packed = resolve('.cache', 'bench-package');
  await pack(packed);
  const scripts = z.object({ start: z.string() }).parse(JSON.parse(await readFile('package.json', 'utf8')).scripts);
  const programs = {
    'clone, npm start': scripts.start.split(' ').slice(1),
    'npm package, svc start': [join(packed, 'cli', 'svc.js'), 'start'],
  };
  const rows: string[][] = [];
  for (let round = 0; round < plan.repetitions + 1; round += 1) {
    for (const [name, program] of Object.entries(programs)) {
      const { upMs, residentMb, proportionalMb } = await start(plan, program);
      const nth = round === 0 ? 'first' : `${round + 1}.`;
      rows.push([name, nth, upMs.toFixed(0), residentMb.toFixed(0), proportionalMb.toFixed(0)]);
    }
  }
  await rm(packed, { recursive: true });
  return {
    title: 'An idle node on the embedded store',
    text: [
      table(['program', 'start', 'launch to address printed, ms', 'resident MB', 'proportional MB'], rows),
      'The first start may fill the compile cache. Resident counts pages shared with other processes, proportional a share.',
    ].join('\n\n'),
  };
}

async function start(plan: Plan, program: readonly string[]): Promise<Start> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  const startedAt = performance.now();
  const command = [...program, '--data', directory, '--http-port', '0', '--grpc-port', '0'];
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const chunk of child.stdout) if (String(chunk).includes('SvcRuntime')) break;
  const upMs = performance.now() - startedAt;
  // By then the first garbage collections and deferred work have ended.
  await pause(plan.repetitions > 1 ? 5_000 : 1_000);
  const rollup = await readFile(`/proc/${child.pid}/smaps_rollup`, 'utf8');
  const megabytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1]) / 1024;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
  await rm(directory, { recursive: true, force: true });
  return { upMs, residentMb: megabytes('Rss'), proportionalMb: megabytes('Pss') };
}
