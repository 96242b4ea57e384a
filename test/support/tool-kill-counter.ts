import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { answer, serve, text, tool } from '../effects/mcp/servers/wire.ts';

/** An MCP server whose tool `count` appends a line to the file COUNTS in each run, and answers after a delay. */
const { COUNTS } = process.env;
if (COUNTS === undefined) throw new Error('COUNTS: expected a file');
const WORK_MS = 60;

serve(({ id, method }) => {
  if (method === 'tools/list') answer(id, { tools: [tool('count')] });
  if (method !== 'tools/call') return;
  appendFileSync(COUNTS, 'counted\n');
  void pause(WORK_MS).then(() => answer(id, text('counted')));
});
