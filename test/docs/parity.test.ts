import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Command } from 'commander';
import { svcProgram } from '../../cli/program.ts';
import { SURFACE } from '../product/surface.ts';

/** What users know (H30): `METHODS /path`, a line for each path. */
const NAMED_ROUTES = `
POST GET /agents
GET PATCH DELETE /agents/{id}
GET /agents/{id}/versions
POST /agents/{id}/scope
POST /agents/{id}/execute
GET /agents/{id}/events
GET /executions
GET DELETE /executions/{id}
POST /executions/{id}/cancel
GET /executions/{id}/events
GET /executions/{id}/files/{path}
POST GET /workflows
GET DELETE /workflows/{name}
GET /workflows/{name}/versions
POST /workflows/{name}/scope
POST /workflows/{name}/run
GET /workflows/executions
GET DELETE /workflows/executions/{id}
GET /workflows/executions/{id}/logs
GET /workflows/executions/{id}/logs/stream
POST /workflows/executions/{id}/signal
POST /workflows/executions/{id}/cancel
GET /stimuli
GET /stimuli/{id}
GET /seal/tools
GET /cluster/status
GET /cluster/nodes
POST GET /volumes
GET PATCH DELETE /volumes/{id}
GET /volumes/quota
GET DELETE /volumes/{id}/files
GET /volumes/{id}/files/stat
GET /volumes/{id}/files/download
POST /volumes/{id}/files/upload
POST /volumes/{id}/files/mkdir
POST /volumes/{id}/files/move
GET PUT DELETE /secrets/{path}
POST /credentials
POST GET /api-keys
GET DELETE /api-keys/{id}
POST /api-keys/validate
GET /admin/rate-limits/overrides
GET /admin/rate-limits/usage
GET /user/rate-limits/usage
GET /dashboard/summary
GET /security/incidents
GET /storage/violations
GET /swarms
GET /cortex/patterns
GET /cortex/skills
GET /cortex/metrics
GET /llm/aliases/{alias}
GET /schedules
GET /health
GET /health/live
GET /health/ready
`;

/** What users know (H30), a line for each group; one line is enough for a group that is omitted whole. */
const NAMED_COMMANDS = `
daemon: start, stop, status, install, uninstall
task: execute, status, logs, cancel, remove, list
agent: list, deploy, show, remove, logs, run, generate
workflow: validate, deploy, run, list, describe, logs, delete, generate, status, signal, cancel, remove, promote, demote
workflow executions: list, get
config: show, validate, generate
node: init, join, leave, peers
secret: create, get, list, delete, rotate
credential: store
auth: login
stack: up
edge: enroll
`;

const lines = (text: string): string[] => text.trim().split('\n');
const routes = lines(NAMED_ROUTES).flatMap((line) => {
  const words = line.split(' ');
  return words.slice(0, -1).map((method) => `${method} ${words.at(-1)}`);
});
const commands = lines(NAMED_COMMANDS).flatMap((line) => {
  const [group = '', members = ''] = line.split(': ');
  return members.split(', ').map((member) => `${group} ${member}`);
});

interface Row {
  readonly named: string;
  readonly here: string;
  readonly why: string;
}

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'conformance', 'parity.md'), 'utf8');

function rowsOf(heading: string): Row[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [table = ''] = section.split('\n## ');
  return [...table.matchAll(/^\| `([^`]+)` \| (?:`([^`]+)` )?\| (?:(.*\S) )?\|$/gm)].map(
    ([, named = '', here = '', why = '']) => ({ named, here, why }),
  );
}

function commandsOf(command: Command, path: readonly string[] = []): string[] {
  return command.commands.flatMap((child) => {
    const names = [child.name(), ...child.aliases()];
    return names.flatMap((name) => [[...path, name].join(' '), ...commandsOf(child, [...path, name])]);
  });
}

for (const [heading, named, there] of [
  ['Routes', routes, new Set(Object.keys(SURFACE))],
  ['Commands', commands, new Set(commandsOf(await svcProgram()))],
] as const) {
  describe(`docs/conformance/parity.md, ${heading}`, () => {
    const rows = rowsOf(heading);

    test('lists every named route or command, and no other', () => {
      assert.deepEqual(rows.map((row) => row.named).sort(), [...named].sort());
    });

    test('everything that it lists as present is present', () => {
      assert.deepEqual(
        rows.filter(({ here }) => here !== '' && !there.has(here)),
        [],
      );
    });

    test('everything that it lists as missing has a reason, and is really missing', () => {
      const leftOut = rows.filter(({ here }) => here === '');
      assert.deepEqual(
        leftOut.filter(
          ({ named: name, why }) => why.length < 10 || there.has(name) || there.has(name.replace(' ', ' /v1')),
        ),
        [],
      );
    });

    test('an alias that it lists works', () => {
      for (const { here, why } of rows) {
        const [, alias] = /^`(\w+)` works too$/.exec(why) ?? [];
        if (alias !== undefined) assert.ok(there.has(here.replace(/\w+$/, alias)), `${here}: ${alias}`);
      }
    });
  });
}
