import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isGenerated, linesOf, projectFiles } from '../support/tree.ts';

const sources = projectFiles('.ts', '.tsx', '.mjs').filter((file) => !isGenerated(file));

/** Files whose names others use from outside: the surfaces of the package and of the clients. */
const isPublic = (file: string): boolean => /^(\.ci|bench|clients|examples)\/|^runtime\/index\.ts$/.test(file);

/** Files that are loaded by a path, so that no import names what they export. */
const BY_PATH: ReadonlySet<string> = new Set([
  'test/chaos/workload.ts',
  'test/faults/workload.ts',
  'test/support/batches.ts',
]);

const EXPORTED = /^export (?:async )?(?:const|let|function\*?|class|interface|type|enum) ([A-Za-z_$][\w$]*)/gm;
const IMPORTED = /\b(?:import|export)\s+(?:type\s+)?([^';]*?)\s+from\s+'(\.{1,2}\/[^']+)'/g;
const LOADED = /\bimport\('(\.{1,2}\/[^']+)'\)/g;
const COMMENT = /\/\*[\s\S]*?\*\//g;

test('every name that a file exports, types included, is imported by another file', () => {
  const texts = new Map(sources.map((file) => [file, linesOf(file).join('\n').replaceAll(COMMENT, '')]));
  const imported = new Set<string>();
  /** Files that are imported as a whole, and the text of those that do it. */
  const whole = new Map<string, string>();
  for (const [file, text] of texts) {
    const at = (path: string): string => new URL(path, `file:///${file}`).pathname.slice(1);
    const importsAll = (path: string): unknown => whole.set(at(path), `${whole.get(at(path)) ?? ''} ${text}`);
    for (const [, clause = '', path = ''] of text.matchAll(IMPORTED)) {
      if (clause.startsWith('*')) importsAll(path);
      for (const name of /\{([^}]*)\}/.exec(clause)?.[1]?.split(',') ?? [])
        imported.add(
          `${at(path)} ${name
            .trim()
            .replace(/^type\s+/, '')
            .replace(/\s+as\s.*$/s, '')}`,
        );
    }
    for (const [, path = ''] of text.matchAll(LOADED)) importsAll(path);
  }
  const unused = [...texts].flatMap(([file, text]) =>
    [...text.matchAll(EXPORTED)]
      .map(([, name = '']) => name)
      .filter((name) => !imported.has(`${file} ${name}`))
      .filter((name) => !new RegExp(`\\b${name.replaceAll('$', '\\$')}\\b`).test(whole.get(file) ?? ''))
      .filter(() => !isPublic(file) && !BY_PATH.has(file))
      .map((name) => `${file} ${name}`),
  );
  assert.deepEqual(unused, []);
});
