import { answer, serve, tool } from './wire.ts';

/** Lists invalid tools on endless pages, and answers calls with invalid results. */
let deep: object = { type: 'string' };
for (let level = 0; level < 60; level += 1) deep = { type: 'object', properties: { a: deep } };
const nested = JSON.parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`);

const odd = [
  tool('good', { description: 'd'.repeat(10_000), annotations: { readOnlyHint: true } }),
  tool('again', { annotations: { idempotentHint: true } }),
  tool('again'),
  tool('white space'),
  tool('a/b'),
  tool('line\nbreak'),
  tool('x'.repeat(60)),
  tool('deep', { inputSchema: deep }),
  tool('large', { inputSchema: { type: 'object', description: 'x'.repeat(70_000) } }),
  tool('typeless', { inputSchema: {} }),
  tool('textual', { inputSchema: 'object' }),
  tool('only-task', { execution: { taskSupport: 'required' } }),
  { description: 'has no name', inputSchema: { type: 'object' } },
  'no tool',
  null,
];

let page = 0;
serve(({ id, method, params }) => {
  if (method === 'tools/list') {
    page += 1;
    const more = Array.from({ length: 100 }, (_, n) => tool(`page-${page}-${n}`));
    answer(id, { tools: page === 1 ? [...odd, ...more] : more, nextCursor: String(page) });
  }
  if (method !== 'tools/call') return;
  if (params?.name === 'good') answer(id, { content: 'no list' });
  else answer(id, { content: [{ type: 'text', text: 'x', nested }] });
});
