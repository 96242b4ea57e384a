import { randomUUID } from 'node:crypto';
import type { Ask, ProductNode } from '../product-node.ts';
import { bytesOf } from '../tenancy.ts';

export type Args = Readonly<Record<string, unknown>>;

/** A caller: a token of the identity provider, or an API key. */
export interface Asker {
  readonly name: string;
  /** The tenant in which it acts. */
  readonly tenant: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** One request, with the name already in it. */
export interface Question {
  readonly method: string;
  readonly path: string;
  readonly ask?: Ask;
}

/** An unknown name or id as long as the real one, so that answers can have equal lengths. */
export function unknownFor(name: string): string {
  if (/^[0-9a-f]{32}$/.test(name)) return randomUUID().replaceAll('-', '');
  return /^[0-9a-f-]{36}$/.test(name) ? randomUUID() : 'n'.repeat(name.length);
}

/** The text without the name that was asked for. */
export const withoutAsked = (text: string, asked: string): string => text.replaceAll(asked, '(asked)');

export const jsonAsk = (body: unknown): Ask => ({
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

/** Status, headers and body of the answer, without the name that was asked for. */
export async function answerTo(node: ProductNode, asker: Asker, question: Question, asked: string): Promise<string> {
  const { method, path, ask = {} } = question;
  const headers = { ...asker.headers, ...ask.headers };
  return withoutAsked(bytesOf(await node.call(method, path, { ...ask, headers })), asked);
}

/** `POST /v1/tools/{name}`: the tools of /mcp over REST. */
export const toolQuestion = (tool: string, args: Args): Question => ({
  method: 'POST',
  path: `/v1/tools/${tool}`,
  ask: jsonAsk(args),
});
