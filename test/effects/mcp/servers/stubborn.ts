import { answer, serve, text, tool } from './wire.ts';

/** Does not stop: it ignores TERM and the end of its input. */
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => {});
setInterval(() => {}, 1_000);
serve(({ id, method }) => {
  if (method === 'tools/list') answer(id, { tools: [tool('pid')] });
  if (method === 'tools/call') answer(id, text(String(process.pid)));
});
