import { spawn } from 'node:child_process';
import { answer, type Request, send, serve, text, tool } from './wire.ts';

/** Has a fault for each of its tools. */
const names = new Set(
  'echo crash hang change flood spam garbage pid child secret memory deaf error progress'.split(' '),
);
const cancelled: number[] = [];
let deaf = false;
const eternal = ['-e', 'setInterval(() => {}, 1000)'];

serve(({ id, method, params }) => {
  if (method === 'notifications/cancelled') cancelled.push(params?.requestId ?? -1);
  if (deaf) return;
  if (method === 'tools/list') answer(id, { tools: [...names].map((name) => tool(name)) });
  if (method === 'tools/call') call(id, params?.name ?? '', params);
});

function call(id: number | string | undefined, name: string, params: Request['params']): unknown {
  switch (name) {
    case 'echo':
      return answer(id, text(`${params?.arguments?.text} cancelled=${cancelled.length}`));
    case 'crash':
      process.stderr.write('about to fall over\n');
      return process.exit(3);
    case 'hang':
      return;
    case 'change':
      names.add(String(params?.arguments?.add));
      send({ method: 'notifications/tools/list_changed' });
      return answer(id, text('changed'));
    case 'flood':
      return flood('x'.repeat(64 * 1024));
    case 'spam':
      return flood(
        `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } })}\n`,
      );
    case 'garbage':
      process.stdout.write('this is no message\n[1,2]\n{"jsonrpc":"1.0"}\n');
      return answer(id, text('after garbage'));
    case 'pid':
      return answer(id, text(String(process.pid)));
    case 'child': {
      // One process in the group of the server, and one that leaves the group.
      const near = spawn(process.execPath, eternal, { stdio: 'ignore' });
      const far = spawn(process.execPath, eternal, { stdio: 'ignore', detached: true });
      return answer(id, text(`${near.pid} ${far.pid}`));
    }
    case 'secret':
      process.stderr.write(`my key is ${process.env.KEY}\n`);
      return answer(id, { ...text(`key ${process.env.KEY}`), structuredContent: { env: { ...process.env } } });
    case 'memory': {
      const kept: Buffer[] = [];
      return setInterval(() => kept.push(Buffer.alloc(4 * 1024 * 1024, 1)), 40);
    }
    case 'deaf':
      deaf = true;
      return answer(id, text('no input is read any more'));
    case 'error':
      return send({ id, error: { code: -32001, message: `no, and my key is ${process.env.KEY}` } });
    case 'progress': {
      const progressToken = params?._meta?.progressToken;
      let progress = 0;
      setInterval(() => {
        progress += 1;
        send({ method: 'notifications/progress', params: { progressToken, progress, message: `step ${progress}` } });
      }, 20);
      return;
    }
    default:
      return answer(id, text(`${name} was called`));
  }
}

/** Writes for ever, without waiting for its reader. */
function flood(chunk: string): void {
  const write = (): void => {
    while (process.stdout.write(chunk));
    process.stdout.once('drain', write);
  };
  write();
}
