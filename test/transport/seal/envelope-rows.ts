import type { Envelope } from '../../product/seal/independent-agent.ts';

/** An attested agent, of any implementation. */
interface Caller {
  call(id: unknown, name: unknown, args?: unknown, more?: object): Envelope;
  seal(payload: unknown, more?: Partial<Envelope>): Envelope;
  /** Another one of the same execution, with another key. */
  double(): Caller;
}

export interface EnvelopeRow {
  readonly what: string;
  /** HTTP status, JSON-RPC code, gRPC status. */
  readonly is: readonly [http: number, rpc: number | null, grpc: string];
  readonly reason?: string;
  readonly message?: RegExp;
  /** How often the tool runs. */
  readonly runs?: number;
  envelope(agent: Caller): Envelope;
}

export const READ = { path: '/workspace/a.txt' };

const MALFORMED = [400, -32600, 'INVALID_ARGUMENT'] as const;
export const UNAUTHENTICATED = [401, -32000, 'UNAUTHENTICATED'] as const;
export const DENIED = [403, -32000, 'PERMISSION_DENIED'] as const;
const INVALID = [422, -32602, 'INVALID_ARGUMENT'] as const;
export const INTERNAL = [500, -32603, 'INTERNAL'] as const;

/**
 * Conditions that depend only on the envelope (H13, H16), under a policy that
 * allows fs.* in /workspace but fs.delete, web.* of example.com and `git status`.
 */
export const ENVELOPE_ROWS: readonly EnvelopeRow[] = [
  { what: 'a call that policy allows', is: [200, null, 'OK'], runs: 1, envelope: (a) => a.call(1, 'fs.read', READ) },
  {
    what: 'call_tool, the other name of the method',
    is: [200, null, 'OK'],
    runs: 1,
    envelope: (a) => a.call('x', 'fs.read', READ, { method: 'call_tool' }),
  },
  // Missing or null required argument.
  {
    what: 'a missing argument',
    is: INVALID,
    reason: 'InvalidArguments',
    message: /path.*fs\.read|fs\.read.*path/s,
    envelope: (a) => a.call(1, 'fs.read', {}),
  },
  {
    what: 'no arguments',
    is: INVALID,
    reason: 'InvalidArguments',
    message: /path/,
    envelope: (a) => a.call(1, 'fs.read'),
  },
  {
    what: 'a null argument',
    is: INVALID,
    reason: 'InvalidArguments',
    message: /content/,
    envelope: (a) => a.call(1, 'fs.write', { ...READ, content: null }),
  },
  {
    what: 'an argument of another type',
    is: INVALID,
    reason: 'InvalidArguments',
    envelope: (a) => a.call(1, 'fs.read', { path: 7 }),
  },
  {
    what: 'arguments that are no object',
    is: INVALID,
    reason: 'InvalidArguments',
    envelope: (a) => a.call(1, 'fs.read', [1]),
  },
  {
    what: 'an empty command',
    is: INVALID,
    reason: 'InvalidArguments',
    message: /command/,
    envelope: (a) => a.call(1, 'cmd.run', { command: '' }),
  },
  // Malformed envelope or missing tool name.
  { what: 'no tool name', is: MALFORMED, envelope: (a) => a.call(1, undefined, READ) },
  { what: 'a null tool name', is: MALFORMED, envelope: (a) => a.call(1, null, READ) },
  { what: 'an empty tool name', is: MALFORMED, envelope: (a) => a.call(1, '', READ) },
  { what: 'a tool name that is no text', is: MALFORMED, envelope: (a) => a.call(1, 7, READ) },
  { what: 'another method', is: MALFORMED, envelope: (a) => a.call(1, 'fs.read', READ, { method: 'tools/list' }) },
  {
    what: 'no id',
    is: MALFORMED,
    envelope: (a) => a.seal({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'fs.read' } }),
  },
  { what: 'a payload that is no JSON', is: MALFORMED, envelope: (a) => a.seal('{') },
  { what: 'an empty payload', is: MALFORMED, envelope: (a) => a.seal('') },
  {
    what: 'an unknown protocol',
    is: MALFORMED,
    envelope: (a) => ({ ...a.call(1, 'fs.read', READ), protocol: 'seal/v2' }),
  },
  { what: 'an empty token', is: MALFORMED, envelope: (a) => ({ ...a.call(1, 'fs.read', READ), security_token: '' }) },
  {
    what: 'a text that is no signature',
    is: MALFORMED,
    envelope: (a) => ({ ...a.call(1, 'fs.read', READ), signature: 'x' }),
  },
  {
    what: 'a text that is no timestamp',
    is: MALFORMED,
    envelope: (a) => ({ ...a.call(1, 'fs.read', READ), timestamp: 'now' }),
  },
  // Session expired or bad signature.
  {
    what: 'a malformed token',
    is: UNAUTHENTICATED,
    envelope: (a) => ({ ...a.call(1, 'fs.read', READ), security_token: 'a.b.c' }),
  },
  {
    what: 'a signature of another key',
    is: UNAUTHENTICATED,
    envelope: (a) => ({
      ...a.call(1, 'fs.read', READ),
      signature: a.double().call(1, 'fs.read', READ).signature,
    }),
  },
  {
    what: 'a payload that was changed after it was signed',
    is: UNAUTHENTICATED,
    envelope: (a) => ({ ...a.call(1, 'fs.read', READ), payload: a.call(1, 'fs.write', READ).payload }),
  },
  {
    what: 'an envelope of a minute ago',
    is: UNAUTHENTICATED,
    envelope: (a) => ({ ...a.call(1, 'fs.read', READ), timestamp: new Date(Date.now() - 60_000).toISOString() }),
  },
  {
    what: 'an envelope of the future',
    is: UNAUTHENTICATED,
    envelope: (a) => ({ ...a.call(1, 'fs.read', READ), timestamp: new Date(Date.now() + 60_000).toISOString() }),
  },
  // Policy violation or inactive session.
  { what: 'an unknown tool', is: DENIED, reason: 'ToolNotAllowed', envelope: (a) => a.call(1, 'no.such', {}) },
  {
    what: 'a tool of the deny list',
    is: DENIED,
    reason: 'ToolExplicitlyDenied',
    envelope: (a) => a.call(1, 'fs.delete', READ),
  },
  {
    what: 'a path outside',
    is: DENIED,
    reason: 'PathOutsideBoundary',
    envelope: (a) => a.call(1, 'fs.read', { path: '/etc/shadow' }),
  },
  {
    what: 'a path with ..',
    is: DENIED,
    reason: 'PathTraversalAttempt',
    envelope: (a) => a.call(1, 'fs.read', { path: '../x' }),
  },
  {
    what: 'a domain that is not allowed',
    is: DENIED,
    reason: 'DomainNotAllowed',
    envelope: (a) => a.call(1, 'web.fetch', { url: 'https://other.test/' }),
  },
  {
    what: 'a command that is not allowed',
    is: DENIED,
    reason: 'CommandNotAllowed',
    envelope: (a) => a.call(1, 'cmd.run', { command: 'rm', args: ['x'] }),
  },
  {
    what: 'a subcommand that is not allowed',
    is: DENIED,
    reason: 'SubcommandNotAllowed',
    envelope: (a) => a.call(1, 'cmd.run', { command: 'git', args: ['push'] }),
  },
];
