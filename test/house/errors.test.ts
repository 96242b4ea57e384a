import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { ERRORS } from '../../runtime/errors.ts';

/** Rows of the table in docs/reference/errors.md: code, kind, HTTP, gRPC. */
function documented(): Map<string, string> {
  const rows = new Map<string, string>();
  for (const line of readFileSync('docs/reference/errors.md', 'utf8').split('\n')) {
    const cells = line.split('|').map((cell) => cell.trim());
    const code = /^`([a-z_]+)`$/.exec(cells[1] ?? '')?.[1];
    if (code !== undefined) rows.set(code, `${cells[2]} ${cells[3]} ${cells[4]}`);
  }
  return rows;
}

test('docs/reference/errors.md and the table of errors agree in both directions', () => {
  const table = new Map(Object.entries(ERRORS).map(([code, row]) => [code, `${row.kind} ${row.http} ${row.grpc}`]));
  assert.deepEqual(documented(), table);
});

test('the rule for statuses in docs/reference/errors.md has each pair of statuses of the table once, and no other', () => {
  const text = readFileSync('docs/reference/errors.md', 'utf8');
  const rule = text.split('## One rule for statuses')[1]?.split('\n## ')[0] ?? '';
  const pairs = rule.split('\n').flatMap((line) => {
    const [, , http = '', grpc = ''] = line.split('|').map((cell) => cell.trim());
    return /^\d/.test(http) ? http.split(', ').map((one) => `${one} ${grpc}`) : [];
  });
  const used = new Set(Object.values(ERRORS).map(({ http, grpc }) => `${http} ${grpc}`));
  assert.deepEqual(pairs.sort(), [...used].sort());
});

test('every gRPC status of the table exists', () => {
  for (const [code, row] of Object.entries(ERRORS)) assert.equal(typeof status[row.grpc], 'number', code);
});

test('every documented error says a cause and a cure', () => {
  const text = readFileSync('docs/reference/errors.md', 'utf8');
  for (const code of Object.keys(ERRORS)) {
    const section = text.split(`### ${code}\n`)[1]?.split('\n### ')[0] ?? '';
    assert.match(section, /\*\*Cause\.\*\*/, code);
    assert.match(section, /\*\*Cure\.\*\*/, code);
  }
});
