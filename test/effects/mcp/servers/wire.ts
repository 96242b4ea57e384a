import { createInterface } from 'node:readline';

/** Hand-written MCP over standard input and output: these servers have faults that the SDK's cannot have. */
export interface Request {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: Record<string, unknown>;
    readonly requestId?: number;
    readonly _meta?: { readonly progressToken?: number };
  };
}

export const send = (message: object): void => {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
};
export const answer = (id: number | string | undefined, result: object): void => send({ id, result });
export const text = (value: string): object => ({ content: [{ type: 'text', text: value }] });
export const tool = (name: string, more: object = {}): object => ({
  ...{ name, description: `does ${name}`, inputSchema: { type: 'object' } },
  ...more,
});

/** Answers `initialize` and `ping`; the server handles everything else. */
export function serve(handle: (request: Request) => void): void {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const request: Request = JSON.parse(line);
    if (request.method === 'initialize') {
      const capabilities = { tools: { listChanged: true } };
      answer(request.id, { protocolVersion: '2025-06-18', capabilities, serverInfo: { name: 'odd', version: '1' } });
    } else if (request.method === 'ping') answer(request.id, {});
    else handle(request);
  });
}
