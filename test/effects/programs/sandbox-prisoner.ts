import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { commandEnvironment } from '../../../effects/programs/environment.ts';
import { GroupWatch } from '../../../effects/programs/group-watch.ts';
import { ProgramLimits } from '../../../effects/programs/input.ts';
import { openSandbox } from '../../../effects/programs/open-sandbox.ts';
import { supervise } from '../../../effects/programs/supervise.ts';
import { WORKSPACE } from '../../../effects/programs/view.ts';
import { CHOSEN_ESCAPES } from './sandbox-escapes.ts';

/**
 * A node in a separate process, of any user: makes every attempt, in the sandbox (`inside`) or without it (`outside`), and prints
 * each result as one line of JSON. WORKSPACES DATA inside|outside; the environment has the rest.
 */
const [, , workspaces, data, where] = process.argv;
if (workspaces === undefined || data === undefined) throw new Error('usage: sandbox-prisoner.ts WORKSPACES DATA WHERE');
const VARIABLES = ['DATA', 'FILE', 'OUT', 'PORT', 'SOCKET', 'ABSTRACT', 'PID', 'MARKER', 'MACHINE', 'SHARED'];
const setup = Object.fromEntries(VARIABLES.map((name) => [name, process.env[name] ?? '']));
const opened = await openSandbox({ workspaces, hidden: [data] });
const limits = ProgramLimits.parse({ timeout_ms: 40_000 });
const watch = new GroupWatch();

async function inside(directory: string, script: string, run: string): Promise<string> {
  if (opened.sandbox === null) throw new Error(opened.reason);
  await opened.sandbox.prepare([directory]);
  const bind = { directory, path: WORKSPACE, readOnly: false };
  const start = opened.sandbox.through({ program: '/bin/sh', args: ['-c', script] }, [bind], WORKSPACE);
  const environment = commandEnvironment(setup, { workspace: WORKSPACE, run });
  const { stdout, stderr } = await supervise(
    { ...start, directory, environment, limits },
    { workspaces: workspaces ?? '', run, watch, killGraceMs: 200, stop: new AbortController().signal },
  );
  return `${stdout}\n${stderr}`;
}

async function outside(directory: string, script: string): Promise<string> {
  const environment = { ...setup, PATH: '/usr/bin:/bin:/usr/sbin:/sbin', HOME: directory };
  const stdio = ['ignore', 'pipe', 'pipe', ...Array<'ignore'>(6).fill('ignore'), 9] as const;
  const child = spawn('/bin/sh', ['-c', script], {
    cwd: directory,
    env: environment,
    stdio: [...stdio],
    timeout: 20_000,
  });
  if (child.stdout === null || child.stderr === null) throw new Error('no output');
  const said = await Promise.all([text(child.stdout), text(child.stderr)]);
  return said.join('\n');
}

for (const [index, { title, script, without }] of CHOSEN_ESCAPES.entries()) {
  // It would harm the machine: /proc would be unmounted for all users.
  if (where === 'outside' && without === null) continue;
  const directory = join(workspaces, `${where}-${index}`);
  await mkdir(directory);
  const run = `${process.pid}-${index}`;
  const said = where === 'inside' ? await inside(directory, script, run) : await outside(directory, script);
  console.log(JSON.stringify({ title, said }));
}
