import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areaOf, importsOf, isGenerated, projectFiles } from '../support/tree.ts';

/** An area's public surface: `api.ts`, or `dispatch-api.ts` where it has several. */
const isSurface = (target: string): boolean => /[/-]api\.ts$/.test(target);

/** Who may import whom: rule L1. An area always may import itself. */
const MAY: Record<string, (target: string) => boolean> = {
  runtime: () => false,
  manifests: () => false,
  actors: (target) => ['runtime', 'manifests'].includes(areaOf(target)),
  cluster: (target) => ['runtime', 'manifests', 'security'].includes(areaOf(target)) || target.startsWith('proto/gen/'),
  effects: (target) => ['runtime', 'manifests', 'security'].includes(areaOf(target)),
  catalog: (target) => ['runtime', 'manifests', 'security'].includes(areaOf(target)),
  security: (target) => ['runtime', 'manifests'].includes(areaOf(target)),
  tools: (target) => ['runtime', 'manifests'].includes(areaOf(target)) || isSurface(target),
  transport: (target) =>
    ['runtime', 'manifests', 'tools'].includes(areaOf(target)) ||
    isSurface(target) ||
    // The event vocabulary and its log names are part of the execution's public surface.
    /^actors\/[a-z-]+\/(events|log)\.ts$/.test(target) ||
    target.startsWith('proto/gen/'),
  // Checking a document offline needs no node: the audit chain's format is one.
  app: (target) => !['test', 'bench', 'examples', 'cli', 'main.ts'].includes(areaOf(target)),
  'main.ts': (target) => !['test', 'bench', 'examples', 'cli'].includes(areaOf(target)),
  'read-settings.ts': (target) => ['runtime', 'manifests', 'security'].includes(areaOf(target)),
  cli: (target) => target === 'main.ts' || target.startsWith('manifests/audit/'),
};

const sources = projectFiles('.ts').filter((file) => !isGenerated(file));

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
