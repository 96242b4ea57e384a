import { dirname } from 'node:path';
import { areaOf, importsOf, isGenerated, linesOf, projectFiles } from '../support/tree.ts';

/**
 * Prints the figures of docs/decisions/0034-a-file-is-a-concept.md: how many files the product has, how long they are, and which of
 * them one other file imports. `node test/house/readers.ts --files` also names those files.
 */

/** Files that list entries of one kind and import each from its file. */
const TABLES: ReadonlySet<string> = new Set([
  'actors/execution/definition.ts',
  'actors/stimulus/definition.ts',
  'actors/tool-session/definition.ts',
  'actors/workflow/definition.ts',
  'app/audit.ts',
  'app/effects.ts',
  'app/product-actors.ts',
  'app/secrets.ts',
  'app/tools.ts',
  'cli/commands/all.ts',
  'cli/commands/fleet/node.ts',
  'effects/web/web.ts',
  'manifests/workflow/check/check-workflow.ts',
  'runtime/open-stores.ts',
  'runtime/testing/index.ts',
  'tools/contracts.ts',
  'tools/management/tools.ts',
  'transport/mcp/route.ts',
  'transport/rest/routes/index.ts',
  'usecases/operations.ts',
]);

const product = projectFiles('.ts', '.tsx', '.lua').filter(
  (file) => !isGenerated(file) && !/^(\.ci|test|bench|examples|clients|dashboard|simulation|docs|deploy)\//.test(file),
);
// The text behind the last line end is no line.
const lengths = new Map(product.map((file) => [file, linesOf(file).length - 1]));
const lengthOf = (file: string): number => lengths.get(file) ?? 0;
const isLoadedLate = (reader: string, file: string): boolean =>
  importsOf(reader).some(({ to, line }) => to === file && /\bimport\(/.test(linesOf(reader)[line - 1] ?? ''));

const readers = new Map<string, Set<string>>();
for (const file of product.filter((one) => !one.endsWith('.lua')))
  for (const { to } of importsOf(file)) readers.set(to, new Set([...(readers.get(to) ?? []), file]));

function classOf(file: string, reader: string): string {
  const together = lengthOf(file) + lengthOf(reader);
  if (isLoadedLate(reader, file)) return 'loaded late';
  if (/-worker\.ts$/.test(file) || reader.endsWith('/thread.ts')) return 'in a thread of its own';
  if (TABLES.has(reader)) return 'entry of a table';
  if (areaOf(file) !== areaOf(reader)) return 'of another area than its reader';
  if (together > 400) return 'with its reader over 400 lines';
  return together > 300 ? 'with its reader over 300 lines' : 'with its reader up to 300 lines';
}

const single = product.flatMap((file) => {
  const [reader, ...others] = readers.get(file) ?? [];
  return reader === undefined || others.length > 0 ? [] : [{ file, reader, kind: classOf(file, reader) }];
});

const sorted = [...lengths.values()].sort((a, b) => a - b);
const share = (count: number): string => `${count} (${((100 * count) / product.length).toFixed(1)} %)`;
const folders = new Set(product.map((file) => dirname(file))).size;
console.log(`${product.length} files in ${folders} folders, ${sorted.reduce((sum, one) => sum + one, 0)} lines`);
console.log(`median ${sorted[sorted.length >> 1]} lines, the largest ${sorted.at(-1)}`);
console.log(`imported by one file: ${share(single.length)}`);
for (const [kind, files] of Map.groupBy(single, (one) => one.kind)) {
  console.log(`  ${kind}: ${share(files.length)}`);
  if (!process.argv.includes('--files')) continue;
  for (const { file, reader } of files)
    console.log(`    ${file} (${lengthOf(file)}) by ${reader} (${lengthOf(reader)})`);
}
