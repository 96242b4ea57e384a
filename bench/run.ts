/**
 * Benchmarks, side by side with peers in one run; prints Markdown.
 *
 *   npm run bench                    all suites, median of five
 *   npm run bench -- asks-redis      suites by name
 *   npm run bench -- --quick         one short repetition, to see that everything runs; `--small` is the same
 *   npm run bench -- --write         also keeps the result in docs/benchmarks.md
 */
import { writeFileSync } from 'node:fs';
import { heading, type Plan, type Section } from './report.ts';
import { asksOnRedis } from './suites/asks-redis.ts';
import { asksOnSqlite } from './suites/asks-sqlite.ts';
import { assignment } from './suites/assignment.ts';
import { checker } from './suites/checker.ts';
import { dashboards } from './suites/dashboards.ts';
import { encryption } from './suites/encryption.ts';
import { executionRate } from './suites/executions.ts';
import { failover } from './suites/failover.ts';
import { fileTools } from './suites/file-tools.ts';
import { idleActors } from './suites/idle-actors.ts';
import { idleFleet } from './suites/idle-fleet.ts';
import { idleNode } from './suites/idle-node.ts';
import { innerLoop } from './suites/inner-loop.ts';
import { ledgerLookUps } from './suites/ledger.ts';
import { management } from './suites/management.ts';
import { members } from './suites/members.ts';
import { otlp } from './suites/otlp.ts';
import { overload } from './suites/overload.ts';
import { patterns } from './suites/patterns.ts';
import { processes } from './suites/processes.ts';
import { runsPage } from './suites/runs-page.ts';
import { seal } from './suites/seal.ts';
import { search } from './suites/search.ts';
import { tracePage } from './suites/trace-page.ts';
import { unread } from './suites/unread.ts';
import { followers, waiters } from './suites/waiters.ts';
import { waitingWorkflows } from './suites/waiting-workflows.ts';
import { workflows } from './suites/workflows.ts';

const SUITES: Readonly<Record<string, (plan: Plan) => Promise<Section>>> = {
  'asks-redis': (plan) => asksOnRedis(plan, 'everysec'),
  'asks-redis-always': (plan) => asksOnRedis(plan, 'always'),
  'asks-sqlite': asksOnSqlite,
  assignment,
  checker,
  dashboards,
  executions: executionRate,
  followers,
  failover: (plan) => failover(plan, 'everysec'),
  'file-tools': fileTools,
  'idle-actors': idleActors,
  'idle-fleet': idleFleet,
  'idle-node': idleNode,
  'inner-loop': innerLoop,
  ledger: ledgerLookUps,
  management,
  members,
  otlp,
  encryption,
  overload,
  patterns,
  processes,
  'runs-page': runsPage,
  seal,
  search,
  'trace-page': tracePage,
  unread,
  waiters,
  workflows,
  'waiting-workflows': waitingWorkflows,
};

const args = process.argv.slice(2);
const flags = new Set(args.filter((arg) => arg.startsWith('--')));
const names = args.filter((arg) => !arg.startsWith('--'));
const unknown = names.filter((name) => SUITES[name] === undefined);
if (unknown.length > 0) {
  console.error(`no suite ${unknown.join(', ')}; there are: ${Object.keys(SUITES).join(', ')}`);
  process.exit(2);
}
const plan: Plan =
  flags.has('--quick') || flags.has('--small')
    ? { inFlight: [1, 64], repetitions: 1, warmUpMs: 300, runMs: 500 }
    : { inFlight: [1, 64, 512], repetitions: 5, warmUpMs: 1_500, runMs: 3_000 };

const parts = ['# Benchmarks', heading(`npm run bench${args.length > 0 ? ` -- ${args.join(' ')}` : ''}`)];
console.log(parts.join('\n\n'));
for (const [name, suite] of Object.entries(SUITES)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const { title, text } = await suite(plan);
  parts.push(`## ${title}`, text);
  console.log(`\n## ${title}\n\n${text}`);
}
if (flags.has('--write')) writeFileSync('docs/benchmarks.md', `${parts.join('\n\n')}\n`);
