import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areaOf, importsOf, isGenerated, linesOf, projectFiles } from '../support/tree.ts';

const KERNEL = ['runtime', 'manifests'];
const DOMAIN = ['actors', 'security', 'catalog', 'usecases'];

const among =
  (...areas: readonly string[]) =>
  (target: string): boolean =>
    areas.includes(areaOf(target));

/** What transports use of the kernel and the domain beside `usecases`: errors, who calls, and types of values they carry. */
const OF_TRANSPORT: ReadonlySet<string> = new Set([
  'runtime/calls/calls-of-effect.ts',
  'runtime/client.ts',
  'runtime/clock.ts',
  'runtime/errors.ts',
  'runtime/identity.ts',
  'runtime/json.ts',
  'runtime/kit/lazy.ts',
  'runtime/kit/worker-thread.ts',
  'runtime/kit/optional-packages.ts',
  'runtime/random.ts',
  'runtime/tracing/trace-context.ts',
  // Schemas of what callers send and get.
  'manifests/agent/schema.ts',
  'manifests/audit/record.ts',
  // Texts that say what was expected.
  'manifests/expectation.ts',
  'manifests/nearest.ts',
  'manifests/node/managed.ts',
  'manifests/runtime-table/table.ts',
  'manifests/template/rendering.ts',
  'manifests/template/tree.ts',
  'manifests/tool/call.ts',
  'manifests/tool/scope.ts',
  // The event vocabularies of executions are part of their wire format.
  'actors/execution/events.ts',
  'actors/workflow/events.ts',
  // Surfaces of what is deployed and of who may call.
  'catalog/api.ts',
  'catalog/manifest-reading.ts',
  'catalog/patterns-api.ts',
  'security/api.ts',
]);

/** Who may import whom: rule L1. An area always may import itself. */
const MAY: Record<string, (target: string) => boolean> = {
  runtime: () => false,
  manifests: () => false,
  actors: among(...KERNEL),
  security: among(...KERNEL),
  catalog: among(...KERNEL, 'security'),
  usecases: among(...KERNEL, ...DOMAIN),
  effects: among(...KERNEL, ...DOMAIN),
  tools: among(...KERNEL, ...DOMAIN),
  cluster: (target) => among(...KERNEL, ...DOMAIN)(target) || target.startsWith('proto/gen/'),
  transport: (target) => areaOf(target) === 'usecases' || OF_TRANSPORT.has(target) || target.startsWith('proto/gen/'),
  // Clients know the API by its description alone.
  clients: () => false,
  dashboard: among('clients'),
  // A client of the API; the rest is for commands that need no node: start, validate, verify.
  cli: (target) => target === 'main.ts' || among('app', 'usecases', 'manifests')(target),
  app: (target) => !['test', 'bench', 'examples', 'cli', 'main.ts'].includes(areaOf(target)),
  'main.ts': (target) => !['test', 'bench', 'examples', 'cli'].includes(areaOf(target)),
  'read-settings.ts': among(...KERNEL, 'security'),
};

const sources = projectFiles('.ts', '.tsx').filter((file) => !isGenerated(file));

test('each area imports only what the layout allows', () => {
  const broken: string[] = [];
  for (const file of sources) {
    const may = MAY[areaOf(file)];
    if (may === undefined) continue;
    for (const { to, line } of importsOf(file)) {
      if (areaOf(to) !== areaOf(file) && !may(to)) broken.push(`${file}:${line} imports ${to}`);
    }
  }
  assert.deepEqual(broken, []);
});

test('transports name what they use of the kernel and the domain, and nothing more', () => {
  const used = new Set(
    sources.filter((file) => areaOf(file) === 'transport').flatMap((file) => importsOf(file).map(({ to }) => to)),
  );
  assert.deepEqual(
    [...OF_TRANSPORT].filter((target) => !used.has(target)),
    [],
  );
});

/** A turn is a pure function (K5): no wait, no I/O, no clock, no random source of its own. */
const IMPURE =
  /\basync\b|\bawait\b|\bPromise\b|\bActorClient\b|\bCollection<|\bDate\.now\(|new Date\(\)|\bMath\.random\(|\brandomUUID\b|\brandomBytes\b|\bsystemClock\b|\bsystemRandom\b|\bsetTimeout\b|\bsetInterval\b|\bfetch\(|\bprocess\./;

const IMPURE_MODULE = /from 'node:(?!buffer|crypto|util|string_decoder|url)/;

test('no file of actors waits, does I/O, or reads a clock or a random source', () => {
  const impure = sources
    .filter((file) => areaOf(file) === 'actors')
    .flatMap((file) =>
      linesOf(file)
        .map((line, index) => ({ line, at: `${file}:${index + 1}` }))
        .filter(
          ({ line }) =>
            !/^\s*(?:\/?\*|\/\/)/.test(line) &&
            (IMPURE.test(line.replaceAll(/'[^']*'/g, "''")) || IMPURE_MODULE.test(line)),
        )
        .map(({ line, at }) => `${at} ${line.trim()}`),
    );
  assert.deepEqual(impure, []);
});

test('product code never imports tests, examples or benchmarks', () => {
  const broken = sources
    .filter((file) => MAY[areaOf(file)] !== undefined)
    .flatMap((file) => importsOf(file))
    .filter(({ to }) => ['test', 'examples', 'bench'].includes(areaOf(to)))
    .map(({ from, to, line }) => `${from}:${line} imports ${to}`);
  assert.deepEqual(broken, []);
});

test('every relative import names a file that exists', () => {
  const known = new Set(projectFiles());
  const broken = sources
    .flatMap((file) => importsOf(file))
    .filter(({ to }) => !known.has(to))
    .map(({ from, to, line }) => `${from}:${line} imports ${to}`);
  assert.deepEqual(broken, []);
});

test('imports of the product make no cycles, those of types included', () => {
  const graph = new Map<string, string[]>();
  const product = sources.filter((file) => MAY[areaOf(file)] !== undefined);
  for (const file of product)
    graph.set(
      file,
      importsOf(file).map(({ to }) => to),
    );
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: string[]): void => {
    const at = path.indexOf(file);
    if (at !== -1) {
      cycles.push([...path.slice(at), file].join(' -> '));
      return;
    }
    if (done.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of product) visit(file, []);
  assert.deepEqual(cycles, []);
});
