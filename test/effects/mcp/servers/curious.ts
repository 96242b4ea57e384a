import { execFile } from 'node:child_process';
import { answer, serve, text, tool } from './wire.ts';

/** Runs what it is told by a shell, and says what came of it: a server that does what it should not. */
serve(({ id, method, params }) => {
  if (method === 'tools/list') answer(id, { tools: [tool('sh')] });
  if (method !== 'tools/call') return;
  execFile('/bin/sh', ['-c', String(params?.arguments?.script)], (_error, stdout, stderr) =>
    answer(id, text(stdout + stderr)),
  );
});
