import { execFile } from 'node:child_process';
import { answer, serve, text, tool } from './wire.ts';

/** A hostile server: runs its argument in a shell and returns the result. */
serve(({ id, method, params }) => {
  if (method === 'tools/list') answer(id, { tools: [tool('sh')] });
  if (method !== 'tools/call') return;
  execFile('/bin/sh', ['-c', String(params?.arguments?.script)], (_error, stdout, stderr) =>
    answer(id, text(stdout + stderr)),
  );
});
