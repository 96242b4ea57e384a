import assert from 'node:assert/strict';
import { test } from 'node:test';
import { page } from './pages.ts';
import { ATTRIBUTES, SPANS } from './span-table.ts';

const kinds = { CONSUMER: 'consumer', INTERNAL: 'internal', CLIENT: 'client' } as const;

test('the page on OpenTelemetry has the tables of spans and attributes of the code', () => {
  const { text } = page('docs/reference/opentelemetry.md');
  const spans = SPANS.map(({ span, name, otelKind, what }) => `| ${span} | ${name} | ${kinds[otelKind]} | ${what} |`);
  const attributes = Object.entries(ATTRIBUTES).map(([name, what]) => `| \`${name}\` | ${what} |`);
  assert.ok(
    text.includes(['| Span | Name | Kind | What |', '|---|---|---|---|', ...spans].join('\n')),
    spans.join('\n'),
  );
  assert.ok(text.includes(['| Attribute | What |', '|---|---|', ...attributes].join('\n')), attributes.join('\n'));
});
